"""Draw the figures of docs/learn into docs/images, from the demo model; write the prebuilt page, its picture,
and the tables of paper.md and notes-004-verdicts.md: `python docs/build.py [NAME …]`. The picture needs
Chromium and Playwright, as the tests do.

Nothing in them is drawn by hand. The one that takes a training, leakage.svg, is made with
docs/results/leakage.md.
"""

import functools
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import drawings

import pellucid
from pellucid.explanation import Explanation
from pellucid.reading.tensors import TensorKind, kinds
from pellucid.show.code_lines import code_line
from pellucid.show.worked_text import OWN, show_number
from pellucid.worked.examples import example, names

IMAGES = Path(__file__).parent / "images"
PAGE = Path(__file__).parent / "pages" / "how-are-you.html"
PAPER = Path(__file__).parent / "paper.md"
VERDICTS = Path(__file__).parent / "notes-004-verdicts.md"

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
    """Draw a tensor of a translation, or another plot of it."""
    return lambda path: explained(*sentence).plot(name, path)


def measured(name: str, sentence: tuple[str, str, str | None] | None = None) -> Draw:
    """Draw the result of an experiment."""
    text, to, _ = sentence or (None, None, None)
    return lambda path: pellucid.experiment(name, "demo", text, to).plot(path)


def drawn(drawing: Callable[[Explanation], str], sentence: tuple[str, str, str | None]) -> Draw:
    """Make a drawing of a translation."""

    def draw(path: Path) -> None:
        path.write_text(drawing(explained(*sentence)), encoding="utf-8")

    return draw


FIGURES: dict[str, Draw] = {
    "architecture": drawn(drawings.architecture, HOW_ARE_YOU),
    "time": drawn(drawings.time, JE_SUIS),
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
    """Write the page that a newcomer opens before anything is installed."""
    explained(*HOW_ARE_YOU).to_html(path)


def picture_page(path: Path) -> None:
    """Take a picture of the prebuilt page as it opens, in more pixels."""
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


SEEN_AS = {
    "attention": "*_attention.",
    "feed_forward": "*.feed_forward.",
    "residual": "*.residual_?.",
    "norm": "*norm.",
    "stack": "*coder.",
}
TABLE = re.compile(r"(<!-- tensors: ([\w, ]+) -->\n).*?(?=<!-- end -->)", re.DOTALL)


def paper_text(text: str) -> str:
    """Fill the tables of paper.md from the table of tensors; a mark names the parts of the model in each."""
    heading = "| from | tensor | in the notes | equation | code | seen as |\n|---|---|---|---|---|---|\n"

    def table(found: re.Match[str]) -> str:
        parts = found[2].split(", ")
        rows = [row for row in kinds().values() if row.name.partition(".")[0] in parts]
        return f"{found[1]}{heading}{''.join(map(_paper_row, rows))}"

    return TABLE.sub(table, text)


def _paper_row(row: TensorKind) -> str:
    part, _, last = row.name.partition(".")
    line = code_line(row.name.replace("stack.", "decoder."))
    assert line is not None, row.name
    seen = f"`{SEEN_AS.get(part, f'{part}.')}{last}` {row.axes}"
    return f"| {row.source} | {row.title} | {row.notes} | {row.equation} | `{line.text}` | {seen} |\n"


def write_paper(path: Path) -> None:
    path.write_text(paper_text(path.read_text(encoding="utf-8")), encoding="utf-8")


def verdicts() -> list[str]:
    """All claims of note 004 as rows of a table, in the order of its lines."""
    headings = ("line", "example", "stage", "row, column", *OWN, "why")
    rows: list[tuple[int, str]] = []
    for each in (each for each in map(example, names()) if each.note == "004" and each.claims):
        for cell in each.report().cells:
            line = each.at.get(cell.name, "")
            link = f"[{each.name}](../pellucid/worked/examples/{each.name}.toml)"
            place = f"{f'head {cell.head}: ' if cell.head else ''}{cell.row}, {cell.column}"
            numbers = cell.written, show_number(cell.step), show_number(cell.start)
            texts = line, link, cell.name, place, *numbers, cell.verdict, cell.rule or cell.remark or ""
            rows.append((int(line or 0), f"| {' | '.join(texts)} |".replace("|  |", "| |")))
    body = [row for _, row in sorted(rows, key=lambda numbered: numbered[0])]
    return [f"| {' | '.join(headings)} |", "|---" * len(headings) + "|", *body]


def write_verdicts(path: Path) -> None:
    told = path.read_text(encoding="utf-8").partition("| line |")[0]
    path.write_text("\n".join([f"{told}{verdicts()[0]}", *verdicts()[1:], ""]), encoding="utf-8")


WRITTEN: dict[str, tuple[Path, Draw]] = {
    **{name: (IMAGES / f"learn-{name}.svg", draw) for name, draw in FIGURES.items()},
    "paper": (PAPER, write_paper),
    "verdicts": (VERDICTS, write_verdicts),
    "page": (PAGE, write_page),
    "picture": (IMAGES / "explain.png", picture_page),
}


def main(names: list[str]) -> int:
    """Write the outputs of these names, or all."""
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
