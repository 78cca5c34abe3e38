"""A student beside its teacher: chrF and speed in int8, and the time of the whole command.

The teacher is any model that Pellucid loads; without one, a model of Multi30k's captions is trained first
(--shape, --teacher-minutes). The student learns from what it says of the captions' English sides, and both
are compared on test_2016_flickr. Needs `pellucid data multi30k-en-de`. A stage that is done stays, and one
that was interrupted goes on: start the same command again.

    python -m benchmarks.distil run NAME [--shape base] [--teacher-minutes 60] [--minutes 40] [--data data]
    python -m benchmarks.distil run NAME --teacher FOLDER --source en.txt --test a.en --reference a.de
    python -m benchmarks.distil report
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import pellucid
from benchmarks.report import RESULTS, machine, write_report
from pellucid.cli import main as command

LOG = RESULTS / "distil.jsonl"
CORPUS = "multi30k-en-de"


def teacher(arguments: argparse.Namespace, folder: Path) -> Path:
    """Train a teacher on captions, and return its folder."""
    files = {part: [str(folder / f"{part}.{side}") for side in ("en", "de")] for part in ("train", "val")}
    table: dict[str, Any] = {
        "data": {"train": files["train"], "validation": files["val"], "languages": ["en", "de"]},
        "vocabulary": {"size": 8000, "kind": "bpe"},
        "model": {"preset": arguments.shape, "norm": "first", "dropout": 0.2},
        "training": {
            "steps": 1_000_000,
            "minutes": arguments.teacher_minutes,
            "peak_rate": {"tiny": 0.002, "small": 0.001}.get(arguments.shape, 0.0007),
            "warmup_steps": 300,
            "batch_tokens": 2048,
            "cooldown": 0.3,
            "validations": 8,
        },
    }
    return pellucid.train(table, out=arguments.out / f"{arguments.name}-teacher", resume=True)


def run(arguments: argparse.Namespace) -> None:
    data = arguments.data / CORPUS
    test = [
        arguments.test or data / "test_2016_flickr.en",
        arguments.reference or data / "test_2016_flickr.de",
    ]
    folder = arguments.teacher or teacher(arguments, data)
    out, began = arguments.out / f"{arguments.name}-student", time.perf_counter()
    source, minutes = arguments.source or data / "train.en", arguments.minutes
    was_begun = (out / "teacher.json").exists()  # then this call is not the whole command
    words = ["distil", folder, "--source", source, "--out", out, "--minutes", minutes, "--resume"]
    words += ["--test", test[0], "--reference", test[1], *arguments.more]
    if code := command(list(map(str, words))):
        raise SystemExit(code)
    took = None if was_begun else (time.perf_counter() - began) / 60
    table = json.loads((out / "distilled.json").read_text("utf-8"))
    line = {"name": arguments.name, "minutes": took, "machine": machine(), **table}
    print(line)
    with LOG.open("a", encoding="utf-8") as log:
        log.write(json.dumps(line) + "\n")


def report() -> None:
    found = [json.loads(line) for line in LOG.read_text("utf-8").splitlines()]
    rows = [
        [
            line["name"],
            *(f"{line[who]['parameters'] / 1e6:.1f}" for who in ("teacher", "student")),
            *(f"{line[who]['chrf']:.2f}" for who in ("teacher", "student")),
            f"{line['chrf_share']:.1f}%",
            *(f"{line[who]['sentences_a_second']:,.0f}" for who in ("teacher", "student")),
            f"{line['faster']:.1f}",
            "–" if line["minutes"] is None else f"{line['minutes']:.0f}",
        ]
        for line in found
    ]
    about = (
        "chrF on new sentences with a translation by people; the teacher with its beam (5), the student "
        "without; both in int8, in turn, medians of three rounds. *Minutes*: the whole command, if it was "
        "not interrupted.",
        *dict.fromkeys(line["machine"] for line in found),
    )
    columns = ("", "teacher, million parameters", "student", "teacher's chrF", "student's", "share")
    columns += ("teacher, sentences a second", "student", "times as fast", "minutes")
    write_report("distil", "A student beside its teacher", about, columns, rows, script="distil report")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("run", "report"))
    parser.add_argument("name", nargs="?", default="captions")
    parser.add_argument("--shape", default="base")
    parser.add_argument("--teacher-minutes", type=float, default=60)
    parser.add_argument("--minutes", type=float, default=40)
    for name in ("teacher", "source", "test", "reference"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--out", type=Path, default=Path("runs/distil"))
    parser.add_argument("--more", nargs=argparse.REMAINDER, default=[], help="more words of the command")
    arguments = parser.parse_args()
    report() if arguments.what == "report" else run(arguments)


if __name__ == "__main__":
    main()
