"""A learner's minute: from the file to the dot product of a score in three actions, all in the window."""

from pathlib import Path
from typing import Any

import pytest
from opened_page import PHONE, Opened, OpenPage

from pellucid.explanation import Explanation

pytestmark = pytest.mark.browser

SELF = "decoder.layers.0.self_attention"
WIDE: list[dict[str, Any]] = [
    {"width": width, "height": height} for width, height in ((1440, 900), (1366, 768), (1024, 768))
]
NINE = "The boat is near the bank."


def assert_shows_the_dot_product(opened: Opened, demo: Explanation) -> None:
    """The sum of the inspected cell with its operands, as strips and numbers, in the window."""
    opened.until_there(".inspector.pinned .terms")  # a cell under the pointer is shown before
    assert opened.outside(".inspector .strips", ".inspector .terms tbody tr", ".making-total") == []
    cell = opened.page.evaluate("({ row: state.row, column: state.column, head: state.head })")
    assert cell["row"] is not None
    query = demo.trace[f"{SELF}.queries"].tensor[0, cell["head"], cell["row"]]
    key = demo.trace[f"{SELF}.keys"].tensor[0, cell["head"], cell["column"]]
    terms = opened.texts(".inspector .terms tbody tr")
    assert len(terms) == len(query)
    for text, q, k in zip(terms, query.tolist(), key.tolist(), strict=True):
        assert f"{q:z.4f}" in text and f"{k:z.4f}" in text
    score = demo.trace[f"{SELF}.scores"].tensor[0, cell["head"], cell["row"], cell["column"]].item()
    assert opened.text(".making-total b") == f"{score:z.4f}"


@pytest.mark.parametrize("screen", [*WIDE, PHONE], ids=lambda screen: str(screen["width"]))
def test_in_three_actions_by_pointer_or_touch(
    open_demo: OpenPage, demo: Explanation, screen: dict[str, Any]
) -> None:
    opened = open_demo(**screen)
    act = (lambda place: place.tap()) if screen is PHONE else (lambda place: place.click())
    act(opened.page.locator(f"#drawing [data-block='{SELF}']"))
    opened.settle()
    act(opened.page.locator(f"[data-plate='{SELF}.scores'] td[role=gridcell]").nth(4))
    opened.settle()
    assert_shows_the_dot_product(opened, demo)


def test_by_keyboard(open_demo: OpenPage, demo: Explanation) -> None:
    opened = open_demo()
    opened.tab_to("encoder: embedding")
    opened.press_until("decoder", "ArrowRight")
    opened.press_until("decoder, layer 0: masked self-attention", "ArrowDown")
    opened.press("Enter")
    grid = "document.activeElement.closest('[role=grid]')?.ariaLabel ?? ''"
    came = [opened.focus]
    while "Scores" not in opened.page.evaluate(grid):
        assert len(came) < 30, f"Tab never came to the scores, but to {came}"
        opened.press("Tab")
        came.append(opened.focus)
    opened.press("Enter")
    assert_shows_the_dot_product(opened, demo)
    box, dock = opened.page.evaluate(
        "[document.activeElement, document.querySelector('#dock')].map((e) => e.getBoundingClientRect())"
    )
    assert box["bottom"] <= dock["top"], "the focus is not under the dock"
    opened.press("Escape", "Escape")
    assert opened.address == "#decoder.layers.0"


@pytest.mark.parametrize(("width", "height"), [(1280, 700), (1440, 900)])
def test_the_first_screen_holds_it_all(open_demo: OpenPage, width: int, height: int) -> None:
    opened = open_demo("", width, height)
    around = ("h1", ".purpose", "#own-sentence", ".example", "#unfold-target")
    assert opened.outside(*around, "#drawing .token", ".memory", ".best li") == []
    assert len(opened.texts(".example")) >= 4
    lefts = opened.lefts(".encoder", ".memory", ".decoder", ".next")
    assert lefts == sorted(lefts), "from left to right"
    letters = opened.page.locator(".strand-letter").all_text_contents()
    assert {"Q", "K", "V"} == set(letters)
    words = "[...document.querySelectorAll('.target-word')].map((each) => each.classList.contains('unsaid'))"
    assert opened.page.evaluate(words) == [False, True, True], "step 1: the first word alone is said"
    assert opened.page.locator(".arc").count() == 3


def test_nine_words_with_the_whole_triangle_and_the_row_sums(open_demo: OpenPage) -> None:
    for screen in WIDE:
        opened = open_demo(f"#{SELF}.weights?text={NINE}&to=es", **screen)
        plate = f"[data-plate='{SELF}.weights']"
        count = len(opened.texts(f"{plate} tbody tr"))
        assert count >= 7
        assert opened.texts(f"{plate} td.sum") == ["1.0000"] * count
        cut = "[...document.querySelectorAll('td.sum')].filter((e) => e.scrollWidth > e.clientWidth)"
        assert opened.page.evaluate(f"{cut}.length") == 0
        cells = ("tbody tr", "td.sum", "thead th", "td[role=gridcell]")
        assert opened.outside(*(f"{plate} {part}" for part in cells)) == []


def test_a_switch_pushes_the_drawing_and_tells_its_effect_in_a_line(open_demo: OpenPage) -> None:
    opened = open_demo("", 1366, 768)
    before = opened.box("#drawing")["width"]
    opened.click("#unfold")
    after, panel = (opened.box(place) for place in ("#drawing", "#switches"))
    assert after["x"] + after["width"] <= panel["x"] + 1 and after["width"] < before
    opened.click("switch-causal")
    effect = opened.box("#effect")
    assert effect["height"] < 110 and effect["y"] + effect["height"] <= after["y"] + 200
    opened.page.locator("#effect summary").click()
    table = (Path(__file__).parents[2] / "docs/results/leakage.md").read_text(encoding="utf-8")
    for number in ("0.0690", "0.0247", "917"):
        assert number in opened.text(".leak-seen") and number in table
    for word in opened.page.locator(".target-word.missed").all():
        assert word.get_attribute("data-probability").startswith("now ")
