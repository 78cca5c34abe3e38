"""Six people's paths through the page, each from what they come with to what they came for."""

import re
from pathlib import Path
from urllib.parse import quote

import pytest
from opened_page import PHONE, OpenPage
from tiny import translator

from pellucid.explanation import Explanation

pytestmark = pytest.mark.browser

SELF = "decoder.layers.0.self_attention"
NOTES = (Path(__file__).parents[2] / "docs/notes.md").read_text(encoding="utf-8")


def test_a_student_follows_the_seven_steps_of_note_000(open_demo: OpenPage) -> None:
    """From the link beside the note's line 22 through all seven steps, to a weight and what it is made of."""
    line = next(line for line in NOTES.splitlines() if line.startswith("| 22 |"))
    (address,) = re.findall(r"\(pages/how-are-you\.html(#\S+?)\)", line)
    opened = open_demo(address)
    assert opened.texts(".stage-bar .step-number") == list("1234567")
    for step in opened.page.locator(".stage-bar button:has(.step-number)").all():
        step.click()
        opened.settle()
        result = step.get_attribute("data-key").removeprefix("stage-")
        assert re.search(r"\b6 ?×", opened.text(f"[data-plate='{result}'] .shape"))
    assert opened.text(".inspector .strips").split()[0] == "Concat"
    opened.go(address)
    plate = f"[data-plate='{SELF}.weights']"
    assert opened.texts(f"{plate} td.sum") == ["1.0000"] * 6
    opened.click(f"{plate} tbody tr:nth-child(2) td[role=gridcell]")
    assert "exp ÷ Σ" in opened.text(".inspector")


def test_a_teacher_shows_the_tour_and_lifts_the_mask_at_200_per_cent(open_demo: OpenPage) -> None:
    opened = open_demo("", 720, 450)
    opened.click("#open-tour")
    first = opened.text(".tour-text")
    opened.click("tour-next")
    assert opened.text(".tour-text") != first
    opened.press("Escape")
    opened.click("#unfold")
    opened.click("switch-causal")
    assert re.search(r"goes from \d\.\d{4} to \d\.\d{4}", opened.text("#effect"))
    opened.assert_fits(720)


def test_an_engineer_asks_why_not_another_word(open_demo: OpenPage, demo: Explanation) -> None:
    """The last word exchanged for the next likely one: where both part, and the logit behind it."""
    words, step = demo.translation.text.split(), demo.steps[-2]
    other = next(token for token, _ in step.alternatives if token not in ("</s>", step.expected))
    opened = open_demo()
    opened.click("#unfold-target")
    opened.page.locator("#own-target").fill(" ".join([*words[:-1], other]))
    opened.page.locator("#own-target").press("Enter")
    opened.until("!document.querySelector('#given').hidden")
    told = opened.text("#given")
    assert f"position {len(words)}: {words[-1]} has" in told and f"{other} has" in told
    opened.click("#drawing [data-block='decoder.word']")
    assert opened.is_seen("[data-plate='decoder.logits']") and quote(other) in opened.address


def test_an_author_looks_into_a_model_of_50_million_parameters(open_page: OpenPage) -> None:
    """From the drawing to a head's whole triangle of twenty words, with its sums, on one screen."""
    large = translator(width=512, heads=8, hidden=2048, encoder_layers=6, decoder_layers=6)
    assert sum(each.numel() for each in large.model.parameters()) > 44_000_000
    given = large.explain("How are you ? " * 5, to="hi", target="आप कैसे हैं ? " * 5)
    opened = open_page(of=given)
    opened.click(f"#drawing [data-block='{SELF}']")
    opened.go(f"#{SELF}.weights?head=7")
    plate = f"[data-plate='{SELF}.weights']"
    rows, columns, sums = (f"{plate} {part}" for part in ("tbody tr", "thead th:not(.sum)", "td.sum"))
    assert len(opened.texts(rows)) == len(opened.texts(columns)) == 21
    assert opened.texts(sums) == ["1.0000"] * 21
    assert opened.outside(rows, columns, sums, f"{plate} td[role=gridcell]") == []
    last = opened.box(sums)
    assert last["x"] + last["width"] <= opened.lefts(".inspector")[0] + 1


def test_somebody_on_a_train_taps_a_sentence_and_a_score(open_demo: OpenPage) -> None:
    """Without a network, by touch: an example, its next step, and one score down to its dot product."""
    opened = open_demo("", **PHONE)
    opened.page.locator(".example").first.tap()
    opened.until("state.text !== null")
    opened.settle()
    sentence = opened.text("h1")
    opened.page.locator(f"#drawing [data-block='{SELF}']").tap()
    opened.settle()
    opened.page.locator(f"[data-plate='{SELF}.scores'] td[role=gridcell]").first.tap()
    opened.settle()
    assert opened.is_seen(".inspector .terms") and opened.is_seen(".making-total")
    opened.press("Escape", "Escape", "Escape")
    assert opened.text("h1") == sentence


def test_a_listener_hears_the_translation_and_a_cell(open_demo: OpenPage) -> None:
    """By keyboard, what a screen reader says: a sentence typed, its step, and a cell with its tokens."""
    opened = open_demo()
    opened.page.locator("#own-sentence").focus()
    opened.page.keyboard.type("I like cats")
    opened.press("Enter")
    opened.until("state.text === 'I like cats'")
    opened.settle()
    heard = opened.page.locator("#said").text_content()
    assert heard.startswith("Step 1, one new row: START in, ")
    opened.go(f"#{SELF}.weights")
    plate = opened.page.locator(f"[data-plate='{SELF}.weights']")
    plate.locator("[tabindex='0']").focus()
    opened.press("Home", "ArrowDown")
    assert re.fullmatch(r"\S+ asks, START is attended to, weight \d\.\d{4}", opened.focus)
    outline = plate.aria_snapshot()
    assert 'grid "A: Attention weights"' in outline and 'columnheader "row sum"' in outline
