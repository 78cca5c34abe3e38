"""The page in a real browser: by address, by keyboard, on a phone; its numbers against Python's."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from small_models import contract
from tiny import HOSTILE, translator

import pellucid
from pellucid import edits
from pellucid.explanation import Explanation, explain
from pellucid.page import payload
from pellucid.reading.passes import watched_pass

pytestmark = pytest.mark.browser

SELF = "decoder.layers.0.self_attention"
CROSS = "decoder.layers.1.cross_attention"
SENTENCES = [("the bank is near the river", "es"), ("je suis étudiant", "en"), ("I like cats", "fr")]

# The contrast of each text with what is behind it; a text on a picture has none of its own.
CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const over = (colours) => {
    canvas.clearRect(0, 0, 1, 1);
    for (const colour of colours) { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); }
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map((c) => c / 255)
      .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  };
  const light = ([r, g, b]) => 0.2126 * r + 0.7152 * g + 0.0722 * b;
  const known = new Map();
  for (const element of document.querySelectorAll("body *")) {
    if (element.closest("svg, script, style, :disabled, [aria-disabled]")) continue;
    if (!element.checkVisibility()) continue;
    if (![...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) continue;
    const grounds = [];
    for (let part = element; part; part = part.parentElement) {
      grounds.unshift(getComputedStyle(part).backgroundColor);
    }
    const ink = getComputedStyle(element).color;
    const key = ink + "|" + grounds.join();
    if (known.has(key)) continue;
    const ground = light(over(grounds)), text = light(over([...grounds, ink]));
    const ratio = (Math.max(ground, text) + 0.05) / (Math.min(ground, text) + 0.05);
    known.set(key, [ratio, `${element.tagName}.${element.className}: ${element.textContent.slice(0, 40)}`]);
  }
  return [...known.values()];
}"""
SMALL_TARGETS = """() => [...document.querySelectorAll("button, select, input, summary, a")]
  .filter((target) => target.checkVisibility() && !target.closest(".unseen"))
  .map((target) => [target.getBoundingClientRect(), target.outerHTML.slice(0, 90)])
  .filter(([box]) => box.height < 44).map(([box, html]) => `${box.width} × ${box.height}: ${html}`)"""

OPEN_EACH = """async (names) => {
  const shown = [];
  for (const name of names) {
    location.hash = `#${name}`;
    while (document.body.dataset.shown !== location.hash) await new Promise((done) => setTimeout(done, 5));
    const opened = (part) => document.querySelector(`.opened ${part}`)?.textContent ?? null;
    shown.push([name, opened(".opened-facts"), opened(".readout")]);
  }
  return shown;
}"""


@pytest.fixture(scope="module")
def hindi() -> Explanation:
    return translator().explain("How are you ?", to="hi", target="आप कैसे हैं ?")


class Opened:
    """A page in the browser, offline; what it complains of or asks for fails the test when it is closed."""

    def __init__(
        self, browser: Any, path: Path, address: str = "", width: int = 1440, scheme: str = "light"
    ) -> None:
        self.context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            offline=True,
            reduced_motion="reduce",
        )
        self.page, self.complaints, self.requests = self.context.new_page(), [], []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri() + address)
        self.settle()

    def __enter__(self) -> "Opened":
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.context.close()
        if kind is None:
            assert self.complaints == []
            assert {request.partition("#")[0] for request in self.requests} == {
                self.requests[0].partition("#")[0]
            }

    def settle(self) -> None:
        """Waits until the view of the address stands."""
        self.until("document.body.dataset.shown === location.hash")

    def until(self, what: str) -> None:
        """Waits until this is true in the page, whose policy lets nothing but its own script wait there."""
        for _ in range(250):
            if self.page.evaluate(what):
                return
            self.page.wait_for_timeout(15)
        raise AssertionError(f"never true: {what}; complaints: {self.complaints}")

    def go(self, address: str) -> None:
        """To a view by its address."""
        self.page.evaluate("(address) => { location.hash = address }", address)
        self.settle()

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)
            self.page.wait_for_timeout(60)
            self.settle()

    def text(self, selector: str) -> str:
        return str(self.page.locator(selector).first.inner_text())

    @property
    def focus(self) -> str:
        """The element with the focus, as its label or text."""
        return str(
            self.page.evaluate(
                "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent"
            )
        )

    def tab_to(self, what: str) -> None:
        """Tab until the focus is on an element whose label or text begins so."""
        for _ in range(60):
            self.press("Tab")
            if self.focus.startswith(what):
                return
        raise AssertionError(f"Tab never came to {what!r}")


