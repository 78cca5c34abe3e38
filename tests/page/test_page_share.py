"""Showing the page to others: lecture mode, a link, a frame in another page, a picture."""

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from cases import few
from opened_page import PHONE, OpenPage

from pellucid.explanation import Explanation

pytestmark = pytest.mark.browser

SCORES = "decoder.layers.0.cross_attention.scores"
COPYING = "navigator.clipboard.writeText = async (text) => { window.copied = text; }"

# What the button says, one after the other.
TOLD = """() => {
  const place = document.querySelector("#copy-link");
  window.told = [];
  new MutationObserver(() => told.push(place.textContent)).observe(place, { childList: true });
}"""


def test_a_lecture_has_large_type_two_decimals_and_no_frame(open_page: OpenPage) -> None:
    opened = open_page(f"#{SCORES}?head=1")
    before = opened.page.evaluate("parseFloat(getComputedStyle(document.body).fontSize)")
    assert re.search(r"\.\d{3}", " ".join(opened.texts(".stage-field [role=gridcell]")))
    opened.click("#share summary")
    opened.click("#start-lecture")
    assert "lecture=1" in opened.address and not opened.is_seen(".bar") and not opened.is_seen("footer")
    assert opened.page.evaluate("parseFloat(getComputedStyle(document.body).fontSize)") > 1.15 * before
    opened.page.wait_for_timeout(200)  # until the matrices are fitted again
    cells = [text for text in opened.texts(".stage-field [role=gridcell]") if "." in text]
    assert len(cells) > 10 and all(re.fullmatch(r"-?\d+\.\d\d", text) for text in cells)
    top = opened.box("#dock")["y"]
    assert top > 860, "the dock covers nothing"
    opened.page.mouse.move(700, 895)
    assert opened.box("#dock")["y"] < top - 20
    opened.page.locator(".stage-field [role=gridcell][tabindex='0']").first.focus()
    opened.press("PageDown")
    assert opened.address.startswith("#decoder.layers.0.cross_attention.scaled_scores")
    opened.page.keyboard.press("PageUp")
    opened.until(f"location.hash.startsWith('#{SCORES}')")
    opened.settle()
    opened.go("#?lecture=1")
    opened.press("PageDown", "PageDown", "PageUp")
    assert opened.page.evaluate("[state.mode, state.position]") == ["step", 1]
    opened.go("#?lecture=1&open=tour&stop=2")
    opened.press("PageDown")
    assert "stop=3" in opened.address and "lecture=1" in opened.address
    opened.click("#end-look")
    assert "lecture" not in opened.address and opened.is_seen(".bar")


def test_links_and_frames_are_copied(open_page: OpenPage, path: Path) -> None:
    opened = open_page(f"#{SCORES}?head=1&cell=2,1")
    opened.page.evaluate(COPYING)
    opened.click("#share summary")
    opened.page.evaluate(TOLD)
    opened.click("#copy-link")
    assert opened.page.evaluate("window.copied") == path.as_uri() + opened.address
    opened.until("window.told.length > 1")
    assert opened.page.evaluate("window.told") == ["Copied", "Copy link"]
    opened.click("#copy-frame")
    (source,) = re.findall(r'<iframe src="([^"]*)"', opened.page.evaluate("window.copied"))
    assert source.startswith(path.as_uri()) and "cell=2,1" in source and "embed=1" in source
    opened.page.set_viewport_size({"width": 1000, "height": 600})
    opened.go("#" + source.partition("#")[2])
    assert not opened.is_seen(".bar") and opened.box(".stage-field")["y"] < 300
    assert opened.is_seen("#end-look") and opened.outside(".stage-bar") == []


@pytest.mark.parametrize("address", ["#", f"#{SCORES}?head=1"], ids=["drawing", "stage"])
def test_a_picture_is_a_file_that_a_browser_draws(
    open_page: OpenPage, browser: Any, hindi: Explanation, address: str, tmp_path: Path
) -> None:
    opened = open_page(address)
    opened.click("#share summary")
    with opened.page.expect_download() as saved:
        opened.page.locator("#save-picture").click()
    file = tmp_path / saved.value.suggested_filename
    saved.value.save_as(file)
    assert file.suffix == ".svg"
    text = "".join(ElementTree.parse(file).getroot().itertext())
    assert all(word in text for word in hindi.source_tokens[1:3])
    page = browser.new_page()
    page.goto(file.as_uri())
    seen = page.evaluate("document.querySelector('.model, .stage-field').getBoundingClientRect().width")
    assert seen > 500
    page.close()


@pytest.mark.parametrize("size", few(1, [PHONE, {"width": 1440}]), ids=["phone", "desktop"])
def test_all_can_use_them(open_page: OpenPage, size: dict[str, Any]) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    opened = open_page("", bypass_csp=True, **size)
    for address in ("#", "#?lecture=1", f"#{SCORES}?lecture=1", "#?embed=1"):
        opened.go(address)
        if address == "#":
            opened.click("#share summary")
        opened.assert_fits(size["width"])
        found = axe.run(opened.page).response["violations"]
        assert [(each["id"], each["nodes"][0]["html"]) for each in found] == [], address
    opened.go("#")
    opened.page.emulate_media(media="print")
    assert not opened.is_seen("#share") and not opened.is_seen("#end-look")
