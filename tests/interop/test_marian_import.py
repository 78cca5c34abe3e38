"""A MarianMT model that was taken in is the one of transformers: logits, attention, tokens, translations."""

import io
import json
import pickle
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from cases import few
from command import Command
from marian_folders import (
    change,
    check_attention,
    known_phrase,
    model,
    opus,
    phrases,
    pieces,
    state_of,
    tokenizer,
)
from random_translator import check_found
from sentencepiece import SentencePieceProcessor
from transformers import MarianMTModel, MarianTokenizer

from pellucid.data.batch import pad
from pellucid.errors import PellucidError
from pellucid.interop.foreign import Foreign
from pellucid.interop.generation import left_out
from pellucid.interop.importing import import_model, open_foreign, read_foreign
from pellucid.interop.tensor_files import open_tensors
from pellucid.learning.run import train
from pellucid.seeing.trace import trace
from pellucid.translator import Translator, load

SHAPES: dict[str, dict[str, Any]] = {
    "OPUS-MT": {},
    "trained": dict(d_model=32, steps=200),
    "gelu, not scaled, deep encoder": dict(
        activation_function="gelu", scale_embedding=False, encoder_layers=5, decoder_layers=1, seed=2
    ),
    "two vocabularies": dict(share_encoder_decoder_embeddings=False, activation_function="relu"),
    "untied": dict(share_encoder_decoder_embeddings=False, tie_word_embeddings=False, d_model=24),
    "untied, one size": dict(
        tie_word_embeddings=False, d_model=20, encoder_attention_heads=2, decoder_attention_heads=2
    ),
    "half the width is odd": dict(d_model=12, encoder_attention_heads=3, decoder_attention_heads=3),
}


@pytest.fixture(scope="module", params=SHAPES)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    settings, path = SHAPES[request.param], tmp_path_factory.mktemp("marian")
    return opus(path, settings.get("share_encoder_decoder_embeddings") is False, **settings)


def translator_of(folder: Path) -> Translator:
    loaded = read_foreign(open_foreign(folder))
    return Translator(loaded.model, loaded.vocabulary, loaded.config)


def theirs(folder: Path) -> MarianMTModel:
    return MarianMTModel.from_pretrained(folder, attn_implementation="eager").eval()


