"""The sample with the highest expected chrF beside a beam: scores and time.

python -m benchmarks.mbr run MODEL NAME --source F --reference F [--to L] [--sentences 200]
python -m benchmarks.mbr report
"""

import argparse
import json
import time
from itertools import islice
from pathlib import Path
from typing import Any

import pellucid
from benchmarks.report import RESULTS, processor, write_report
from pellucid.translate.consensus import by_expected_chrf
from pellucid.translate.evaluate import evaluate

LOG = RESULTS / "mbr.jsonl"
SAMPLED: dict[str, Any] = dict(sample=True)
WAYS: dict[str, dict[str, Any]] = {
    "greedy": dict(beam=1),
    "beam 5": dict(beam=5),
    "one sample": SAMPLED,
    "8 samples": SAMPLED | dict(n_best=8),
    "32 samples": SAMPLED | dict(n_best=32),
    "32 samples, top_p 0.9": SAMPLED | dict(n_best=32, top_p=0.9),
}


def lines(path: Path, count: int) -> list[str]:
    return list(islice(path.read_text("utf-8").removesuffix("\n").split("\n"), count))


def run(arguments: argparse.Namespace) -> None:
    sources, references = (
        lines(file, arguments.sentences) for file in (arguments.source, arguments.reference)
    )
    translator = pellucid.load(arguments.model, "cpu", "int8")
    for way, options in WAYS.items():
        began = time.perf_counter()
        found = list(translator.translate_each(sources, arguments.to, **options))
        said = [(by_expected_chrf(each) if "sample" in options else each).text for each in found]
        seconds, scores = time.perf_counter() - began, evaluate(said, references)
        line = {"model": arguments.name, "way": way, "sentences": len(sources), "seconds": seconds}
        line |= {"bleu": scores.bleu, "chrf": scores.chrf, "exact": scores.exact}
        print(line, flush=True)
        with LOG.open("a", encoding="utf-8") as log:
            log.write(json.dumps(line) + "\n")


def report() -> None:
    found = [json.loads(line) for line in LOG.read_text("utf-8").splitlines()]
    rows = [
        [
            line["model"],
            line["way"],
            *(f"{line[name]:.2f}" for name in ("bleu", "chrf", "exact")),
            f"{1000 * line['seconds'] / line['sentences']:.0f}",
        ]
        for line in found
    ]
    each = {line["model"]: line["sentences"] for line in found}
    about = (
        "Of the samples the one with the highest mean chrF, with all samples as references. Cased BLEU and "
        f"chrF; int8. Sentences: {', '.join(f'{count:,} of {name}' for name, count in each.items())}.",
        f"{processor()}, while other work took most of it: the times tell their proportions only.",
    )
    columns = ("model", "", "BLEU", "chrF", "exact", "ms a sentence")
    write_report("mbr", "The sample most like the others", about, columns, rows, script="mbr report")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("run", "report"))
    parser.add_argument("model", nargs="?", default="demo")
    parser.add_argument("name", nargs="?", default="demo")
    parser.add_argument("--source", type=Path)
    parser.add_argument("--reference", type=Path)
    parser.add_argument("--to")
    parser.add_argument("--sentences", type=int, default=200)
    arguments = parser.parse_args()
    report() if arguments.what == "report" else run(arguments)


if __name__ == "__main__":
    main()
