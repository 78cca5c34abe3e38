"""Several seeds of a training, and the table that is made from metrics."""

import json
import os
import random
import signal
import statistics
from pathlib import Path
from typing import Any

import pytest
import short_runs
from command import Command

import pellucid as library
from pellucid.errors import PellucidError
from pellucid.learning import run
from pellucid.learning.results import results_page
from pellucid.learning.run import training
from pellucid.learning.setting_up import Run
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


def test_a_signal_while_one_seed_ends_begins_no_other(
    pellucid: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish, out = run.finish, tmp_path / "two"

    def stopped(state: Run) -> object:
        os.kill(os.getpid(), signal.SIGTERM)
        return finish(state)

    monkeypatch.setattr(run, "finish", stopped)
    outcome = pellucid("train", configured(tmp_path / "text"), "--out", out, "--seeds", 2)
    assert outcome.code == 143 and f"stopped by SIGTERM; {out / 'seed-1'} is done." in outcome.err
    assert (out / "seed-1" / "weights.safetensors").exists() and not (out / "seed-2").exists()


def test_what_seeds_and_results_refuse(pellucid: Command, tmp_path: Path) -> None:
    config = configured(tmp_path / "text")
    outcome = pellucid("train", config, "--seeds", 2, "--set", "data.validation=[]", "--out", tmp_path / "x")
    assert outcome.code == 2 and "--seeds 2 compares validations, and there is no text" in outcome.err
    assert pellucid("results", tmp_path).err == (
        f"pellucid: {tmp_path}: no metrics.jsonl, here or in seed-1, … Name the folder of a run.\n"
    )
    run = library.train(short_runs.config(tmp_path / "data"), tmp_path / "run")
    outcome = pellucid("train", config, "--seeds", 2, "--out", run)
    assert outcome.code == 2 and f"{run} holds a training run. For several seeds, choose" in outcome.err
    (tmp_path / "metrics.jsonl").write_text('{"step": 1, "seconds": 1.0}\n{"step"')
    for lines in (None, ""):
        if lines is not None:
            (tmp_path / "metrics.jsonl").write_text(lines)
        with pytest.raises(PellucidError, match="this run has not validated yet"):
            results_page([tmp_path])


class Validated:
    """Draws what validations find, and remembers it."""

    def __init__(self, chance: random.Random) -> None:
        self.chance, self.told = chance, dict[str, dict[str, float | str]]()

    def __call__(self, name: str) -> dict[str, Any]:
        scores = [self.chance.choice([self.chance.uniform(0, 100), "nan"]) for _ in range(4)]
        self.told[name] = dict(zip(("bleu", "chrf", "exact", "loss"), scores, strict=True))
        return {"validation": self.told[name]}


def test_of_any_run_the_kept_model_counts(tmp_path: Path) -> None:
    """Metrics are drawn: with an average or without, of a run that went on after its end, or began with a
    model; kept is one of them, or none yet, for the run is at work."""
    seed = int(os.environ.get("SEED") or random.randrange(10**6))
    print(f"SEED={seed}")
    chance = random.Random(seed)
    for number in range(int(os.environ.get("ROUNDS", 20))):
        steps = [0, *sorted(chance.sample(range(1, 5000), chance.randint(1, 6)))]
        entries: list[dict[str, Any]] = []
        validated = Validated(chance)
        for step in steps:
            entries += [{"step": step - 0.5, "seconds": step}, {"step": step} | validated(f"step {step}")]
            if step != steps[-1] and chance.random() < 0.3:  # an end, after which the run went on
                average = {"average": [step - 1, step]} | validated(f"average of steps {step - 1}, {step}")
                entries.append({"step": step, "kept": f"step {step}"} | average)
        expected = next(entry for entry in reversed(entries) if "validation" in entry)["validation"]
        if chance.random() < 0.7:
            average = {"average": [steps[-1]]} | validated(f"average of step {steps[-1]}")
            kept = chance.choice([*validated.told])
            expected, kept = validated.told[kept], kept + ", the model of x" * (kept == "step 0")
            entries.append({"step": steps[-1], "kept": kept} | average)
        elif chance.random() < 0.5:
            kept = chance.choice([*validated.told])
            expected = validated.told[kept]
            entries.append({"step": steps[-1], "kept": kept})
        file = tmp_path / f"{number}.jsonl"
        file.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
        row = [cell.strip() for cell in results_page([file]).splitlines()[2].strip("|").split("|")]
        shown = [f"{float(expected[name]):.{3 if name == 'loss' else 2}f}" for name in expected]
        assert row[2:6] == shown and row[7] == f"{steps[-1] / 60:.1f}"


@pytest.mark.parametrize(
    "line",
    [
        b"not JSON",
        b"[1]",
        b"7",
        b'{"step": 1, "validation": {}}',
        b'{"validation": null}',
        b"\xff\x00",
        b'{"',
    ],
)
def test_a_file_that_is_no_metrics_is_told(pellucid: Command, tmp_path: Path, line: bytes) -> None:
    file = tmp_path / "other.jsonl"
    file.write_bytes(line + b"\n")
    outcome = pellucid("results", file)
    assert (
        outcome.code == 1 and outcome.err.startswith(f"pellucid: {file}: ") and outcome.err.count("\n") == 1
    )


def test_a_seed_that_diverged_leaves_the_others_their_row(tmp_path: Path) -> None:
    for number, loss in enumerate((2.0, "nan"), 1):
        entry = {"step": 1, "seconds": 60, "validation": dict(bleu=1.0, chrf=2.0, exact=0.0, loss=loss)}
        (tmp_path / f"seed-{number}").mkdir()
        (tmp_path / f"seed-{number}" / "metrics.jsonl").write_text(json.dumps(entry) + "\n")
    row = results_page([tmp_path]).splitlines()[2]
    assert "| 2 | 1.00 ± 0.00 |" in row and "| nan ± nan |" in row


def test_the_page_of_what_helps_has_the_table_of_its_metrics() -> None:
    folder = Path(__file__).parents[2] / "docs" / "results"
    table = results_page(sorted((folder / "multi30k").iterdir()))
    assert table in (folder / "what-helps.md").read_text("utf-8")


def test_a_model_that_was_kept_before_has_its_own_scores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short_runs.validated_as(monkeypatch, 10.0, 30.0, 40.0, 20.0, 15.0)  # 40: the average of steps 3 and 6
    for steps in (6, 9):
        settings = {"training.steps": steps, "training.validate_every": 3, "training.average": 2}
        library.train(short_runs.config(tmp_path / "data", settings), tmp_path / "run", resume=True)
    assert "| 1 | 40.00 |" in results_page([tmp_path / "run"])
