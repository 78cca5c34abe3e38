"""kill -9 at random moments of many saves: nothing saved is lost, nothing is torn, nothing is left over."""

import collections
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from pellucid.folder.checkpoint import newest_state, recover
from pellucid.folder.load import load_model
from pellucid.folder.manifest import is_sealed

# Forks, as often as it is told to, a child that goes on from what it finds and saves until it is killed.
SAVER = """
import os, sys
import torch
from pathlib import Path
from pellucid.folder.checkpoint import newest_state, recover, save_model, save_state

torch.set_num_threads(1)
sys.path.insert(0, sys.argv[2])
from test_checkpoint import make

run, (model, vocabulary, config) = Path(sys.argv[1]), make()

def save_for_ever():
    recover(run)
    newest = newest_state(run)
    step = newest.step if newest else 0
    while True:
        step += 1
        tensors = {f"tensor {n}": torch.full((50_000,), float(step)) for n in range(10)}
        save_state(run, step, tensors, {"at": step})
        print("state", step, flush=True)
        if step % 3 == 0:
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.fill_(step)
            save_model(run, model, vocabulary, config, {"steps": step})
            print("model", step, flush=True)

for line in sys.stdin:
    child = os.fork()
    if child == 0:
        save_for_ever()
    print("child", child, flush=True)
    os.waitpid(child, 0)
    print("ended", child, flush=True)
"""


def stage(run: Path) -> str:
    """What a killed saver was doing, from what it left."""
    folders = {int(path.name[5:]): path for path in (run / "checkpoints").glob("step-*")}
    sealed = [step for step, path in folders.items() if is_sealed(path)]
    for step, path in folders.items():
        if not is_sealed(path):
            is_old = any(step < other for other in sealed)
            begun = any(file.stat().st_size for file in path.iterdir())
            return (
                "removing a checkpoint"
                if is_old
                else "writing a checkpoint"
                if begun
                else "making its folder"
            )
    if (run / ".new").exists():
        return "replacing the model" if is_sealed(run / ".new") else "writing a model"
    return "between saves"


def kill_one(saver: "subprocess.Popen[str]", run: Path, chance: random.Random) -> dict[str, int]:
    """Starts a child, kills it at some moment, and says which state and model it had saved by then."""
    assert saver.stdin and saver.stdout
    saver.stdin.write("go\n")
    saver.stdin.flush()
    said: dict[str, int] = {}
    after = chance.randint(1, 4)
    for word, number in map(str.split, iter(saver.stdout.readline, "")):
        said[word] = int(number)
        if "child" in said and said.get("state", 0) and (after := after - 1) <= 0:
            break
    if chance.random() < 0.8:  # most moments lie between two saves, so most kills wait for a save to begin
        deadline = time.monotonic() + 2
        while time.monotonic() < deadline and all(map(is_sealed, (run / "checkpoints").glob("step-*"))):
            time.sleep(0.0001)
        time.sleep(chance.random() * 0.003)
    else:
        time.sleep(chance.random() * 0.03)
    os.kill(said["child"], signal.SIGKILL)
    for word, number in map(str.split, iter(saver.stdout.readline, "")):
        said[word] = int(number)
        if word == "ended":
            break
    return said


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kill -9 is a Unix signal")
def test_twenty_kills_lose_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chance, stages = random.Random(0), collections.Counter[str]()
    command = [sys.executable, "-c", SAVER, str(tmp_path), str(Path(__file__).parent)]
    saver = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        while stages.total() < 20 or stages["writing a checkpoint"] < 10:
            said = kill_one(saver, tmp_path, chance)
            stages[stage(tmp_path)] += 1
            assert stages.total() <= 80, f"too few kills hit a checkpoint that was being written: {stages}"
            check(tmp_path, said)
    finally:
        saver.kill()
        saver.communicate()
    with capsys.disabled():
        print(f"\n{stages.total()} kills: " + ", ".join(f"{stage} {n}" for stage, n in stages.most_common()))


def check(run: Path, said: dict[str, int]) -> None:
    """What was said to be saved is there, whole, for a reader now and for the next start."""
    read = load_model(run).manifest["provenance"]["steps"] if "model" in said else None
    recover(run)
    newest = newest_state(run)  # any warning would be an error
    assert newest is not None and newest.step in (said["state"], said["state"] + 1)
    assert newest.state == {"at": newest.step} and len(newest.tensors) == 10
    assert all(bool((tensor == newest.step).all()) for tensor in newest.tensors.values())
    assert all(map(is_sealed, (run / "checkpoints").iterdir()))
    assert not (run / ".new").exists()
    if read is not None:
        model, _, _, manifest = load_model(run)
        assert manifest["provenance"]["steps"] == read in (said["model"], said["model"] + 3)
        assert all(
            torch.equal(tensor, torch.full_like(tensor, read)) for tensor in model.state_dict().values()
        )
