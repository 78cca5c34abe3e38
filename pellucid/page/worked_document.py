"""The page of a worked example: its matrices, claimed beside computed, and a form to change it."""

import math
import tomllib
from collections.abc import Mapping
from dataclasses import asdict
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
from pellucid.worked.examples import Example, example, names
from pellucid.worked.parts import PART_MATRICES, PART_STAGES
from pellucid.worked.slips import slip_table
from pellucid.worked.stages import STAGES
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
    text = escape("\n".join(lines(of, 100)))  # without a script, as in a terminal
    body = f"""<main class=worked>
<header>
<p class=brand>Pellucid <span>a worked example</span></p>
<h1><bdi>{escape(visible(of.name))}</bdi></h1>
<p class=lead>{about} <small>{source}</small></p>
</header>
<p id=fault role=alert hidden></p>
<div id=own-place></div>
<noscript><pre>{text}</pre></noscript>
<p id=said class=unseen role=status aria-live=polite></p>
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
        "worked": as_table(of),
    }
    return html_page(of.name, body, styles(STYLES), script(EXAMPLE_PAGE), json_block("payload", header))


def own_payload() -> dict[str, Any]:
    """Return what the form for one's own matrices needs: fields, examples, known slips, stages."""
    form = tomllib.loads((files("pellucid.worked") / "form.toml").read_text(encoding="utf-8"))
    stages = STAGES | {name: describe(name).axes for name in PART_STAGES}
    examples = [as_table(each) for each in map(example, names())]
    return form | {"examples": examples, "slips": slip_table(), "stages": stages}


def as_table(of: Example) -> dict[str, Any]:
    """Return an example as the table of its file: "…" for what is not known, claims as text."""
    table = {key: value for key in ("name", "about", "note", "lines") if (value := getattr(of, key))}
    settings, start = of.arguments, None if of.is_part else attention(**of.arguments).start
    for key in ("heads", "vocabulary", "scaled"):
        if settings.get(key) is not None:
            table[key] = settings[key]
    for key in ("tokens", "memory_tokens"):
        if settings.get(key) is not None:
            table[key] = list(settings[key])
    if start:
        scale = settings.get("scale", "sqrt_dk")
        table["scale"] = "none" if scale is None else scale if isinstance(scale, str) else float(scale)
        table["mask"] = "causal" if start.causal else _plain(start.arrays.get("mask", "none"))
    arrays = start.arrays if start else {name: settings[name] for name in PART_MATRICES if name in settings}
    table["given"] = {name: _plain(matrix) for name, matrix in arrays.items() if name != "mask"}
    table["claims"] = {name: _written(matrix) for name, matrix in of.claims.items()}
    table |= {"at": dict(of.at), "called": dict(of.called)}
    table |= {} if of.decimals is None else {"decimals": of.decimals}
    table["products"] = [
        {"written": each.written, "lines": each.lines, "left": list(each.left), "right": list(each.right)}
        for each in of.products
    ]
    return table


def _plain(value: Any) -> Any:
    """Return numbers as they are, and those that JSON does not have as text."""
    if isinstance(value, list | Tensor):
        return [_plain(part) for part in (value.tolist() if isinstance(value, Tensor) else value)]
    if isinstance(value, str) or math.isfinite(value):
        return value
    return "…" if math.isnan(value) else "-inf"


def _written(value: Any) -> Any:
    """Return claims as text, because their digits count."""
    if isinstance(value, list | tuple | np.ndarray | Tensor):
        return [_written(part) for part in (value.tolist() if isinstance(value, Tensor) else value)]
    return "…" if value is None else str(value)