def a_batch(translator: Translator) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Sources of several lengths, their mask, and targets from the start token."""
    numbers, config = random.Random(3), translator.model.config
    sources = [translator.vocabulary.encode_source(text) for text in phrases("en", 6)]
    targets = [[config.start_id, *numbers.choices(range(2, config.target_size - 1), k=9)] for _ in sources]
    return *pad(sources, config.pad_id), torch.tensor(targets)


def test_logits_and_all_attention_weights_are_those_of_transformers(folder: Path) -> None:
    translator = translator_of(folder)
    source, mask, target = a_batch(translator)
    with torch.no_grad(), trace(translator.model, only="*.weights") as seen:
        logits = translator.model(source, mask, target)
        said = theirs(folder)(
            input_ids=source, attention_mask=mask.long(), decoder_input_ids=target, output_attentions=True
        )
    unwatched = translator.model(source, mask, target)
    assert (unwatched - said.logits).abs().max() < 1e-4
    assert (logits - said.logits).abs().max() < 1e-4
    check_attention(seen, said, mask)


@pytest.mark.parametrize("beam", [1, 4])
def test_translations_are_those_of_generate(folder: Path, beam: int) -> None:
    translator, texts = translator_of(folder), phrases("en", 30)
    config = translator.model.config
    sources = [translator.vocabulary.encode_source(text) for text in texts]
    source, mask = pad(sources, config.pad_id)
    generated = theirs(folder).generate(
        source, attention_mask=mask.long(), num_beams=beam, max_length=24, early_stopping=True
    )
    ours = translator.translate(texts, beam=beam, max_length=23)
    said = [row[1 : row.index(config.end_id, 1) + 1] for row in generated.tolist()]
    assert check_found(translator, sources, ours, said) >= 15
    distinct = {str(each.hypotheses[0].token_ids) for each in ours}
    assert len(distinct) > (3 if config.width == 32 else 1)  # they are different sentences


@pytest.mark.parametrize("beam", few(1, [4, 1]))
def test_what_a_folder_says_of_its_search_is_what_generate_does(beam: int, tmp_path: Path) -> None:
    opus(tmp_path, d_model=32, steps=200)
    search = {"no_repeat_ngram_size": 2, "repetition_penalty": 1.3, "early_stopping": False}
    change(tmp_path / "generation_config.json", num_beams=beam, max_length=24, **search)
    translator, texts = translator_of(tmp_path), phrases("en", 30)
    config = translator.model.config
    source, mask = pad([translator.vocabulary.encode_source(text) for text in texts], config.pad_id)
    generated = theirs(tmp_path).generate(
        source, attention_mask=mask.long(), return_dict_in_generate=True, output_scores=True
    )
    said = [[token for token in row[1:] if token != config.pad_id] for row in generated.sequences.tolist()]
    ours = [each.hypotheses[0] for each in translator.translate(texts)]
    if beam == 1:
        assert [best.token_ids for best in ours] == said
    else:
        assert [best.score for best in ours] == pytest.approx(generated.sequences_scores.tolist(), abs=1e-4)
        assert sum(best.token_ids != row for best, row in zip(ours, said, strict=True)) <= 2  # near ties
    assert len({str(best.token_ids) for best in ours}) > 1  # how many depends on the processor's rounding


def test_suppressed_tokens_are_never_said(tmp_path: Path) -> None:
    sizes = tokenizer(tmp_path)
    model(tmp_path, sizes)
    likely = translator_of(tmp_path).translate(phrases("en", 1)[0], beam=1).hypotheses[0].token_ids[0]
    free = translator_of(tmp_path).translate(phrases("en", 20), beam=1)
    bad = [[sizes[0] - 1], [1], [likely], [2, 3]]
    model(tmp_path, sizes, generation={"suppress_tokens": [5], "bad_words_ids": bad})
    translator = translator_of(tmp_path)
    assert translator.config.translation.suppressed == tuple(sorted({5, likely}))
    assert [*left_out(open_foreign(tmp_path), 0)] == ["bad_words_ids of several tokens"]
    said = translator.translate(phrases("en", 20), beam=1)
    assert any(likely in each.hypotheses[0].token_ids for each in free)
    assert not any({5, likely} & {*each.hypotheses[0].token_ids} for each in said)
    assert all(each.hypotheses[0].token_ids[-1] == translator.model.config.end_id for each in said)


@pytest.mark.parametrize("language", ["en", "de", "fr", "hi"])
def test_ids_are_those_of_their_tokenizer(language: str, tmp_path: Path) -> None:
    sizes = tokenizer(tmp_path, (language, "en"), size=130)
    model(tmp_path, sizes, d_model=8, encoder_layers=1, decoder_layers=1)
    tokens, vocabulary = MarianTokenizer.from_pretrained(tmp_path), translator_of(tmp_path).vocabulary
    odd = ["  two  spaces ", "½ ﬁ é 你好", "a >>b<< c", "", '(quoted) "x" – 1,5 %']
    texts = [*phrases(language, 1000), *odd]
    for text in texts:
        ids = vocabulary.encode_source(text)
        assert ids == tokens(text).input_ids
        assert vocabulary.source_tokens(ids) == tokens.convert_ids_to_tokens(ids)
    for text in phrases("en", 200):
        ids = vocabulary.encode_target(text)
        assert ids == tokens(text_target=text).input_ids
        if vocabulary.unknown_id not in ids:  # theirs leaves it out, ours writes ⁇
            assert vocabulary.decode_target(ids) == tokens.decode(ids, skip_special_tokens=True)
    assert {vocabulary.unknown_id} < {*vocabulary.encode_source(" ".join(texts))}


def test_a_model_of_several_languages_takes_their_codes(tmp_path: Path) -> None:
    codes = (">>fra<<", ">>deu<<")
    model(tmp_path, tokenizer(tmp_path, codes=codes))
    translator, tokens = translator_of(tmp_path), MarianTokenizer.from_pretrained(tmp_path)
    assert {target for _, target in translator.languages} == {"fra", "deu"}
    text = phrases("en", 1)[0]
    ids = tokens(f">>deu<< {text}").input_ids
    assert translator.vocabulary.encode_source(text, "deu") == ids
    said = translator.translate(f">>deu<< {text}").hypotheses
    assert said == translator.translate_ids([ids], "deu")[0].hypotheses
    assert translator.vocabulary.source_tokens(ids)[0] == ">>deu<<"
    other = translator.vocabulary.encode_source(f">>fra<< {text}", "deu")
    assert translator.vocabulary.source_tokens(other)[0] == ">>deu<<"
    assert ">>fra<<" not in translator.vocabulary.source_tokens(other)  # it is text


def test_the_imported_folder_is_the_model_that_was_read(folder: Path, tmp_path: Path) -> None:
    report = import_model(folder, tmp_path / "ours")
    assert "the same function. On 8 sentences" in str(report)
    assert report.parity is not None and report.parity.difference < 1e-4
    read, again = translator_of(folder), load(tmp_path / "ours", device="cpu")
    source, mask, target = a_batch(read)
    assert torch.equal(read.model(source, mask, target), again.model(source, mask, target))
    assert again.vocabulary.same_as(read.vocabulary)
    said = again.config.translation
    assert said == read.config.translation and (said.beam, said.max_length, said.forced_end) == (4, 23, True)


def test_a_difference_is_an_error_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pellucid.interop.families.bart.take", lambda tensor, axis: tensor)
    with pytest.raises(PellucidError, match="NOT the same function"):
        import_model(opus(tmp_path / "opus"), tmp_path / "ours")
    assert not (tmp_path / "ours").exists()


@pytest.mark.filterwarnings("ignore:.*are unknown:UserWarning")
def test_an_imported_model_is_trained_on_averaged_and_described(tmp_path: Path, pellucid: Command) -> None:
    import_model(opus(tmp_path / "opus"), tmp_path / "ours", check=False)
    said = pellucid("average", tmp_path / "mean", tmp_path / "ours", tmp_path / "ours")
    assert (said.code, said.err) == (0, "average of imported opus; imported opus\n")
    for folder in ("opus", "ours"):
        said = pellucid("inspect", tmp_path / folder)
        assert "[translation]" in said.out and "[training]" not in said.out  # which nobody knows
    pairs = zip(phrases("en", 40), phrases("fr", 40), strict=True)
    (tmp_path / "pairs.tsv").write_text("".join(f"{one}\t{other}\n" for one, other in pairs), "utf-8")
    data = {"train": [tmp_path / "pairs.tsv"], "languages": ["en", "fr"], "held_out": 8}
    training = {"steps": 2, "start_from": tmp_path / "ours", "validate_every": 2, "threads": 1}
    run = train({"data": data, "training": training}, out=tmp_path / "run", device="cpu")
    again = load(run, device="cpu")
    assert again.vocabulary.source_tokens([0, 1]) == ["</s>", "<unk>"]
    assert again.model.config.start_id == again.model.config.pad_id
    text = ["--data", tmp_path / "pairs.tsv", "--set", "training.steps=2", "--set", "training.threads=1"]
    tuned = pellucid("train", "--from", tmp_path / "opus", *text, "--out", tmp_path / "tuned")
    assert tuned.code == 0 and "validation at step 0, of opus: " in tuned.err, tuned.err
    ours, theirs = load(tmp_path / "tuned", "cpu"), load(tmp_path / "opus", "cpu")
    assert ours.config.translation == theirs.config.translation
    assert ours.vocabulary.encode_source("how are you") == theirs.vocabulary.encode_source("how are you")


def test_pickled_tensors_are_read_as_tensors(folder: Path, tmp_path: Path) -> None:
    copied = shutil.copytree(folder, tmp_path / "pickled")
    torch.save(state_of(copied), copied / "pytorch_model.bin")
    read, pickled = translator_of(folder), translator_of(copied)
    source, mask, target = a_batch(read)
    assert torch.equal(read.model(source, mask, target), pickled.model(source, mask, target))


def test_in_bf16_there_is_no_copy_in_fp32(folder: Path) -> None:
    whole, rounded = (load(folder, device="cpu", precision=each) for each in ("fp32", "bf16"))
    assert rounded.serving is rounded.model
    for name, tensor in rounded.model.state_dict().items():
        assert torch.equal(tensor, whole.model.state_dict()[name].bfloat16()), name
    explanation = rounded.explain(
        known_phrase(rounded.vocabulary)
    )  # of the rounded weights, computed in fp32
    assert explanation.trace["encoder.output"].tensor.dtype == torch.float32


class Harmful:
    def __reduce__(self) -> Any:
        return open, ("harm.txt", "w")


def test_a_pickle_with_code_is_refused_and_nothing_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    opus(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    harm, saved = {"final_logits_bias": Harmful()}, io.BytesIO()
    torch.save(harm, saved)
    for content in (pickle.dumps(harm), saved.getvalue(), b"nonsense"):
        (tmp_path / "pytorch_model.bin").write_bytes(content)
        with pytest.raises(PellucidError, match="contains more than tensors"):
            read_foreign(open_foreign(tmp_path))
    assert not (tmp_path / "harm.txt").exists()


@pytest.mark.parametrize("modern", [True, False])
def test_a_pickle_has_tied_tensors_parts_of_tensors_and_transposed_ones(modern: bool, tmp_path: Path) -> None:
    rows, path = torch.arange(12.0).view(4, 3), tmp_path / "a.bin"
    state = {"rows": rows, "again": rows, "part": rows[2:], "turned": rows.T}
    torch.save(state, path, _use_new_zipfile_serialization=modern)
    opened = open_tensors(path)
    assert all(torch.equal(opened[name], tensor) for name, tensor in state.items())
    foreign = Foreign(
        tmp_path, tensors=opened | {"nan": rows.log() * 0, "more": torch.arange(12.0).view(4, 3)}
    )
    assert foreign.equal("rows", "again") and foreign.equal("rows", "more") and foreign.equal("nan", "nan")
    assert not foreign.equal("rows", "part") and not foreign.equal("rows", "turned")
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(PellucidError, match="it contains more than tensors or is damaged"):
        open_tensors(path)


DAMAGE: dict[str, Callable[[dict[str, int], dict[str, torch.Tensor]], Any]] = {
    "vocab.json: there is no <unk>.": lambda table, state: table.pop("<unk>"),
    "vocab.json: </s> has id 1, but config.json says eos_token_id = 0.": lambda table, state: table.update(
        {"</s>": 1, "<unk>": 0}
    ),
    "vocab.json: several tokens have the same id.": lambda table, state: table.update({"</s>": 1}),
    "the weights have no model.encoder.layers.0.fc1.bias.": lambda table, state: state.pop(
        "model.encoder.layers.0.fc1.bias"
    ),
    "model.decoder.layers.1.fc2.weight is [3, 4] where config.json needs [16, 24].": (
        lambda table, state: state.update({"model.decoder.layers.1.fc2.weight": torch.zeros(3, 4)})
    ),
    "model.extra is unknown to this architecture.": lambda table, state: state.update(
        {"model.extra": torch.zeros(1)}
    ),
}


@pytest.mark.parametrize("fault", DAMAGE)
def test_a_damaged_folder_is_refused_and_leaves_nothing(fault: str, tmp_path: Path) -> None:
    state = state_of(opus(tmp_path))
    table = json.loads((tmp_path / "vocab.json").read_text("utf-8"))
    DAMAGE[fault](table, state)
    torch.save(state, tmp_path / "pytorch_model.bin")
    (tmp_path / "vocab.json").write_text(json.dumps(table))
    with pytest.raises(PellucidError) as caught:
        import_model(tmp_path, tmp_path / "ours")
    assert str(caught.value) == (
        f"{tmp_path}: this model cannot be imported. {fault} Nothing in it was executed. "
        "Download the folder again, or ask whoever made it."
    )
    assert not (tmp_path / "ours").exists()


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    (opus(tmp_path) / "target.spm").unlink()
    with pytest.raises(PellucidError, match=r"\. target\.spm: cannot be read: No such file or directory\."):
        load(tmp_path)


def test_the_pieces_of_another_model_and_damaged_ones_are_refused(tmp_path: Path) -> None:
    pieces(opus(tmp_path / "opus"), "source.spm", phrases("hi"), 120)
    with pytest.raises(PellucidError, match=r"source\.spm: only \d+ of its 120 pieces have an id: an"):
        load(tmp_path / "opus")
    side = SentencePieceProcessor(model_file=str(opus(tmp_path / "third") / "source.spm"))
    names = [side.id_to_piece(token) for token in range(len(side))]
    table = json.loads((tmp_path / "third" / "vocab.json").read_text())
    others = {*names[len(names) // 3 :]}  # a third is known
    table = {f"{token}'s other" if token in others else token: value for token, value in table.items()}
    (tmp_path / "third" / "vocab.json").write_text(json.dumps(table))
    with pytest.raises(PellucidError, match=rf"source\.spm: only \d+ of its {len(names)} "):
        load(tmp_path / "third")
    (tmp_path / "opus" / "source.spm").write_bytes(b"nonsense")
    with pytest.raises(PellucidError, match=r"source\.spm: not a SentencePiece model, or a damaged one"):
        load(tmp_path / "opus")


@pytest.mark.parametrize(
    ("left", "said"),
    [
        (None, "there are no weights, neither"),
        (
            b"version https://git-lfs.github.com/spec/v1",
            "only a pointer of Git LFS is there. Run git lfs pull",
        ),
        (b"\x10\x27\0\0\0\0\0\0{", "model.safetensors: this is not a safetensors file: "),
    ],
)
def test_a_folder_that_is_half_there_says_what_is_missing(
    left: bytes | None, said: str, tmp_path: Path
) -> None:
    opus(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    if left is not None:
        (tmp_path / "model.safetensors").write_bytes(left)
    with pytest.raises(PellucidError) as caught:
        load(tmp_path)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"activation_function": "gelu_new"}, "activation_function = 'gelu_new' is not one of relu, gelu, "),
        ({"decoder_ffn_dim": 12}, "encoder_ffn_dim = 24 and decoder_ffn_dim = 12 differ"),
        ({"d_model": 15}, "is not divisible by heads"),
        ({"model_type": "t5"}, "model_type = 't5', which is another architecture. Pellucid takes in Marian"),
        ({"vocab_size": 77}, "but the model has 77 tokens: another vocabulary"),
    ],
)
def test_what_our_model_cannot_be_is_refused(tmp_path: Path, settings: dict[str, Any], message: str) -> None:
    change(opus(tmp_path) / "config.json", **settings)
    with pytest.raises(PellucidError) as caught:
        read_foreign(open_foreign(tmp_path))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("file", "name", "value", "message"),
    [
        ("config.json", "d_model", ["x"], "d_model = ['x'] is not a whole number."),
        ("config.json", "dropout", ["x"], "dropout = ['x'] is not a number."),
        ("config.json", "activation_function", ["x"], "activation_function = ['x'] is not a text."),
        ("config.json", "scale_embedding", ["x"], "scale_embedding = ['x'] is not true or false."),
        ("generation_config.json", "num_beams", True, "num_beams = True is not a whole number."),
        (
            "generation_config.json",
            "bad_words_ids",
            [["x"]],
            "bad_words_ids = [['x']] is not a list of lists of whole numbers.",
        ),
    ],
)
def test_a_setting_of_the_wrong_kind_is_named(
    file: str, name: str, value: Any, message: str, tmp_path: Path
) -> None:
    change(opus(tmp_path) / file, **{name: value})
    with pytest.raises(PellucidError) as caught:
        load(tmp_path)
    assert f"{file}: {message}" in str(caught.value)


@pytest.mark.parametrize("file", ["config.json", "tokenizer_config.json"])
@pytest.mark.parametrize("content", ['{"model_type": "marian",', "[]", "1" * 5000])
def test_a_file_that_is_no_json_object_is_named(file: str, content: str, tmp_path: Path) -> None:
    (opus(tmp_path) / file).write_text(content)
    with pytest.raises(PellucidError, match=rf"{file}: this is not a JSON object\."):
        load(tmp_path)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "lm_head.weight",
            "lm_head.weight differs from model.decoder.embed_tokens.weight, but config.json ties",
        ),
        ("model.decoder.embed_positions.weight", "does not hold sinusoids: these positions were learned."),
    ],
)
def test_learned_positions_and_untied_copies_are_refused(name: str, said: str, tmp_path: Path) -> None:
    state = state_of(opus(tmp_path))
    state[name] += 0.1
    torch.save(state, tmp_path / "pytorch_model.bin")
    with pytest.raises(PellucidError) as caught:
        read_foreign(open_foreign(tmp_path))
    assert f"{name} " in str(caught.value) and said in str(caught.value)
