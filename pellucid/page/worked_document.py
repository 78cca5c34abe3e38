"""The page of a worked example: of an attention its plates, claimed beside computed, and a form to change it;
of what stands around an attention the text of the terminal."""

import math
from collections.abc import Mapping
from dataclasses import asdict
from html import escape
from typing import Any

import numpy as np
from torch import Tensor

from pellucid.folder.version import __version__
from pellucid.page.assembly import html_page, json_block, styles
from pellucid.page.bundle import EXAMPLE_PAGE, script
from pellucid.page.payload import VERSION
from pellucid.reading.tensors import describe
from pellucid.reading.words import visible
from pellucid.seeing.records import AXES
from pellucid.seeing.viewed import lines, page
from pellucid.show.code_lines import code_line
from pellucid.worked.attention import attention
from pellucid.worked.examples import Example, example, names
from pellucid.worked.slips import slip_table
from pellucid.worked.stages import SHAPES, STAGES
from pellucid.worked.worked_example import WorkedAttention

STYLES = ("style.css", "matrices.css", "stages.css", "own.css")
WIDE = "pre { overflow-x: auto; }"


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
{_text(of) if of.is_part else _form(of)}
<footer>Written by Pellucid {escape(__version__)}. Every number is in double precision, computed by the
model’s own attention and layers; the same from Python: <code>pellucid example</code>.</footer>
</main>"""
    if of.is_part:
        return html_page(of.name, body, styles(STYLES) + WIDE, "")
    header = {
        "version": VERSION,
        "pellucid": __version__,
        "axes": AXES,
        "captions": {f"attention.{name}": asdict(describe(f"attention.{name}")) for name in STAGES},
        "models": [],
        "runs": [],
        "code": {f"attention.{name}": asdict(line) for name in STAGES if (line := code_line(name))},
        "own": own_payload(),
        "worked": as_table(of),
    }
    return html_page(of.name, body, styles(STYLES), script(EXAMPLE_PAGE), json_block("payload", header))


def own_payload() -> dict[str, Any]:
    """Return what the form for one's own matrices needs: examples, known slips, how shapes come about."""
    examples = [as_table(each) for each in map(example, names()) if not each.is_part]
    return {"examples": examples, "slips": slip_table(), "shapes": SHAPES, "stages": STAGES}


def as_table(of: Example) -> dict[str, Any]:
    """Return an attention as the table of its file: "…" for what is not known, claims as text."""
    table = {key: value for key in ("name", "about", "note", "lines") if (value := getattr(of, key))}
    start, settings = attention(**of.arguments).start, of.arguments
    for key in ("heads", "tokens", "memory_tokens"):
        if settings.get(key) is not None:
            table[key] = settings[key] if key == "heads" else list(settings[key])
    scale = settings.get("scale", "sqrt_dk")
    table["scale"] = "none" if scale is None else scale if isinstance(scale, str) else float(scale)
    table["mask"] = "causal" if start.causal else _plain(start.arrays.get("mask", "none"))
    table["given"] = {name: _plain(matrix) for name, matrix in start.arrays.items() if name != "mask"}
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
    if isinstance(value, Tensor):
        return _plain(value.tolist())
    if isinstance(value, list):
        return [_plain(part) for part in value]
    if isinstance(value, str):
        return value
    return value if math.isfinite(value) else "…" if math.isnan(value) else "-inf"


def _written(value: Any) -> Any:
    """Return claims as text, because their digits count."""
    if isinstance(value, Tensor):
        value = value.detach().cpu().tolist()
    if isinstance(value, list | tuple | np.ndarray):
        return [_written(part) for part in value]
    return "…" if value is None else str(value)


def _form(of: Example) -> str:
    """Return the places that the script fills; without a script, the text of the terminal."""
    return f"""<p id=fault role=alert hidden></p>
<div id=own-place></div>
<noscript>{_text(of)}</noscript>
<p id=said class=unseen role=status aria-live=polite></p>"""


def _text(of: Example) -> str:
    text = "\n".join(lines(of, 100))
    return f"<pre>{escape(text)}</pre>"
