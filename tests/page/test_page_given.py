"""A translation of the reader's own in the page: why not this one? By form and by address, as in Python."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from test_page_views import SMALL_TARGETS, Opened

import pellucid
from pellucid.explanation import Explanation

pytestmark = pytest.mark.browser

SELF = "decoder.layers.0.self_attention"
CAT = "le chat était assis sur le tapis", "en", "The cat sat on mat"
ERROR = "#own-{}-error"


@pytest.fixture(scope="module")
def demo() -> Explanation:
    return pellucid.load("demo", precision="fp32").explain("How are you", to="hi")


@pytest.fixture(scope="module")
def path(demo: Explanation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("given") / "page.html"
    demo.to_html(path)
    return path


def ask(opened: Opened, text: str, to: str, target: str) -> None:
    if not opened.page.locator("#own-target").is_visible():
        opened.page.locator("#unfold-target").click()
    opened.page.locator("#own-sentence").fill(text)
    opened.page.locator("select[name=to]").select_option(to)
    opened.page.locator("#own-target").fill(target)
    opened.page.locator("#own-target").press("Enter")


@pytest.mark.parametrize("width", [1440, 390])
def test_a_given_target_is_explained_as_python_does(
    browser: Any, demo: Explanation, path: Path, width: int
) -> None:
    text, to, target = CAT
    given = demo.translator.explain(text, to=to, target=target)
    found = demo.translator.explain(text, to=to)
    with Opened(browser, path, width=width) as opened:
        ask(opened, *CAT)
        opened.until("!document.querySelector('#given').hidden")
        opened.settle()
        assert opened.text("h1 .said-sentence") == target
        for line, step in zip(
            opened.page.locator("#steps tbody tr").all_inner_texts(), given.steps, strict=True
        ):
            assert step.expected in line
            assert abs(float(re.findall(r"\d\.\d{4}", line)[0]) - step.probability) < 6e-5
        told = opened.text("#given")
        assert found.translation.text in told
        losses = [sum(step.loss for step in each.steps) for each in (found, given)]
        assert [float(each) for each in re.findall(r"loss of (\S+);|has (\S+)\. They", told)[0] if each] == [
            pytest.approx(losses[0], abs=2e-4)
        ]
        part = next(
            at
            for at, (one, other) in enumerate(zip(given.steps, found.steps, strict=False))
            if one.expected != other.expected
        )
        assert f"position {part + 1}: {found.steps[part].expected} has" in told
        assert f"{given.steps[part].expected} has {given.steps[part].probability:.4f}." in told
        assert opened.page.evaluate("document.documentElement.scrollWidth") == width
        assert opened.page.evaluate(SMALL_TARGETS) == []


def test_the_six_tokens_of_the_notes_are_one_address(browser: Any, demo: Explanation, path: Path) -> None:
    text, to, target = CAT
    given = demo.translator.explain(text, to=to, target=target)
    address = f"#{SELF}.weights?text={quote(text)}&to={to}&target={quote(target)}"
    with Opened(browser, path, address) as opened:
        rows = opened.page.locator(".opened .matrix tbody tr")
        assert rows.count() == 6
        weights = given.trace[f"{SELF}.weights"].tensor[0, 0]
        for row, token, numbers in zip(
            rows.all_inner_texts(), given.target_tokens, weights.tolist(), strict=False
        ):
            assert row.startswith(token)
            shown = [float(each) for each in re.findall(r"\d\.\d{4}", row)]
            assert shown[:6] == pytest.approx(numbers, abs=6e-5)
        assert "computed" in opened.text(".making-total") and "recorded" not in opened.text(".making-total")
        opened.page.reload()
        opened.settle()
        assert opened.text("h1 .said-sentence") == target
        opened.go("#")
        assert opened.text("h1").startswith("How are you") and not opened.page.locator("#given").is_visible()


def test_errors_stand_beside_the_field_that_they_are_about(browser: Any, path: Path) -> None:
    with Opened(browser, path) as opened:
        for text, target, wrong, told in [
            (
                "I like cats",
                "Me gustan los gatoz",
                "target",
                'The model has no word "gatoz". Near it: gato',
            ),
            (
                "I like catz",
                "Me gustan los gatos",
                "sentence",
                'The model has no word "catz". Near it: cat',
            ),
            ("I like cats", "los " * 300, "target", "The target is longer than the 256 tokens"),
        ]:
            ask(opened, text, "es", target)
            opened.until(f"document.querySelector('{ERROR.format(wrong)}').textContent !== ''")
            assert told in opened.text(ERROR.format(wrong))
            other = "sentence" if wrong == "target" else "target"
            assert opened.text(ERROR.format(other)) == ""
            assert opened.page.locator("#own-target").input_value() == target
            assert opened.text("h1").startswith("How are you")
        opened.page.locator("#own-target").fill("gat")
        assert "gatos" in opened.page.locator(".offer").all_inner_texts()


def test_what_the_model_says_itself_is_said_to_be_the_same(
    browser: Any, demo: Explanation, path: Path
) -> None:
    with Opened(browser, path) as opened:
        ask(opened, "", "hi", demo.translation.text)
        opened.until("!document.querySelector('#given').hidden")
        assert "the model says the same" in opened.text("#given")
        assert opened.text("h1").startswith("How are you")
        opened.page.locator("#unfold-target").click()
        opened.page.locator("#own-sentence").press("Enter")
        opened.until("document.querySelector('#given').hidden")
