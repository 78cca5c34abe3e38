"""A model of NLLB-200-distilled-600M's shape, with random weights: memory and time to load it, to translate
ten lines, and to write an explanation of one as a page; from model.safetensors and from pytorch_model.bin.

Each file and precision is a process of its own. Linux only. Needs transformers, which makes the model, and
5 GB of disk.

    python -m benchmarks.large_import
"""

import argparse
import itertools
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.report import machine, write_report
from benchmarks.training_memory import megabytes

LANGUAGES = ("eng_Latn", "fra_Latn")
SHAPE: dict[str, Any] = dict(
    vocab_size=256_206, d_model=1024, encoder_layers=12, decoder_layers=12, encoder_ffn_dim=4096,
    decoder_ffn_dim=4096, encoder_attention_heads=16, decoder_attention_heads=16,
)  # fmt: skip
SAFE, PICKLED = "model.safetensors", "pytorch_model.bin"
MOST = [0.0]  # how much memory this process has taken, in MB
LONGEST = 20  # tokens of a translation: a model with random weights does not end


def make(folder: Path) -> None:
    """Write a folder for each file of weights: random ones, and the tokens of a small SentencePiece model."""
    import sentencepiece
    import torch
    from transformers import M2M100Config, M2M100ForConditionalGeneration

    torch.manual_seed(0)
    safe, pickled = folder / SAFE, folder / PICKLED
    model = M2M100ForConditionalGeneration(M2M100Config(**SHAPE))
    model.save_pretrained(safe)
    with (safe / "sentencepiece.bpe.model").open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines()),
            model_writer=file,
            vocab_size=300,
            model_type="bpe",
            minloglevel=2,
        )
    about = {"src_lang": LANGUAGES[0], "additional_special_tokens": LANGUAGES}
    (safe / "tokenizer_config.json").write_text(json.dumps(about))
    shutil.copytree(safe, pickled, ignore=shutil.ignore_patterns(SAFE))
    torch.save(model.state_dict(), pickled / PICKLED)


def lines() -> list[str]:
    """English sentences of the package's phrasebook."""
    from pellucid.data.phrasebook import split

    return sorted({each.source for part in split().values() for each in part if each.source_language == "en"})


def watch() -> None:
    """Keep MOST up to date, without mapped files: the system takes theirs back when it needs it."""
    while True:
        peak()
        time.sleep(0.01)


def peak() -> float:
    """Return the most memory that `watch` has seen, and what is taken now."""
    MOST[0] = max(MOST[0], megabytes("self", "RssAnon"))
    return MOST[0]


def measure(folder: Path, precision: str) -> None:
    """Print rows: what was done, its seconds, the peak so far in MB, and the peak by the weights."""
    import pellucid

    rows = [["(before: Python, PyTorch, Pellucid)", "", f"{peak():,.0f}", ""]]
    texts, to = lines()[:10], LANGUAGES[1]

    def timed(what: str, work: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        result = work()
        rows.append([what, f"{time.perf_counter() - start:.1f}", f"{peak():,.0f}", ""])
        return result

    translator = timed("load", lambda: pellucid.load(folder, device="cpu", precision=precision))
    weights = sum(each.numel() * each.element_size() for each in translator.serving.parameters()) / 1e6
    timed(
        "translate 10 lines, greedily", lambda: translator.translate(texts, to=to, beam=1, max_length=LONGEST)
    )
    timed("explain one", lambda: explain(translator, texts[0], folder))
    for row in rows:
        row[3] = f"{float(row[2].replace(',', '')) / weights:.2f}"
    where = f"{folder.name}, {precision}, {weights:,.0f} MB"
    print(json.dumps([[where, *row] for row in rows]))


def measure_import(folder: Path) -> None:
    """Print a row for the import, without the comparison: transformers would load the model once more."""
    from pellucid.interop.importing import import_model

    start = time.perf_counter()
    conversion = import_model(folder, folder / "ours", check=False)
    seconds, most = time.perf_counter() - start, peak()
    weights = (conversion.out / "weights.safetensors").stat().st_size / 1e6
    row = ["import, without the comparison", f"{seconds:.1f}", f"{most:,.0f}", f"{most / weights:.2f}"]
    print(json.dumps([[f"{folder.name}, fp32, {weights:,.0f} MB", *row]]))


def explain(translator: Any, text: str, folder: Path) -> None:
    """Explain a sentence, and write the page."""
    target = translator.translate(text, to=LANGUAGES[1], beam=1, max_length=LONGEST).text
    explanation = translator.explain(text, to=LANGUAGES[1], target=target)
    explanation.to_html(folder / "page.html")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="?", choices=("make", "fp32", "bf16", "import"), help=argparse.SUPPRESS)
    parser.add_argument("folder", nargs="?", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.what == "make":
        make(arguments.folder)
    elif arguments.what == "import":
        threading.Thread(target=watch, daemon=True).start()
        measure_import(arguments.folder)
    elif arguments.what:
        threading.Thread(target=watch, daemon=True).start()
        measure(arguments.folder, arguments.what)
    else:
        report()


def report() -> None:
    """Make the model, measure it in processes of their own, and write the report."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        itself = [sys.executable, "-m", "benchmarks.large_import"]
        subprocess.run([*itself, "make", folder], check=True)
        for file, what in itertools.product((SAFE, PICKLED), ("fp32", "bf16", "import")):
            said = subprocess.run([*itself, what, f"{folder}/{file}"], check=True, stdout=subprocess.PIPE)
            rows += json.loads(said.stdout.decode().splitlines()[-1])
        size = (Path(folder) / SAFE / "page.html").stat().st_size
    about = (
        "Random weights in the shape of NLLB-200-distilled-600M (12+12 layers, width 1,024, 256,206 tokens), "
        "saved in float32. The peak is that of the process so far, also by the weights in memory; mapped "
        "files, whose memory the system takes back when it needs it, do not count. "
        f"The page of the explanation has {size / 1e6:,.1f} MB. {machine()}.",
    )
    columns = ("weights", "what", "seconds", "peak so far, MB", "by the weights")
    write_report("large_import", "A large model, taken in", about, columns, rows)


if __name__ == "__main__":
    main()
