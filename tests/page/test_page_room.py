"""Little room and paper: a sheet on a phone, a tablet, a projector at 200 per cent, many words, print."""

import re
from itertools import pairwise

import pytest
from cases import few
from opened_page import PHONE, Opened, OpenPage
from tiny import translator

pytestmark = pytest.mark.browser

SELF = "decoder.layers.0.self_attention"
BOX = """(place) => {
  const {top, bottom} = document.querySelector(place).getBoundingClientRect();
  return [top, bottom];
}"""
# Words that are cut short, or that reach out of their place.
CUT = """() => [...document.querySelectorAll(".token-row bdi, .memory-tokens bdi")].filter((text) => {
  const [word, place] = [text, text.closest(".token, li")].map((part) => part.getBoundingClientRect());
  const isCut = text.scrollWidth > text.clientWidth + 1;
  return isCut || word.left < place.left - 1 || word.right > place.right + 1;
}).map((text) => text.textContent)"""
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
# What overlaps in the drawing: words and numbers of its tokens, blocks, a block's name and who looks at whom.
OVERLAPPING = """() => {
  const boxes = (selector) => [...document.querySelectorAll(`.model ${selector}`)]
    .filter((each) => getComputedStyle(each).visibility === "visible")
    .map((each) => [each.getBoundingClientRect(), each.textContent || each.getAttribute("class")]);
  const meet = ([one], [other]) => one.left < other.right - 1 && other.left < one.right - 1 &&
    one.top < other.bottom - 1 && other.top < one.bottom - 1;
  const among = (all) => all.flatMap((one, at) =>
    all.slice(at + 1).filter((other) => meet(one, other)).map((other) => [one[1], other[1]]));
  const [names, arcs] = [boxes(".self_attention .block span"), boxes(".looks")];
  return [...among(boxes(":is(.token bdi, .probability)")), ...among(boxes(":is(.block, .add)")),
    ...names.flatMap((name) => arcs.filter((arc) => meet(name, arc)).map(() => name[1]))];
}"""
MIDDLES = """[".stream.lit", ".target .token.lit"].map((selector) => {
  const { left, right } = document.querySelector(selector).getBoundingClientRect();
  return (left + right) / 2;
})"""
SIDEWAYS = """[...document.querySelectorAll("#stage, #stage *")].filter((each) => each.checkVisibility() &&
  each.scrollWidth > each.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(each).overflowX))
  .map((each) => each.className)"""


def box(opened: Opened, place: str) -> tuple[float, float]:
    """Return its upper and its lower edge in the window."""
    top, bottom = opened.page.evaluate(BOX, place)
    return top, bottom


def are_seen(opened: Opened, selector: str) -> list[bool]:
    return [each.is_visible() for each in opened.page.locator(selector).all()]


def test_on_a_phone_a_level_is_a_sheet_over_the_page(open_page: OpenPage) -> None:
    opened = open_page(width=390)
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


def test_a_phone_shows_the_result_first_and_scrolls_sideways_nowhere(open_page: OpenPage) -> None:
    opened = open_page(**PHONE)
    for stage in ("queries", "scores", "masked_scores", "weights", "context", "output"):
        opened.go(f"#{SELF}.{stage}")
        assert not opened.is_seen(".operands .plate") and opened.is_seen(f"[data-plate='{SELF}.{stage}']")
        assert opened.page.evaluate(SIDEWAYS) == []
    opened.page.locator(".operands summary").tap()
    assert opened.is_seen(".operands .plate")


def test_a_phone_has_its_buttons_apart_and_the_cache_among_the_switches(open_demo: OpenPage) -> None:
    opened = open_demo("#?step=2", **PHONE)
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


@pytest.mark.parametrize(("width", "height"), [(720, 450), (390, 844), (1440, 900)])
def test_the_tour_shows_its_whole_text_and_what_it_speaks_of(
    open_page: OpenPage, width: int, height: int
) -> None:
    opened = open_page("#?open=tour&stop=5", width, height)
    for _ in range(5):
        opened.click("tour-next")
        top, bottom = box(opened, "#tour-place")
        assert top == 0 and bottom < 0.6 * height and bottom <= box(opened, ".stage-way")[0] + 1
        text = "document.querySelector('.tour-text')"
        assert opened.page.evaluate(f"{text}.scrollHeight <= {text}.clientHeight + 1"), "nothing is cut"


