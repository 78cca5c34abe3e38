"""M2M100, NLLB and mBART-50 models with random weights are the ones of transformers."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from marian_folders import CODES, change, check_attention, many_languages, phrases
from random_translator import check_found
from transformers import AutoModelForSeq2SeqLM

from pellucid.data.batch import pad
from pellucid.errors import PellucidError, UsageError
from pellucid.interop.exporting import export
from pellucid.interop.importing import import_model, load_folder
from pellucid.seeing.trace import trace
from pellucid.translate.sentences import TruncationWarning
from pellucid.translator import load


@pytest.fixture(scope="module", params=CODES)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp(request.param)
    return request.param, folder, many_languages(folder, request.param)


def test_ids_are_those_of_their_tokenizer(made: Any) -> None:
    kind, folder, tokens = made
    vocabulary, to = load(folder, device="cpu").vocabulary, CODES[kind][1]
    for language in ("en", "de", "fr", "hi"):
        for text in phrases(language, 1000):
            assert vocabulary.encode_source(text, to) == tokens(text).input_ids
    tokens.tgt_lang = to
    for text in phrases("fr", 200):
        ids = vocabulary.encode_target(text, to)
        assert ids == tokens(text_target=text).input_ids
        if vocabulary.unknown_id not in ids:
            assert vocabulary.decode_target(ids, to) == tokens.decode(ids[1:], skip_special_tokens=True)


def test_logits_attention_and_translations_are_those_of_transformers(made: Any) -> None:
    kind, folder, _ = made
    translator, to = load(folder, device="cpu"), CODES[kind][1]
    theirs = AutoModelForSeq2SeqLM.from_pretrained(folder, attn_implementation="eager").eval()
    config, texts = translator.model.config, phrases("en", 20)
    positions = "learned" if kind == "mbart" else "fairseq"
    assert (config.norm, config.positions, config.start_id, config.end_id) == ("first", positions, 2, 2)
    sources = [translator.vocabulary.encode_source(text, to) for text in texts]
    source, mask = pad(sources, config.pad_id)
    code = translator.vocabulary.target_tag(to)[0]
    target = torch.tensor([[config.start_id, code, 7, 9, 30, 12]] * len(texts))
    with torch.no_grad(), trace(translator.model, only="*.weights") as seen:
        logits = translator.model(source, mask, target)
        said = theirs(
            input_ids=source, attention_mask=mask.long(), decoder_input_ids=target, output_attentions=True
        )
    assert (logits - said.logits).abs().max() < 1e-4
    check_attention(seen, said, mask)

    for beam in (1, 4):
        generated = theirs.generate(
            source, attention_mask=mask.long(), num_beams=beam, max_length=24, forced_bos_token_id=code,
            bad_words_ids=[[1], [3]],
        )  # fmt: skip
        ours = translator.translate(texts, to=to, beam=beam, max_length=23)
        assert all(each.hypotheses[0].token_ids[0] == code for each in ours)
        end, rows = config.end_id, [row[1:] for row in generated.tolist()]
        their_ids = [row[: [*row, end].index(end) + 1] for row in rows]
        assert beam > 1 or [each.hypotheses[0].token_ids for each in ours] == their_ids
        done = [place for place, each in enumerate(ours) if each.hypotheses[0].finished]
        check_found(translator, *([side[n] for n in done] for side in (sources, ours, their_ids)))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def ending(made: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A copy of the folder, whose model ends its translations earlier or later."""
    kind, folder, tokens = made
    copied = shutil.copytree(folder, tmp_path_factory.mktemp("ending"), dirs_exist_ok=True)
    theirs = AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    with torch.no_grad():
        ids = torch.randint(5, 200, (16, 12), generator=torch.Generator().manual_seed(1))
        said = theirs.model(input_ids=ids, decoder_input_ids=ids).last_hidden_state.mean((0, 1))
        theirs.model.shared.weight[2] += said * (2.1 / said.square().sum())
    theirs.save_pretrained(copied)
    return kind, load(copied, device="cpu"), theirs, tokens


