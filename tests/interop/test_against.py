"""Whether two folders are the same function, in words."""

from pathlib import Path

import pytest
import random_translator
import torch
from command import Command

from pellucid.folder.checkpoint import save_model


def save(folder: Path, seed: int = 0, change: str = "") -> Path:
    translator = random_translator.translator(seed=seed, end=1.5)
    if change:
        with torch.no_grad():
            translator.model.get_parameter(change)[3] += 0.1
    save_model(folder, translator.model, translator.vocabulary, translator.config, {})
    return folder


def test_a_model_and_its_exports_are_the_same_function(tmp_path: Path, pellucid: Command) -> None:
    pytest.importorskip("ctranslate2")
    ours = save(tmp_path / "ours")
    for program in ("huggingface", "ctranslate2"):
        assert pellucid("export", program, ours, tmp_path / program).code == 0
        said = pellucid("inspect", ours, "--against", tmp_path / program)
        assert said.code == 0
        assert f"{ours} and {tmp_path / program} are the same function: log-probabilities of 8" in said.out
    assert pellucid("inspect", tmp_path / "ctranslate2", "--against", ours).out == said.out
    said = pellucid("inspect", save(tmp_path / "other", seed=1), "--against", tmp_path / "ctranslate2")
    assert "are different functions: log-probabilities of 8 sentences differ by at most" in said.out
    for argv in (["inspect", "MODEL"], ["import", "MODEL", tmp_path / "in"], ["translate", "MODEL"]):
        said = pellucid(*[tmp_path / "ctranslate2" if each == "MODEL" else each for each in argv])
        assert said.code == 1 and "this is a CTranslate2 model, which shows no tensors" in said.err


@pytest.mark.parametrize(
    ("changed", "first"),
    [
        ("encoder.layers.1.feed_forward.outer.weight", "encoder.layers.1.feed_forward.output"),
        ("decoder.layers.0.cross_attention.value.bias", "decoder.layers.0.cross_attention.values"),
    ],
)
def test_the_first_tensor_that_differs_is_named(
    changed: str, first: str, tmp_path: Path, pellucid: Command
) -> None:
    ours, other = save(tmp_path / "ours"), save(tmp_path / "other", change=changed)
    assert pellucid("export", "huggingface", other, tmp_path / "marian", "--no-check").code == 0
    for folder in (other, tmp_path / "marian"):
        said = pellucid("inspect", ours, "--against", folder)
        assert f"They first differ in {first}, by " in said.out


def test_other_shapes_and_tokens_are_other_functions(tmp_path: Path, pellucid: Command) -> None:
    said = pellucid("inspect", save(tmp_path / "ours"), "--against", "demo")
    assert "are different functions: their shapes differ, vocabulary = 48 (there " in said.out
