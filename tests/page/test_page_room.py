"""Paper, a projector at 200 per cent, a phone and a tablet."""

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from opened_page import opened_page

pytestmark = pytest.mark.browser

SELF = "decoder.layers.0.self_attention"
# What reaches out of the sheet, and what lies over the part after it.
SPOILT = """() => {
  const parts = [...document.querySelectorAll("main > *")].filter((each) => each.checkVisibility());
  const boxes = parts.map((part) => [part, ...part.querySelectorAll(":not(svg *)")]
    .filter((each) => each.checkVisibility() && !each.closest(".unseen"))
    .map((each) => [each.getBoundingClientRect(), each.className]));
  const wide = boxes.flat().filter(([box]) => box.right > innerWidth + 1).map(([, name]) => name);
  const over = boxes.slice(0, -1).flatMap((inner, at) => inner
    .filter(([box]) => box.bottom > parts[at + 1].getBoundingClientRect().top + 1).map(([, name]) => name));
  return [wide, over];
}"""
MIDDLES = """[".stream.lit", ".target .token.lit"].map((selector) => {
  const { left, right } = document.querySelector(selector).getBoundingClientRect();
  return (left + right) / 2;
})"""
CUT = """[...document.querySelectorAll(".token-row bdi, .memory-tokens bdi")]
  .filter((text) => text.scrollWidth > text.clientWidth + 1).map((text) => text.textContent)"""


@pytest.mark.parametrize(
    "address", ["", "#?position=2", f"#{SELF}.scores?cell=1,0", f"#{SELF}.output", "#?open=own"]
)
def test_paper_holds_what_the_screen_holds(browser: Any, demo_path: Path, address: str) -> None:
    with opened_page(browser, demo_path, address) as opened:
        sheets = re.findall(rb"/MediaBox \[0 0 (\S+) (\S+)\]", opened.page.pdf(prefer_css_page_size=True))
        assert sheets and all(float(width) > float(height) for width, height in sheets)
        # A browser asks for the layout of an upright sheet before it has read that it lies on its side.
        opened.page.emulate_media(media="print")
        opened.page.set_viewport_size({"width": 800, "height": 1100})
        opened.page.set_viewport_size({"width": 1040, "height": 700})
        assert opened.page.evaluate(SPOILT) == [[], []]
        if address in ("", "#?position=2"):
            line, token = opened.page.evaluate(MIDDLES)
            assert abs(line - token) < 1, "the lit line stands on its token"
        opened.page.set_viewport_size({"width": 800, "height": 1100})
        parts = [opened.page.locator(f".{name}").first for name in ("encoder", "memory", "decoder", "next")]
        if parts[0].is_visible():
            lefts = [part.bounding_box()["x"] for part in parts]
            assert lefts == sorted(lefts), "from left to right"


@pytest.mark.parametrize("address", ["", "#?position=1", f"#{SELF}.weights?cell=2,1", "#decoder.layers.0"])
def test_at_200_per_cent_all_can_be_read_and_the_matrix_comes_first(
    browser: Any, demo_path: Path, address: str
) -> None:
    with opened_page(browser, demo_path, address, 720, 450) as opened:
        opened.assert_fits(720)
        first = opened.page.locator(
            ".plate .matrix:visible, h1 .target-word:visible, .strip-field:visible"
        ).first.bounding_box()
        assert first["y"] < opened.page.locator("#dock").bounding_box()["y"] - 20


def test_a_phone_has_its_buttons_apart_and_the_cache_among_the_switches(
    browser: Any, demo_path: Path
) -> None:
    phone = {"has_touch": True, "is_mobile": True}
    with opened_page(browser, demo_path, "#?step=2", 390, 844, **phone) as opened:
        buttons = [each for each in opened.page.locator("#dock button").all() if each.is_visible()]
        boxes = [each.bounding_box() for each in buttons]
        assert len(boxes) == 6
        for one, other in pairwise(boxes):
            assert one["x"] + one["width"] + 2 <= other["x"]
        assert opened.page.evaluate("found('time').scrollWidth <= found('time').clientWidth"), "none is cut"
        opened.page.locator("#unfold").tap()
        opened.page.locator("[data-key=cached]").tap()
        opened.settle()
        assert opened.address == "#?step=2&cache=off"


@pytest.mark.parametrize("to", ["hi", "es", "fr"])
def test_a_tablet_shows_every_token_whole(browser: Any, demo_path: Path, to: str) -> None:
    with opened_page(browser, demo_path, f"#?text=I like cats&to={to}", 1024, 768) as opened:
        assert opened.page.evaluate(CUT) == []
