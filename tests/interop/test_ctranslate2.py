"""A model of ours in CTranslate2: the same scores, and the same translations."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import random_translator
import tiny
import torch
from random_translator import loaded

from pellucid.errors import PellucidError, UsageError
from pellucid.interop import ctranslate2_export
from pellucid.interop.exporting import export
from pellucid.model import Transformer, sinusoids
from pellucid.translate.call import forbidden_ids
from pellucid.translator import Translator

ctranslate2 = pytest.importorskip("ctranslate2")


def starting_with_padding() -> Translator:
    """As OPUS-MT's models, whose start token is not the one that CTranslate2 takes by default."""
    made = random_translator.translator(end=1.5)
    vocabulary = replace(made.vocabulary, start_id=made.vocabulary.pad_id)
    config = replace(made.config, model=replace(made.config.model, start_id=vocabulary.pad_id))
    model = Transformer(config.model).eval()
    model.load_state_dict(made.model.state_dict())
    return Translator(model, vocabulary, config)


OURS: dict[str, Callable[[], Translator]] = {
    "norm last, untied, bias": lambda: random_translator.translator(end=1.5),
    "norm first, tied, gelu, not scaled": lambda: tiny.translator(
        "unigram", norm="first", activation="gelu", scale_embeddings=False, output_bias=True
    ),
    "two vocabularies, silu": lambda: tiny.translator(
        "bpe", joint=False, activation="silu", output_bias=True
    ),
    "its start token is padding": starting_with_padding,
}


def unlikely(translator: Translator) -> Translator:
    """As in a trained model, what is never said is unlikely: CTranslate2 renormalises without it."""
    bias = translator.model.decoder.projection.bias
    assert bias is not None
    with torch.no_grad():
        bias[forbidden_ids(translator.model, translator.vocabulary)] = -30
        bias[translator.model.config.end_id] = 1.5
    return translator


@pytest.fixture(scope="module", params=OURS)
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    translator, out = unlikely(OURS[request.param]()), tmp_path_factory.mktemp("ct2") / "out"
    report = export("ctranslate2", loaded(translator), out)
    assert report.parity is not None and report.parity.difference < 1e-4
    assert "the same function" in str(report)
    return translator, ctranslate2.Translator(str(out), device="cpu", compute_type="float32")


@pytest.mark.parametrize("beam", [1, 4])
def test_translations_are_the_same(exported: Any, beam: int) -> None:
    translator, engine = exported
    vocabulary, texts = translator.vocabulary, random_translator.sentences(200)
    to = "es" if len(vocabulary.target_languages) > 1 else None
    sources = [vocabulary.encode_source(text, to) for text in texts]
    results = engine.translate_batch(
        [[vocabulary.source.id_to_piece(token) for token in each] for each in sources],
        beam_size=beam,
        max_decoding_length=30,
        min_decoding_length=0,
        disable_unk=True,
        return_end_token=True,
        length_penalty=1,
    )
    ours = translator.translate(texts, to=to, beam=beam, max_length=30)
    theirs = [[vocabulary.target.piece_to_id(piece) for piece in each.hypotheses[0]] for each in results]
    pairs = list(zip(ours, theirs, strict=True))
    assert sum(each.hypotheses[0].token_ids == row for each, row in pairs) >= 150
    for source, (each, row) in zip(sources, pairs, strict=True):
        if row[-1] == vocabulary.end_id:  # ours prefers one that has ended
            random_translator.check_found(translator, [source], [each], [row])


def test_fewer_bits_are_nearly_the_same(tmp_path: Path) -> None:
    translator = OURS["norm last, untied, bias"]()
    before = {name: tensor.clone() for name, tensor in translator.model.state_dict().items()}
    report = export("ctranslate2", loaded(translator), tmp_path / "int8", quantization="int8")
    assert report.parity is not None and 1e-4 < report.parity.difference < 1
    assert "the same function but for the rounding" in str(report)
    for name, tensor in translator.model.state_dict().items():
        assert torch.equal(tensor, before[name]), name  # CTranslate2 quantises in place


def test_its_positions_reach_as_far_as_ours(tmp_path: Path) -> None:
    translator = random_translator.translator()
    ours, vocabulary = loaded(translator), translator.vocabulary
    longer = replace(ours.config, translation=replace(ours.config.translation, max_length=1500))
    export("ctranslate2", ours._replace(config=longer), tmp_path / "out", check=False)
    engine = ctranslate2.Translator(str(tmp_path / "out"), device="cpu", compute_type="float32")
    piece = vocabulary.target.id_to_piece(vocabulary.target.get_piece_size() - 1)
    (scored,) = engine.score_batch([[piece]], [[piece] * 1499], max_input_length=0)
    assert len(scored.log_probs) == 1500  # and the end token


def test_a_wrong_program_or_quantization_is_refused(tmp_path: Path) -> None:
    translator = loaded(OURS["norm last, untied, bias"]())
    with pytest.raises(UsageError, match="'coreml' is not one of huggingface, ctranslate2"):
        export("coreml", translator, tmp_path / "out")
    with pytest.raises(UsageError, match="quantization = 'int8': only ctranslate2 takes a quant"):
        export("huggingface", translator, tmp_path / "out", quantization="int8")


def test_a_difference_or_ctrl_c_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    ours = loaded(OURS["norm last, untied, bias"]())
    monkeypatch.setattr(ctranslate2_export, "sinusoids", lambda *shape: -sinusoids(*shape))
    with pytest.raises(PellucidError, match="NOT the same function"):
        export("ctranslate2", ours, tmp_path / "out")
    monkeypatch.setattr(ctranslate2_export, "sinusoids", interrupted)
    with pytest.raises(KeyboardInterrupt):
        export("ctranslate2", ours, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
