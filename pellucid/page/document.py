"""The page of a translation: the text in the file, the script, and the numbers that the script shows."""

import tomllib
from collections.abc import Sequence
from html import escape
from string import Template

from pellucid.folder.version import __version__
from pellucid.page.assembly import html_page, page_file, styles
from pellucid.page.bundle import TRANSLATION_PAGE, script
from pellucid.page.filled_form import own_payload
from pellucid.page.own_form import own_html
from pellucid.page.payload import payload
from pellucid.page.summary import alignment_table, headline, purpose, steps_table
from pellucid.reading.reading import Reading
from pellucid.reading.words import visible
from pellucid.translate.text_translator import TextTranslator

STYLES = (
    "style.css",
    "drawing.css",
    "stage.css",
    "dock.css",
    "matrices.css",
    "stages.css",
    "own.css",
    "tour.css",
)


def page(
    shown: Sequence[tuple[Reading, TextTranslator]],
    names: Sequence[str] = ("this one", "the other"),
) -> str:
    """Return the whole page as HTML: one reading with its translator, or two with these names."""
    (reading, translator), carried = shown[0], payload(shown)
    for run, name in zip(carried.header["runs"], names, strict=False):
        run["name"] = visible(name)
    carried.header["own"] = own_payload()
    carried.header["tour"] = tomllib.loads(page_file("tour.toml"))["stop"]
    # What one reads on paper and without a script.
    body = Template(page_file("page.html")).substitute(
        headline=headline(reading),
        purpose=purpose(translator.model.config),
        steps=steps_table(reading.steps),
        looked=alignment_table(reading),
        version=escape(__version__),
        difference=escape(reading.difference),
        own=own_html(),
    )
    return html_page(reading.title, body, styles(STYLES), script(TRANSLATION_PAGE), carried.html())
