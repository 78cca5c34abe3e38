"""What the page keeps and what it ends: addresses, faults, playing, the focus, drawings that are late."""

import re
from pathlib import Path
from typing import Any

import pytest
from test_page_views import Opened
from tiny import translator

import pellucid
from pellucid.explanation import Explanation, explain

pytestmark = pytest.mark.browser

SELF = "decoder.layers.0.self_attention"


@pytest.fixture(scope="module")
def hindi() -> Explanation:
    return translator().explain("How are you ?", to="hi", target="आप कैसे हैं ?")


@pytest.fixture(scope="module")
def deeper() -> Explanation:
    return translator(decoder_layers=3).explain("How are you ?", to="hi", target="आप कैसे हैं ?")


@pytest.fixture(scope="module")
def path(hindi: Explanation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("state") / "page.html"
    hindi.to_html(path)
    return path


@pytest.fixture(scope="module")
def two(hindi: Explanation, deeper: Explanation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("two") / "page.html"
    hindi.to_html(path, beside=deeper, names=("two layers", "three layers"))
    return path


@pytest.fixture(scope="module")
def demo_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("demo") / "page.html"
    pellucid.load("demo", precision="fp32").explain("How are you", to="hi").to_html(path)
    return path


def address_of(opened: Opened) -> str:
    return str(opened.page.evaluate("location.hash"))


@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        ("#?head=99&step=77", "#?head=1&step=5"),
        (f"#{SELF}.weights?cell=50,99", f"#{SELF}.weights?cell=4,4"),
        (
            "#encoder.layers.0.residual_1.norm.mean?cell=2,7",
            "#encoder.layers.0.residual_1.norm.mean?cell=2,0",
        ),
        ("#?run=5&beside=before&position=9", "#?position=4"),
        (f"#{SELF}?cell=1,1", f"#{SELF}"),
        (f"#{SELF}.weights?cell=1,1&step=2", f"#{SELF}.weights?cell=1,1&step=2"),
        ("#nothing.of.the.kind?head=1", "#nothing.of.the.kind?head=1"),  # it can be read, and mended
    ],
)
def test_addresses_keep_to_what_there_is(browser: Any, path: Path, asked: str, kept: str) -> None:
    with Opened(browser, path, asked) as opened:
        assert address_of(opened) == kept


def test_parts_of_the_second_model_have_addresses(browser: Any, two: Path, deeper: Explanation) -> None:
    name = "decoder.layers.2.self_attention.weights"
    with Opened(browser, two, f"#{name}?run=1&cell=1,0") as opened:
        value = deeper.trace[name].tensor[0, 0, 1, 0].item()
        assert f"{value:z.4f}" in opened.text(".opened .readout")
        assert not opened.page.locator("#fault").is_visible()
        opened.page.locator("[data-key=run-0]").click()
        opened.settle()
        assert f'no tensor is called "{name}"' in opened.text("#fault")
        assert opened.page.locator("#drawing").is_visible()


def test_the_chosen_model_reads_what_is_typed(browser: Any, two: Path, deeper: Explanation) -> None:
    steps = explain(deeper.translator, "I like cats", "es").steps
    with Opened(browser, two, "#?run=1") as opened:
        opened.page.locator("#own-sentence").fill("I like cats")
        opened.page.locator("select[name=to]").select_option("es")
        opened.page.locator("#own-sentence").press("Enter")
        opened.until("location.hash.includes('text=')")
        opened.settle()
        assert "computed by" in opened.text("#runs")
        assert opened.page.locator("[data-key=run-1]").get_attribute("aria-pressed") == "true"
        shown = opened.page.locator("#steps tbody tr").all_inner_texts()
        for line, step in zip(shown, steps, strict=True):
            assert abs(float(re.findall(r"\d\.\d{4}", line)[0]) - step.probability) < 6e-5
        opened.page.locator("[data-key=no-sentence]").click()
        opened.settle()
        assert address_of(opened) == "#?run=1"


