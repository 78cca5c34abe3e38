"""What if: another word, another sentence beside; against Python's translations."""

import pytest
import torch
from opened_page import PHONE, OpenPage

from pellucid.explanation import Explanation

pytestmark = pytest.mark.browser


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


def test_the_first_click_beside_a_word_is_not_lost(open_demo: OpenPage) -> None:
    """The word loses the focus while the mouse is down; what is clicked must not be made anew by this."""
    opened = open_demo("", 1366, 768)
    opened.page.locator("h1 .target-word").nth(1).click()
    opened.page.locator(".why-button").click()
    opened.until("location.hash.includes('decoder.word')")


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
    two = opened.address
    opened.go(two.replace("beside=other", "beside=before&scale=off"))
    assert opened.texts(".beside-card h3") == ["After the switch", "Before it"]
    assert not opened.page.locator("[data-key=exchange]").count(), "both are of the same sentence"
    opened.go(two)
    opened.click("exchange")
    assert opened.text("h1").startswith(money) and river in opened.page.locator("#own-second").input_value()
    opened.go(f"#?text={river}&to=es&beside=other&second=xyzzy")
    assert "xyzzy" in opened.text("#fault")
