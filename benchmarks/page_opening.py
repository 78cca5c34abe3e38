"""How large a page is, and how long it takes to open: until the whole model is drawn.

python -m benchmarks.page_opening [--repeats 7]
"""

import argparse
import os
import shutil
import statistics
import tempfile
from pathlib import Path
from typing import Any

import torch
from playwright.sync_api import sync_playwright

import pellucid
from benchmarks.report import machine, write_report
from pellucid.config.schema import PRESETS, Config, DataConfig, ModelConfig, VocabularyConfig
from pellucid.explanation import Explanation
from pellucid.model import Transformer
from pellucid.text.vocabulary_training import train_vocabulary
from pellucid.translator import Translator

WORDS = 37_000  # as in the paper's shared vocabulary
TOKENS = 20  # on each side, of transformer-base
STEP = 10  # milliseconds between two looks whether all is drawn


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=7)
    repeats = parser.parse_args().repeats
    demo = pellucid.load("demo").explain("How are you", to="hi")
    pages = {"demo (511,168 parameters, computes)": demo, "transformer-base (a recording)": of_base()}
    rows = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=arguments)
        for name, explanation in pages.items():
            path = Path(folder) / "page.html"
            explanation.to_html(path)
            times = [opened(browser, path) for _ in range(repeats + 1)][1:]
            size = path.stat().st_size / 1e6
            rows.append([name, f"{size:.2f}", f"{statistics.median(times):.0f}", f"{max(times):.0f}"])
        about = [
            f"One file each, opened from the disk in a new tab of Chromium {browser.version} {repeats} times "
            "(and once before, not counted), 1440 × 900. transformer-base has random weights, a vocabulary "
            f"of {WORDS:,} words and {TOKENS} tokens on each side.",
            f"Measured on {machine()}.",
        ]
        browser.close()
    columns = ["page", "MB", "ms until drawn, median", "ms, most"]
    write_report("page_opening", "How large a page is, and how fast it opens", about, columns, rows)


def of_base() -> Explanation:
    """transformer-base, which has learnt nothing: its numbers take as much room as any."""
    words = [f"word{place}" for place in range(WORDS - 10)]
    lines = [" ".join(words[first : first + 100]) for first in range(0, len(words), 100)]
    setting = VocabularyConfig(kind="word", size=WORDS)
    vocabulary = train_vocabulary(lines, lines, setting, DataConfig())
    config = ModelConfig(vocabulary=vocabulary.source_size, **PRESETS["base"])
    torch.manual_seed(1)
    translator = Translator(Transformer(config).eval(), vocabulary, Config(vocabulary=setting, model=config))
    return translator.explain(" ".join(words[: TOKENS - 1]), target=" ".join(words[100 : 99 + TOKENS]))


def opened(browser: Any, path: Path) -> float:
    """Milliseconds from the navigation until the page says that all is drawn."""
    view = browser.new_page(viewport={"width": 1440, "height": 900})
    view.goto(path.as_uri())
    while view.evaluate("document.body.dataset.shown") is None:
        view.wait_for_timeout(STEP)
    milliseconds = float(view.evaluate("performance.now()"))
    view.close()
    return milliseconds


if __name__ == "__main__":
    main()
