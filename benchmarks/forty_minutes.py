"""Forty minutes of training on raw text: our command beside a careful loop around MarianMTModel.

Both get the captions of Multi30k English-German as they are, the same minutes and threads; then both
translate test2016 with a beam of five. *Ours* is `pellucid train --source --target --minutes`, which chooses
its settings. *The loop* is Transformer-Tiny at the best settings that were found for it: float32, a joint
vocabulary of 8,000, dropout 0.2, peak rate 0.002 after 800 updates, 2,048 padded tokens a batch (or
--batch-tokens), the average of the models after its last five whole epochs.

Needs `pip install "pellucid[interop]"` and the corpus: `pellucid data multi30k-en-de`.

    python -m benchmarks.forty_minutes run ours|loop [--seed 1] [--minutes 40] [--threads 2] [--set KEY=VALUE]
    python -m benchmarks.forty_minutes report
"""

import argparse
import itertools
import json
import time
from collections import deque
from pathlib import Path
from statistics import mean
from typing import Any

import torch
from sacrebleu.metrics import BLEU, CHRF

import pellucid
from benchmarks import equal_tokens
from benchmarks.report import RESULTS, machine, write_report
from pellucid.cli import main as command
from pellucid.data.batch import batches

LOG = RESULTS / "forty_minutes.jsonl"
AVERAGE, BEAM, LONGEST, TOGETHER = 5, 5, 100, 50
HOW = (
    "The loop is Transformer-Tiny in float32 with the settings that were best for it: a vocabulary of 8,000, "
    "dropout 0.2, a peak rate of 0.002 after 800 updates, the average of its last five whole epochs.",
    "The rows are `python -m benchmarks.forty_minutes run ours --set vocabulary.size=6000`, `run ours`, "
    "`run loop --batch-tokens 4096` and `run loop`.",
)


def ours(asked: argparse.Namespace) -> list[str]:
    """Train as a user would, and translate the test set."""
    words = ["train", "--source", asked.data / "train.en", "--target", asked.data / "train.de"]
    words += ["--minutes", asked.minutes, "--out", asked.out / f"ours-{asked.seed}"]
    settings = [f"training.seed={asked.seed}", f"training.threads={asked.threads}", *asked.set]
    words += itertools.chain(*(["--set", each] for each in settings))
    if code := command([*map(str, words)]):
        raise SystemExit(code)
    model = pellucid.load(asked.out / f"ours-{asked.seed}")
    return [each.text for each in model.translate(lines(asked.data, "en"), beam=BEAM)]


def loop(asked: argparse.Namespace) -> list[str]:
    """Train MarianMTModel in a loop, and translate the test set."""
    size = asked.batch_tokens
    given = equal_tokens.material(asked.data, dropout=0.2, batch_tokens=size, precision="fp32")
    model, learn, _ = equal_tokens.peer(given, asked.seed, our_start=False)
    kept = deque[dict[str, torch.Tensor]](maxlen=AVERAGE)
    number, ends = 0, time.monotonic() + 60 * asked.minutes
    for epoch in itertools.count():
        for batch in batches(given.examples, given.vocabulary, size, asked.seed, epoch):
            number += 1
            learn(batch, number)
            if time.monotonic() > ends:
                break
        else:
            kept.append({name: tensor.clone() for name, tensor in model.state_dict().items()})
            print(f"epoch {epoch + 1}, update {number:,}", flush=True)
            continue
        break
    if kept:
        model.load_state_dict({name: sum(each[name] for each in kept) / len(kept) for name in kept[0]})
    model.eval()
    return translations(model, given, lines(asked.data, "en"))


@torch.no_grad()
def translations(model: torch.nn.Module, given: equal_tokens.Material, sources: list[str]) -> list[str]:
    """Translate sentences with the search of transformers."""
    vocabulary, said = given.vocabulary, dict[int, str]()
    ids = [vocabulary.encode_source(each) for each in sources]
    order = sorted(range(len(ids)), key=lambda number: len(ids[number]))
    for numbers in (order[start : start + TOGETHER] for start in range(0, len(order), TOGETHER)):
        length = max(len(ids[number]) for number in numbers)
        pad = given.config.model.pad_id
        rows = torch.tensor([ids[number] + [pad] * (length - len(ids[number])) for number in numbers])
        found = model.generate(
            input_ids=rows,
            attention_mask=(rows != pad).long(),
            num_beams=BEAM,
            max_length=LONGEST,
            eos_token_id=given.config.model.end_id,
        )
        said |= {
            number: vocabulary.decode_target(row) for number, row in zip(numbers, found.tolist(), strict=True)
        }
    return [said[number] for number in range(len(sources))]


def lines(data: Path, side: str) -> list[str]:
    return (data / f"test_2016_flickr.{side}").read_text("utf-8").splitlines()


def run(asked: argparse.Namespace) -> None:
    torch.set_num_threads(asked.threads)
    began = time.monotonic()
    said = {"ours": ours, "loop": loop}[asked.contestant](asked)
    bleu, chrf = BLEU(), CHRF()
    references = [lines(asked.data, "de")]
    line = {"contestant": asked.contestant, "seed": asked.seed, "minutes": asked.minutes, "set": asked.set}
    if asked.contestant == "loop":
        line["batch_tokens"] = asked.batch_tokens
    line |= {"bleu": bleu.corpus_score(said, references).score, "signature": str(bleu.get_signature())}
    line |= {"chrf": chrf.corpus_score(said, references).score, "machine": machine()}
    line |= {"all_minutes": (time.monotonic() - began) / 60, "first": said[:3]}
    print(json.dumps(line, ensure_ascii=False))
    with LOG.open("a", encoding="utf-8") as log:
        log.write(json.dumps(line, ensure_ascii=False) + "\n")


def report() -> None:
    found = [json.loads(line) for line in LOG.read_text("utf-8").splitlines()]
    rows, contestants = [], dict[tuple[str, float], list[dict[str, Any]]]()
    for line in sorted(found, key=lambda line: (line["contestant"] == "loop", line["seed"])):
        loop = f"a loop around MarianMTModel, batches of {line.get('batch_tokens', 4096):,} tokens"
        ours = ", ".join(["`pellucid train --minutes`", *line["set"]])
        name = {"ours": ours, "loop": loop}[line["contestant"]]
        contestants.setdefault((name, line["minutes"]), []).append(line)
    for (name, minutes), own in contestants.items():
        scores = [[line[kind] for line in own] for kind in ("bleu", "chrf")]
        told = (f"{mean(each):.2f} ({', '.join(f'{one:.2f}' for one in each)})" for each in scores)
        rows.append([name, f"{minutes:g}", ", ".join(str(line["seed"]) for line in own), *told])
    about = (
        "Raw, cased text of Multi30k en-de (29,000 captions), test2016. Mean (each seed). BLEU: "
        f"`{found[0]['signature']}`.",
        *dict.fromkeys(line["machine"] for line in found),
        *HOW,
    )
    columns = ("", "minutes", "seeds", "BLEU", "chrF")
    write_report("forty_minutes", "Forty minutes of training", about, columns, rows, "forty_minutes report")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("run", "report"))
    parser.add_argument("contestant", nargs="?", choices=("ours", "loop"), default="ours")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=40)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch-tokens", type=int, default=2048, help="of the loop")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--data", type=Path, default=Path("data/multi30k-en-de"))
    parser.add_argument("--out", type=Path, default=Path("runs/forty-minutes"))
    asked = parser.parse_args()
    report() if asked.what == "report" else run(asked)


if __name__ == "__main__":
    main()
