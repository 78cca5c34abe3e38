"""What goes wrong where two processes train: the other one never waits for ever, and nothing is lost."""

import random
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest
import short_runs
from ranked import NONE, start_ranks, torchrun, train

from pellucid.config.toml_file import to_toml
from pellucid.folder.checkpoint import newest_state
from pellucid.learning import ranks

SETTINGS = {"training.checkpoint_every": 2, "training.validate_every": 3, "training.steps": 8}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    config = short_runs.config(tmp_path / "data", SETTINGS)
    (tmp_path / "c.toml").write_text(to_toml(config))
    return tmp_path


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same training, with nothing wrong."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "c.toml").write_text(to_toml(short_runs.config(folder / "data", SETTINGS)))
    ended(torchrun(2, *train(folder)), 0)
    return folder / "run"


def ended(ran: "subprocess.CompletedProcess[str]", code: int) -> str:
    assert ran.returncode == code, ran.stderr
    return ran.stderr


def run(folder: Path, fault: str, *settings: str, out: str = "run") -> list[tuple[int, str]]:
    """Train with a fault; return the exit code and the standard error of each process. Those with a fault
    that stops them are killed when the others have ended."""
    both = start_ranks(2, *train(folder, *settings, out=out), fault=fault)
    faulty, ended_at = int(fault.split()[-2]), 0.0
    if fault.startswith(("hanging", "killed")):
        both[1 - faulty].wait(timeout=120)
        ended_at = time.time()
        both[faulty].kill()
    found = [(each.wait(timeout=120), each.communicate()[1]) for each in both]
    if (came := re.search(r"the fault comes at (\S+)", found[faulty][1])) and ended_at:
        print(f"{fault}: the other one ended {ended_at - float(came[1]):.1f} s later")
    print(found)
    return found


def resumed(folder: Path, whole: Path, count: int = 2) -> None:
    """Go on, and see that nothing was lost."""
    ended(torchrun(count, *train(folder, "--resume")), 0)
    if count == 2:
        assert short_runs.same_run(whole, folder / "run")


# One is gone, or hangs


def test_the_others_end_within_half_a_minute() -> None:
    assert ranks.SILENT + ranks.CUT_OFF + 3 * ranks.BEAT < 30


@pytest.mark.parametrize(
    ("fault", "lost"),
    [
        ("killed learn 1 4", 1),
        pytest.param("killed learn 0 4", 0, marks=pytest.mark.slow),
        pytest.param("hanging learn 1 4", 1, marks=pytest.mark.slow),
        pytest.param("hanging learn 0 4", 0, marks=pytest.mark.slow),
        pytest.param("hanging validate 0 1", 0, marks=pytest.mark.slow),
        pytest.param("hanging save 0 2", 0, marks=pytest.mark.slow),
        pytest.param("hanging validate 0 4", 0, marks=pytest.mark.slow),  # of the average
        pytest.param("killed save 0 2", 0, marks=pytest.mark.slow),
    ],
)
def test_the_other_ends_and_names_it(
    fault: str, lost: int, folder: Path, request: pytest.FixtureRequest
) -> None:
    found = run(folder, fault)
    code, message = found[1 - lost]
    assert found[lost][0] == -9 and code == 1
    assert f"rank {lost} of 2 gives no sign of life" in message and "--resume" in message
    if fault != "killed learn 1 4":  # which is the fast one
        resumed(folder, request.getfixturevalue("whole"))


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["killed learn 1 4", "killed save 0 3", "killed learn 0 6"])
def test_torchrun_goes_on_by_itself(fault: str, folder: Path, whole: Path) -> None:
    message = ended(torchrun(2, *train(folder), fault=fault, restarts=1), 0)
    assert "going on from step" in message
    assert short_runs.same_run(whole, folder / "run")


@pytest.mark.slow
def test_a_sharded_training_goes_on_too(folder: Path) -> None:
    sharded = "training.sharded=true"
    ended(torchrun(2, *train(folder, sharded, out="whole")), 0)
    ended(torchrun(2, *train(folder, sharded), fault="killed learn 1 4", restarts=1), 0)
    ended(torchrun(2, *train(folder, sharded, out="stopped"), fault="SIGTERM learn 0 5"), 1)
    ended(torchrun(2, *train(folder, sharded, "--resume", out="stopped")), 0)
    assert all(short_runs.same_run(folder / "whole", folder / out) for out in ("run", "stopped"))


@pytest.mark.slow
def test_killed_at_any_moment_it_goes_on(folder: Path, whole: Path) -> None:
    seed = random.randrange(10**6)
    print("seed", seed)
    chance = random.Random(seed)
    for _ in range(8):
        both = start_ranks(2, *train(folder, "--resume", "training.checkpoint_every=1"))
        while not (folder / "run" / "metrics.jsonl").exists() and both[0].poll() is None:
            time.sleep(0.05)
        time.sleep(chance.uniform(0, 2))
        for rank in chance.sample(both, 2):
            rank.kill()
            time.sleep(chance.uniform(0, 0.1))
        for rank in both:
            rank.communicate(timeout=60)
        saved = newest_state(folder / "run")
        if saved:
            assert all(tensor.isfinite().all() for tensor in saved.tensors.values())
    resumed(folder, whole)


# Signals


