"""The losses of one training, computed in every way that it can be started: tests/learning/losses/*.jsonl.

    python tests/rank_losses.py [FOLDER]

A file has a line for each of 50 steps. All ways of a group ought to have the losses of its first, because
they train on the same batches: dropout is off, and sums are taken in another order, no more.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import short_runs
from ranked import NONE, torchrun, train

from pellucid.config.toml_file import to_toml

FIGURES = "step", "epoch", "loss", "plain_loss", "tokens", "rate", "gradient_norm", "skipped", "split"
FOLDER = Path(__file__).parent / "learning" / "losses"
SETTINGS = {"model.dropout": 0.0, "model.attention_dropout": 0.0, "training.steps": 50, "training.average": 0}
SHARDED, TWO = "training.sharded=true", "training.accumulate=2"
HALVES, STOP = "memory full loss {} 1+", "SIGTERM learn {} 23"
# Each way: the processes of its parts, one resumed after the other; its settings; a fault, and in which rank.
WAYS: dict[str, dict[str, tuple[tuple[int, ...], tuple[str, ...], str]]] = {
    "one batch a step": {
        "one": ((1,), (), NONE),
        "ddp": ((2,), (), NONE),
        "fsdp": ((2,), (SHARDED,), NONE),
        # Memory is full for all that is more than a pair, so that each step is made of many parts.
        "one-split": ((1,), (), HALVES.format(0)),
        "ddp-split": ((2,), (), HALVES.format(1)),
        "resumed-2-1": ((2, 1), (), STOP.format(1)),
        "resumed-1-2": ((1, 2), (), STOP.format(0)),
        "resumed-2-2": ((2, 2), (), STOP.format(1)),
        "fsdp-resumed-2-1": ((2, 1), (SHARDED,), STOP.format(1)),
    },
    "two batches a step": {
        "one-of-two": ((1,), (TWO,), NONE),
        "ddp-of-two": ((2,), (TWO,), NONE),
        "fsdp-of-two": ((2,), (TWO, SHARDED), NONE),
    },
}


def losses(way: str, folder: Path) -> list[dict[str, Any]]:
    """Train in this way, in a folder; return the figures of each step."""
    counts, settings, fault = next(ways[way] for ways in WAYS.values() if way in ways)
    (folder / "c.toml").write_text(to_toml(short_runs.config(folder / "data", SETTINGS)))
    for part, count in enumerate(counts):
        more = ["--resume"] if part else []
        ran = torchrun(count, *train(folder, *settings, *more, out=way), fault=NONE if part else fault)
        stopped = part + 1 < len(counts)
        assert (ran.returncode != 0) == stopped, ran.stderr
        assert not stopped or "stopped by SIGTERM at step 23;" in ran.stderr, ran.stderr
    return [{name: step[name] for name in FIGURES} for step in short_runs.metrics(folder / way)]


def read(way: str, folder: Path = FOLDER) -> list[dict[str, Any]]:
    """The metrics of a file."""
    return [json.loads(line) for line in (folder / f"{way}.jsonl").read_text().splitlines()]


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as runs:
        for ways in WAYS.values():
            for way in ways:
                lines = [json.dumps(step) for step in losses(way, Path(runs))]
                (folder / f"{way}.jsonl").write_text("".join(f"{line}\n" for line in lines))
                first, own = read(next(iter(ways)), folder), read(way, folder)
                apart = max(abs(a["loss"] - b["loss"]) for a, b in zip(first, own, strict=True))
                print(f"{way}: {len(own)} steps, at most {apart:.1e} from {next(iter(ways))}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
