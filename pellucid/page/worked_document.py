"""The page of a worked example: its plates, claimed beside computed, and a form to change it."""

from dataclasses import asdict
from html import escape
from typing import Any

from pellucid.folder.version import __version__
from pellucid.page.assembly import html_page, json_block, styles
from pellucid.page.chapters import EXAMPLE_PAGE, script
from pellucid.page.own_payload import as_table, examples_payload
from pellucid.page.payload import VERSION
from pellucid.reading.tensors import describe
from pellucid.reading.words import visible
from pellucid.seeing.records import AXES
from pellucid.show.code_lines import code_line
from pellucid.worked.example_text import example_text
from pellucid.worked.examples import Example
from pellucid.worked.stages import STAGES

STYLES = ("style.css", "plates.css", "own.css")


def worked_page(example: Example) -> str:
    """The whole page as HTML; raises where the example cannot be worked out, or a claim cannot be read."""
    text = "\n".join(example_text(example, 100))
    about = f"{example.about[0].upper()}{example.about[1:]}." if example.about else ""
    source = f"Note {example.note}, lines {example.lines}." if example.note else ""
    body = f"""<main class=worked>
<header>
<p class=brand>Pellucid <span>a worked example</span></p>
<h1><bdi>{escape(visible(example.name))}</bdi></h1>
<p class=lead>{escape(visible(about))} <small>{escape(visible(source))}</small></p>
</header>
<p id=fault role=alert hidden></p>
<div id=own-place></div>
<noscript><pre>{escape(_visible_lines(text))}</pre></noscript>
<p id=said class=unseen role=status aria-live=polite></p>
<footer>Written by Pellucid {escape(__version__)}. Every number is computed in this page, in double precision,
and the same from Python: <code>pellucid example</code>.</footer>
</main>"""
    data = json_block("payload", _header(example))
    return html_page(example.name, body, styles(STYLES), script(EXAMPLE_PAGE), data)


def _visible_lines(text: str) -> str:
    """Text without what no page can hold, line by line."""
    return "\n".join(visible(line) for line in text.split("\n"))


def _header(example: Example) -> dict[str, Any]:
    """As that of an explanation's page, without models and runs."""
    return {
        "version": VERSION,
        "pellucid": __version__,
        "axes": AXES,
        "captions": {f"attention.{name}": asdict(describe(f"attention.{name}")) for name in STAGES},
        "models": [],
        "runs": [],
        "code": {f"attention.{name}": asdict(line) for name in STAGES if (line := code_line(name))},
        "examples": examples_payload(),
        "worked": as_table(example),
    }
