"""Little room: a level as a sheet on a phone, the tour at 200 per cent, forced colours, many words."""

from pathlib import Path
from typing import Any

import pytest
from test_page_views import SMALL_TARGETS, Opened
from tiny import translator

pytestmark = pytest.mark.browser

SELF = "decoder.layers.0.self_attention"
BOX = """(place) => {
  const {top, bottom} = document.querySelector(place).getBoundingClientRect();
  return [top, bottom];
}"""
OVERLAPS = """() => [...document.querySelectorAll(".token-row bdi:not(.raw)")].filter((text) => {
  const [word, place] = [text, text.closest(".token")].map((part) => part.getBoundingClientRect());
  return word.left < place.left - 1 || word.right > place.right + 1;
}).map((text) => text.textContent)"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("phone") / "page.html"
    translator().explain("I like cats", to="es", target="Me gustan los gatos").to_html(path)
    return path


@pytest.fixture(scope="module")
def path_of_pieces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pieces") / "page.html"
    given = translator(kind="unigram").explain(
        "le chat est sur le tapis", to="en", target="The cat sat on the mat"
    )
    assert len(given.source_tokens) > 16 and len(given.target_tokens) > 16
    given.to_html(path)
    return path


def box(opened: Opened, place: str) -> tuple[float, float]:
    """Its upper and its lower edge in the window."""
    top, bottom = opened.page.evaluate(BOX, place)
    return top, bottom


def test_on_a_phone_a_level_is_a_sheet_over_the_page(browser: Any, path: Path) -> None:
    with Opened(browser, path, width=390) as opened:
        block = opened.page.locator(f'#drawing [data-block="{SELF}"]')
        block.scroll_into_view_if_needed()
        behind = opened.page.evaluate("scrollY")
        block.click()
        opened.settle()
        top, bottom = box(opened, "#stage")
        assert 40 < top < 60 and abs(bottom - box(opened, "#dock")[0]) < 2
        assert opened.page.locator("#stage").get_attribute("role") == "dialog"
        assert opened.page.evaluate("document.querySelector('#stage').contains(document.activeElement)")
        first = box(opened, "#stage .plate .matrix")
        assert top < first[0] < bottom, "the first matrix is seen at once"
        way = opened.page.locator(".way")
        assert way.bounding_box()["height"] < 60 and "Masked self-attention" in way.inner_text()
        assert opened.page.evaluate(SMALL_TARGETS) == []
        assert opened.page.evaluate("document.documentElement.scrollWidth") == 390
        opened.page.mouse.move(200, 500)
        opened.page.mouse.wheel(0, 20000)
        opened.page.wait_for_timeout(100)
        assert opened.page.evaluate("scrollY") == behind, "the page behind the sheet stays"
        for _ in range(50):  # Tab never comes to what lies behind
            opened.press("Tab")
            assert opened.page.evaluate("!document.activeElement.closest('#drawing, .masthead, #steps')")
        opened.page.locator(".close-sheet").click()
        opened.settle()
        assert not opened.page.locator("#stage").is_visible()
        assert opened.page.evaluate("scrollY") == behind
        assert opened.page.evaluate("document.activeElement.dataset.block") == SELF


def test_the_sheet_closes_with_escape_and_with_the_way_back(browser: Any, path: Path) -> None:
    with Opened(browser, path, width=390) as opened:
        opened.page.locator('#drawing [data-block="decoder.layers.0"]').click()
        opened.settle()
        assert opened.page.locator("#stage").is_visible()
        opened.page.go_back()
        opened.settle()
        assert not opened.page.locator("#stage").is_visible()
        opened.page.go_forward()
        opened.settle()
        opened.page.locator(".close-sheet").focus()
        opened.press("Escape")
        assert not opened.page.locator("#stage").is_visible()
        assert not opened.page.locator("#drawing-place").evaluate("(place) => place.inert")


@pytest.mark.parametrize(("width", "height"), [(720, 450), (390, 844)])
def test_the_tour_leaves_room_for_what_it_speaks_of(
    browser: Any, path: Path, width: int, height: int
) -> None:
    with Opened(browser, path, "#?open=tour&stop=5", width=width) as opened:
        opened.page.set_viewport_size({"width": width, "height": height})
        opened.page.locator("[data-key=tour-next]").click()
        opened.settle()
        card = box(opened, "#tour-place")
        assert card[0] == 0 and card[1] < max(60, 0.3 * height)
        dock = box(opened, "#dock")[0]
        for place in (".opened-matrix td[aria-selected=true]", ".opened-matrix .cells tbody tr:last-child"):
            top, bottom = box(opened, place)
            assert card[1] <= top and bottom <= dock, place
        more = opened.page.locator("[data-key=tour-more]")
        before = opened.page.locator(".tour-text").bounding_box()
        more.click()
        assert more.get_attribute("aria-expanded") == "true"
        after = opened.page.locator(".tour-text").bounding_box()
        assert after["height"] > (before["height"] if before else 0)
        assert box(opened, "#tour-place")[1] <= 0.5 * height + 1
        assert opened.page.evaluate(SMALL_TARGETS) == []


CUT = """() => [...document.querySelectorAll(".token-row bdi:not(.raw, .special)")]
  .filter((text) => text.scrollWidth > text.clientWidth + 1).map((text) => text.textContent)"""


@pytest.mark.parametrize("width", [1440, 1024, 390])
def test_short_words_stand_upright_with_their_probabilities(browser: Any, path: Path, width: int) -> None:
    with Opened(browser, path, width=width) as opened:
        assert opened.page.evaluate(CUT) == []
        assert opened.page.locator(".token-row.turned").count() == 0
        assert opened.page.evaluate(OVERLAPS) == []
        shown = opened.page.locator(".said .probability")
        assert [shown.nth(place).is_visible() for place in range(5)] == [True] * 5
        row, block = (
            opened.page.locator(place).first.bounding_box()
            for place in (".decoder .target", ".decoder .layer .block")
        )
        assert width == 390 or block["x"] + block["width"] - (row["x"] + row["width"]) < 16, (
            "lanes take the whole block"
        )


def test_many_pieces_keep_their_probabilities_and_the_memory_lists_eight(
    browser: Any, path_of_pieces: Path
) -> None:
    with Opened(browser, path_of_pieces) as opened:
        assert opened.page.locator(".expected.turned").count() == 1
        assert all(each.is_visible() for each in opened.page.locator(".said .probability").all())
        rows = opened.page.locator(".memory-tokens li")
        shown = [each for each in rows.all() if each.is_visible()]
        shares = [float(each) for each in rows.locator(".share").all_text_contents()]
        listed = sorted(float(each.locator(".share").inner_text()) for each in shown)
        assert listed == sorted(shares)[-8:]
        assert f"… {len(shares) - 8} more" in opened.text(".memory-more")


def test_bars_and_lines_survive_forced_colours(browser: Any, path: Path) -> None:
    with Opened(browser, path, "#decoder.layers.0") as opened:
        opened.page.emulate_media(forced_colors="active")
        style = "(part, name) => getComputedStyle(part)[name]"
        bar = opened.page.locator(".length-bar").first
        assert "gradient" in bar.evaluate("(part) => getComputedStyle(part).backgroundImage")
        opened.go("#")
        bar = opened.page.locator(".said .share-bar").first
        assert "gradient" in bar.evaluate("(part) => getComputedStyle(part).backgroundImage")
        lit = opened.page.locator(".said.lit")
        assert lit.evaluate(style, "borderTopWidth") == "3px"


def test_of_two_layers_asked_for_in_a_row_the_last_is_drawn(browser: Any, path: Path) -> None:
    with Opened(browser, path, "#decoder.layers.0") as opened:
        shown = opened.page.evaluate("""async () => {
          const place = document.querySelector(".stage-row");
          const slow = Object.create(current.run);
          slow.get = async (name) => {
            await new Promise((done) => setTimeout(done, 40));
            return current.run.get(name);
          };
          const late = drawLayer(slow, "decoder.layers.0", place);
          await Promise.all([late, drawLayer(current.run, "encoder.layers.0", place)]);
          return [...place.querySelectorAll("[data-block]")].map((part) => part.dataset.block);
        }""")
        assert len(shown) == 4 and all(block.startswith("encoder.layers.0.") for block in shown)


def test_what_the_form_says_moves_nothing(browser: Any, path: Path) -> None:
    with Opened(browser, path) as opened:
        before = box(opened, "#drawing")
        opened.page.fill("#own-sentence", "")
        opened.page.locator(".typing .go").click()
        opened.page.locator("#own-sentence-error:not(:empty)").wait_for()
        assert box(opened, "#drawing") == before
        assert before[0] - box(opened, ".typing")[1] >= 20, "the form keeps its distance from the drawing"