@pytest.mark.slow
@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGINT", 130)])
@pytest.mark.parametrize("rank", [0, 1])
def test_a_signal_to_one_ends_all(name: str, code: int, rank: int, folder: Path, whole: Path) -> None:
    found = run(folder, f"{name} learn {rank} 4")
    assert [each for each, _ in found] == [code, code]
    assert "at step 4; everything is saved in" in found[0][1]
    saved = newest_state(folder / "run")
    assert saved and saved.step == 4
    resumed(folder, whole)


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 1])
def test_a_second_signal_is_immediate(rank: int, folder: Path, whole: Path) -> None:
    found = run(folder, f"SIGTERM twice learn {rank} 4")
    assert found[rank][0] == 143 and found[1 - rank][0] in (1, 143)
    saved = newest_state(folder / "run")
    assert saved and saved.step == 2
    resumed(folder, whole)


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 1])
def test_under_torchrun_a_signal_to_one_saves(rank: int, folder: Path, whole: Path) -> None:
    message = ended(torchrun(2, *train(folder), fault=f"SIGTERM learn {rank} 5"), 1)
    assert f"rank      : {rank}" in message or "exitcode  : 143" in message
    saved = newest_state(folder / "run")
    assert saved and saved.step == 5
    resumed(folder, whole)


# Disks, memory, numbers


@pytest.mark.slow
def test_a_full_disk_ends_both(folder: Path, whole: Path) -> None:
    found = run(folder, "disk full learn 0 4")
    assert found[0][0] == 1 and "cannot be written: " in found[0][1]
    assert found[1][0] != 0 and "rank 0" in found[1][1]
    saved = newest_state(folder / "run")
    assert saved and saved.step == 2
    resumed(folder, whole)


@pytest.mark.slow
def test_a_full_disk_where_nothing_is_written_does_not_matter(folder: Path, whole: Path) -> None:
    assert [code for code, _ in run(folder, "disk full learn 1 2")] == [0, 0]
    assert short_runs.same_run(whole, folder / "run")


@pytest.mark.slow
def test_a_folder_that_cannot_be_ends_both_before_the_first_step(folder: Path) -> None:
    (folder / "file").write_text("in the way")
    found = run(folder, NONE, out="file/run")
    assert "is a file" in found[0][1] and [code for code, _ in found] == [2, 2]


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 1])
def test_memory_that_is_full_in_one_splits_the_step_of_both(rank: int, folder: Path) -> None:
    found = run(folder, f"memory full loss {rank} 1+")
    assert [code for code, _ in found] == [0, 0], found
    assert all(entry["split"] > 1 for entry in short_runs.metrics(folder / "run"))


@pytest.mark.slow
def test_memory_that_is_full_where_it_was_enough_before_ends_both(folder: Path, whole: Path) -> None:
    found = run(folder, "memory full loss 1 4+")
    assert [code for code, _ in found] == [1, 1], found
    assert "rank 1 of 2 has no memory for the batch with the lines" in found[1][1]
    assert "rank 1 of 2" in found[0][1]
    resumed(folder, whole)


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 1])
def test_what_is_no_number_in_one_skips_the_step_of_both(rank: int, folder: Path) -> None:
    found = run(folder, f"not a number loss {rank} 3")
    assert [code for code, _ in found] == [0, 0], found
    assert [entry["skipped"] for entry in short_runs.metrics(folder / "run")] == [n == 3 for n in range(1, 9)]


@pytest.mark.slow
def test_too_many_such_steps_end_both_with_the_lines(folder: Path) -> None:
    found = run(folder, "not a number loss 1 3+", "training.max_skipped=2")
    assert [code for code, _ in found] == [1, 1]
    assert re.search(
        r"finite in 3 steps in a row, the last of them step 5 with the lines .*:\d+", found[0][1]
    )


# What is read before the first step


@pytest.mark.slow
def test_other_settings_and_broken_files_are_refused_in_both(folder: Path) -> None:
    ended(torchrun(2, *train(folder)), 0)
    found = run(folder, NONE, "--resume", "training.peak_rate=0.5")
    assert [code for code, _ in found] == [2, 2]
    assert "training.peak_rate: 0.01 -> 0.5" in found[0][1]
    state = newest_state(folder / "run")
    assert state
    for step in sorted((folder / "run" / "checkpoints").iterdir())[:-1]:
        shutil.rmtree(step)
    file = folder / "run" / "checkpoints" / f"step-{state.step}" / "tensors.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    found = run(folder, NONE, "--resume", "training.steps=9")
    assert [code for code, _ in found] == [1, 1]
    assert all(str(file) in message for _, message in found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("setting", "code", "said"),
    [
        ("model.encoder_layers=1000000000", 2, "[model] encoder_layers = 1000000000"),
        ("training.peak_rate=nan", 2, "[training] peak_rate = nan"),
        ("training.pace=1", 2, "pace"),
        ("vocabulary.model=['junk.model']", 1, "junk.model"),
    ],
)
def test_what_no_training_can_use_ends_both(setting: str, code: int, said: str, folder: Path) -> None:
    (folder / "junk.model").write_bytes(random.Random(1).randbytes(1000))
    found = run(folder, NONE, setting)
    assert [each for each, _ in found] == [code, code]
    assert said in found[0][1] and not (folder / "run").exists()


@pytest.mark.slow
def test_a_second_training_is_refused_and_ends(folder: Path, whole: Path) -> None:
    first = start_ranks(2, *train(folder), fault="hanging save 0 3")
    while not (folder / "run" / "checkpoints" / "step-2").exists():
        time.sleep(0.1)
    found = run(folder, NONE, "--resume")
    assert "another training run is using this folder" in found[0][1]
    assert [code != 0 for code, _ in found] == [True, True]
    for rank in first:
        rank.kill()
        rank.communicate()
    resumed(folder, whole)
