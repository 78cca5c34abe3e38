"""What the page keeps and what it ends: addresses, faults, playing, the focus, drawings that are late."""

import random
from pathlib import Path
from typing import Any

import pytest
from opened_page import OpenPage
from tiny import translator

from pellucid.explanation import Explanation
from pellucid.reading.reading import read

pytestmark = pytest.mark.browser

SELF = "decoder.layers.0.self_attention"
CROSS = "decoder.layers.1.cross_attention"


@pytest.fixture(scope="module")
def deeper() -> Explanation:
    return translator(decoder_layers=3).explain("How are you ?", to="hi", target="आप कैसे हैं ?")


@pytest.fixture(scope="module")
def two(hindi: Explanation, deeper: Explanation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("two") / "page.html"
    hindi.to_html(path, beside=deeper, names=("two layers", "three layers"))
    return path


def test_parts_of_the_second_model_have_addresses(
    open_page: OpenPage, two: Path, deeper: Explanation
) -> None:
    name = "decoder.layers.2.self_attention.weights"
    opened = open_page(f"#{name}?run=1&cell=1,0", of=two)
    value = deeper.trace[name].tensor[0, 0, 1, 0].item()
    assert f"{value:z.4f}" in opened.text(".making-total") and not opened.is_seen("#fault")
    opened.click("run-0")
    assert f'no tensor is called "{name}"' in opened.text("#fault") and opened.is_seen("#drawing")


LEADS_BACK = """(changes) => {
  const asked = { ...FIRST_STATE, ...changes, switches: { ...UNSWITCHED, ...changes.switches } };
  return [asked, stateOf(hashOf(asked))];
}"""


@pytest.mark.parametrize(
    "changes",
    [
        {"position": 3},
        {"position": 2, "mode": "training"},
        {"position": 1, "cached": False},
        {"text": "I like cats & dogs", "to": "es", "target": "a, b"},
        {"block": SELF, "tensor": f"{SELF}.weights", "mode": "training", "head": 1, "row": 2, "column": 0},
        {"block": CROSS, "tensor": "encoder.output", "mode": "training"},
        {"switches": {"causal": False, "where": SELF, "head": 1}},
        {"switches": {"scale": False, "residual": False, "padding": "unmasked", "where": "decoder.layers.1"}},
        {"switches": {"silent": {SELF: [0, 1], CROSS: [1]}}, "beside": "before"},
        {"open": "tour", "stop": 3},
    ],
    ids=str,
)
def test_an_address_leads_back_to_its_state(open_page: OpenPage, changes: dict[str, Any]) -> None:
    asked, found = open_page().page.evaluate(LEADS_BACK, changes)
    assert found == asked


def test_the_tour_of_a_deeper_model_goes_to_its_own_layers(open_page: OpenPage, two: Path) -> None:
    opened = open_page("#?run=1", of=two)
    opened.page.evaluate("goToStop(page.header.tour.findIndex(({ view }) => view.startsWith('{last')))")
    opened.settle()
    assert opened.address.startswith("#decoder.layers.2.cross_attention.weights?run=1&")
    assert not opened.is_seen("#fault")


def test_the_chosen_model_reads_what_is_typed(open_page: OpenPage, two: Path, deeper: Explanation) -> None:
    opened = open_page("#?run=1", of=two)
    opened.translate("I like cats", "es")
    assert "computed by" in opened.text("#runs")
    opened.assert_steps(read(deeper.translator, "I like cats", "es").steps)
    opened.click("no-sentence")
    assert opened.address == "#?run=1"


def test_a_fault_ends_with_what_was_at_fault(open_demo: OpenPage) -> None:
    opened = open_demo("#?text=I+like+catz&to=es")
    assert 'the model has no word "catz"' in opened.text("#fault")
    assert opened.page.locator("#own-sentence").input_value() == "I like catz"
    opened.translate("I like cats")
    assert not opened.is_seen("#fault")


def test_playing_ends_with_what_is_played(open_page: OpenPage) -> None:
    opened = open_page()
    for leave in (
        lambda: opened.page.locator("#own-sentence").press_sequentially("I"),
        lambda: opened.click("#open-tour"),
        lambda: opened.click("training"),
    ):
        opened.go("")
        opened.click("play")
        assert opened.page.locator("[data-key=play]").get_attribute("aria-label") == "pause"
        leave()
        opened.until("document.querySelector('[data-key=play]').ariaLabel.startsWith('play')")
        assert "step=5" not in opened.address, "it did not just come to its end"
    before = opened.address
    opened.page.wait_for_timeout(1500)
    assert opened.address == before


def test_playing_goes_on_while_a_part_is_opened_and_stops_at_the_end(open_page: OpenPage) -> None:
    opened = open_page("#?step=4")
    opened.page.locator("[data-key=play]").click()
    opened.page.locator(f"#drawing [data-block='{SELF}']").click()
    opened.until("location.hash.includes('step=5')")
    assert opened.address == f"#{SELF}?step=5"
    opened.until("document.querySelector('[data-key=play]').ariaLabel.startsWith('play')")


def test_the_focus_stays_where_one_is(open_page: OpenPage) -> None:
    opened = open_page("#?mask=off")
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


def test_what_is_made_late_does_not_win(open_page: OpenPage) -> None:
    late = """async () => {
      const place = element("div");
      const after = (wait, text) => new Promise((done) => setTimeout(() => done(text), wait));
      const making = [after(60, "asked first"), after(0, "asked last")];
      const filled = await Promise.all(making.map((children) => fill(place, children)));
      const shown = place.textContent;
      await fill(place, null);
      return [filled, shown, place.hidden];
    }"""
    opened = open_page()
    assert opened.page.evaluate(late) == [[False, True], "asked last", True]


# A view whose numbers come late, and another that is requested and drawn before they come.
OVERTAKEN = """async ([changes, name]) => {
  const switches = { ...UNSWITCHED, ...changes.switches };
  const last = state;
  const run = await runSwitched(current.base, switches);
  const { get } = run;
  let release;
  const held = new Promise((done) => { release = done; });
  const isAsked = new Promise((asked) => {
    run.get = async (each) => {
      if (each.startsWith(name)) { asked(); await held; }
      return get(each);
    };
  });
  const first = setState({ ...changes, switches });
  await isAsked;
  const second = setState(last);
  await Promise.race([second, new Promise((done) => setTimeout(done, 2000))]); // it may wait for the first
  release();
  await Promise.all([first, second]);
}"""


@pytest.mark.parametrize(
    "address, changes, name, shown",
    [
        (SELF, {"block": SELF.replace("0", "1")}, SELF.replace("0", "1"), "#stage [data-plate]"),
        (f"{SELF}.weights", {"switches": {"causal": False}}, f"{SELF}.weights", "#stage [data-plate]"),
        ("decoder.word", {"switches": {"causal": False}}, "decoder.logits", "#why-word"),
    ],
)
def test_a_view_whose_numbers_come_late_does_not_replace_a_newer_one(
    open_page: OpenPage, address: str, changes: dict[str, Any], name: str, shown: str
) -> None:
    opened = open_page(f"#{address}?position=5")
    before = opened.texts(shown)
    opened.page.evaluate(OVERTAKEN, [changes, name])
    opened.settle()
    assert opened.texts(shown) == before


def test_what_could_not_be_drawn_is_told_and_tried_again(open_page: OpenPage) -> None:
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
    opened = open_page()
    assert opened.page.evaluate(fail) == ["no numbers", 2]
    assert opened.complaints == ["no numbers"]
    opened.complaints.clear()


def test_a_position_is_one_of_the_run_that_is_shown(open_demo: OpenPage) -> None:
    """A longer sentence while a block is open, and back from a long sentence to a short one."""
    opened = open_demo()
    opened.click(f"#drawing [data-block='{CROSS}']")
    opened.translate("The boat is near the bank.", "es")
    opened.click("step-5")
    assert "step=6" in opened.address and "Step 6 of writing" in opened.text("#stage")
    opened.click("step-8")
    opened.click("way-model")
    assert opened.page.locator("#drawing .said.lit").get_attribute("data-position") == "8"
    opened.go("#?text=The boat is near the bank.&to=es&step=9")
    opened.click(".example")
    opened.page.go_back()
    opened.settle()
    assert "step=9" in opened.address and opened.page.locator("#drawing .said").count() == 9


def test_the_headline_says_what_the_step_says(open_demo: OpenPage) -> None:
    """Without the mask: at step 1 no later word exists, so that nothing can change."""
    opened = open_demo("#?step=1&mask=off")
    word = opened.page.locator("h1 .target-word").first
    assert word.get_attribute("data-probability") == "0.98" and "now" not in word.get_attribute("aria-label")
    assert opened.text(".next .best li").startswith(word.inner_text())
    opened.go("#?position=1&mask=off")
    now = opened.text(".next .best .chip")
    assert opened.page.locator("h1 .target-word").first.get_attribute("data-probability") == f"now {now}"


def test_compare_is_seen_and_says_what_the_model_would_say(open_demo: OpenPage) -> None:
    opened = open_demo("#?position=1&mask=off", 1366, 768)
    opened.click("effect-beside")
    top = opened.box(".beside-card")["y"]
    assert top < opened.box("#dock")["y"] - 100
    now = opened.page.evaluate("current.run.steps[0].predicted")
    assert opened.text(".beside-card .beside-sentence").startswith(f"आप {now}")
    assert opened.page.locator(".beside-card del").first.inner_text() == "आप"
    opened.go(f"#{SELF}.masked_scores?position=1&mask=off&beside=before&head=1")
    told = opened.text("[data-plate$=masked_scores] .largest-difference")
    assert told.startswith("6 of the cells are −∞ in one alone; else largest difference 0.0000"), told


def test_a_key_leads_to_the_drawing(open_demo: OpenPage) -> None:
    opened = open_demo()
    opened.press("Tab")
    assert opened.focus == "To the drawing" and opened.is_seen("#skip")
    opened.press("Enter")
    assert opened.page.evaluate("document.activeElement.closest('#drawing') !== null")
    opened.page.locator("[data-block='encoder.layers.0']").focus()
    opened.press("ArrowRight")
    assert opened.focus == "memory"
    opened.go(f"#{SELF}.scores")
    opened.page.locator("#skip").focus()
    opened.press("Enter")
    assert opened.page.evaluate("document.activeElement.closest('.stage-bar') !== null")


STEPS = """() => [current.before, current.run].map(({ steps }) =>
  steps.map(({ expected, predicted, probability }) => [tokenName(expected), predicted, probability]))"""


@pytest.mark.parametrize("switch", ["scale=off", "residual=off", "mask=off"])
def test_the_effect_counts_what_changed_and_speaks_of_the_position(open_page: OpenPage, switch: str) -> None:
    """A random model says other words than those expected, with a switch and without."""
    opened = open_page(f"#?position=2&{switch}")
    before, now = opened.page.evaluate(STEPS)
    says = opened.page.locator("#effect").text_content()
    assert f"The probability of {now[1][0]} goes from {before[1][2]:.4f} to {now[1][2]:.4f}." in says
    changed = sum(one[1] != other[1] for one, other in zip(before, now, strict=True))
    assert sum(one[0] != one[1] for one in now) != changed, "the two can be told apart"
    others = f"at {changed} of 5 positions" if changed else "what the model would say stays the same"
    assert others in says


def test_side_by_side_leaves_a_sentence_of_ones_own(open_page: OpenPage, two: Path) -> None:
    opened = open_page("#?text=I like cats&to=es", of=two)
    opened.click("beside")
    assert opened.address == "#?beside=other" and opened.is_seen(".beside-card")


@pytest.mark.parametrize("share", [0.3, pytest.param(1, marks=pytest.mark.slow)])
def test_the_stage_shows_what_the_address_names(
    open_page: OpenPage, deeper: Explanation, share: float
) -> None:
    opened, seed = open_page(of=deeper), random.randrange(10**6)
    print(f"seed {seed}")
    shown = "[...document.querySelectorAll('#stage [data-plate]')].map((each) => each.spec.name)"
    names = opened.page.evaluate("page.runs[0].names")
    for name in random.Random(seed).sample(names, round(share * len(names))):
        opened.go(f"#{name}?cell=0,0")
        assert name in opened.page.evaluate(shown)


READ = "decoder.layers.{}.residual_3.output"  # by the next layer


@pytest.mark.parametrize(
    "before, key, after",
    [
        (f"#{READ.format(1)}?in=decoder.layers.2.self_attention&cell=1,2", ",", READ.format(0)),
        (f"#{SELF}.scores?cell=1,0", ".", "decoder.layers.1.self_attention.scores"),
    ],
)
def test_a_pinned_cell_goes_along_to_another_layer(
    open_page: OpenPage, deeper: Explanation, before: str, key: str, after: str
) -> None:
    opened = open_page(before, of=deeper)
    opened.press(key)
    block = "?in=decoder.layers.1.self_attention&" if "residual" in after else "?"
    assert opened.address == f"#{after}{block}cell={before.split('cell=')[1]}"
    row, column = map(int, before[-3:].split(","))
    values = deeper.trace[after].tensor.flatten(0, -3)[0]
    assert opened.text(".making-total b") == f"{values[row, column]:z.4f}"


def test_an_address_names_a_block_that_shows_its_tensor(open_demo: OpenPage) -> None:
    opened = open_demo(f"#decoder.logits?in={SELF}&cell=1,0")
    assert opened.address == "#decoder.logits?cell=1,0"
    assert opened.text("#stage .stage-bar [aria-current=step]").endswith("logits")


def test_a_pinned_cell_is_of_a_row_that_the_step_has(open_demo: OpenPage) -> None:
    opened = open_demo("#decoder.positions?cell=2,1&step=2")
    assert opened.address == "#decoder.positions?cell=1,1&step=2"


def test_a_weight_is_shown_and_not_pinned(open_page: OpenPage) -> None:
    opened = open_page(f"#{SELF}.queries?cell=1,0")
    opened.click(".stage-field .plate-chip")
    opened.click(f"[data-plate='{SELF}.query.weight|0'] :is(td[role=gridcell], .field)")
    opened.until("document.querySelector('#stage .inspector').textContent.includes('Training found this')")
    assert "cell=" not in opened.address and not opened.is_seen("#stage .unpin")


def test_an_operand_that_is_pinned_stands_where_its_address_shows_it(open_page: OpenPage) -> None:
    opened = open_page(f"#{CROSS}.queries")
    opened.click("[data-plate$='residual_1.output'] :is(td[role=gridcell], .field)")
    opened.until("location.hash.includes('cell=')")
    opened.settle()
    title, address = opened.text("#stage .stage-title"), opened.address
    assert open_page(address).text("#stage .stage-title") == title