@pytest.fixture(scope="module")
def path(hindi: Explanation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "page.html"
    hindi.to_html(path)
    return path


@pytest.fixture(scope="module")
def demo() -> Explanation:
    return pellucid.load("demo", precision="fp32").explain("How are you", to="hi")


@pytest.fixture(scope="module")
def demo_path(demo: Explanation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("demo") / "page.html"
    demo.to_html(path)
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_what_is_seen_can_be_read_and_touched(browser: Any, path: Path, width: int, scheme: str) -> None:
    with Opened(browser, path, width=width, scheme=scheme) as opened:
        for address in (
            "",
            "#decoder.layers.0",
            f"#{CROSS}.weights?cell=1,2&mask=off",
            "#decoder.word?step=2",
        ):
            opened.go(address)
            if address.endswith("off"):
                opened.page.locator("#unfold").click()
            needed = opened.page.evaluate("document.documentElement.scrollWidth")
            assert needed == width, (address, needed)
            ratios = opened.page.evaluate(CONTRAST)
            assert len(ratios) > 5 and min(ratios)[0] >= 4.5, (address, min(ratios))
            assert opened.page.evaluate(SMALL_TARGETS) == [], address


@pytest.mark.parametrize("norm", ["last", "first"])
def test_every_tensor_of_the_contract_opens_by_its_address(browser: Any, norm: str, tmp_path: Path) -> None:
    explanation = translator(norm=norm).explain("I like cats", to="es", target="Me gustan los gatos")
    explanation.to_html(tmp_path / "page.html")
    with Opened(browser, tmp_path / "page.html") as opened:
        shown = opened.page.evaluate(OPEN_EACH, list(contract(norm, 1, 2)))
    assert [name for name, _, _ in shown] == list(contract(norm, 1, 2))
    for name, facts, readout in shown:
        assert facts is not None and name in facts, name
        if explanation.trace[name].axes[-1] != "V":
            first = explanation.trace[name].tensor.flatten()[0].item()
            assert f"{first:z.4f}" in readout, (name, readout)


def test_from_the_overview_to_one_dot_product_by_keyboard_alone(
    browser: Any, hindi: Explanation, path: Path
) -> None:
    with Opened(browser, path) as opened:
        opened.tab_to("encoder: embedding and positions")
        opened.press("ArrowRight", "ArrowRight")  # over the memory
        while not opened.focus.startswith("decoder, layer 0"):
            opened.press("ArrowDown")
        while opened.focus != "decoder, layer 0: masked self-attention":
            opened.press("ArrowDown")
        opened.press("Enter")
        assert opened.page.evaluate("location.hash") == f"#{SELF}"
        while "Scores" not in opened.page.evaluate(
            "document.activeElement.closest('[role=grid]')?.ariaLabel ?? ''"
        ):
            opened.press("Tab")
        opened.press("ArrowDown", "ArrowDown", "ArrowRight", "Enter", "Enter")
        assert opened.page.evaluate("location.hash") == f"#{SELF}.scores?cell=2,1"
        score = hindi.trace[f"{SELF}.scores"].tensor[0, 0, 2, 1].item()
        query = hindi.trace[f"{SELF}.queries"].tensor[0, 0, 2]
        key = hindi.trace[f"{SELF}.keys"].tensor[0, 0, 1]
        making = opened.text(".making")
        assert f"{score:z.4f}" in making
        for one, other in zip(query.tolist(), key.tolist(), strict=True):
            assert f"{one:z.4f}" in making and f"{other:z.4f}" in making
        opened.press("Escape", "Escape", "Escape")
        assert opened.page.evaluate("location.hash") == "#decoder.layers.0"
        opened.press("Escape")
        assert opened.page.locator("#drawing").is_visible() and opened.focus == "Layer 0"


def test_the_mask_is_lifted_and_the_changed_numbers_are_those_of_an_edit(
    browser: Any, hindi: Explanation, path: Path
) -> None:
    lifted = edits.lift_mask(SELF) | edits.lift_mask("decoder.layers.1.self_attention")
    model = hindi.translator.model
    seen = watched_pass(model, hindi.vocabulary, hindi.source_ids, hindi.target_ids, lifted)
    probabilities = seen["decoder.probabilities"].tensor[0]
    expected = [row[token].item() for row, token in zip(probabilities, hindi.target_ids, strict=True)]
    with Opened(browser, path) as opened:
        opened.tab_to("Switches")
        opened.press("Enter")
        opened.until("document.activeElement.textContent.startsWith('Causal mask')")
        opened.press("Enter")
        assert "mask=off" in opened.page.evaluate("location.hash")
        changes = opened.page.locator("#effect .changes li").all_inner_texts()
        for text, step, now in zip(changes, hindi.steps, expected, strict=True):
            before, after = re.findall(r"\d\.\d{4}", text)[:2]
            assert before == f"{step.probability:.4f}" and abs(float(after) - now) <= 6e-5
        weights = seen[f"{SELF}.weights"].tensor[0]
        share, head, row = max(
            (weights[head, row, row + 1].item(), head, row) for head in range(2) for row in range(4)
        )
        says = opened.text("#effect .effect-says")
        word = hindi.target_tokens[row + 1]
        assert f"position {row + 1} now looks at {word} ({share:.2f}, head {head}" in says
        assert "training would leak" in says
        opened.press("Escape")
        opened.page.locator("#effect [data-key=effect-reset]").click()
        opened.settle()
        assert not opened.page.locator("#effect").is_visible()
        assert "mask" not in opened.page.evaluate("location.hash")


def test_a_head_is_silenced_and_before_stands_beside_after(
    browser: Any, hindi: Explanation, path: Path
) -> None:
    with Opened(browser, path, f"#{CROSS}.weights") as opened:
        opened.page.locator("#unfold").click()
        opened.page.locator("[data-key=silent-1]").click()
        opened.settle()
        assert f"silent={CROSS}:1" in opened.page.evaluate("location.hash")
        assert "Head 1 of decoder, layer 1: cross-attention adds nothing." in opened.text("#effect")
        opened.page.locator("[data-key=switch-beside]").click()
        opened.settle()
        cards = opened.page.locator(".beside-card").all_inner_texts()
        assert len(cards) == 2 and all(f"{step.probability:.4f}" in cards[1] for step in hindi.steps)
        assert cards[0] != cards[1]


def test_colours_mean_the_same_numbers_after_a_switch(browser: Any, path: Path) -> None:
    sums = "#decoder.layers.1.residual_2.sum?cell=0,0"
    cells = "[...document.querySelectorAll('.opened td')].map((cell) => Math.abs(cell.textContent))"
    largest = f"Math.max(...{cells})"
    with Opened(browser, path, sums) as opened:
        legend, most = opened.text(".opened .legend"), opened.page.evaluate(largest)
        opened.go(f"{sums}&residual=off")
        assert opened.text(".opened .legend") == legend
        assert opened.page.evaluate(largest) < 0.75 * most


def test_sentences_of_ones_own_are_translated_as_python_does(
    browser: Any, demo: Explanation, demo_path: Path
) -> None:
    with Opened(browser, demo_path) as opened:
        field = opened.page.locator("#own-sentence")
        for text, to in SENTENCES:
            translation = demo.translator.translate(text, to=to)
            field.fill(text)
            opened.page.locator("select[name=to]").select_option(to)
            field.press("Enter")
            said = json.dumps(translation.text)
            opened.until(f"document.querySelector('h1 .said-sentence').textContent === {said}")
            opened.settle()
            steps = explain(demo.translator, text, to).steps
            shown = opened.page.locator("#steps tbody tr").all_inner_texts()
            for line, step in zip(shown, steps, strict=True):
                probability = float(re.findall(r"\d\.\d{4}", line)[0])
                assert step.expected in line and abs(probability - step.probability) < 6e-5
        opened.page.go_back()
        opened.settle()
        assert opened.text("h1").startswith(SENTENCES[1][0])


def test_errors_stand_beside_the_field_and_nothing_typed_is_lost(browser: Any, demo_path: Path) -> None:
    with Opened(browser, demo_path) as opened:
        field, error = opened.page.locator("#own-sentence"), opened.page.locator("#own-sentence-error")
        for text, told in [
            ("I like catz", 'The model has no word "catz". Near it: cat'),
            ("   ", "The sentence is empty"),
            ("cat " * 300, "longer than the 256 tokens"),
        ]:
            field.fill(text)
            field.press("Enter")
            opened.until("document.querySelector('#own-sentence-error').textContent !== ''")
            assert told in error.inner_text() and field.input_value() == text
            assert opened.text("h1").startswith("How are you")
        field.fill("I like ca")
        offers = opened.page.locator(".offer").all_inner_texts()
        assert "cat" in offers and all(offer.lower().startswith("ca") for offer in offers)
        assert error.inner_text() == ""
        opened.page.locator(".offer", has_text=re.compile("^cat$")).click()
        assert field.input_value() == "I like cat "


def test_an_address_restores_its_view(browser: Any, path: Path) -> None:
    address = f"#{SELF}.weights?head=1&cell=2,1&step=3&mask=off&scale=off"
    with Opened(browser, path, address) as opened:

        def view() -> list[str]:
            return [opened.text(part) for part in ("#stage", "#dock", "h1")]

        first = view()
        assert "step 3" in first[0].lower() or "Step 3" in first[1]
        opened.page.reload()
        opened.settle()
        assert view() == first and opened.page.evaluate("location.hash") == address
        opened.go("")
        assert opened.page.locator("#drawing").is_visible()
        opened.page.go_back()
        opened.settle()
        assert view() == first
        opened.page.go_forward()
        opened.settle()
        assert opened.page.locator("#drawing").is_visible()


def test_an_address_that_leads_nowhere_says_what_is_near(browser: Any, path: Path) -> None:
    with Opened(browser, path, "#decoder.layers.0.self_attention.weigths") as opened:
        assert f"{SELF}.weights" in opened.text("#fault")
        opened.go("#decoder.layers.0")
        assert not opened.page.locator("#fault").is_visible()


def test_a_step_hides_what_comes_later_and_equals_all_at_once(
    browser: Any, hindi: Explanation, path: Path
) -> None:
    with Opened(browser, path) as opened:
        opened.press("Space")  # plays, from the first step
        assert "step=1" in opened.page.evaluate("location.hash")
        opened.press("Space")
        for cached in (True, False):
            opened.go("#?step=2" if cached else "#?step=2&cache=off")
            said = opened.page.locator(".said")
            assert [said.nth(place).is_visible() for place in range(5)] == [True, True, False, False, False]
            opened.until("document.querySelector('#moment .equality') !== null")
            told = opened.text("#moment")
            assert ("one new row" if cached else "all 2 rows again") in told
            assert "computed once, at step 1" in told
            difference = re.search(r"largest difference (\S+)\.", told)
            assert difference is not None and float(difference[1]) < 1e-5


def test_text_that_means_harm_is_shown_as_text(browser: Any, tmp_path: Path) -> None:
    source = f'{HOSTILE} "a" & b'
    translator().explain(source, to="es", target="<b onclick='x'>").to_html(tmp_path / "page.html")
    with Opened(browser, tmp_path / "page.html") as opened:
        assert HOSTILE in opened.text("h1") and opened.page.title().startswith(source)
        assert HOSTILE in opened.text("#drawing")
        for address in (
            "#encoder.layers.0.self_attention.weights",
            "#decoder.word",
            f"#{CROSS}.weights?mask=off",
        ):
            opened.go(address)
        opened.go(f"#?open={HOSTILE}&where={HOSTILE}&text={HOSTILE}&to=<b>")
        assert opened.page.locator("main b[onclick]").count() == 0


def test_a_recording_says_what_it_cannot_do(
    browser: Any, hindi: Explanation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(payload, "COMPUTES", 0)
    hindi.to_html(tmp_path / "page.html")
    with Opened(browser, tmp_path / "page.html", f"#?silent={CROSS}:1") as opened:
        assert opened.page.locator("#own-sentence").count() == 0
        assert "too big for its weights to be in the page" in opened.text("#effect")
        opened.page.locator("#unfold").click()
        reasons = opened.page.locator(".switch .reason").all_inner_texts()
        assert any("too big for its weights" in reason for reason in reasons)
        opened.go(f"#{SELF}.weights")
        first = hindi.trace[f"{SELF}.weights"].tensor[0, 0, 0, 0].item()
        assert f"{first:z.4f}" in opened.text(".opened .readout")


def test_two_explanations_stand_side_by_side(browser: Any, hindi: Explanation, tmp_path: Path) -> None:
    other = translator(norm="first").explain("How are you ?", to="hi", target="आप कैसे हैं ?")
    hindi.to_html(tmp_path / "page.html", beside=other, names=("trained", "step 200"))
    with Opened(browser, tmp_path / "page.html") as opened:
        opened.page.locator("[data-key=beside]").click()
        opened.settle()
        cards = opened.page.locator(".beside-card")
        for place, explanation, name in ((0, hindi, "trained"), (1, other, "step 200")):
            text = cards.nth(place).inner_text()
            assert name in text.lower() and all(f"{step.loss:.4f}" in text for step in explanation.steps)
        opened.go(f"#{SELF}.weights?beside=other")
        for explanation in (hindi, other):
            value = explanation.trace[f"{SELF}.weights"].tensor[0, 0, 1, 0].item()
            assert f"{value:z.4f}" in opened.text(".opened")


def test_what_cannot_be_switched_beside_says_why(browser: Any, hindi: Explanation, tmp_path: Path) -> None:
    smaller = translator(decoder_layers=1).explain("How are you ?", to="hi", target="आप कैसे हैं ?")
    hindi.to_html(tmp_path / "page.html", beside=smaller, names=("two layers", "one layer"))
    with Opened(browser, tmp_path / "page.html", f"#?beside=other&silent={CROSS}:1") as opened:
        switched, not_switched = opened.page.locator(".beside-card").all_inner_texts()
        assert "TWO LAYERS" in switched.upper() and "ONE LAYER" in not_switched.upper()
        assert "without the switch" not in switched
        assert f'without the switch: "{CROSS}" is no attention of this model.' in not_switched
        opened.go("#?beside=other&mask=off")
        cards = opened.page.locator(".beside-card").all_inner_texts()
        assert not any("without the switch" in card for card in cards)
        opened.go(f"#{SELF}.weights?beside=other&mask=off&cell=0,0")
        titles = opened.page.locator(".opened .opened-matrix .which-run").all_inner_texts()
        assert titles == ["two layers", "one layer"]


def test_on_paper_stand_the_steps_and_the_open_matrix(browser: Any, path: Path) -> None:
    with Opened(browser, path, f"#{SELF}.weights") as opened:
        opened.page.emulate_media(media="print")
        assert (
            opened.page.locator("#steps table").is_visible() and opened.page.locator(".opened").is_visible()
        )
        assert not opened.page.locator("#dock").is_visible()


def test_on_paper_stand_all_digits_of_the_open_matrix(browser: Any, hindi: Explanation, path: Path) -> None:
    with Opened(browser, path, f"#{SELF}.weights") as opened:
        table = opened.page.locator(".opened .twin-table")
        for _ in range(2):  # and a second time
            assert not table.is_visible()
            opened.page.evaluate("dispatchEvent(new Event('beforeprint'))")
            opened.page.emulate_media(media="print")
            assert table.is_visible()
            last = hindi.trace[f"{SELF}.weights"].tensor[0, 0, -1, 0].item()
            shown = table.locator("tbody tr").last.locator("td").first.inner_text()
            assert torch.tensor(float(shown)).item() == last, "the very float32"
            opened.page.evaluate("dispatchEvent(new Event('afterprint'))")
            opened.page.emulate_media(media="screen")
        assert len(opened.page.pdf()) > 10_000  # a real printing leaves it as it was
        assert not table.is_visible()


def test_without_scripts_the_first_part_can_be_read(browser: Any, hindi: Explanation, path: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    opened = context.new_page()
    opened.goto(path.as_uri())
    assert opened.locator("#steps table").is_visible() and opened.locator("noscript").count() == 1
    assert (
        json.dumps(hindi.translation.text, ensure_ascii=False).strip('"') in opened.locator("h1").inner_text()
    )
    context.close()
