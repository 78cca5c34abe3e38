"""The page of a worked example: its matrices, claimed beside computed, and a form to change them."""

from collections.abc import Mapping
from html import escape
from typing import Any

from pellucid.folder.version import __version__
from pellucid.page.assembly import fill, html_page, json_block, styles
from pellucid.page.bundle import EXAMPLE_PAGE, script
from pellucid.page.own_form import own_html, own_payload
from pellucid.page.payload import header
from pellucid.reading.words import visible
from pellucid.seeing.viewed import lines, page
from pellucid.worked.examples import Example
from pellucid.worked.parts import PART_STAGES
from pellucid.worked.stages import STAGES
from pellucid.worked.worked_example import WorkedAttention

STYLES = ("style", "matrices", "stages", "own")


@page.register
def attention_page(
    worked: WorkedAttention, name: str, claims: Mapping[str, Any], decimals: int | None
) -> str:
    """Return the HTML page of an attention that was computed in Python, with claims about it."""
    return example_page(Example(name, worked.arguments, claims=claims, decimals=decimals))


@page.register
def example_page(of: Example) -> str:
    """Write the page of an example; raise an error if it cannot be computed, or if a claim cannot be read."""
    body = fill(
        "worked.html",
        name=escape(visible(of.name)),
        about=escape(visible(f"{of.about[:1].upper()}{of.about[1:]}.")) if of.about else "",
        source=escape(visible(f"Note {of.note}, lines {of.lines}.")) if of.note else "",
        own=own_html(of),
        text=escape("\n".join(lines(of, 100))),
        version=escape(__version__),
    )
    stages = [*(f"attention.{name}" for name in STAGES), *PART_STAGES]
    data = json_block("payload", header(stages, models=[], runs=[], own=own_payload(of)))
    return html_page(of.name, body, styles(STYLES), script(EXAMPLE_PAGE), data)
