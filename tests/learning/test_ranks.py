"""Two real processes train together, started by torchrun: they learn what one process learns."""

import socket
from pathlib import Path

import pytest
import short_runs
import torch
from ranked import torchrun, train

from pellucid.config.toml_file import to_toml
from pellucid.errors import PellucidError
from pellucid.folder.load import load_model
from pellucid.learning.ranks import Ranks, joined, rank_here


def losses(run: Path) -> list[float]:
    return [entry["loss"] for entry in short_runs.metrics(run)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    settings = {"model.dropout": 0.0, "model.attention_dropout": 0.0, "training.steps": 6}
    config = short_runs.config(tmp_path / "data", settings | {"training.accumulate": 2})
    (tmp_path / "c.toml").write_text(to_toml(config))
    return tmp_path


def test_two_processes_learn_what_one_learns(folder: Path) -> None:
    alone, both = torchrun(1, *train(folder, out="alone")), torchrun(2, *train(folder))
    assert alone.returncode == 0 == both.returncode, alone.stderr + both.stderr
    assert len(losses(folder / "run")) == 6 and both.stderr.count("The model is in") == 1
    assert losses(folder / "run") == pytest.approx(losses(folder / "alone"), abs=1e-6)


@pytest.mark.parametrize(
    "given", [{"RANK": "x"}, {"RANK": "2", "WORLD_SIZE": "2"}, {"SLURM_PROCID": "-1", "SLURM_NTASKS": "2"}]
)
def test_a_wrong_environment_is_told(given: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(PellucidError, match="the environment says that this is process"):
        rank_here()


def test_a_first_process_that_cannot_answer_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"}.items():
        monkeypatch.setenv(name, value)
    with socket.create_server(("", 0)) as other:
        for port in (str(other.getsockname()[1]), "x", "99999"):
            monkeypatch.setenv("MASTER_PORT", port)
            said = rf"process 0 of 2 does not meet the others .* MASTER_PORT '{port}': "
            with pytest.raises(PellucidError, match=said), joined():
                pass


@pytest.mark.slow
@pytest.mark.parametrize("sharded", ["false", "true"])
def test_another_number_of_processes_goes_on(sharded: str, folder: Path) -> None:
    for count, steps in ((2, 6), (1, 8), (2, 10)):
        to = [f"training.steps={steps}", f"training.sharded={sharded}"]
        more = ["--resume", "--accept", "training.sharded"] if steps > 6 else []
        done = torchrun(count, *train(folder, *to, *more))
        assert done.returncode == 0, done.stderr
    torchrun(1, *train(folder, "training.steps=10", out="alone"))
    assert len(losses(folder / "run")) == 10
    assert losses(folder / "run") == pytest.approx(losses(folder / "alone"), abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("sharded", ["false", "true"])
def test_what_is_frozen_stays_in_two_processes_too(sharded: str, folder: Path) -> None:
    frozen = 'training.frozen=["encoder.*"]'
    alone = torchrun(1, *train(folder, frozen, out="alone"))
    both = torchrun(2, *train(folder, frozen, f"training.sharded={sharded}"))
    assert alone.returncode == 0 == both.returncode, alone.stderr + both.stderr
    assert losses(folder / "run") == pytest.approx(losses(folder / "alone"), abs=1e-6)
    first, *_, last = (
        load_model(each).model.state_dict()
        for each in sorted((folder / "run" / "averaging" / "checkpoints").iterdir())
    )
    for name, tensor in last.items():
        stays = name.startswith("encoder.") or name.endswith(".key.bias")
        assert torch.equal(tensor, first[name]) == stays, name


def test_who_a_process_is_stands_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert rank_here() == Ranks(0, 1, 0)
    for name, value in {"SLURM_PROCID": "5", "SLURM_NTASKS": "8", "SLURM_LOCALID": "1"}.items():
        monkeypatch.setenv(name, value)
    assert rank_here() == Ranks(5, 8, 1)
    monkeypatch.setenv("RANK", "2")
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert (rank_here().number, rank_here().count, rank_here().is_first) == (2, 4, False)
