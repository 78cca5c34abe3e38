"""A table of results, made from the metrics files of training runs. Runs that differ by their seed are one
row, with mean and spread."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from pellucid.errors import PellucidError
from pellucid.learning.log import METRICS
from pellucid.learning.step import average_name

SCORES = {"BLEU": ".2f", "chrF": ".2f", "exact": ".2f", "loss": ".3f"}
MEASURES = [name.lower() for name in SCORES]  # as the metrics call them
PAGE = "results.md"


def results_page(runs: Sequence[Path]) -> str:
    """Return a Markdown table with a row for each run: the scores that its kept model has on the validation
    data, its step and its minutes. A folder of seed-1, seed-2, … is a row with means and standard deviations.

    runs: folders of runs, folders of several seeds, or metrics.jsonl files.
    """
    rows = [["run", "seeds", *SCORES, "step", "minutes"]]
    rows.append(["---"] * len(rows[0]))
    for run in runs:
        files = [run] if run.is_file() else [*run.glob(METRICS)] or sorted(run.glob(f"seed-*/{METRICS}"))
        if not files:
            raise PellucidError(f"{run}: no {METRICS}, here or in seed-1, … Name the folder of a run.")
        found = [_kept(file) for file in files]
        columns = [
            ([one["validation"][name] for one in found], form)
            for name, form in zip(MEASURES, SCORES.values(), strict=True)
        ]
        columns += [([one["step"] for one in found], ",.0f")]
        columns += [([one["seconds"] / 60 for one in found], ".1f")]
        name = (run.parent if run.is_file() else run).resolve().name
        rows.append([name, str(len(found)), *(_spread(*column) for column in columns)])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _kept(file: Path) -> dict[str, Any]:
    """Return the metrics of the model that a run kept; of one that goes on, those of its last validation."""
    try:
        lines = file.read_text("utf-8").splitlines(keepends=True)
        entries = [json.loads(line) for line in lines if line.endswith("\n")]  # a kill may cut the last line
        validated = [entry for entry in entries if "validation" in entry]
        told = entries[-1].get("model", {}) if entries else {}  # what was kept, with its scores
        validated = [told] if "validation" in told else validated
        for entry in validated:  # a score that is not finite is a text
            scores = {name: float(score) for name, score in entry["validation"].items() if name in MEASURES}
            entry["name"], entry["validation"] = _name(entry), scores
            _ = [scores[name] for name in MEASURES]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise PellucidError(f"{file}: not the metrics of a run ({reason}). Name a run's folder.") from error
    if not validated:
        raise PellucidError(f"{file}: this run has not validated yet, so there is nothing to tell of it.")
    kept = entries[-1].get("kept", "").partition(", the model of")[0]  # "" of one that goes on
    of_kept = [one for one in validated if one["name"] == kept] or validated
    return of_kept[-1] | {"seconds": max(one.get("seconds", 0.0) for one in entries)}


def _name(entry: dict[str, Any]) -> str:
    """Return what a validated model is called in `kept`, such as "step 1747"."""
    return average_name(entry["average"]) if "average" in entry else f"step {entry['step']}"


def _spread(values: Sequence[float], form: str) -> str:
    mean = format(fmean(values), form)
    if len(values) == 1:
        return mean
    spread = stdev(values) if all(map(math.isfinite, values)) else math.nan
    return f"{mean} ± {spread:{form}}"
