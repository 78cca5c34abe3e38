"""A translation of the reader's own in the page: why not this one? By form and by address, as in Python."""

import re
from urllib.parse import quote

import pytest
from opened_page import OpenPage, named

from pellucid.explanation import Explanation

pytestmark = pytest.mark.browser

SELF = "decoder.layers.0.self_attention"
CAT = "le chat était assis sur le tapis", "en", "The cat sat on mat"
# What is typed, whether it is a translation, and what is said beside the field that is at fault.
MISTAKES = [
    ("   ", None, "sentence", "The sentence is empty"),
    ("cat " * 300, None, "sentence", "longer than the 256 tokens"),
    ("I like cats", "los gatoz", "target", 'The model has no word "gatoz". Near it: gato'),
    ("I like catz", "los gatos", "sentence", 'The model has no word "catz". Near it: cat'),
]


def test_a_given_target_is_explained_as_python_does(open_demo: OpenPage, demo: Explanation) -> None:
    text, to, target = CAT
    given = demo.translator.explain(text, to=to, target=target)
    found = demo.translator.explain(text, to=to)
    opened = open_demo(width=390)
    opened.translate(*CAT)
    assert opened.text("h1 .said-sentence") == target
    opened.assert_steps(given.steps)
    opened.until("!document.querySelector('#given').hidden")
    told = opened.text("#given")
    assert found.translation.text in told
    losses = [sum(step.loss for step in each.steps) for each in (found, given)]
    said = re.search(r"a loss of (\S+); this one has (\S+)\. They", told)
    assert said is not None and [float(each) for each in said.groups()] == pytest.approx(losses, abs=2e-4)
    pairs = zip(given.steps, found.steps, strict=False)
    part = next(at for at, (one, other) in enumerate(pairs) if one.expected != other.expected)
    assert f"position {part + 1}: {found.steps[part].expected} has" in told
    assert f"{given.steps[part].expected} has {given.steps[part].probability:.4f}." in told
    opened.assert_fits(390)

    # The six tokens of the notes are one address.
    opened = open_demo(f"#{SELF}.weights?text={quote(text)}&to={to}&target={quote(target)}")
    rows = opened.texts("[data-plate$=weights] tbody tr")
    weights = given.trace[f"{SELF}.weights"].tensor[0, 0].tolist()
    assert len(rows) == 6
    for row, token, numbers in zip(rows, named(given.target_tokens), weights, strict=False):
        label, *cells, total = row.split()
        assert (label, total) == (token, "1.0000")
        for cell, number in zip(cells, numbers, strict=True):
            assert cell == f"{number:.{len(cell.partition('.')[2])}f}"
    assert "computed" in opened.text(".making-total")
    opened.go("#")
    assert opened.text("h1").startswith("How are you") and not opened.is_seen("#given")


def test_an_error_stands_beside_its_field_and_nothing_typed_is_lost(
    open_demo: OpenPage, demo: Explanation
) -> None:
    opened = open_demo()
    for text, target, wrong, told in MISTAKES:
        opened.ask(text, "es", target)
        opened.until(f"document.querySelector('#own-{wrong}-error').textContent.includes('{told}')")
        other = "target" if wrong == "sentence" else "sentence"
        assert opened.text(f"#own-{other}-error") == "" and opened.text("h1").startswith("How are you")
        assert opened.page.locator("#own-sentence").input_value() == text
        assert opened.page.locator("#own-target").input_value() == (target or "")
    opened.page.locator("#own-sentence-error").get_by_text("cats", exact=True).click()
    opened.until("document.querySelector('h1').textContent.startsWith('I like cats')")
    assert opened.page.locator("#own-sentence").input_value() == "I like cats"
    assert opened.text("#own-sentence-error") == ""

    opened.go("#")
    opened.ask("", "hi", demo.translation.text)
    opened.until("!document.querySelector('#given').hidden")
    assert "the model says the same" in opened.text("#given")
    assert opened.text("h1").startswith("How are you")


def test_capitals_languages_and_offers_take_effect_at_once(open_demo: OpenPage) -> None:
    opened = open_demo()
    opened.page.locator("select[name=to]").select_option("es")  # of the page's own sentence
    opened.until("document.querySelector('h1').textContent.includes('Cómo')")
    assert opened.page.locator("#own-sentence").input_value() == "How are you"
    opened.translate("I LIKE Cats", "fr")
    assert opened.text("h1").startswith("I like cats") and opened.text("#given") == "Read as I like cats."
    opened.page.locator("select[name=to]").select_option("es")
    opened.until("location.hash.endsWith('to=es')")
    opened.settle()
    assert opened.text("h1 .said-sentence") == "Me gustan los gatos"
    opened.page.go_back()
    opened.page.go_back()
    opened.settle()
    assert opened.page.locator("#own-sentence").input_value() == "How are you"
    opened.go("#")
    assert opened.page.locator("#own-sentence").input_value() == "" and opened.is_seen("select[name=to]")
    assert opened.page.locator("select[name=to]").input_value() == "hi" and not opened.is_seen("#given")


def test_a_given_translation_opens_where_it_parts(open_demo: OpenPage) -> None:
    opened = open_demo()
    opened.ask("I like cats", "es", "Me gusta los gatos")
    opened.until("location.hash.includes('target=')")
    opened.settle()
    assert "position=2" in opened.address and "part at position 2" in opened.text("#given")
    assert opened.outside("#drawing .token") == [], "the fields leave room for the drawing"
