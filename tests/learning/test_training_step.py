"""A checkpoint of a training run is a translator too: two of them stand side by side in a page."""

from pathlib import Path

import pytest
import short_runs
import torch
from safetensors.torch import load_file

import pellucid
from pellucid.errors import PellucidError

SETTINGS = {"training.checkpoint_every": 2, "training.keep_checkpoints": 3}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("steps")
    for _ in pellucid.training(short_runs.config(folder / "data", SETTINGS), folder / "run"):
        pass
    return folder / "run"


def test_each_step_has_its_own_weights_and_the_last_is_the_last_model(run: Path) -> None:
    weights = {}
    for step in (2, 4, 6):
        folder = run / "checkpoints" / f"step-{step}"
        weights[step] = pellucid.load(folder, "cpu").model.state_dict()
        stored = load_file(folder / "tensors.safetensors")
        assert {f"model.{name}" for name in weights[step]} == {n for n in stored if n.startswith("model.")}
        assert all(torch.equal(value, stored[f"model.{name}"]) for name, value in weights[step].items())
    last = pellucid.load(run / "last", "cpu").model.state_dict()
    assert all(torch.equal(last[name], weights[6][name]) for name in last)
    assert not all(torch.equal(weights[2][name], weights[6][name]) for name in last)


@pytest.fixture(scope="module")
def unvalidated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was left at step 2, before its first validation."""
    folder = tmp_path_factory.mktemp("unvalidated")
    for step in pellucid.training(short_runs.config(folder / "data", SETTINGS), folder / "run"):
        if step.number == 2:
            break
    del step
    return folder / "run"


def test_the_model_that_is_named_loads_and_python_names_it_too(unvalidated: Path, tmp_path: Path) -> None:
    with pytest.raises(PellucidError, match="Its model as of step 2 is ") as error:
        pellucid.load(unvalidated, "cpu")
    named = str(error.value).removesuffix(".").rpartition(" is ")[2]
    assert pellucid.load(named, "cpu").translate("ab").text is not None
    config = short_runs.config(tmp_path / "data", {"training.start_from": str(unvalidated)})
    with pytest.raises(PellucidError, match="Its model as of step 2 is "):
        pellucid.train(config, tmp_path / "run")
