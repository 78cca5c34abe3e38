"""The page of a translation: its text, its script, and the numbers that the script shows."""

import tomllib
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from pellucid.folder.version import __version__
from pellucid.page.assembly import fill, html_page, page_file, styles
from pellucid.page.bundle import NOTEBOOK_PAGE, TRANSLATION_PAGE, script
from pellucid.page.own_form import own_html, own_payload
from pellucid.page.payload import Shown, computes, payload
from pellucid.reading.reading import Reading, Step
from pellucid.reading.words import special_ids, visible
from pellucid.translate.text_translator import TextTranslator

STYLES = ("style", "drawing", "stage", "dock", "matrices", "stages", "own", "tour", "why", "movie", "share")
Movie = Sequence[Mapping[str, Any]] | None


def page(shown: Sequence[Shown], entry: str = TRANSLATION_PAGE, movie: Movie = None) -> str:
    """Return the whole page as HTML, for one reading, for two side by side, or for those of a movie of
    learning, the last one first; `movie` has the figures of each. entry: its first module."""
    reading = shown[0][0]
    translation, to = reading.translation, reading.to or ""
    # What one reads on paper and without a script.
    body = fill(
        "page.html",
        source=escape(visible(translation.source)),
        translation=escape(visible(translation.text)),
        language=f" lang={to}" if to.isalnum() and to.isascii() else "",
        loss=_number(sum(step.loss for step in reading.steps)),
        steps="".join(_step(place, step) for place, step in enumerate(reading.steps, start=1)),
        columns="".join(f"<th scope=col>{_word(token)}" for token in reading.source_tokens),
        looked=_looked_rows(reading),
        version=escape(__version__),
        difference=escape(reading.difference),
        own=own_html(),
        home="Pellucid",
    )
    return html_page(reading.title, body, styles(STYLES), script(entry), _data(shown, movie=movie))


def notebook_page(reading: Reading, translator: TextTranslator, question: Mapping[str, Any]) -> str:
    """Return the page for a notebook's widget. If the model is too big for it, it begins with this question,
    which Python answers."""
    if computes(translator):
        return page([(reading, translator, "")], NOTEBOOK_PAGE)
    body, data = f"<body class=served>{_empty_body('Pellucid')}", _data((), asked=question)
    return html_page(reading.title, body, styles(STYLES), script(NOTEBOOK_PAGE), data)


def look_page() -> str:
    """Return the page of a server that looks inside a model. It has no numbers: its script asks for them."""
    body = _empty_body('<a href="./" aria-label=Translate>← <span class=wide>Translate</span></a>')
    links = "\n".join(f'<link rel=stylesheet href="page/{name}.css">' for name in STYLES)
    return fill("look.html", links=links, body=body, data=_data(()))


def _empty_body(home: str) -> str:
    nothing = dict.fromkeys(("source", "translation", "language", "loss", "steps", "columns", "looked"), "")
    return fill("page.html", **nothing, difference="", version=escape(__version__), own=own_html(), home=home)


def _data(shown: Sequence[Shown], **further: Any) -> str:
    tour = tomllib.loads(page_file("tour.toml"))["stop"]
    return payload(shown, own=own_payload(), tour=tour, **further)


def _number(value: float) -> str:
    """Write a number with four decimals, as in every table."""
    return f"{value:z.4f}"


def _word(token: str) -> str:
    """Return a token as HTML, isolated: an Arabic or Hebrew token must not reorder the text around it."""
    return f"<bdi>{escape(visible(token))}</bdi>"


def _step(place: int, step: Step) -> str:
    """Return the table row of a step: input, expected word, probability, loss and alternatives."""
    best = " ".join(
        f"<span class=choice>{_word(token)} <span class=share>{_number(probability)}</span></span>"
        for token, probability in step.alternatives
    )
    right = step.predicted == step.expected
    mark = "" if right else f"<small class=miss>more probable: {_word(step.predicted)}</small>"
    return (
        f"<tr><th scope=row>{place}<td data-label=input>{_word(step.input)}"
        f"<td data-label=expected class=expected>{_word(step.expected)}{mark}"
        f"<td data-label=probability class=number>{_number(step.probability)}"
        f"<td data-label=loss class=number>{_number(step.loss)}"
        f"<td data-label='most probable'><div>{best}</div>"
    )


def _looked_rows(reading: Reading) -> str:
    """Return a table row for each step: its weights over the source, the mean of the heads of the last
    cross-attention; and one with their sums, of which the smallest is marked."""
    shares, sums = reading.attention_to_source(), reading.attention_to_source().sum(0).tolist()
    rows = [
        f"<tr><th scope=row>{_word(step.input)} <small>→ {_word(step.expected)}</small>"
        + "".join(f"<td>{_number(share)}" for share in row)
        for step, row in zip(reading.steps, shares.tolist(), strict=True)
    ]
    special = special_ids(reading.vocabulary)
    words = [each for each, token in zip(sums, reading.source_ids, strict=True) if token not in special]
    least = min(words, default=None)
    cells = [f"<td>{_number(each)}{' <small>least of the words</small>' * (each == least)}" for each in sums]
    return "".join([*rows, "<tr><th scope=row>all steps together", *cells])
