"""Matrices in the room they have: digits rather than colours alone, labels over columns, nothing cut."""

from typing import Any

import pytest
from cases import few
from opened_page import PHONE, Opened, OpenPage

pytestmark = pytest.mark.browser

SELF, CROSS = "decoder.layers.0.self_attention", "decoder.layers.0.cross_attention"
NINE = "text=The boat is near the bank.&to=es"
LAPTOP: dict[str, Any] = {"width": 1366, "height": 768}
WIDE: dict[str, Any] = {"width": 1440, "height": 900}
# Of each plate its last name, and how many decimals it shows; 0 where it is painted.
DIGITS = """() => [...document.querySelectorAll(".plate")].filter((plate) => plate.checkVisibility()).map(
  ({ spec: { name, size } }) => [name.split(".").at(-1), size.numbers ? size.decimals : 0])"""
# What is cut, reaches out of its place, or is a picture that is not as wide as its frame.
SPOILT = """() => [...document.querySelectorAll(".stage-field .plate")].flatMap((plate) => {
  if (!plate.checkVisibility()) return [];
  const room = document.querySelector(".stage-field").getBoundingClientRect();
  const all = (selector) => [...plate.querySelectorAll(selector)];
  const out = plate.getBoundingClientRect().right > room.right + 1 ? ["out of the field"] : [];
  const cut = all("tbody td, tbody th:not(.unnumbered), thead th:not(.unnumbered, .tokens-above th)")
    .filter((cell) => !cell.querySelector("canvas") && !cell.closest(".painted thead"))
    .filter((cell) => cell.scrollWidth > cell.clientWidth + 1);
  const upright = all(".tokens-above thead th:not(.unnumbered, .sum) bdi");
  const short = upright.filter((text) => text.scrollHeight > text.clientHeight + 1);
  const shape = plate.querySelector(".shape").getBoundingClientRect();
  const high = upright.filter((text) => text.getBoundingClientRect().top < shape.bottom);
  const { columns } = plate.spec.panel, { width } = plate.spec.size;
  const frames = all("td.field").filter((field) => Math.abs(field.clientWidth - columns * width) > 1);
  const named = (kind, found) => found.map((each) => `${kind}: ${each.textContent}`);
  const kinds = { cut, short, high, frame: frames };
  return [...out, ...Object.entries(kinds).flatMap((pair) => named(...pair))]
    .map((what) => `${plate.dataset.plate} ${what}`);
})"""


def digits(opened: Opened) -> list[tuple[str, int]]:
    return [tuple(each) for each in opened.page.evaluate(DIGITS)]


@pytest.mark.parametrize(
    ("address", "screen", "shown"),
    [
        (f"{CROSS}.weights", LAPTOP, [("masked_scores", 4), ("weights", 4)]),
        (f"{SELF}.masked_scores", LAPTOP, [("scaled_scores", 3), ("mask", 3), ("masked_scores", 3)]),
        (f"{SELF}.masked_scores?{NINE}", LAPTOP, [("scaled_scores", 0), ("mask", 0), ("masked_scores", 2)]),
        (f"{CROSS}.scores?{NINE}", LAPTOP, [("queries", 0), ("keys", 0), ("scores", 4)]),
        (f"{CROSS}.scores?{NINE}&step=1", LAPTOP, [("queries", 0), ("keys", 0), ("scores", 4)]),
        ("decoder.probabilities", LAPTOP, [("logits", 4), ("probabilities", 4)]),
        (f"{CROSS}.weights", PHONE, [("weights", 3)]),
        *few(
            0,
            [
                (f"{CROSS}.scaled_scores", PHONE, [("scaled_scores", 2)]),
                ("decoder.probabilities", PHONE, [("probabilities", 4)]),
            ],
        ),
    ],
)
def test_digits_are_kept_where_there_is_room(
    open_demo: OpenPage, address: str, screen: dict[str, Any], shown: list[tuple[str, int]]
) -> None:
    opened = open_demo(f"#{address}", **screen)
    assert digits(opened) == shown
    if screen is not PHONE:
        assert opened.outside(".plate tbody tr") == []


@pytest.mark.parametrize(("screen", "decimals"), [(LAPTOP, 3), (WIDE, 4)])
def test_the_six_by_six_of_the_notes_has_digits(
    open_demo: OpenPage, screen: dict[str, Any], decimals: int
) -> None:
    opened = open_demo("#?open=own", **screen)
    opened.until_there("[data-plate=scores]")
    assert digits(opened) == [(name, decimals) for name in ("queries", "keys", "scores")]
    last = opened.page.locator("[data-plate=scores] tbody tr").last.bounding_box()
    assert last["y"] + last["height"] <= screen["height"], "all of it in the window"
    rows = [opened.page.locator(f"[data-plate={name}] tbody tr").first for name in ("queries", "scores")]
    assert rows[0].bounding_box()["y"] == rows[1].bounding_box()["y"], "one label stands for both"
    opened.click('[data-key="stage-weights"]')
    assert digits(opened) == [("masked_scores", 4), ("weights", 4)]


def test_a_result_gets_the_free_width(open_demo: OpenPage) -> None:
    opened = open_demo("#decoder.layers.0.feed_forward.output", **LAPTOP)
    assert opened.page.locator(".plate canvas").last.bounding_box()["width"] > 700


@pytest.mark.parametrize(
    "screen",
    few(2, [LAPTOP, PHONE, {"width": 1024, "height": 768}]),
    ids=lambda screen: str(screen["width"]),
)
def test_no_number_and_no_label_is_cut(open_demo: OpenPage, screen: dict[str, Any]) -> None:
    opened = open_demo(**screen)
    stages = "[...document.querySelectorAll('.stage-bar button')].map((each) => each.dataset.key.slice(6))"
    for words in (NINE, "scale=off&text=How are you&to=hi") if screen is LAPTOP else (NINE,):
        spoilt = {}
        for block in (SELF, CROSS, "decoder.layers.0.feed_forward"):
            opened.go(f"#{block}?{words}")
            for name in opened.page.evaluate(stages):
                opened.go(f"#{name}?{words}")
                spoilt[name] = opened.page.evaluate(SPOILT)
        assert {name: found for name, found in spoilt.items() if found} == {}
