"""The page of an example of what stands around an attention: what is given and each stage, as tables."""

from collections.abc import Sequence
from html import escape

from pellucid.folder.version import __version__
from pellucid.page.assembly import html_page, styles
from pellucid.reading.tensors import describe
from pellucid.reading.words import visible
from pellucid.show.code_lines import code_line
from pellucid.worked.part_examples import PartExample, Row, given_rows, stage_rows
from pellucid.worked.stages import size

STYLES = ("style.css", "plates.css", "own.css")
NARROW = """
.wide-table { width: fit-content; max-width: 100%; }
.wide-table :is(th, td):not(:first-child) { text-align: right; }
"""


def part_page(example: PartExample) -> str:
    """The whole page as HTML; it needs no script."""
    given = [
        _section(example, name, f"({size(matrix)})", given_rows(example, name))
        for name, matrix in example.given.items()
    ]
    stages = [
        _section(example, name, shape, stage_rows(example, name)) for name, shape in example.shapes.items()
    ]
    body = f"""<main class=worked>
<header>
<p class=brand>Pellucid <span>a worked example</span></p>
<h1><bdi>{escape(visible(example.name))}</bdi></h1>
<p class=lead>{escape(visible(example.about[0].upper() + example.about[1:]))}.
<small>Note {escape(example.note)}, lines {escape(example.lines)}.</small></p>
</header>
<section><h2>Given</h2></section>
{"".join(given)}
<section><h2>Stage by stage</h2></section>
{"".join(stages)}
<footer>Written by Pellucid {escape(__version__)}. Every number is computed by the model’s own parts, in
double precision: <code>pellucid example {escape(example.name)}</code>.</footer>
</main>"""
    return html_page(example.name, body, styles(STYLES) + NARROW, "")


def _section(example: PartExample, name: str, shape: str, rows: Sequence[Row]) -> str:
    """A matrix: our name and the note's, how its shape comes about, its numbers, and the line of our code."""
    seen = escape(visible(name))
    called = example.called.get(name)
    theirs = f" <small>in the note: {escape(visible(called))}</small>" if called else ""
    return f"""<section>
<h3><bdi>{seen}</bdi>{theirs}</h3>
<p class=stage-shape>{escape(shape)}</p>
<div class=wide-table tabindex=0 role=region aria-label="{seen}">{_table(rows)}</div>
{_words(name) if name in example.stages else ""}
</section>
"""


def _words(name: str) -> str:
    """What the stage is, and the line that computes it; nothing where the model has none."""
    line = code_line(name)
    if line is None:
        return ""
    told = describe(name)
    # A model scales its embeddings; an example need not: its shape says which.
    equation = "" if name.endswith("token_embeddings") else f"{told.equation}. "
    return f"""<p>{equation}{escape(told.reading)}</p>
<p class=code-line><code>{escape(line.text)}</code> {escape(f"{line.file}:{line.line}")}</p>"""


def _table(rows: Sequence[Row]) -> str:
    """A row for each token, a column for each dimension, numbered from 0."""
    columns = "".join(f"<th scope=col>{column}" for column in range(len(rows[0][1])))
    body = "".join(
        f"<tr><th scope=row><bdi>{escape(visible(label))}</bdi>" + "".join(f"<td>{cell}" for cell in cells)
        for label, cells in rows
    )
    return f"<table class=alignment><thead><tr><td>{columns}<tbody>{body}</table>"