def test_a_fault_ends_with_what_was_at_fault(browser: Any, demo_path: Path) -> None:
    with Opened(browser, demo_path, "#?text=I+like+catz&to=es") as opened:
        assert 'the model has no word "catz"' in opened.text("#fault")
        field = opened.page.locator("#own-sentence")
        assert field.input_value() == "I like catz"
        field.press("Enter")
        opened.until("document.querySelector('#own-sentence-error button') !== null")
        error = opened.page.locator("#own-sentence-error")
        assert error.inner_text().startswith('The model has no word "catz". Near it: cat')
        error.get_by_text("cats", exact=True).click()
        assert field.input_value() == "I like cats" and error.inner_text() == ""
        field.press("Enter")
        opened.until("location.hash.includes('cats')")
        opened.settle()
        assert not opened.page.locator("#fault").is_visible()


@pytest.mark.parametrize("leave", ["typing", "address", "tour", "training"])
def test_playing_ends_with_what_is_played(browser: Any, path: Path, leave: str) -> None:
    with Opened(browser, path) as opened:
        play = opened.page.locator("[data-key=play]")
        play.click()
        opened.settle()
        assert play.get_attribute("aria-label") == "pause" and address_of(opened).startswith("#?step=")
        if leave == "typing":
            opened.page.locator("#own-sentence").press_sequentially("I")
        elif leave == "address":
            opened.go("#?mask=off")
        elif leave == "tour":
            opened.page.locator("#open-tour").click()
        else:
            opened.page.locator("[data-key=training]").click()
        opened.settle()
        opened.until("document.querySelector('[data-key=play]').ariaLabel.startsWith('play')")
        before = address_of(opened)
        opened.page.wait_for_timeout(1500)
        assert address_of(opened) == before


def test_playing_goes_on_while_a_part_is_opened_and_stops_at_the_end(browser: Any, path: Path) -> None:
    with Opened(browser, path, "#?step=4") as opened:
        opened.page.locator("[data-key=play]").click()
        opened.page.locator(f"#drawing [data-block='{SELF}']").click()
        opened.until("location.hash.includes('step=5')")
        assert address_of(opened) == f"#{SELF}?step=5"
        opened.until("document.querySelector('[data-key=play]').ariaLabel.startsWith('play')")


def test_the_cache_says_its_state_once(browser: Any, path: Path) -> None:
    with Opened(browser, path, "#?step=2") as opened:
        cache = opened.page.locator("[data-key=cached]")
        for pressed, address in (("true", "#?step=2"), ("false", "#?step=2&cache=off"), ("true", "#?step=2")):
            assert cache.inner_text() == "Cache" and cache.get_attribute("aria-pressed") == pressed
            assert address_of(opened) == address
            cache.click()
            opened.settle()


def test_the_focus_stays_where_one_is(browser: Any, path: Path) -> None:
    with Opened(browser, path, "#?mask=off") as opened:
        opened.page.locator("#unfold").click()
        opened.page.locator("[data-key=reset]").focus()
        opened.press("Enter")
        assert opened.focus == "Reset all" and address_of(opened) in ("", "#")
        opened.go(f"#{SELF}.weights?cell=1,0")
        opened.page.locator(".opened [role=gridcell][tabindex='0']").focus()
        opened.press("Escape")
        assert opened.page.locator("#switches").is_visible() and address_of(opened) == f"#{SELF}"
        opened.go(f"#{SELF}?mask=off")
        opened.page.locator("[data-key=effect-reset]").focus()
        opened.press("Enter")
        assert opened.page.evaluate("document.activeElement.id") == "unfold"


def test_the_tab_stop_of_a_group_follows_the_focus(browser: Any, path: Path) -> None:
    stops = """[...document.querySelectorAll("#time button")]
      .filter((button) => button.tabIndex === 0 && button.checkVisibility())
      .map((button) => button.textContent)"""
    with Opened(browser, path) as opened:
        assert opened.page.evaluate(stops) == ["Training"]
        opened.page.locator("[data-key=training]").focus()
        opened.press("ArrowRight")
        assert opened.page.evaluate("document.activeElement.textContent") == "1"
        assert opened.page.evaluate(stops) == ["1"]
        opened.press("Shift+Tab", "Tab")
        assert opened.page.evaluate("document.activeElement.textContent") == "1"


