"""What the page keeps and what it ends: addresses, faults, playing, the focus, drawings that are late."""

import re
from pathlib import Path
from typing import Any

import pytest
from opened_page import opened_page
from tiny import translator

from pellucid.explanation import Explanation
from pellucid.reading.reading import read

pytestmark = pytest.mark.browser

SELF = "decoder.layers.0.self_attention"
NUMBER = re.compile(r"\d\.\d{4}")


@pytest.fixture(scope="module")
def deeper() -> Explanation:
    return translator(decoder_layers=3).explain("How are you ?", to="hi", target="आप कैसे हैं ?")


@pytest.fixture(scope="module")
def two(hindi: Explanation, deeper: Explanation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("two") / "page.html"
    hindi.to_html(path, beside=deeper, names=("two layers", "three layers"))
    return path


def test_parts_of_the_second_model_have_addresses(browser: Any, two: Path, deeper: Explanation) -> None:
    name = "decoder.layers.2.self_attention.weights"
    with opened_page(browser, two, f"#{name}?run=1&cell=1,0") as opened:
        value = deeper.trace[name].tensor[0, 0, 1, 0].item()
        assert f"{value:z.4f}" in opened.text(".making-total") and not opened.is_seen("#fault")
        opened.click("run-0")
        assert f'no tensor is called "{name}"' in opened.text("#fault") and opened.is_seen("#drawing")


def test_the_chosen_model_reads_what_is_typed(browser: Any, two: Path, deeper: Explanation) -> None:
    steps = read(deeper.translator, "I like cats", "es").steps
    with opened_page(browser, two, "#?run=1") as opened:
        opened.page.locator("#own-sentence").fill("I like cats")
        opened.page.locator("select[name=to]").select_option("es")
        opened.page.locator("#own-sentence").press("Enter")
        opened.until("location.hash.includes('text=')")
        opened.settle()
        assert "computed by" in opened.text("#runs")
        for line, step in zip(opened.texts("#steps tbody tr"), steps, strict=True):
            assert abs(float(NUMBER.findall(line)[0]) - step.probability) < 6e-5
        opened.click("no-sentence")
        assert opened.address == "#?run=1"


def test_a_fault_ends_with_what_was_at_fault(browser: Any, demo_path: Path) -> None:
    with opened_page(browser, demo_path, "#?text=I+like+catz&to=es") as opened:
        assert 'the model has no word "catz"' in opened.text("#fault")
        field = opened.page.locator("#own-sentence")
        assert field.input_value() == "I like catz"
        field.fill("I like cats")
        field.press("Enter")
        opened.until("location.hash.includes('cats')")
        opened.settle()
        assert not opened.is_seen("#fault")


@pytest.mark.parametrize("leave", ["typing", "tour", "training"])
def test_playing_ends_with_what_is_played(browser: Any, path: Path, leave: str) -> None:
    with opened_page(browser, path) as opened:
        opened.click("play")
        assert opened.page.locator("[data-key=play]").get_attribute("aria-label") == "pause"
        if leave == "typing":
            opened.page.locator("#own-sentence").press_sequentially("I")
        else:
            opened.click("#open-tour" if leave == "tour" else "training")
        opened.until("document.querySelector('[data-key=play]').ariaLabel.startsWith('play')")
        before = opened.address
        opened.page.wait_for_timeout(1500)
        assert opened.address == before


def test_playing_goes_on_while_a_part_is_opened_and_stops_at_the_end(browser: Any, path: Path) -> None:
    with opened_page(browser, path, "#?step=4") as opened:
        opened.page.locator("[data-key=play]").click()
        opened.page.locator(f"#drawing [data-block='{SELF}']").click()
        opened.until("location.hash.includes('step=5')")
        assert opened.address == f"#{SELF}?step=5"
        opened.until("document.querySelector('[data-key=play]').ariaLabel.startsWith('play')")


def test_the_focus_stays_where_one_is(browser: Any, path: Path) -> None:
    with opened_page(browser, path, "#?mask=off") as opened:
        opened.page.locator("#unfold").click()
        opened.page.locator("[data-key=effect-reset]").focus()
        opened.press("Enter")
        assert opened.focus.startswith("Switches") and opened.address in ("", "#", "#?position=1")
        opened.go(f"#{SELF}.weights?cell=1,0")
        opened.page.locator("[data-plate$=weights] [role=gridcell][tabindex='0']").focus()
        opened.press("Escape")
        assert opened.is_seen("#switches") and opened.address == f"#{SELF}.weights"
        opened.go("#")
        opened.page.locator("[data-key=training]").focus()
        opened.press("ArrowLeft", "Shift+Tab", "Tab")  # the Tab stop of a group follows the focus
        assert opened.focus == "step 5"


def test_what_is_made_late_does_not_win(browser: Any, path: Path) -> None:
    late = """async () => {
      const place = element("div");
      const after = (wait, text) => new Promise((done) => setTimeout(() => done(text), wait));
      const making = [after(60, "asked first"), after(0, "asked last")];
      const filled = await Promise.all(making.map((children) => fill(place, children)));
      const shown = place.textContent;
      await fill(place, null);
      return [filled, shown, place.hidden];
    }"""
    with opened_page(browser, path) as opened:
        assert opened.page.evaluate(late) == [[False, True], "asked last", True]


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
    with opened_page(browser, path) as opened:
        assert opened.page.evaluate(fail) == ["no numbers", 2]
        assert opened.complaints == ["no numbers"]
        opened.complaints.clear()
