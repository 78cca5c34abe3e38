"""Several seeds of a training, and the table that is made from metrics."""

import json
import os
import random
import statistics
from pathlib import Path

import pytest
import short_runs
from command import Command

from pellucid.errors import PellucidError
from pellucid.learning import run
from pellucid.learning.results import results_page
from pellucid.learning.run import training
from pellucid.learning.stop import Interrupted


def configured(folder: Path) -> Path:
    """A configuration of a few steps as a file."""
    import tomli_w

    folder.mkdir()
    config = {**short_runs.SETTINGS, "data": {}}
    for part, pairs in (("train", short_runs.pairs(68)[8:]), ("validation", short_runs.pairs(68)[:8])):
        config["data"][part] = short_runs.write(folder, part, pairs)
    path = folder / "few.toml"
    path.write_text(tomli_w.dumps(config), "utf-8")
    return path


def test_seeds_train_as_each_alone_would_and_their_mean_is_told(
    pellucid: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, out = configured(tmp_path / "text"), tmp_path / "three"
    command = "train", config, "--out", out, "--seeds", 3

    def stopped(config: object, out: Path, *asked: object) -> object:
        yield from training(config, out, *asked)  # type: ignore[arg-type]
        if out.name == "seed-2":
            raise Interrupted("stopped.")

    with monkeypatch.context() as patch:
        patch.setattr(run, "training", stopped)
        outcome = pellucid(*command)
    assert outcome.code == 130 and outcome.err.endswith(f"--out {out} --seeds 3 --resume\n")
    assert not (out / "seed-3").exists()
    outcome = pellucid(*command, "--resume")
    assert outcome.code == 0, outcome.err
    alone = tmp_path / "alone"
    assert pellucid("train", config, "--out", alone, "--set", "training.seed=2").code == 0
    assert short_runs.same_run(alone, out / "seed-2")
    page = (out / "results.md").read_text("utf-8")
    assert page in outcome.err and pellucid("results", out, *sorted(out.glob("seed-*"))).out == page
    rows = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in page.splitlines()]
    assert [row[:2] for row in rows[2:]] == [["three", "3"], *([f"seed-{n}", "1"] for n in (1, 2, 3))]
    losses = []
    for n in (1, 2, 3):
        scores = json.loads((out / f"seed-{n}" / "MANIFEST.json").read_text())["provenance"]["scores"]
        losses.append(scores["validation"]["loss"])
        assert (
            rows[2 + n][5] == f"{losses[-1]:.3f}" and rows[2 + n][2] == f"{scores['validation']['bleu']:.2f}"
        )
    assert rows[2][5] == f"{statistics.fmean(losses):.3f} ± {statistics.stdev(losses):.3f}"


def test_what_seeds_and_results_refuse(pellucid: Command, tmp_path: Path) -> None:
    config = configured(tmp_path / "text")
    outcome = pellucid("train", config, "--seeds", 2, "--set", "data.validation=[]", "--out", tmp_path / "x")
    assert outcome.code == 2 and "--seeds 2 compares validations, and there is no text" in outcome.err
    assert pellucid("results", tmp_path).err == (
        f"pellucid: {tmp_path}: no metrics.jsonl, here or in seed-1, … Name the folder of a run.\n"
    )
    (tmp_path / "metrics.jsonl").write_text('{"step": 1, "seconds": 1.0}\n{"step"')
    with pytest.raises(PellucidError, match="this run has not validated yet"):
        results_page([tmp_path])


def test_of_any_run_the_kept_model_counts(tmp_path: Path) -> None:
    """Metrics are drawn: with an average or without, the average kept or a step, or a run at work."""
    seed = int(os.environ.get("SEED") or random.randrange(10**6))
    print(f"SEED={seed}")
    chance = random.Random(seed)
    for number in range(int(os.environ.get("ROUNDS", 20))):
        steps = sorted(chance.sample(range(1, 5000), chance.randint(1, 6)))
        entries, told = [], {}
        for step in steps:
            told[step] = {name: chance.uniform(0, 100) for name in ("bleu", "chrf", "exact", "loss")}
            entries += [{"step": step - 0.5, "seconds": step}, {"step": step, "validation": told[step]}]
        expected = told[steps[-1]]
        if chance.random() < 0.7:
            validation = {name: chance.uniform(0, 100) for name in expected}
            kept = chance.choice([*steps, 0])
            expected = told.get(kept, validation)
            what = f"step {kept}" if kept else "average of steps 1, 2"
            entries.append({"step": steps[-1], "average": [1, 2], "validation": validation, "kept": what})
        file = tmp_path / f"{number}.jsonl"
        file.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
        row = [cell.strip() for cell in results_page([file]).splitlines()[2].strip("|").split("|")]
        shown = [f"{expected[name]:.{3 if name == 'loss' else 2}f}" for name in expected]
        assert row[2:6] == shown and row[7] == f"{steps[-1] / 60:.1f}"


@pytest.mark.parametrize(
    "line", ["not JSON", "[1]", "7", '{"step": 1, "validation": {}}', '{"validation": null}']
)
def test_a_file_that_is_no_metrics_is_told(pellucid: Command, tmp_path: Path, line: str) -> None:
    file = tmp_path / "other.jsonl"
    file.write_text(f"{line}\n", "utf-8")
    outcome = pellucid("results", file)
    assert (
        outcome.code == 1 and outcome.err.startswith(f"pellucid: {file}: ") and outcome.err.count("\n") == 1
    )
