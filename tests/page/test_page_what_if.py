"""What if: another word, a number in a cell, another sentence; against Python's edits and translations."""

import random
from pathlib import Path
from typing import Any

import pytest
import torch
from engine_page import engine_page, error_of, numbers_of
from opened_page import PHONE, OpenPage
from test_page_engine import assert_near, passed, shaken

from pellucid import edits
from pellucid.explanation import Explanation

pytestmark = pytest.mark.browser

SELF = "decoder.layers.0.self_attention"
TYPED = "switchedRun(page.runs[0], { ...UNSWITCHED, typed: given })"


@pytest.mark.parametrize("draws", [6, pytest.param(200, marks=pytest.mark.slow)])
def test_a_typed_number_is_an_edit_of_one_cell(browser: Any, draws: int, tmp_path: Path) -> None:
    seed = random.SystemRandom().randrange(1 << 30)
    print("seed:", seed)
    chance = random.Random(seed)
    explanation = shaken(heads=2).explain("I like cats", to="es", target="Me gustan los gatos")
    with engine_page(browser, [explanation], tmp_path) as page:
        for name in chance.choices([*explanation.trace], k=draws):
            record, number = explanation.trace[name], chance.uniform(0.1, 3)
            at = [chance.randrange(size) for size in record.tensor.shape]
            place = dict(zip(record.axes, at, strict=True))
            row, column = [*(at[-index] for index in (2, 1))] if record.axes != "BL" else [at[-1], 0]
            typed = {"name": name, "head": place.get("H", 0), "row": row, "column": column, "number": number}
            if "B" in place:
                at[0] = 0
            found = numbers_of(page, TYPED, typed)
            assert_near(found, passed(explanation, edits.rewrite(name, number, at=at)))
        unknown = {"name": "decoder.nothing", "head": 0, "row": 0, "column": 0, "number": 1}
        assert 'no tensor is called "decoder.nothing"' in error_of(page, TYPED, unknown)


def test_a_candidate_is_said_instead_and_the_model_goes_on(open_demo: OpenPage, demo: Explanation) -> None:
    for screen in ({"width": 1366, "height": 768}, PHONE):
        opened = open_demo("#?step=2", **screen)
        opened.click(".next .best button")
        rank = [token for token, _ in demo.steps[1].alternatives].index(opened.text(".next .expected bdi"))
        best = demo.trace["decoder.probabilities"].tensor[0, 1].sort(descending=True, stable=True).indices
        prefix = [demo.target_ids[0], int(best[rank])]
        said = demo.translator.translate("How are you", to="hi", prefix=prefix).text
        assert rank > 0 and opened.text("h1 .said-sentence") == said and "step=2" in opened.address
        assert "They part at position 2" in opened.text("#given")


def test_a_number_is_typed_into_a_cell_and_what_it_changes_is_marked(
    open_demo: OpenPage, demo: Explanation
) -> None:
    opened = open_demo(f"#{SELF}.scores?position=2&cell=1,0")
    assert opened.page.locator(".plate-changed").count() == 0
    opened.page.locator(".what-if input").fill("-40")
    opened.page.keyboard.press("Enter")
    opened.until("location.hash.includes('typed=')")
    opened.settle()
    seen = demo.again(edits.rewrite(f"{SELF}.scores", -40, at=(0, 0, 1, 0)))
    now = seen["decoder.probabilities"].tensor[0, 1]
    said = demo.steps[1]
    told = f"goes from {said.probability:.4f} to {now[demo.target_ids[1]]:.4f}"
    assert told in opened.text("#effect .effect-says")
    other = demo.vocabulary.target_tokens([int(now.argmax())])[0]
    assert (f"The next word: {said.predicted} → {other}" in opened.text("#effect")) == (
        other != said.predicted
    )
    changed = "[...document.querySelectorAll('.stage-bar button:has(.plate-changed)')].length"
    assert opened.page.evaluate(changed) == 7, "scores and all that follows from them"
    assert opened.text(".making-total b") == "-40.0000" and "You typed this number" in opened.text(".making")
    opened.page.reload()
    opened.settle()
    assert opened.page.evaluate(changed) == 7
    opened.click("effect-reset")
    assert "typed" not in opened.address and opened.page.evaluate(changed) == 0


def test_another_sentence_stands_beside(open_demo: OpenPage, demo: Explanation) -> None:
    river, money = "the bank is near the river", "the bank is near the money"
    opened = open_demo("", 1366, 768)
    opened.translate(river, "es")
    opened.click("#unfold-target")
    opened.page.locator("#own-second").fill("the bank is near the riverr")
    opened.page.keyboard.press("Enter")
    opened.until("document.querySelector('#own-second-error').textContent.includes('river')")
    opened.page.locator("#own-second").fill(money)
    opened.page.keyboard.press("Enter")
    opened.until("location.hash.includes('second=')")
    opened.settle()
    for card, text in zip(opened.texts(".beside-card"), (river, money), strict=True):
        said = demo.translator.explain(text, to="es")
        assert text in card and all(f"{step.probability:.4f}" in card for step in said.steps)
    name = "encoder.layers.1.self_attention.weights"
    opened.go(f"#{name}?cell=2,6&{opened.address.partition('?')[2]}")
    weights = demo.translator.explain(money, to="es").trace[name].tensor[0, 0]
    grid = opened.page.locator(f"[data-plate='{name}'] .matrix").nth(1)
    found = opened.page.evaluate(
        "(name) => [...numbersOf(document.querySelector(name).spec.other)]", f"[data-plate='{name}']"
    )
    assert torch.tensor(found).reshape(weights.shape).allclose(weights, atol=1e-5)
    assert grid.locator("thead th").all_inner_texts()[6] == "money"
    opened.press("Escape", "Escape", "Escape")
    opened.click("exchange")
    assert opened.text("h1").startswith(money) and river in opened.page.locator("#own-second").input_value()
    opened.go(f"#?text={river}&to=es&beside=other&second=xyzzy")
    assert "xyzzy" in opened.text("#fault")
