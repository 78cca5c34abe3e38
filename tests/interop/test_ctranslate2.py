"""A model of ours in CTranslate2: the same scores, and the same translations."""

from collections.abc import Callable
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
from pellucid.model import sinusoids
from pellucid.translate.request import forbidden_ids
from pellucid.translator import Translator

ctranslate2 = pytest.importorskip("ctranslate2")

OURS: dict[str, Callable[[], Translator]] = {
    "norm last, untied, bias": lambda: random_translator.translator(end=1.5),
    "norm first, tied, gelu, not scaled": lambda: tiny.translator(
        "unigram", norm="first", activation="gelu", scale_embeddings=False, output_bias=True
    ),
    "two vocabularies, silu": lambda: tiny.translator(
        "bpe", joint=False, activation="silu", output_bias=True
    ),
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
