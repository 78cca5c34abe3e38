"""Draws the figures of docs/learn into docs/images, from the demo model, and writes the prebuilt page and its
picture: `python docs/build.py [NAME …]`. The picture needs Chromium and Playwright, as the tests do.

Nothing in them is drawn by hand. The one that takes a training, leakage.svg, is made with
docs/results/leakage.md.
"""

import functools
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pellucid
from pellucid.explanation import Explanation

IMAGES = Path(__file__).parent / "images"
PAGE = Path(__file__).parent / "pages" / "how-are-you.html"

SIX = "le chat était assis sur le tapis", "en", "The cat sat on mat"  # six tokens, with the start token
HOW_ARE_YOU = "How are you", "hi", None
JE_SUIS = "je suis student", "en", None
CATS = "I like cats", "es", None
BANK = "The boat is near the bank.", "es", None

Draw = Callable[[Path], None]


@functools.cache
def explained(text: str, to: str, target: str | None) -> Explanation:
    return pellucid.load("demo", "cpu").explain(text, to=to, target=target)


def tensor(sentence: tuple[str, str, str | None], name: str) -> Draw:
    """A tensor of a translation, or another plot of it."""
    return lambda path: explained(*sentence).plot(name, path)


def measured(name: str, sentence: tuple[str, str, str | None] | None = None) -> Draw:
    """What an experiment found."""
    text, to, _ = sentence or (None, None, None)
    return lambda path: pellucid.experiment(name, "demo", text, to).plot(path)


FIGURES: dict[str, Draw] = {
    "looked": tensor(HOW_ARE_YOU, "looked"),
    "steps": tensor(HOW_ARE_YOU, "decoder.probabilities"),
    "mask": tensor(SIX, "decoder.layers.0.self_attention.mask"),
    "masked-weights": tensor(SIX, "decoder.layers.0.self_attention.weights"),
    "positions": measured("positions"),
    "scale": measured("scale", CATS),
    "encoder": tensor(BANK, "encoder.layers.1.self_attention.weights"),
    "cross": tensor(JE_SUIS, "decoder.layers.1.cross_attention.weights"),
    "heads": measured("heads", CATS),
    "layers": measured("layers", HOW_ARE_YOU),
}


def write_page(path: Path) -> None:
    """What one opens before anything is installed; tests/test_docs_page.py says when it is out of date."""
    explained(*HOW_ARE_YOU).to_html(path)


def picture_page(path: Path) -> None:
    """The prebuilt page as it opens, in twice the pixels."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=arguments)
        view = browser.new_page(viewport={"width": 1440, "height": 900}, device_scale_factor=1.5)
        view.goto(PAGE.as_uri())
        view.wait_for_timeout(1500)  # until it is drawn; its policy lets no script of ours wait there
        view.screenshot(path=path)
        browser.close()
    with Image.open(path) as image:
        image.quantize(256).save(path, optimize=True)


WRITTEN: dict[str, tuple[Path, Draw]] = {
    **{name: (IMAGES / f"learn-{name}.svg", draw) for name, draw in FIGURES.items()},
    "page": (PAGE, write_page),
    "picture": (IMAGES / "explain.png", picture_page),
}


def main(names: list[str]) -> int:
    """Writes these, or all."""
    unknown = [name for name in names if name not in WRITTEN]
    if unknown:
        print(f"nothing is called {unknown[0]!r}. There are: {', '.join(WRITTEN)}.", file=sys.stderr)
        return 2
    for name in names or WRITTEN:
        path, draw = WRITTEN[name]
        draw(path)
        print(f"{path} ({path.stat().st_size / 1000:.0f} kB)")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
