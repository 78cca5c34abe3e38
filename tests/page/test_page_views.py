"""The page in a real browser: by address, by keyboard, in light and dark; its numbers against Python's."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from cases import few
from opened_page import PHONE, OpenPage, named
from tiny import HOSTILE, translator, untrained

from pellucid import edits
from pellucid.config.schema import Config, VocabularyConfig
from pellucid.explanation import Explanation
from pellucid.page import payload
from pellucid.reading.passes import in_batch, watch
from pellucid.reading.reading import read

pytestmark = pytest.mark.browser

SELF = "decoder.layers.0.self_attention"
CROSS = "decoder.layers.1.cross_attention"
SENTENCES = [("the bank is near the river", "es"), ("je suis étudiant", "en"), ("I like cats", "fr")]
NUMBER = re.compile(r"\d\.\d{4}")

OPEN_EACH = """async (names) => {
  const shown = [];
  for (const name of names) {
    location.hash = `#${name}`;
    while (document.body.dataset.shown !== location.hash) await new Promise((done) => setTimeout(done, 5));
    const plate = [...document.querySelectorAll("[data-plate]")].find((each) => each.spec.name === name);
    shown.push([name, plate?.querySelector("[role=grid]") ? plate.spec.panel.at(0, 0) : null]);
  }
  return shown;
}"""
# Each word that is found in a place: its text, how it is written, where it begins.
WORDS = """(place) => [...document.querySelectorAll(`${place} bdi`)].map((word) =>
  [word.textContent, getComputedStyle(word).direction, Math.round(word.getBoundingClientRect().x)])"""


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_what_is_seen_can_be_read_and_touched(open_page: OpenPage, width: int, scheme: str) -> None:
    opened = open_page(width=width, color_scheme=scheme)
    for address in (
        "",
        "#decoder.layers.0",
        "#decoder.layers.0.residual_1.norm.variance",
        "#decoder.word?step=2",
        f"#{SELF}.mask?open=tour&stop=6",
        "#?open=own",
        f"#{CROSS}.weights?cell=1,2&mask=off",
    ):
        opened.go(address)
        opened.assert_fits(width)
    opened.click("#unfold")
    opened.assert_fits(width)


@pytest.mark.parametrize(
    ("norm", "only", "least"),
    few(
        2,
        [
            ("last", "decoder.layers.1", 30),
            ("first", "encoder.layers.0", 15),
            ("last", "", 90),
            ("first", ".norm.", 25),
        ],
    ),
)
def test_every_tensor_opens_by_its_address(open_page: OpenPage, norm: str, only: str, least: int) -> None:
    explanation = translator(norm=norm).explain("I like cats", to="es", target="Me gustan los gatos")
    opened = open_page(of=explanation)
    shown = opened.page.evaluate(OPEN_EACH, [name for name in explanation.trace if only in name])
    assert len(shown) > least
    for name, first in shown:
        assert first is not None, name
        if explanation.trace[name].axes[-1] != "V":
            assert first == explanation.trace[name].tensor.flatten()[0].item(), name


def test_the_mask_is_lifted_and_the_changed_numbers_are_those_of_an_edit(
    open_page: OpenPage, hindi: Explanation
) -> None:
    lifted = edits.lift_mask(SELF) | edits.lift_mask("decoder.layers.1.self_attention")
    model = hindi.translator.model
    batch = in_batch(model, [(hindi.source_ids, hindi.target_ids)])
    seen = watch(model, batch, edits=lifted, vocabulary=hindi.vocabulary)
    probabilities = seen["decoder.probabilities"].tensor[0]
    expected = [row[token].item() for row, token in zip(probabilities, hindi.target_ids, strict=True)]
    opened = open_page("#?position=1")
    opened.tab_to("Switches")
    opened.press("Enter")
    opened.until("document.activeElement.textContent.startsWith('Causal mask')")
    opened.press("Enter")
    assert "mask=off" in opened.address
    for text, step, now in zip(opened.texts("#steps tbody tr"), hindi.steps, expected, strict=True):
        after, before = NUMBER.findall(text)[:2]
        assert before == f"{step.probability:.4f}" and abs(float(after) - now) <= 6e-5
    weights = seen[f"{SELF}.weights"].tensor[0]
    share, head, row = max(
        (weights[head, row, row + 1].item(), head, row) for head in range(2) for row in range(4)
    )
    says = opened.text("#effect .effect-says")
    asks, word = named(hindi.target_tokens)[row : row + 2]
    assert f"position {row + 1}, {asks}, now looks at {word} ({share:.2f}, head {head}" in says
    assert "training would leak" in says
    opened.press("Escape")
    opened.click("effect-reset")
    assert not opened.is_seen("#effect") and "mask" not in opened.address


def test_the_leak_is_told_of_the_open_head_and_shown_where_it_is_largest(open_demo: OpenPage) -> None:
    opened = open_demo(f"#{SELF}.weights?mask=off", **PHONE)
    says = opened.text("#stage #effect .effect-says")
    most = re.search(r"\((\S+), head (\d); the most in head 0, here, is (\S+)\)", says)
    assert most is not None and float(most[1]) > float(most[3]) and most[2] != "0"
    effect, inspector = (opened.box(place) for place in ("#effect", ".inspector"))
    assert effect["y"] + effect["height"] < inspector["y"], "it covers nothing"
    opened.click("see-leak")
    assert f"head={most[2]}" in opened.address and ", here, is" not in opened.text("#effect")


def test_a_special_token_has_one_name_on_the_whole_page(open_demo: OpenPage) -> None:
    opened = open_demo()
    for address in ("", "#?position=1", f"#{SELF}.weights", "#encoder.output?cell=0,1", "#decoder.word"):
        opened.go(address)
        text = " ".join(opened.texts("main > :not(footer), #dock"))
        assert re.findall(r"</?s>|>>\w+<<", text) == [] and ("START" in text or "to Hindi" in text)


def test_switches_keep_the_chosen_step_and_before_stands_beside_after(
    open_page: OpenPage, hindi: Explanation
) -> None:
    opened = open_page("#?step=2")
    opened.click("#unfold")
    opened.click("switch-causal")
    assert opened.address == "#?position=2&mask=off", "all at once, where there are later words"
    assert "training would leak" in opened.text("#effect")
    opened.go("#?step=2&mask=off")
    assert "no later word" in opened.text("#effect")
    opened.click("see-leak")
    assert "training would leak" in opened.text("#effect")
    opened.go(f"#{CROSS}.weights")
    opened.click("silent-1")
    assert f"silent={CROSS}:1" in opened.address
    assert "Head 1 of decoder, layer 1: cross-attention adds nothing." in opened.text("#effect")
    opened.click("effect-beside")
    after, before = opened.texts(".beside-card")
    assert all(f"{step.probability:.4f}" in before for step in hindi.steps) and after != before


def test_sentences_of_ones_own_are_translated_as_python_does(open_demo: OpenPage, demo: Explanation) -> None:
    opened = open_demo()
    for text, to in SENTENCES:
        opened.translate(text, to)
        assert opened.text("h1 .said-sentence") == demo.translator.translate(text, to=to).text
        opened.assert_steps(read(demo.translator, text, to).steps)
    opened.page.go_back()
    opened.settle()
    assert opened.text("h1").startswith(SENTENCES[1][0])


def test_an_address_restores_its_view(open_page: OpenPage) -> None:
    address = f"#{SELF}.weights?head=1&cell=2,1&step=3&mask=off&scale=off"
    opened = open_page(address, is_late=True)

    def view() -> list[str]:
        return [opened.text(part) for part in ("#stage", "#dock", "h1")]

    first = view()
    assert "Step 3 of writing" in first[0] and "Step 3" in first[1]
    opened.page.reload()
    opened.settle()
    assert view() == first and opened.address == address
    opened.go("")
    assert opened.is_seen("#drawing")
    opened.page.go_back()
    opened.settle()
    assert view() == first


def test_addresses_keep_to_what_there_is_and_faults_are_told(open_page: OpenPage) -> None:
    opened = open_page()
    for asked, kept in {
        "#?head=99&step=77": "#?head=1&step=5",
        "#?position=1": "#?position=1",
        f"#{SELF}.weights?cell=50,99": f"#{SELF}.weights?cell=4,4",
        "#?run=5&beside=before&position=9": "#?position=5",
        f"#{SELF}?cell=1,1": f"#{SELF}",
        "#nothing.of.the.kind?head=1": "#nothing.of.the.kind?head=1",  # it can be read, and mended
    }.items():
        opened.go(asked)
        assert opened.address == kept
    for address, told in {
        "#decoder.layers.0.self_attention.weigths": f"{SELF}.weights",
        "#__proto__": 'no tensor is called "__proto__". There are',
        "#toString?cell=99999999999,1&head=-3": 'no tensor is called "toString"',
        "#decoder.layers.99.self_attention.weigths?step=-5": "Nearest: decoder.layers",
        "#%E0%A4%A": "no tensor is called",
        "#?text=%20&to=hi": "the sentence is empty",
        "#?text=How&to=zz": 'not to "zz"',
        "#?open=tour&stop=99999": "",
        "#decoder.logits?cell=99999,99999&step=99999": "",
    }.items():
        opened.go(address)
        assert told in opened.text("#fault") and opened.is_seen("#fault") == bool(told)


def test_a_step_hides_what_comes_later_and_equals_all_at_once(open_page: OpenPage) -> None:
    opened = open_page()
    opened.press("Space")  # plays, from the first step
    assert opened.page.locator("[data-key=play]").get_attribute("aria-label") == "pause"
    opened.press("Space")
    for address, rows in (("#?step=2", "one new row"), ("#?step=2&cache=off", "all 2 rows again")):
        opened.go(address)
        assert [said.is_visible() for said in opened.page.locator(".said").all()] == [True] * 2 + [False] * 3
        opened.until_there("#both-ways .equality")
        told = opened.text("#moment")
        assert rows in told and "computed once, at step 1" in told
        difference = re.search(r"largest difference (\S+)\.", opened.text("#both-ways .equality"))
        assert difference is not None and float(difference[1]) < 1e-5


def test_text_that_means_harm_is_shown_as_text(open_page: OpenPage) -> None:
    source = f'{HOSTILE} "a" & b'
    opened = open_page(of=translator().explain(source, to="es", target="<b onclick='x'>"))
    assert HOSTILE in opened.text("h1") and opened.page.title().startswith(source)
    assert HOSTILE in opened.text("#drawing")
    for address in ("#encoder.layers.0.self_attention.weights", f"#{CROSS}.weights?mask=off"):
        opened.go(address)
    opened.go(f"#?open={HOSTILE}&where={HOSTILE}&text={HOSTILE}&to=<b>")
    assert opened.page.locator("main b[onclick]").count() == 0


def test_a_recording_says_what_it_cannot_do(
    open_page: OpenPage, hindi: Explanation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(payload, "COMPUTES", 0)
    opened = open_page(f"#?silent={CROSS}:1", of=hindi)
    assert not opened.is_seen("#own-sentence") and not opened.is_seen("#unfold-target")
    assert "too big for its weights to be in the page" in opened.text("#effect")
    opened.click("#unfold")
    assert any("too big for its weights" in reason for reason in opened.texts(".switch .reason"))
    opened.go(f"#{SELF}.weights?mask=off&step=2")
    assert opened.text("#effect .effect-says").startswith("This page holds a recording")
    assert not opened.is_seen("#both-ways")


def test_two_explanations_stand_side_by_side(open_page: OpenPage, hindi: Explanation, tmp_path: Path) -> None:
    smaller = translator(decoder_layers=1).explain("How are you ?", to="hi", target="आप कैसे हैं ?")
    hindi.to_html(tmp_path / "page.html", beside=smaller, names=("two layers", "one layer"))
    opened = open_page(of=tmp_path / "page.html")
    opened.click("beside")
    for text, each, name in zip(
        opened.texts(".beside-card"), (hindi, smaller), ("two layers", "one layer"), strict=True
    ):
        assert name in text.lower() and all(f"{step.loss:.4f}" in text for step in each.steps)
    opened.go(f"#?beside=other&silent={CROSS}:1")
    switched, not_switched = opened.texts(".beside-card")
    assert "without the switch" not in switched
    assert "without the switch: heads are those of one attention: " in not_switched
    opened.go(f"#{SELF}.weights?beside=other&mask=off&cell=0,0")
    assert opened.texts("[data-plate$=weights] .which-run") == ["two layers", "one layer"]
    opened.go(f"#{SELF}.values?beside=other")
    for explanation in (hindi, smaller):
        value = explanation.trace[f"{SELF}.values"].tensor[0, 0, 1, 0].item()
        assert f"{value:z.3f}" in opened.text(f"[data-plate='{SELF}.values']")
    assert "largest difference" in opened.text(f"[data-plate='{SELF}.values'] .largest-difference")


def test_on_paper_stand_all_digits_of_the_open_matrix(open_page: OpenPage, hindi: Explanation) -> None:
    opened = open_page(f"#{SELF}.weights")
    table = opened.page.locator(".inspector .twin-table")
    assert not table.is_visible()
    opened.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    opened.page.emulate_media(media="print")
    assert table.is_visible() and opened.is_seen("#steps table") and not opened.is_seen("#dock")
    last = hindi.trace[f"{SELF}.weights"].tensor[0, 0, -1, 0].item()
    shown = table.locator("tbody tr").last.locator("td").first.inner_text()
    assert torch.tensor(float(shown)).item() == last, "the very float32"
    opened.page.evaluate("dispatchEvent(new Event('afterprint'))")
    opened.page.emulate_media(media="screen")
    assert not table.is_visible()


def test_without_scripts_the_first_part_can_be_read(browser: Any, hindi: Explanation, path: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    opened = context.new_page()
    opened.goto(path.as_uri())
    assert opened.locator("#steps table").is_visible() and opened.locator("noscript").count() == 1
    assert hindi.translation.text in opened.locator("h1").inner_text()
    context.close()


def test_words_from_the_right_leave_tokens_in_their_order(open_page: OpenPage) -> None:
    source, target = "كيف حالك اليوم", "שלום לך (2) today"
    config = Config(vocabulary=VocabularyConfig(kind="word", size=40))
    explanation = untrained([source], [target], config).explain(source, target=target)
    name = "decoder.layers.0.cross_attention.weights"
    opened = open_page(f"#{name}?cell=1,0", of=explanation)
    heading = opened.page.evaluate(WORDS, "h1")
    assert [text for text, _, _ in heading[:2]] == [source, target]
    assert {direction for _, direction, _ in heading} == {"rtl"}
    columns = opened.page.evaluate(WORDS, "[data-plate$=weights] [role=columnheader]")[
        : len(explanation.source_tokens)
    ]
    assert [text for text, _, _ in columns] == named(explanation.source_tokens)
    assert [x for _, _, x in columns] == sorted(x for _, _, x in columns)
    assert [direction for _, direction, _ in columns] == ["rtl", "rtl", "rtl", "ltr"]
    rows = opened.page.evaluate(WORDS, "[data-plate$=weights] [role=rowheader]")
    assert [text for text, _, _ in rows] == named(explanation.target_tokens)
    opened.go("#?position=1&scale=off&beside=before")
    sentences = "[...document.querySelectorAll('.beside-sentence')]"
    directions = opened.page.evaluate(f"{sentences}.map((each) => getComputedStyle(each).direction)")
    assert directions == ["rtl", "rtl"]
