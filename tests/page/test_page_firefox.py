"""The page in Firefox: it opens, computes, explains a cell and judges own numbers as in Chromium."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from firefox import Firefox, firefox

from pellucid.explanation import Explanation
from pellucid.translator import load

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ENTER = "\ue007"
SELF = "decoder.layers.0.self_attention"
TEXT = "return [...document.querySelectorAll(arguments[0])].map((each) => each.innerText)"
FITS = "return [document.documentElement.scrollWidth - innerWidth, document.body.dataset.shown]"


@pytest.fixture
def page(tmp_path: Path, demo_path: Path) -> Iterator[Firefox]:
    with firefox(tmp_path) as browser:
        browser.ask("WebDriver:Navigate", {"url": demo_path.as_uri()})
        browser.until("document.body.dataset.shown === location.hash")
        yield browser


def test_it_opens_and_shows_how_a_score_is_made(page: Firefox, demo: Explanation) -> None:
    assert page.run(FITS)[0] <= 0, "nothing scrolls sideways"
    (best, *_), step = page.run(TEXT, ".best li"), demo.steps[0]
    assert step.expected in best and f"{step.probability:.4f}" in best
    page.click(f"#drawing [data-block='{SELF}']")
    page.click(f"[data-plate='{SELF}.scores'] td[role=gridcell]")
    page.until("document.querySelector('.inspector .terms') !== null")
    trace = demo.trace
    head = int(page.until("location.hash.match(/head=(\\d+)/)?.[1] ?? '0'"))
    terms = page.run(TEXT, ".inspector .terms tbody tr")
    query, key = (trace[f"{SELF}.{name}"].tensor[0, head, 0].tolist() for name in ("queries", "keys"))
    assert len(terms) == len(query)
    assert all(
        f"{q:z.4f}" in term and f"{k:z.4f}" in term for term, q, k in zip(terms, query, key, strict=True)
    )
    score = trace[f"{SELF}.scores"].tensor[0, head, 0, 0].item()
    assert page.run(TEXT, ".making-total b") == [f"{score:z.4f}"]
    assert page.run(FITS)[0] <= 0


@pytest.mark.parametrize("sentence", ["The cat sat on the mat", "I love you", "What is your name?"])
def test_it_translates_as_python_does(page: Firefox, sentence: str) -> None:
    page.write("#own-sentence", sentence + ENTER)
    words = "[...document.querySelectorAll('.target-word')].map((each) => each.textContent).join(' ')"
    page.until(f"document.querySelector('h1').textContent.includes({sentence.split()[1]!r})")
    said = page.until(words)
    expected = load("demo", device="cpu").translate(sentence, to="hi").text
    assert said.replace(" ", "") == expected.replace(" ", "")
