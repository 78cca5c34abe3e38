"""What imports and exports promise: nothing of a model is lost, and the comparisons see differences."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import random_translator
import tiny
import torch
from marian_folders import change, many_languages, opus
from random_translator import loaded
from torch import Tensor

from pellucid.config.schema import TranslationConfig
from pellucid.errors import PellucidError
from pellucid.interop import onnx_export
from pellucid.interop.exporting import export
from pellucid.interop.importing import load_folder
from pellucid.interop.parity import Parity, compare, compare_models, samples
from pellucid.interop.pieces import count_positions

SEARCH = TranslationConfig(
    beam=4, length_penalty=0.7, max_length=1500, suppressed=(9, 11), forced_end=True, no_repeat_ngram_size=3,
    repetition_penalty=1.5, early_stopping=True,
)  # fmt: skip


@pytest.mark.parametrize("early", [True, False])
def test_how_a_model_searches_goes_out_and_comes_back(early: bool, tmp_path: Path) -> None:
    translation = replace(SEARCH, early_stopping=early)
    ours = loaded(random_translator.translator())
    ours = ours._replace(config=replace(ours.config, translation=translation))
    export("huggingface", ours, tmp_path / "out", check=False)
    assert load_folder(tmp_path / "out").config.translation == translation
    assert json.loads((tmp_path / "out" / "config.json").read_text())["max_position_embeddings"] == 1500
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o755  # others may read it


def test_positions_reach_as_far_as_sources_and_translations() -> None:
    config = loaded(tiny.translator()).config
    longer = replace(config, translation=TranslationConfig(max_length=1500))
    assert (count_positions(config), count_positions(longer)) == (1024, 1500)
    assert count_positions(replace(config, data=replace(config.data, max_length=2000))) == 2000


def test_other_positions_alone_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        PellucidError, match=r'model: its positions are \[model\] positions = "fairseq"\. Exp'
    ):
        export("huggingface", loaded(tiny.translator("bpe", positions="fairseq")), tmp_path / "out")


@pytest.mark.parametrize(("value", "expected"), [(0.5, 0.5), (-0.5, 0.5), (float("nan"), float("inf"))])
@pytest.mark.parametrize("which", [0, 7])
def test_a_comparison_sees_one_number_of_one_sentence(which: int, value: float, expected: float) -> None:
    ours = loaded(random_translator.translator(end=1.5))
    calls: list[int] = []

    def theirs(source: Tensor, target: Tensor) -> Tensor:
        log_p = ours.model(source, None, target).log_softmax(-1)
        log_p[0, 0, 5] += value if len(calls) == which else 0
        calls.append(1)
        return log_p

    parity = compare(theirs, ours, "theirs")
    assert len(calls) == 8 == len([*samples(ours)]) and not parity.same
    assert parity.difference == pytest.approx(expected, rel=0.3)


def test_one_sentence_of_other_ids_is_another_function(tmp_path: Path) -> None:
    assert Parity("theirs", 8, 99, 0.0, same_ids=8).same
    other = Parity("theirs", 8, 99, 0.0, same_ids=7)
    with pytest.raises(PellucidError, match=r"NOT the same function.* 7 of the sentences get the same ids"):
        other.check(tmp_path)


def test_other_tokens_of_the_target_alone_are_noticed() -> None:
    one = loaded(tiny.translator("bpe", joint=False))
    vocabulary = one.vocabulary
    other = one._replace(vocabulary=replace(vocabulary, target=vocabulary.source))
    other = other._replace(config=one.config)
    said = compare_models(one, other, ("one", "other"))
    assert said == "one and other are different functions: they have other tokens."


def test_a_model_with_a_weight_that_is_no_number_is_another_function() -> None:
    one, other = (loaded(random_translator.translator(end=1.5)) for _ in range(2))
    with torch.no_grad():
        other.model.get_parameter("decoder.layers.0.cross_attention.value.bias")[3] = float("nan")
    said = compare_models(one, other, ("one", "other")).split("\n")
    assert said[0].endswith(
        "are different functions: log-probabilities of 8 sentences differ by at most inf."
    )
    assert said[1:] == ["They first differ in decoder.layers.0.cross_attention.values, by inf."]
    assert "are the same function" in compare_models(one, one, ("one", "one"))


def test_the_longest_source_and_a_forced_end_in_a_list_are_taken_over(tmp_path: Path) -> None:
    folder = opus(tmp_path / "opus")
    change(folder / "config.json", max_position_embeddings=640)
    change(folder / "generation_config.json", forced_eos_token_id=[0])
    config = load_folder(folder).config
    assert (config.data.max_length, config.translation.forced_end) == (640, True)


def test_only_codes_of_languages_are_languages(tmp_path: Path) -> None:
    many_languages(tmp_path, "nllb")
    content = json.loads((tmp_path / "tokenizer.json").read_text("utf-8"))
    content["added_tokens"].append({"id": 150, "content": "<ma_dem>"})
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    assert load_folder(tmp_path).vocabulary.target_languages == ("eng_Latn", "fra_Latn", "hin_Deva")


@pytest.mark.parametrize("at_most", [0, 2**30])
def test_weights_that_a_graph_cannot_hold_lie_beside_it(
    at_most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside: list[bool] = []

    class Program:
        def save(self, path: str, external_data: bool) -> None:
            beside.append(external_data)

    monkeypatch.setattr(onnx_export, "IN_ONE_FILE", at_most)
    monkeypatch.setattr(torch.onnx, "export", lambda *given, **how: Program())
    monkeypatch.setattr("onnx.checker.check_model", lambda *given, **how: None)
    model = tiny.translator().model
    graph = onnx_export.Graph(model, lambda model, given: {}, ())
    onnx_export._write_graph(graph, {"source": (torch.ones(1, 2), {})}, tmp_path / "graph.onnx")
    assert beside == [at_most == 0]
