"""Going on from a model: what is gained, what is lost, and whether translated text helps.

A small model of Multi30k (captions, English to German) goes on with 20,000 pairs of Tatoeba (sentences of
daily life): with these alone, mixed with captions, with its encoder frozen, with a vocabulary that grows.
Then a smaller model learns from the captions, once from their references and once from what the first model
says of their English. All that are compared have equal updates.

Needs `pellucid data multi30k-en-de` and `pellucid data tatoeba-en-de`. A model that is done stays, and one
that was interrupted goes on: start the same command again.

    python -m benchmarks.fine_tuning run [MODEL …] [--data data] [--out runs/fine-tuning]
    python -m benchmarks.fine_tuning report
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pellucid
from benchmarks.report import RESULTS, processor, write_report
from pellucid.translate.evaluate import evaluate

LOG = RESULTS / "fine_tuning.jsonl"
CAPTIONS, DAILY = "multi30k-en-de", "tatoeba-en-de"
NEW = 20_000  # pairs of Tatoeba
FIRST = {"steps": 3000, "peak_rate": 0.002, "warmup_steps": 500, "cooldown": 0.2, "validations": 3}
FURTHER = {"steps": 400, "peak_rate": 0.0004, "warmup_steps": 50, "cooldown": 0.3}
SMALLER = {"encoder_layers": 2, "decoder_layers": 1}
STUDENT = {"steps": 600, "peak_rate": 0.002, "warmup_steps": 150, "cooldown": 0.2}
# name: the corpora, other settings, what it is
MODELS: dict[str, tuple[list[str], dict[str, Any], str]] = {
    "captions": (["captions"], {"training": FIRST}, "the model of captions, before"),
    "alone": (["daily"], {}, "Tatoeba alone"),
    "mixed": (["daily", "captions"], {"data": {"weights": [1, 1]}}, "Tatoeba and captions, 1 : 1"),
    "frozen": (["daily"], {"training": {"frozen": ["encoder.*"]}}, "Tatoeba alone, the encoder frozen"),
    "grown": (
        ["daily", "captions"],
        {"data": {"weights": [1, 1]}, "vocabulary": {"grow": 2000}},
        "1 : 1, and 2,000 more subwords",
    ),
    "references": (["captions"], {"training": STUDENT, "model": SMALLER}, "a smaller model, captions"),
    "translations": (
        ["said"],
        {"training": STUDENT, "model": SMALLER},
        "a smaller model, what the first says of captions",
    ),
}


def lines(path: Path) -> list[str]:
    return path.read_text("utf-8").removesuffix("\n").split("\n")


def corpus(name: str, data: Path, out: Path) -> list[str]:
    """Write a corpus, unless it is there; return its two files."""
    captions = [data / CAPTIONS / f"train.{side}" for side in ("en", "de")]
    files = [out / f"{name}.en", out / f"{name}.de"]
    if name == "captions":
        files = captions
    elif not files[1].exists() and name == "said":
        english = lines(captions[0])
        translator = pellucid.load(out / "captions")
        said = [each.text for each in translator.translate_each(english)]
        write(files, [english, said])
    elif not files[1].exists():
        write(files, [lines(data / DAILY / f"train.{side}")[:NEW] for side in ("en", "de")])
    return [str(file) for file in files]


def write(files: Sequence[Path], sides: Sequence[Sequence[str]]) -> None:
    for file, side in zip(files, sides, strict=True):
        file.write_text("".join(f"{line}\n" for line in side), "utf-8")


def train(name: str, data: Path, out: Path) -> None:
    corpora, settings, _ = MODELS[name]
    table: dict[str, Any] = {
        "data": {
            "train": [corpus(each, data, out) for each in corpora],
            "languages": [["en", "de"]] * len(corpora),
        },
        "training": {"batch_tokens": 2048, "average": 0, "threads": 1},
    }
    if "steps" in settings.get("training", {}):
        table |= {"vocabulary": {"size": 6000}, "model": {"preset": "tiny"}}
    else:
        table["training"] |= {"start_from": str(out / "captions"), **FURTHER}
    if name == "captions":
        table["data"]["validation"] = [[str(data / CAPTIONS / f"val.{side}") for side in ("en", "de")]]
    for section, values in settings.items():
        table[section] = table.get(section, {}) | values
    pellucid.train(table, out=out / name, resume=True)


def measure(name: str, data: Path, out: Path) -> None:
    """Translate both test sets, and write down the scores."""
    translator, line = pellucid.load(out / name), {"model": name}
    for each, test in ((DAILY, "test"), (CAPTIONS, "test_2016_flickr")):
        source, reference = (lines(data / each / f"{test}.{side}") for side in ("en", "de"))
        said = [translation.text for translation in translator.translate_each(source)]
        scores = evaluate(said, reference)
        line |= {each: {"bleu": scores.bleu, "chrf": scores.chrf}}
    print(line)
    with LOG.open("a", encoding="utf-8") as log:
        log.write(json.dumps(line) + "\n")


def measured() -> dict[str, Any]:
    text = LOG.read_text("utf-8") if LOG.exists() else ""
    return {line["model"]: line for line in map(json.loads, text.splitlines())}


def report() -> None:
    found = measured()
    rows = [
        [
            said,
            *(f"{found[name][each][score]:.1f}" for each in (DAILY, CAPTIONS) for score in ("bleu", "chrf")),
        ]
        for name, (_, _, said) in MODELS.items()
        if name in found
    ]
    about = (
        "Cased BLEU and chrF on the test sets of Tatoeba (2,000 sentences) and Multi30k (test_2016_flickr), "
        "beam 5. Transformer-Tiny, a vocabulary of 6,000, batches of 2,048 tokens, one seed.",
        "The first model has had 3,000 updates with 29,000 captions; the next ones go on from it for 400 "
        "updates at a fifth of its rate, with 20,000 pairs of Tatoeba. The smaller ones (2+1 layers) have "
        "600 updates from first weights.",
        f"One thread of {processor()} each.",
    )
    columns = ("learned from", "Tatoeba BLEU", "chrF", "captions BLEU", "chrF")
    write_report("fine_tuning", "Going on from a model", about, columns, rows, script="fine_tuning report")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("run", "report"))
    parser.add_argument("models", nargs="*", metavar="MODEL", help=", ".join(MODELS))
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--out", type=Path, default=Path("runs/fine-tuning"))
    arguments = parser.parse_args()
    if arguments.what == "report":
        report()
        return
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.models or MODELS:
        if name not in measured():
            train(name, arguments.data, arguments.out)
            measure(name, arguments.data, arguments.out)


if __name__ == "__main__":
    main()