@pytest.mark.parametrize("draw", ["drawAlignment(run, place)", "drawEffect(run, before, place)"])
def test_a_drawing_that_comes_late_does_not_win(browser: Any, path: Path, draw: str) -> None:
    late = f"""async () => {{
      const draw = (run, before, place) => {draw};
      const switches = {{ ...UNSWITCHED, causal: false }};
      const [base, switched] = [current.base, await runSwitched(current.base, switches)];
      const waited = (run) => ({{ ...run, get: async (name) => {{
        await new Promise((done) => setTimeout(done, 60));
        return run.get(name);
      }} }});
      state = {{ ...state, switches }};
      const places = [0, 1].map(() => element("div", {{}}, element("table")));
      await draw(switched, base, places[0]);
      await Promise.all([draw(waited(base), base, places[1]), draw(switched, base, places[1])]);
      return places.map((place) => place.innerHTML);
    }}"""
    with Opened(browser, path) as opened:
        alone, after_another = opened.page.evaluate(late)
        assert alone == after_another


def test_what_could_not_be_drawn_is_told_and_tried_again(browser: Any, path: Path) -> None:
    fail = """async () => {
      let times = 0;
      const draw = () => ((times += 1) === 1 ? Promise.reject(new Error("no numbers")) : null);
      drawFor("a place", [1], draw).catch(() => null);
      await new Promise((done) => setTimeout(done, 20));
      const told = found("fault").textContent;
      await drawFor("a place", [1], draw);
      await drawFor("a place", [1], draw);
      return [told, times];
    }"""
    with Opened(browser, path) as opened:
        assert opened.page.evaluate(fail) == ["no numbers", 2]
        assert opened.complaints == ["no numbers"]
        opened.complaints.clear()


def test_a_first_view_needs_no_long_motion(browser: Any, path: Path) -> None:
    context = browser.new_context(viewport={"width": 1024, "height": 700}, reduced_motion="no-preference")
    page = context.new_page()
    page.goto(f"{path.as_uri()}#{SELF}.context?cell=1,1")
    while not page.evaluate("document.body.dataset.shown === location.hash"):
        page.wait_for_timeout(15)
    at_first = page.evaluate("scrollY")
    page.wait_for_timeout(700)
    assert page.evaluate("scrollY") == at_first > 300
    context.close()


def test_a_given_translation_is_compared_as_the_model_is(browser: Any, path: Path) -> None:
    given = "document.querySelector('#given').textContent"
    with Opened(browser, path) as opened:
        opened.until(f"{given}.includes('They part at')")
        before = opened.page.evaluate(given)
        opened.go("#?scale=off")
        opened.page.wait_for_timeout(300)
        assert opened.page.evaluate(given) == before


def test_of_many_changes_the_largest_are_shown(browser: Any, tmp_path: Path) -> None:
    long = translator().explain("How are you ?", to="hi", target="आप कैसे हैं ? " * 3)
    long.to_html(tmp_path / "page.html")
    with Opened(browser, tmp_path / "page.html", "#?scale=off") as opened:
        changes = [
            [float(number) for number in re.findall(r"\d\.\d{4}", text)[:2]]
            for text in opened.page.locator("#effect .changes li").all_inner_texts()
        ]
        assert len(changes) == 5
        assert f"The 5 largest changes of {len(long.steps)}" in opened.text("#effect")
        rows = opened.page.locator("#steps tbody tr").all_inner_texts()
        every = sorted(
            abs(float(now) - float(was)) for now, was in (re.findall(r"\d\.\d{4}", row)[:2] for row in rows)
        )
        assert sorted(abs(now - was) for was, now in changes) == pytest.approx(every[-5:], abs=2e-4)
