"""Little room: a level as a sheet on a phone, the tour at 200 per cent, many words, one plate at a time."""

from pathlib import Path
from typing import Any

import pytest
from opened_page import Opened, opened_page
from tiny import translator

pytestmark = pytest.mark.browser

SELF = "decoder.layers.0.self_attention"
BOX = """(place) => {
  const {top, bottom} = document.querySelector(place).getBoundingClientRect();
  return [top, bottom];
}"""
# Words that are cut short, or that reach out of their place.
CUT = """() => [...document.querySelectorAll(".token-row bdi")].filter((text) => {
  const [word, place] = [text, text.closest(".token")].map((part) => part.getBoundingClientRect());
  const isCut = !text.matches(".special") && text.scrollWidth > text.clientWidth + 1;
  return isCut || word.left < place.left - 1 || word.right > place.right + 1;
}).map((text) => text.textContent)"""


def box(opened: Opened, place: str) -> tuple[float, float]:
    """Return its upper and its lower edge in the window."""
    top, bottom = opened.page.evaluate(BOX, place)
    return top, bottom


def test_on_a_phone_a_level_is_a_sheet_over_the_page(browser: Any, path: Path) -> None:
    with opened_page(browser, path, width=390) as opened:
        block = opened.page.locator(f'#drawing [data-block="{SELF}"]')
        block.scroll_into_view_if_needed()
        behind = opened.page.evaluate("scrollY")
        block.click()
        opened.settle()
        top, bottom = box(opened, "#stage")
        assert 40 < top < 60 and abs(bottom - box(opened, "#dock")[0]) < 2
        assert opened.page.locator("#stage").get_attribute("role") == "dialog"
        assert opened.page.evaluate("document.querySelector('#stage').contains(document.activeElement)")
        assert top < box(opened, "#stage .plate .matrix")[0] < bottom, "the first matrix is seen at once"
        opened.page.mouse.move(200, 500)
        opened.page.mouse.wheel(0, 20000)
        opened.page.wait_for_timeout(100)
        assert opened.page.evaluate("scrollY") == behind, "the page behind the sheet stays"
        for _ in range(30):  # Tab never comes to what lies behind
            opened.press("Tab")
            assert opened.page.evaluate("!document.activeElement.closest('#drawing, .masthead, #steps')")
        opened.page.go_back()
        opened.settle()
        assert not opened.is_seen("#stage")
        opened.page.go_forward()
        opened.settle()
        opened.click(".close-sheet")
        assert not opened.is_seen("#stage") and opened.page.evaluate("scrollY") == behind
        assert opened.page.evaluate("document.activeElement.dataset.block") == SELF


@pytest.mark.parametrize(("width", "height"), [(720, 450), (390, 844), (1440, 900)])
def test_the_tour_shows_its_whole_text_and_what_it_speaks_of(
    browser: Any, path: Path, width: int, height: int
) -> None:
    with opened_page(browser, path, "#?open=tour&stop=5", width, height) as opened:
        for _ in range(3):
            opened.click("tour-next")
            card = box(opened, "#tour-place")
            assert card[0] == 0 and card[1] < 0.6 * height
            text = "document.querySelector('.tour-text')"
            assert opened.page.evaluate(f"{text}.scrollHeight <= {text}.clientHeight + 1"), "nothing is cut"
            assert card[1] <= box(opened, ".stage-title")[0] + 1


@pytest.mark.parametrize("width", [1440, 390])
def test_short_words_stand_upright_with_their_probabilities(browser: Any, path: Path, width: int) -> None:
    with opened_page(browser, path, width=width) as opened:
        assert opened.page.evaluate(CUT) == []
        assert opened.page.locator(".token-row.turned").count() == 0
        seen = [each.is_visible() for each in opened.page.locator(".said .probability").all()]
        assert seen == [True] + [False] * (len(seen) - 1), "at step 1, of the word that is said"
        opened.go("#?position=1")
        assert all(each.is_visible() for each in opened.page.locator(".said .probability").all())


def test_many_pieces_keep_their_probabilities_and_the_memory_lists_eight(
    browser: Any, tmp_path: Path
) -> None:
    given = translator(kind="unigram").explain(
        "le chat est sur le tapis", to="en", target="The cat sat on the mat"
    )
    assert len(given.source_tokens) > 16 and len(given.target_tokens) > 16
    given.to_html(tmp_path / "page.html")
    with opened_page(browser, tmp_path / "page.html", "#?position=1") as opened:
        assert opened.page.locator(".expected.turned").count() == 1
        assert all(each.is_visible() for each in opened.page.locator(".said .probability").all())
        rows = opened.page.locator(".memory-tokens li")
        shares = [float(each) for each in rows.locator(".share").all_text_contents()]
        listed = [float(each.locator(".share").inner_text()) for each in rows.all() if each.is_visible()]
        assert sorted(listed) == sorted(shares)[-8:]
        assert f"… {len(shares) - 8} more" in opened.text(".memory-more")


def test_a_phone_shows_the_result_first_and_scrolls_sideways_nowhere(browser: Any, path: Path) -> None:
    phone = {"has_touch": True, "is_mobile": True, "device_scale_factor": 2}
    sideways = """[...document.querySelectorAll("#stage, #stage *")].filter((each) =>
      each.checkVisibility() &&
      each.scrollWidth > each.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(each).overflowX))
      .map((each) => each.className)"""
    with opened_page(browser, path, f"#{SELF}", 390, 844, **phone) as opened:
        for stage in ("queries", "scores", "masked_scores", "weights", "context", "output"):
            opened.go(f"#{SELF}.{stage}")
            assert not opened.is_seen(".operands .plate") and opened.is_seen(f"[data-plate='{SELF}.{stage}']")
            assert opened.page.evaluate(sideways) == []
        opened.page.locator(".operands summary").tap()
        assert opened.is_seen(".operands .plate")
