"""The form for the reader's own matrices: its HTML, and examples as texts of its fields."""

import tomllib
from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np
from torch import Tensor

from pellucid.page.assembly import fill
from pellucid.reading.tensors import describe
from pellucid.reading.words import visible
from pellucid.worked.attention import attention
from pellucid.worked.claims import LEFT_OUT
from pellucid.worked.examples import Example, example, names
from pellucid.worked.parts import PART_MATRICES, PART_STAGES
from pellucid.worked.slips import slip_table
from pellucid.worked.stages import STAGES, Start

FIRST = "000-masked"  # the example that the form begins with: one that is right


@cache
def form_table() -> dict[str, Any]:
    """Return the form's data: the stages to start from, and the matrices that the reader can type for
    each."""
    return tomllib.loads((files("pellucid.worked") / "form.toml").read_text(encoding="utf-8"))


def list_examples(first: Example | None) -> list[Example]:
    """Return the examples to choose from: `first`, if there is one, then those of the package."""
    others = [example(name) for name in names() if not first or name != first.name]
    return [first, *others] if first else others


def about(of: Example) -> str:
    """Describe an example in one line. For an example of the course notes, add the note and its lines."""
    return of.about + (f" (note {of.note}, lines {of.lines})" if of.note else "")


def own_html(first: Example | None = None) -> str:
    """Return the HTML of the form for the reader's own matrices, and of the place for its results."""
    form = form_table()
    stages = {stage: describe(f"attention.{stage}") for stage in STAGES}
    stages |= {stage: describe(stage) for stage in PART_STAGES}
    matrices = form["fields"].items()
    return fill(
        "own_form.html",
        examples="".join(_option(each.name, f"{each.name}: {about(each)}") for each in list_examples(first)),
        ways="".join(_option(start, way["title"]) for start, way in form["starts"].items()),
        matrices="\n".join(
            _field(name, f"<strong>{symbol}</strong> {title}") for name, (symbol, title) in matrices
        ),
        claims="\n".join(_claim(stage, kind.symbol) for stage, kind in stages.items()),
    )


def _option(value: str, text: str) -> str:
    return f'<option value="{escape(value)}">{escape(visible(text))}</option>'


def _claim(stage: str, symbol: str) -> str:
    """Return the folded field for claims about a stage."""
    words = stage.replace(".", " ").replace("_", " ")
    field = _field(f"claims.{stage}", f"claimed {words}")
    return f"<details class=own-claim><summary>{symbol} {words}</summary>\n{field}\n</details>"


def _field(name: str, label: str) -> str:
    """Return a labelled field for a matrix."""
    known = f"own-{name.replace('.', '-')}"
    return f"""<div class="own-field wide" data-field={name}>
<label for={known}>{label}</label>
<textarea id={known} name={name} aria-describedby={known}-error spellcheck=false wrap=off></textarea>
<p id={known}-error class=own-error></p>
</div>"""


def own_payload(first: Example | None = None) -> dict[str, Any]:
    """Return the data that the script needs for the form, which begins with `first`, or else with FIRST."""
    stages = STAGES | {name: describe(name).axes for name in PART_STAGES}
    examples = [
        {"name": of.name, "about": about(of), "at": of.at, "called": of.called, "form": as_form(of)}
        for of in list_examples(first)
    ]
    return {
        "starts": form_table()["starts"],
        "fields": form_table()["fields"],
        "first": first.name if first else FIRST,
        "examples": examples,
        "slips": slip_table(),
        "stages": stages,
    }


def as_form(of: Example) -> dict[str, str]:
    """Return the text that an example puts into each field of the form, by the field's name."""
    settings = of.arguments
    start = None if of.is_part else attention(**settings).start
    arrays = start.arrays if start else {name: settings[name] for name in PART_MATRICES if name in settings}
    given = {name: matrix for name, matrix in arrays.items() if name != "mask"}
    ways = form_table()["starts"].items()
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
    """Write a matrix as text: a line for each row, an empty line between heads. With `exactly`, 1.0 stays
    1.0, as claims need; otherwise it becomes 1."""
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
    """Write words with spaces between them; or with tabs, if a word contains a space or a comma."""
    return ("\t" if any({" ", ","} & set(word) for word in words) else " ").join(words)