OPTIONS: list[dict[str, Any]] = [
    dict(),
    dict(length_penalty=0.5, no_repeat_ngram_size=2),
    dict(repetition_penalty=1.2, early_stopping=False),
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_beam_search_is_that_of_generate(ending: Any, options: dict[str, Any]) -> None:
    """The language has a probability of its own in each model, and does not count: the same scores too."""
    kind, translator, theirs, tokens = ending
    lengths, compared, differing = set(), 0, 0
    for source, to in ((0, 1), (0, 2), (1, 0), (2, 1)):
        tokens.src_lang, to = CODES[kind][source], CODES[kind][to]
        batch = tokens(phrases(("en", "fr", "hi")[source], 25), return_tensors="pt", padding=True)
        generated = theirs.generate(
            **batch, num_beams=4, max_length=24, forced_bos_token_id=translator.vocabulary.target_tag(to)[0],
            bad_words_ids=[[1], [3]], return_dict_in_generate=True, output_scores=True, **options,
        )  # fmt: skip
        sources = [ids[mask > 0].tolist() for ids, mask in zip(*batch.values(), strict=True)]
        ours = translator.translate_ids(sources, to=to, beam=4, max_length=23, **options)
        rows = zip(ours, generated.sequences.tolist(), generated.sequences_scores.tolist(), strict=True)
        for translation, row, score in rows:
            best, said = translation.hypotheses[0], row[1 : [*row, 2].index(2, 1) + 1]
            lengths.add(len(best.token_ids))
            if best.finished == (2 in said):  # at the limit theirs may prefer one that is not finished
                assert best.score == pytest.approx(score, abs=1e-4)
                differing += best.token_ids != said
                compared += 1
    assert len(lengths) > 1 + (kind != "mbart") and compared > 50 and differing <= 2


@pytest.mark.parametrize("prefix", ["", " ", [], [2], "le chat", "ids", "ids with the language"])
def test_no_prefix_drops_the_language(ending: Any, prefix: Any) -> None:
    kind, translator, _, _ = ending
    text, to, vocabulary = "The cat", CODES[kind][1], translator.vocabulary
    tag, ids = vocabulary.target_tag(to), vocabulary.encode_target("le chat", CODES[kind][1])[:-1]
    given = {"ids": ids[1:], "ids with the language": ids}.get(str(prefix), prefix)
    found = translator.translate(text, to=to, prefix=given, length_penalty=0).hypotheses[0]
    assert found.token_ids[: len(ids)] == ids or prefix in ("", " ", [], [2])
    assert found.token_ids[:1] == tag and found.log_probabilities[0] == 0
    assert found.score == pytest.approx(sum(found.log_probabilities), abs=1e-4)
    said = "".join(translator.stream(text, to=to, prefix=given))
    assert said == translator.translate(text, to=to, prefix=given, beam=1).text


def test_the_language_does_not_count_in_a_score_either(ending: Any) -> None:
    kind, translator, _, _ = ending
    to, text = CODES[kind][1], "The cat"
    word, nothing = translator.score([text, text], ["le chat", ""], to=to)
    for score in (word, nothing):
        assert score.per_token[0] == 0 and score.total == sum(score.per_token) < 0
        assert score.tokens[0] in (to, f"__{to}__")
    assert len(nothing.per_token) == 2
    explained = translator.explain(text, to=to, target="le chat")
    assert explained.translation.hypotheses[0].log_probabilities == pytest.approx(word.per_token, abs=1e-4)
    assert explained.steps[0].loss > 0
    assert translator.explain(text, to=to).largest_difference < 1e-4


def test_it_is_imported_with_its_languages(made: Any, tmp_path: Path) -> None:
    kind, folder, _ = made
    report = import_model(folder, tmp_path / "ours")
    assert report.parity is not None and report.parity.difference < 1e-4
    french = import_model(folder, tmp_path / "french", check=kind == "nllb", source_language=CODES[kind][1])
    assert load(french.out).languages[0][0] == CODES[kind][1]
    translator, to = load(tmp_path / "ours", device="cpu"), CODES[kind][1]
    assert (CODES[kind][0], to) in translator.languages
    text = phrases("en", 1)[0]
    again, direct = (each.translate(text, to=to) for each in (translator, load(folder, device="cpu")))
    assert again == direct
    explanation = translator.explain(text, to=to)
    assert explanation.steps[0].expected in (to, f"__{to}__")
    assert not {to, f"__{to}__"} & {*explanation.alignment().target_words}
    if kind == "mbart":
        loaded = load_folder(folder)
        for refused in (
            lambda: explanation.to_html(tmp_path / "page.html"),
            lambda: export("ctranslate2", loaded, tmp_path / "out"),
        ):
            with pytest.raises(UsageError, match="learned positions"):
                refused()
        with pytest.raises(UsageError, match="its positions are learned"):
            load(folder, device="cpu", precision="int8").translate(text, to=to)
        with pytest.warns(TruncationWarning, match="64 tokens"):
            long = translator.translate("I like cats. " * 40, to=to)
        assert long.truncated and len(long.hypotheses[0].token_ids) <= 64
    else:
        explanation.to_html(tmp_path / "page.html")
    assert translator.score([text], ["Le chat"], to=to)[0].tokens[0] in (to, f"__{to}__")


@pytest.mark.parametrize(
    "shape",
    [
        dict(d_model=24, encoder_layers=1, decoder_layers=3, activation_function="relu"),
        dict(d_model=32, encoder_ffn_dim=40, decoder_ffn_dim=40, scale_embedding=False),
        dict(d_model=8, max_position_embeddings=30, encoder_layers=3, decoder_layers=1),
    ],
)
def test_other_shapes_of_mbart_too(shape: dict[str, Any], tmp_path: Path) -> None:
    many_languages(tmp_path, "mbart", **shape)
    theirs, chance = AutoModelForSeq2SeqLM.from_pretrained(tmp_path).eval(), torch.Generator().manual_seed(1)
    source, target = (torch.randint(4, 200, (4, 20), generator=chance) for _ in range(2))
    with torch.no_grad():
        said = theirs(input_ids=source, decoder_input_ids=target).logits
        assert (load(tmp_path, device="cpu").model(source, None, target) - said).abs().max() < 1e-4
    change(tmp_path / "config.json", max_position_embeddings=20)
    with pytest.raises(
        PellucidError, match=r"embed_positions.weight is \[\d+, \d+\] where config.json needs \[20,"
    ):
        load(tmp_path, device="cpu")


def test_nllb_is_read_from_what_transformers_5_saves(tmp_path: Path) -> None:
    tokens = many_languages(tmp_path, "nllb")
    before = load(tmp_path, device="cpu").vocabulary
    (tmp_path / "sentencepiece.bpe.model").unlink()
    read, to = load(tmp_path, device="cpu"), CODES["nllb"][1]
    odd = ["  two  spaces ", "½ ﬁ é 你好", "", "\u00a0a\u0301\u200bb", "<s> </s>"]
    for text in [*phrases("en", 250), *phrases("de", 250), *odd]:
        assert read.vocabulary.encode_source(text, to) == before.encode_source(text, to)
        assert text in odd or read.vocabulary.encode_source(text, to) == tokens(text).input_ids
    assert read.languages == before.languages and read.vocabulary.kind == "bpe"
    import_model(tmp_path, tmp_path / "ours")
    assert load(tmp_path / "ours", device="cpu").vocabulary.same_as(read.vocabulary)


@pytest.mark.parametrize(
    "change",
    [
        lambda file: file["model"]["merges"].pop(),
        lambda file: file["normalizer"]["normalizers"].append({"type": "Lowercase"}),
        lambda file: file["normalizer"]["normalizers"][1].update(pattern={"String": "a"}),
        lambda file: file["pre_tokenizer"].update(type="ByteLevel"),
        lambda file: file["model"]["vocab"].update({"x y": "z"}),
        lambda file: file.pop("model"),
    ],
)
def test_another_kind_of_tokenizer_json_is_refused(change: Any, tmp_path: Path) -> None:
    many_languages(tmp_path, "nllb")
    (tmp_path / "sentencepiece.bpe.model").unlink()
    content = json.loads((tmp_path / "tokenizer.json").read_text("utf-8"))
    change(content)
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(PellucidError) as caught:
        load(tmp_path, device="cpu")
    assert (
        "tokenizer.json: its model, normalizer or pre_tokenizer does not come from a SentencePiece "
        "model. Add sentencepiece.bpe.model, as the original model has it."
    ) in str(caught.value)
