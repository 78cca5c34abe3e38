"""A translation of the reader's own in the page: why not this one? By form and by address, as in Python."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from opened_page import Opened, named, opened_page

from pellucid.explanation import Explanation

pytestmark = pytest.mark.browser

SELF = "decoder.layers.0.self_attention"
CAT = "le chat était assis sur le tapis", "en", "The cat sat on mat"
NUMBER = re.compile(r"\d\.\d{4}")


def ask(opened: Opened, text: str, to: str, target: str) -> None:
    if not opened.is_seen("#own-target"):
        opened.page.locator("#unfold-target").click()
    opened.page.locator("#own-sentence").fill(text)
    opened.page.locator("select[name=to]").select_option(to)
    opened.page.locator("#own-target").fill(target)
    opened.page.locator("#own-target").press("Enter")


def test_a_given_target_is_explained_as_python_does(browser: Any, demo: Explanation, demo_path: Path) -> None:
    text, to, target = CAT
    given = demo.translator.explain(text, to=to, target=target)
    found = demo.translator.explain(text, to=to)
    with opened_page(browser, demo_path, width=390) as opened:
        ask(opened, *CAT)
        opened.until("!document.querySelector('#given').hidden")
        opened.settle()
        assert opened.text("h1 .said-sentence") == target
        for line, step in zip(opened.texts("#steps tbody tr"), given.steps, strict=True):
            assert (
                named([step.expected])[0] in line
                and abs(float(NUMBER.findall(line)[0]) - step.probability) < 6e-5
            )
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


def test_the_six_tokens_of_the_notes_are_one_address(
    browser: Any, demo: Explanation, demo_path: Path
) -> None:
    text, to, target = CAT
    given = demo.translator.explain(text, to=to, target=target)
    address = f"#{SELF}.weights?text={quote(text)}&to={to}&target={quote(target)}"
    with opened_page(browser, demo_path, address) as opened:
        rows = opened.texts("[data-plate$=weights] tbody tr")
        weights = given.trace[f"{SELF}.weights"].tensor[0, 0].tolist()
        assert len(rows) == 6
        for row, token, numbers in zip(rows, named(given.target_tokens), weights, strict=False):
            label, *cells, total = row.split()
            assert (label, total) == (token, "1.0000")
            assert [float(each) for each in cells] == pytest.approx(numbers, abs=6e-5)
        assert "computed" in opened.text(".making-total")
        opened.go("#")
        assert opened.text("h1").startswith("How are you") and not opened.is_seen("#given")


def test_an_error_stands_beside_the_field_that_it_is_about(browser: Any, demo_path: Path) -> None:
    with opened_page(browser, demo_path) as opened:
        for wrong, other, text, target, told in [
            (
                "target",
                "sentence",
                "I like cats",
                "los gatoz",
                'The model has no word "gatoz". Near it: gato',
            ),
            ("sentence", "target", "I like catz", "los gatos", 'The model has no word "catz". Near it: cat'),
        ]:
            ask(opened, text, "es", target)
            opened.until(f"document.querySelector('#own-{wrong}-error').textContent !== ''")
            assert told in opened.text(f"#own-{wrong}-error") and opened.text(f"#own-{other}-error") == ""
            assert opened.page.locator("#own-target").input_value() == target


def test_what_the_model_says_itself_is_said_to_be_the_same(
    browser: Any, demo: Explanation, demo_path: Path
) -> None:
    with opened_page(browser, demo_path) as opened:
        ask(opened, "", "hi", demo.translation.text)
        opened.until("!document.querySelector('#given').hidden")
        assert "the model says the same" in opened.text("#given")
        assert opened.text("h1").startswith("How are you")
