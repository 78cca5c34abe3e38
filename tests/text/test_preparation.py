"""Text preparation: the published references from the raw text, and words that join again."""

import gzip
import os
from pathlib import Path

import pytest

from pellucid.config.schema import PREPARATIONS
from pellucid.text.preparation import prepare, restore

needs_mirror = pytest.mark.skipif("PELLUCID_MIRROR" not in os.environ, reason="PELLUCID_MIRROR is not set")


@pytest.mark.mirror
@needs_mirror
@pytest.mark.parametrize("language", ["en", "de", "fr"])
@pytest.mark.parametrize("part", ["val", "test_2016_flickr"])
def test_moses_lowercase_reproduces_the_published_references(part: str, language: str) -> None:
    corpus = Path(os.environ["PELLUCID_MIRROR"]) / "multi30k"
    raw = gzip.decompress((corpus / f"raw/{part}.{language}.gz").read_bytes()).decode().split("\n")
    references = (corpus / f"tok/{part}.lc.norm.tok.{language}").read_bytes().decode().split("\n")
    assert len(raw) == len(references) > 1000
    assert [prepare(line, "moses-lowercase", language) for line in raw] == references


@pytest.mark.parametrize(
    ("text", "language", "prepared"),
    [
        ("No. 5 is alive", "en", "no . 5 is alive"),
        ("Nr. 5 lebt", "de", "nr . 5 lebt"),
        ("L'Ami de M. Dupont", "fr", "l&apos; ami de m. dupont"),
        ("L'Ami de M. Dupont", None, "l &apos;ami de m. dupont"),  # by the rules of English
        ('Sie ruft "Ja."', "de", "sie ruft &quot; ja &quot; ."),  # at the end of a line
    ],
)
def test_moses_lowercase_is_moses_of_lower_case(text: str, language: str | None, prepared: str) -> None:
    assert prepare(text, "moses-lowercase", language) == prepare(text.lower(), "moses", language) == prepared


@pytest.mark.parametrize(
    ("text", "language", "prepared"),
    [
        ("Don't go, John!", "en", "Don't go , John !"),
        ('"Yes," she said (at 10:30, 1,000.50)...', "en", '" Yes , " she said ( at 10:30 , 1,000.50 ) ...'),
        ("The dogs' bones.", "en", "The dogs ' bones ."),
        ("A t-shirt and/or R&D.", None, "A t-shirt and/or R&D ."),
        ("L'amie d'aujourd'hui dit : « Ça va ? »", "fr", "L' amie d' aujourd' hui dit : « Ça va ? »"),
        ("Comment allez-vous ?", "fr", "Comment allez-vous ?"),
        ("¿Qué? ¡Hola, amigo!", "es", "¿ Qué ? ¡ Hola , amigo !"),
        ("आप कैसे हैं? मैं छात्र हूँ।", "hi", "आप कैसे हैं ? मैं छात्र हूँ ।"),
    ],
)
def test_words_are_set_apart_and_joined_again(text: str, language: str | None, prepared: str) -> None:
    assert prepare(text, "words", language) == prepared
    assert prepare(prepared, "words", language) == prepared
    assert restore(prepared, "words", language) == text


def test_none_changes_nothing() -> None:
    assert prepare(" a\u00a0½ ", "none", "en") == " a\u00a0½ "
    assert prepare("cafe\u0301  don’t", "words", "en") == "caf\u00e9 don't"
    assert restore("a &apos; b .", "moses", "en") == "a &apos; b ."
    assert [restore("a' b", "words", each) for each in ("en", "hi", None, "fr")] == [*["a' b"] * 3, "a'b"]


@pytest.mark.parametrize("name", PREPARATIONS)
@pytest.mark.parametrize(
    "text", ["", "  ", "\0", "\ud800", "\u200b\u200f", "😀😀", "a" + "\u0301" * 1000, "a\u2028b\x85c"]
)
def test_strange_text_passes(text: str, name: str) -> None:
    assert isinstance(restore(prepare(text, name, "fr"), name, "fr"), str)


def test_a_million_characters_take_time_in_proportion() -> None:
    """About two seconds; with time by the square it would be hours, and conftest.py would stop it."""
    many = 250_000
    for text, joined in (
        ("a." * many, "a." * many),
        ("'" * many, "'" * many),
        ('a " ' * 2 * many, ('a "a" ' * many).rstrip()),
    ):
        assert restore(prepare(text, "words", "fr"), "words", "fr") == joined
