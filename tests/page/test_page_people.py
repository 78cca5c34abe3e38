"""Six people's paths through the page, each from what they come with to what they came for."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from opened_page import opened_page
from tiny import translator

from pellucid.explanation import Explanation

pytestmark = pytest.mark.browser

SELF = "decoder.layers.0.self_attention"
PHONE = {"has_touch": True, "is_mobile": True}
NOTES = (Path(__file__).parents[2] / "docs/notes.md").read_text(encoding="utf-8")


def test_a_student_follows_the_seven_steps_of_note_000(browser: Any, demo_path: Path) -> None:
    """From the link beside the note's line 22 through all seven steps, to a weight and what it is made of."""
    line = next(line for line in NOTES.splitlines() if line.startswith("| 22 |"))
    (address,) = re.findall(r"\(pages/how-are-you\.html(#\S+?)\)", line)
    with opened_page(browser, demo_path, address) as opened:
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


def test_a_teacher_shows_the_tour_and_lifts_the_mask_at_200_per_cent(browser: Any, demo_path: Path) -> None:
    with opened_page(browser, demo_path, "", 720, 450) as opened:
        opened.click("#open-tour")
        first = opened.text(".tour-text")
        opened.click("tour-next")
        assert opened.text(".tour-text") != first
        opened.press("Escape")
        opened.click("#unfold")
        opened.click("switch-causal")
        assert re.search(r"goes from \d\.\d{4} to \d\.\d{4}", opened.text("#effect"))
        opened.assert_fits(720)


def test_an_engineer_asks_why_not_another_word(browser: Any, demo: Explanation, demo_path: Path) -> None:
    """The last word exchanged for the next likely one: where both part, and the logit behind it."""
    words, step = demo.translation.text.split(), demo.steps[-2]
    other = next(token for token, _ in step.alternatives if token not in ("</s>", step.expected))
    with opened_page(browser, demo_path) as opened:
        opened.click("#unfold-target")
        opened.page.locator("#own-target").fill(" ".join([*words[:-1], other]))
        opened.page.locator("#own-target").press("Enter")
        opened.until("!document.querySelector('#given').hidden")
        told = opened.text("#given")
        assert f"position {len(words)}: {words[-1]} has" in told and f"{other} has" in told
        opened.click("#drawing [data-block='decoder.word']")
        assert opened.is_seen("[data-plate='decoder.logits']") and quote(other) in opened.address


def test_an_author_looks_into_a_model_of_50_million_parameters(browser: Any, tmp_path: Path) -> None:
    """From the drawing to a head's whole triangle of twenty words, with its sums, on one screen."""
    large = translator(width=512, heads=8, hidden=2048, encoder_layers=6, decoder_layers=6)
    assert sum(each.numel() for each in large.model.parameters()) > 44_000_000
    given = large.explain("How are you ? " * 5, to="hi", target="आप कैसे हैं ? " * 5)
    given.to_html(tmp_path / "page.html")
    with opened_page(browser, tmp_path / "page.html") as opened:
        opened.click(f"#drawing [data-block='{SELF}']")
        opened.go(f"#{SELF}.weights?head=7")
        plate = opened.page.locator(f"[data-plate='{SELF}.weights']")
        assert plate.locator("tbody tr").count() == plate.locator("thead th:not(.sum)").count() == 21
        assert plate.locator("td.sum").all_inner_texts() == ["1.0000"] * 21
        dock = opened.page.locator("#dock").bounding_box()["y"]
        inspector = opened.page.locator(".inspector").bounding_box()["x"]
        for cells in ("tbody tr", "thead th", "td.sum", "tbody td:nth-child(22)"):
            for cell in plate.locator(cells).all():
                box = cell.bounding_box()
                assert box["y"] >= 0 and box["y"] + box["height"] <= dock + 1
                assert box["x"] >= 0 and box["x"] + box["width"] <= inspector + 1


def test_somebody_on_a_train_taps_a_sentence_and_a_score(browser: Any, demo_path: Path) -> None:
    """Without a network, by touch: an example, its next step, and one score down to its dot product."""
    with opened_page(browser, demo_path, "", 390, 844, **PHONE) as opened:
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


def test_a_listener_hears_the_translation_and_a_cell(browser: Any, demo_path: Path) -> None:
    """By keyboard, what a screen reader says: a sentence typed, its step, and a cell with its tokens."""
    with opened_page(browser, demo_path) as opened:
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