@pytest.mark.parametrize("width", [1440, 390])
def test_short_words_stand_upright_with_their_probabilities(open_page: OpenPage, width: int) -> None:
    opened = open_page(width=width)
    assert opened.page.evaluate(CUT) == []
    assert opened.page.locator(".token-row.turned").count() == 0
    seen = are_seen(opened, ".said .probability")
    assert seen == [True] + [False] * (len(seen) - 1), "at step 1, of the word that is said"
    opened.go("#?position=1")
    assert all(are_seen(opened, ".said .probability"))


def test_a_tablet_shows_every_token_whole(open_demo: OpenPage) -> None:
    opened = open_demo(width=1024, height=768)
    for to in ("hi", "es", "fr"):
        opened.go(f"#?text=I like cats&to={to}")
        assert opened.page.evaluate(CUT) == []


SENTENCES = [
    "I want to learn.",
    "My sister does not read the old book in the garden every day.",
    "The boat is near the bank of the river and I like it.",  # with a warning of the meter
    "I want to learn and you want to eat the apple.",
]


@pytest.mark.parametrize(("width", "height"), few(1, [(1366, 768), (1440, 900)]))
def test_up_to_a_dozen_words_lie_flat_and_hide_nothing(open_demo: OpenPage, width: int, height: int) -> None:
    opened = open_demo("", width, height)
    for text in SENTENCES:
        for address in ("&step=1", "&position=1", "&position=1&mask=off"):
            opened.go(f"#?text={text}&to=es{address}")
            assert opened.page.locator(".turned").count() == 0
            assert opened.page.evaluate(CUT) == [] and opened.page.evaluate(OVERLAPPING) == [], opened.address
            assert opened.outside("#drawing .token", "#drawing .block", "#drawing .add") == [], opened.address
    opened.go("#?open=own")
    opened.page.reload()
    opened.settle()
    opened.click("#open-own")
    assert opened.page.locator(".turned").count() == 0 and opened.page.evaluate(CUT) == [], (
        "measured when it is seen"
    )


def test_more_words_are_written_upwards(open_page: OpenPage) -> None:
    given = translator().explain("How are you ? " * 6, to="hi", target="आप कैसे हैं ? " * 6)
    opened = open_page(of=given)
    assert opened.page.locator(".stack.turned").count() > 0 and opened.page.evaluate(OVERLAPPING) == []


def test_many_pieces_keep_their_probabilities_and_the_memory_lists_eight(open_page: OpenPage) -> None:
    cut = translator(kind="unigram")
    given = cut.explain("le chat est sur le tapis", to="en", target="The cat sat on the mat")
    assert len(given.source_tokens) > 16 and len(given.target_tokens) > 16
    opened = open_page("#?position=1", of=given)
    assert opened.page.locator(".stack.by-turns").count() == 2
    assert all(are_seen(opened, ".said .probability"))
    shares = opened.page.locator(".memory-tokens li .share").all_text_contents()
    listed = opened.texts(".memory-tokens li:visible .share")
    assert sorted(listed, key=float) == sorted(shares, key=float)[-8:]
    assert f"… {len(shares) - 8} more" in opened.text(".memory-more")


@pytest.mark.parametrize(
    "address", few(2, ["", f"#{SELF}.scores?cell=1,0", "#?position=2", f"#{SELF}.output", "#?open=own"])
)
def test_paper_holds_what_the_screen_holds(open_demo: OpenPage, address: str) -> None:
    opened = open_demo(address)
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
    if opened.is_seen(".encoder"):
        lefts = opened.lefts(".encoder", ".memory", ".decoder", ".next")
        assert lefts == sorted(lefts), "from left to right"


def test_at_200_per_cent_all_can_be_read_and_the_matrix_comes_first(open_demo: OpenPage) -> None:
    opened = open_demo("", 720, 450)
    for address in ("", "#?position=1", f"#{SELF}.weights?cell=2,1", "#decoder.layers.0"):
        opened.go(address)
        opened.assert_fits(720)
        top = opened.box(".plate .matrix, h1 .target-word, .strip-field")["y"]
        assert top < opened.box("#dock")["y"] - 20


def test_on_paper_nothing_ends_at_the_very_edge(open_demo: OpenPage) -> None:
    opened = open_demo("", 1047, 700)  # A4 landscape within its margins
    opened.page.emulate_media(media="print")
    box = opened.box(".best .number")
    assert box["x"] + box["width"] < 1047 - 4


def test_what_the_parts_of_a_layer_add_stands_level(open_demo: OpenPage) -> None:
    opened = open_demo("#decoder.layers.0", 1024, 768)  # where one title is shorter than the others
    boxes = [each.bounding_box() for each in opened.page.locator(".adds canvas").all()]
    assert len({round(box["y"]) for box in boxes}) == 1
