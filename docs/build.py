"""Draws the figures of docs/learn into docs/images, from the demo model: `python docs/build.py [NAME …]`.

Nothing in them is drawn by hand. The one that takes a training, leakage.svg, is made with
docs/results/leakage.md.
"""

import functools
import sys
from collections.abc import Callable
from pathlib import Path

import pellucid
from pellucid.explain.explanation import Explanation

IMAGES = Path(__file__).parent / "images"

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
    """A tensor of a translation."""
    return lambda path: explained(*sentence).plot(name, path)


def measured(name: str, sentence: tuple[str, str, str | None] | None = None) -> Draw:
    """What an experiment found."""
    text, to, _ = sentence or (None, None, None)
    return lambda path: pellucid.experiment(name, "demo", text, to).plot(path)


FIGURES: dict[str, Draw] = {
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


def main(names: list[str]) -> int:
    """Draws these figures, or all."""
    unknown = [name for name in names if name not in FIGURES]
    if unknown:
        print(f"no figure is called {unknown[0]!r}. There are: {', '.join(FIGURES)}.", file=sys.stderr)
        return 2
    for name in names or FIGURES:
        path = IMAGES / f"learn-{name}.svg"
        FIGURES[name](path)
        print(f"{path} ({path.stat().st_size / 1000:.0f} kB)")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
