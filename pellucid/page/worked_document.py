"""The page of a worked example: its matrices, claimed beside computed, and a form to change it."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np
from torch import Tensor

from pellucid.folder.version import __version__
from pellucid.page.assembly import html_page, json_block, styles
from pellucid.page.bundle import EXAMPLE_PAGE, script
from pellucid.page.payload import VERSION
from pellucid.reading.tensors import describe, kind_of
from pellucid.reading.words import visible
from pellucid.seeing.records import AXES
from pellucid.seeing.viewed import lines, page
from pellucid.show.code_lines import code_line
from pellucid.worked.attention import attention
from pellucid.worked.claims import LEFT_OUT
from pellucid.worked.examples import Example, example, names
from pellucid.worked.parts import PART_MATRICES, PART_STAGES
from pellucid.worked.slips import slip_table
from pellucid.worked.stages import STAGES, Start
from pellucid.worked.worked_example import WorkedAttention

STYLES = ("style.css", "matrices.css", "stages.css", "own.css")


@page.register
def attention_page(
    worked: WorkedAttention, name: str, claims: Mapping[str, Any], decimals: int | None
) -> str:
    """Write the page of an attention that Python worked out."""
    return example_page(Example(name, worked.arguments, claims=claims, decimals=decimals))


@page.register
def example_page(of: Example) -> str:
    """Write the whole page; raise where the example cannot be worked out, or a claim cannot be read."""
    about = escape(visible(f"{of.about[:1].upper()}{of.about[1:]}.")) if of.about else ""
    source = escape(visible(f"Note {of.note}, lines {of.lines}.")) if of.note else ""
    body = f"""<main class=worked>
<header>
<p class=brand>Pellucid <span>a worked example</span></p>
<h1><bdi>{escape(visible(of.name))}</bdi></h1>
<p class=lead>{about} <small>{source}</small></p>
</header>
{_form(of)}
<footer>Written by Pellucid {escape(__version__)}. Every number is in double precision, computed by the
model’s own attention and layers; the same from Python: <code>pellucid example</code>.</footer>
</main>"""
    kinds = {kind_of(f"attention.{name}" if name in STAGES else name) for name in (*STAGES, *PART_STAGES)}
    header = {
        "version": VERSION,
        "pellucid": __version__,
        "axes": AXES,
        "captions": {kind: asdict(describe(kind)) for kind in kinds},
        "models": [],
        "runs": [],
        "code": {kind: asdict(line) for kind in kinds if (line := code_line(kind))},
        "own": own_payload(),
        "worked": as_filled(of),
    }
    return html_page(of.name, body, styles(STYLES), script(EXAMPLE_PAGE), json_block("payload", header))


@cache
def own_form() -> dict[str, Any]:
    """Return the form for one's own matrices: ways to begin, fields, settings and notes."""
    return tomllib.loads((files("pellucid.worked") / "form.toml").read_text(encoding="utf-8"))


def own_payload() -> dict[str, Any]:
    """Return what the form for one's own matrices needs: fields, examples, known slips, stages."""
    stages = STAGES | {name: describe(name).axes for name in PART_STAGES}
    examples = [as_filled(each) for each in map(example, names())]
    return own_form() | {"examples": examples, "slips": slip_table(), "stages": stages}


def as_filled(of: Example) -> dict[str, Any]:
    """Return what the page tells of an example, and the form with its numbers filled in."""
    return {
        "name": of.name,
        "about": of.about + (f" (note {of.note}, lines {of.lines})" if of.note else ""),
        "at": dict(of.at),
        "called": dict(of.called),
        "products": [
            {
                "told": f"{each.written} {each}" + (f" (line {each.lines})" if each.lines else ""),
                "multiplies": each.left[1] == each.right[0],
            }
            for each in of.products
        ],
        "form": as_form(of),
    }


def as_form(of: Example) -> dict[str, str]:
    """Return an example as the texts of the form's fields, by their names."""
    settings = of.arguments
    start = None if of.is_part else attention(**settings).start
    arrays = start.arrays if start else {name: settings[name] for name in PART_MATRICES if name in settings}
    given = {name: matrix for name, matrix in arrays.items() if name != "mask"}
    ways = own_form()["starts"].items()
    numbers = {key: settings.get(key) for key in ("heads", "vocabulary")} | {"decimals": of.decimals}
    return {
        "name": of.name,
        "start": next((name for name, way in ways if given.keys() <= set(way["fields"])), "anything"),
        "scaled": "true" if settings.get("scaled") else "false",
        **{name: _matrix_text(matrix) for name, matrix in given.items()},
        **{f"claims.{stage}": _matrix_text(matrix, exactly=True) for stage, matrix in of.claims.items()},
        **{key: _words_text(settings[key]) for key in ("tokens", "memory_tokens") if settings.get(key)},
        **{key: str(number) for key, number in numbers.items() if number is not None},
        **(_scaling_and_mask(start, settings.get("scale", "sqrt_dk")) if start else {}),
    }


def _scaling_and_mask(start: Start, scale: str | float | None) -> dict[str, str]:
    form = {"masking": "none", "scaling": "number"}
    if isinstance(scale, str | None):
        form["scaling"] = scale or "none"
    else:
        form["scale"] = _number_text(float(scale))
    if start.causal:
        form["masking"] = "causal"
    elif "mask" in start.arrays:
        form |= {"masking": "own", "mask": _matrix_text(start.arrays["mask"])}
    return form


def _matrix_text(matrix: Any, exactly: bool = False) -> str:
    """Write rows on lines, heads apart by an empty line; `exactly` keeps every digit, as claims need."""
    rows = matrix.tolist() if isinstance(matrix, Tensor | np.ndarray) else matrix
    rows = rows if isinstance(rows[0], list | tuple) else [rows]
    if isinstance(rows[0][0], list | tuple):
        return "\n\n".join(_matrix_text(head, exactly) for head in rows)
    cells = [[str(cell) if exactly else _number_text(cell) for cell in row] for row in rows]
    if all(cell in LEFT_OUT for row in cells for cell in row):
        return f"… {len(cells)}×{len(cells[0])}"
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join("  ".join(map(str.rjust, row, widths)) for row in cells)


def _number_text(number: float | str) -> str:
    return "…" if number != number else str(number).removesuffix(".0")


def _words_text(words: Sequence[str]) -> str:
    """Write words with spaces between them, or with tabs where a word has a space or a comma itself."""
    return ("\t" if any({" ", ","} & set(word) for word in words) else " ").join(words)


def _form(of: Example) -> str:
    """Return the places that the script fills; without a script, the text of the terminal."""
    text = "\n".join(lines(of, 100))
    return f"""<p id=fault role=alert hidden></p>
<div id=own-place></div>
<noscript><pre>{escape(text)}</pre></noscript>
<p id=said class=unseen role=status aria-live=polite></p>"""
