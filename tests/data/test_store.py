"""Prepared text: the same pairs and batches as from its files, written once whatever stops it."""

import os
import random
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import short_runs

import pellucid
from pellucid.config.toml_file import to_toml
from pellucid.data import sifting
from pellucid.data.processes import several
from pellucid.errors import PellucidError, UsageError
from pellucid.learning.preparing import prepare

PROGRAM = """
import sys
from pathlib import Path
from pellucid.config.toml_file import read
from pellucid.data import sifting
from pellucid.learning.preparing import prepare
if __name__ == "__main__":
    sifting.LINES = 5
    prepare(read(sys.argv[1]), Path(sys.argv[2]), 2, print)
"""


def text(folder: Path, settings: Mapping[str, Any] | None = None) -> pellucid.Config:
    """A short run on two corpora of which some lines are left out, repeated and held out."""
    pairs = [*short_runs.pairs(70), ("", "a"), *short_runs.pairs(9)]
    random.Random(3).shuffle(pairs)
    config = short_runs.config(folder, short_runs.SAMPLED | (settings or {}))
    train = [short_runs.write(folder, name, part) for name, part in (("a", pairs[:23]), ("b", pairs[23:]))]
    return changed(config, train=train, validation=(), held_out=8, remove_duplicates=True)


def changed(config: pellucid.Config, **data: Any) -> pellucid.Config:
    values = vars(config.data) | data
    return pellucid.Config(**vars(config) | {"data": pellucid.DataConfig(**values)})


def contents(folder: Path) -> dict[str, bytes]:
    """The files in a folder, without the lock."""
    paths = (path for path in folder.rglob("*") if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


@pytest.fixture
def in_small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sifting, "LINES", 5)


@pytest.mark.usefixtures("in_small_chunks")
@pytest.mark.parametrize("settings", [{}, {"vocabulary.sampling": 0.0}], ids=str)
def test_a_training_on_prepared_text_is_one_on_its_files(tmp_path: Path, settings: dict[str, Any]) -> None:
    config, said = text(tmp_path / "data", settings), list[str]()
    lines = list[str]()
    prepare(config, tmp_path / "prepared", 2, lines.append)
    for folder in (tmp_path / "data").iterdir():
        folder.unlink()  # no training reads them
    prepared = changed(config, prepared=tmp_path / "prepared")
    pellucid.train(prepared, tmp_path / "one", show=False, report=said.append)
    config = text(tmp_path / "data", settings)
    pellucid.train(config, tmp_path / "two", show=False, report=lines.append)
    assert said == lines[3:] and said[0].startswith("training data: 80 pairs read, 62 kept; 1 empty, 9 repe")
    assert said[1] == "an epoch has 62 pairs: a.source 30.6% (has 19), b.source 69.4% (has 43)"
    assert short_runs.same_run(tmp_path / "one", tmp_path / "two")


def test_a_file_to_validate_on_may_be_called_as_one_to_learn_from(tmp_path: Path) -> None:
    pairs = short_runs.pairs(78)
    train, validation = (
        (tuple(short_runs.write(tmp_path / part, "text", some)),)
        for part, some in (("train", pairs[8:]), ("valid", pairs[:8]))
    )
    config = changed(short_runs.config(tmp_path / "data"), train=train, validation=validation)
    prepare(config, tmp_path / "prepared", 1, print)
    pellucid.train(changed(config, prepared=tmp_path / "prepared"), tmp_path / "run", show=False)


@pytest.mark.slow
def test_kills_at_random_moments_change_no_byte(tmp_path: Path) -> None:
    seed = random.randrange(10**6)
    print("seed", seed)
    chance = random.Random(seed)
    (tmp_path / "toy.toml").write_text(to_toml(text(tmp_path / "data")), "utf-8")
    (tmp_path / "program.py").write_text(PROGRAM, "utf-8")
    seconds = list[float]()
    for name in ("whole", *["parts"] * 4, "parts"):
        began = time.monotonic()
        command = [sys.executable, "program.py", "toy.toml", name]
        with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL) as process:
            if 0 < len(seconds) < 5:
                time.sleep(chance.uniform(0.4, 1) * seconds[0])
                process.kill()
        seconds.append(time.monotonic() - began)
    whole = contents(tmp_path / "whole")
    assert contents(tmp_path / "parts") == whole and len(whole) == 6


@pytest.mark.usefixtures("in_small_chunks")
def test_a_prepared_text_is_checked(tmp_path: Path) -> None:
    config, said, out = text(tmp_path / "data"), list[str](), tmp_path / "prepared"
    nowhere = changed(config, prepared=tmp_path / "nowhere")
    with pytest.raises(UsageError, match=r"prepared = .*nowhere: no prepared text, or one that is not fin"):
        pellucid.train(nowhere, tmp_path / "run", show=False)
    for name in ("examples", "shards", "vocabulary", "notes"):
        (tmp_path / name / name).mkdir(parents=True)
        with pytest.raises(UsageError, match=f"{name} holds other files, and these must stay"):
            prepare(config, tmp_path / name, 1, said.append)
        assert [*(tmp_path / name).rglob("*")] == [tmp_path / name / name]
    prepare(config, out, 1, said.append)
    prepare(config, out, 1, said.append)
    assert said[-1] == f"{out} is prepared already, and all its hashes are right"
    wrong = f"{out}: this text was prepared from other files or with other settings: "
    for other in (changed(config, max_length=9), changed(config, max_length=9, prepared=out)):
        with pytest.raises(UsageError) as error:
            if other.data.prepared:
                pellucid.train(other, tmp_path / "run", show=False)
            else:
                prepare(other, out, 1, said.append)
        assert str(error.value).startswith(f"{wrong}max_length = 9 (there 256). Restore these, or prepare ")
    with open(config.data.train[0][0], "a") as file:
        file.write("more\n")
    with pytest.raises(UsageError, match=r"a\.source has the SHA-256 \w{12} \(there \w{12}\)\. Restore"):
        prepare(config, out, 1, said.append)
    text(tmp_path / "data")
    with open(out / "examples" / "ids", "r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"x")
    with pytest.raises(PellucidError, match=r"examples/ids: its SHA-256 is "):
        prepare(config, out, 1, said.append)


def test_a_text_of_which_a_process_dies_says_how_to_go_on() -> None:
    with (
        pytest.raises(PellucidError, match=r"has ended: .* The same command goes on where it stopped; fewer"),
        several(1) as run,
    ):
        list(run(os._exit, [1]))
