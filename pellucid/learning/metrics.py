"""The metrics file: one JSON line for each step and one for the average at the end, in `metrics.jsonl`."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

from pellucid.folder.seal import jsonable, write_whole, writing

METRICS = "metrics.jsonl"


def open_metrics(path: Path, last_step: int) -> TextIO:
    """Open for appending, without the lines after `last_step`: a resumed run writes those again."""
    with writing(path):
        if path.exists():
            lines = path.read_text("utf-8").splitlines(keepends=True)
            write_whole(path, "".join(line for line in lines if _step_of(line) <= last_step).encode())
        return path.open("a", encoding="utf-8")


def write_metrics(file: TextIO, values: Mapping[str, Any]) -> None:
    """Write one line."""
    with writing(Path(file.name)):
        file.write(json.dumps(jsonable(values), allow_nan=False, ensure_ascii=False) + "\n")
        file.flush()


def steps_in(path: Path) -> int:
    """The number of steps that a metrics file tells of; 0 where there is none."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return sum(_step_of(line) > 0 for line in lines)


def _step_of(line: str) -> float:
    """Return a line's step; infinity for the average at the end, and for a line that a kill cut short."""
    try:
        entry = json.loads(line)
        return float("inf") if "average" in entry else int(entry["step"])
    except (ValueError, KeyError, TypeError):
        return float("inf")
