"""The form for one's own matrices, as HTML: a script fills it and hides what a way to begin lacks."""

import tomllib
from functools import cache
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from pellucid.page.assembly import page_file
from pellucid.reading.tensors import describe
from pellucid.reading.words import visible
from pellucid.worked.examples import Example, example, names
from pellucid.worked.parts import PART_STAGES
from pellucid.worked.stages import STAGES

FIRST = "000-masked"  # the example that the form begins with: one that is right


@cache
def form_table() -> dict[str, Any]:
    """Return the ways to begin, and the matrices that one may type."""
    return tomllib.loads((files("pellucid.worked") / "form.toml").read_text(encoding="utf-8"))


def listed(first: Example | None) -> list[Example]:
    """Return the examples to choose from: those of the package, before them one that stands for itself."""
    others = [example(name) for name in names() if not first or name != first.name]
    return [first, *others] if first else others


def about(of: Example) -> str:
    """Say in a line what an example is, and where the notes have it."""
    return of.about + (f" (note {of.note}, lines {of.lines})" if of.note else "")


def own_html(first: Example | None = None) -> str:
    """Return the places for the form and for what comes of it."""
    form = form_table()
    stages = {stage: describe(f"attention.{stage}") for stage in STAGES}
    stages |= {stage: describe(stage) for stage in PART_STAGES}
    matrices = form["fields"].items()
    return Template(page_file("own_form.html")).substitute(
        examples="".join(_option(each.name, f"{each.name}: {about(each)}") for each in listed(first)),
        ways="".join(_option(start, way["title"]) for start, way in form["starts"].items()),
        matrices="\n".join(
            _field(name, f"<strong>{symbol}</strong> {title}") for name, (symbol, title) in matrices
        ),
        claims="\n".join(_claim(stage, kind.symbol) for stage, kind in stages.items()),
    )


def _option(value: str, text: str) -> str:
    return f'<option value="{escape(value)}">{escape(visible(text))}</option>'


def _claim(stage: str, symbol: str) -> str:
    """Return the field for what is claimed about a stage, to be unfolded."""
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
