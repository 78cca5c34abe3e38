"""The page of a worked example: its matrices, claimed beside computed, and a form to change it."""

from collections.abc import Mapping
from dataclasses import asdict
from html import escape
from typing import Any

from pellucid.folder.version import __version__
from pellucid.page.assembly import html_page, json_block, styles
from pellucid.page.bundle import EXAMPLE_PAGE, script
from pellucid.page.filled_form import own_payload
from pellucid.page.own_form import own_html
from pellucid.page.payload import VERSION
from pellucid.reading.tensors import describe, kind_of
from pellucid.reading.words import visible
from pellucid.seeing.records import AXES
from pellucid.seeing.viewed import lines, page
from pellucid.show.code_lines import code_line
from pellucid.worked.examples import Example
from pellucid.worked.parts import PART_STAGES
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
    text = "\n".join(lines(of, 100))
    body = f"""<main class=worked>
<header>
<p class=brand>Pellucid <span>a worked example</span></p>
<h1><bdi>{escape(visible(of.name))}</bdi></h1>
<p class=lead>{about} <small>{source}</small></p>
</header>
<p id=fault role=alert hidden></p>
<div id=own-place>{own_html(of)}</div>
<noscript><pre>{escape(text)}</pre></noscript>
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
        "own": own_payload(of),
    }
    return html_page(of.name, body, styles(STYLES), script(EXAMPLE_PAGE), json_block("payload", header))
