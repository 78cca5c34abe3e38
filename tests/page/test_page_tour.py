"""The tour of the page from start to end by keyboard: each stop's view, its numbers against Python's trace,
what there is to try."""

from typing import Any

import pytest
from cases import few
from opened_page import OpenPage, named
from tiny import translator

from pellucid.explanation import Explanation
from pellucid.page import payload

pytestmark = pytest.mark.browser

SELF, CROSS = "decoder.layers.0.self_attention", "decoder.layers.0.cross_attention"
LAST = "decoder.layers.1.cross_attention"
# Each stop: where its view is, and what its address says after its trial.
STOPS = [
    ("", "position=4"),
    ("encoder.embedded", "#encoder.positions"),
    ("encoder.layers.0.self_attention.weights", "?head=1&cell="),  # the head after that of the largest weight
    ("encoder.output", f"#{CROSS}.keys"),
    (f"{SELF}.queries", "cell=0,0"),
    (f"{SELF}.scores", "scale=off"),
    (f"{SELF}.mask", "mask=off"),
    (f"{SELF}.weights", f"#{SELF}.context?head=1&cell=1,0"),
    (f"{SELF}.concatenated", f"silent={SELF}:0"),
    ("decoder.layers.0.residual_1.sum", "residual=off"),
    (f"{LAST}.weights", "step=2"),
    ("decoder.probabilities", "#decoder.logits"),
    (f"{SELF}.weights", "cache=off"),
    (f"{SELF}.weights", "#?position=1&open=tour"),
]


def count(number: int) -> str:
    return f"Stop {number} of {len(STOPS)}"


def told(demo: Explanation) -> dict[int, list[str]]:
    """What some of the stops have to say: words and numbers from Python's trace."""

    def most(name: str, diagonal: int | None = None) -> str:
        """The largest number of all heads: above the diagonal (1), or below it (-1)."""
        numbers = demo.trace[name].tensor[0]
        sizes = numbers.abs()
        if diagonal is not None:
            sizes = sizes.triu(1) if diagonal > 0 else sizes.tril(-1)
        return f"{numbers.flatten()[sizes.argmax()].item():z.4f}"

    def scaled() -> str:
        sizes = demo.trace[f"{SELF}.scores"].tensor[0].abs().tril(-1)
        return f"{demo.trace[f'{SELF}.scaled_scores'].tensor[0].flatten()[sizes.argmax()].item():z.4f}"

    config, norm = demo.translator.model.config, "decoder.layers.0.residual_1.norm"
    source = tuple(named(demo.source_tokens))
    words, length = named(step.expected for step in demo.steps), len(demo.steps)
    return {
        1: [*source, *words],
        2: [f"{config.vocabulary} × {config.width}", f"√{config.width} = {config.width**0.5:.4f}"],
        3: [most("encoder.layers.0.self_attention.weights", 1)],
        4: [f"{len(source)} × {config.width}"],
        5: [f"({length}×{config.width})·({config.width}×{config.width})", f"{config.heads} heads"],
        6: [most(f"{SELF}.scores", -1), scaled()],
        7: [f"{length * (length - 1) // 2} of the {length**2} scores"],
        8: [most(f"{SELF}.weights", -1)],
        9: [f"{config.heads} heads"],
        10: [f"{demo.trace[f'{norm}.{name}'].tensor[0, 0].item():z.4f}" for name in ("mean", "variance")],
        11: [f"{length} × {len(source)}"],
        12: [words[0], f"{demo.steps[0].probability:.4f}"],
        13: [words[0]],
        14: ["largest difference"],
    }


def test_the_tour_from_start_to_end_by_keyboard(open_demo: OpenPage, demo: Explanation) -> None:
    says = told(demo)
    opened = open_demo()
    opened.tab_to("Tour")
    opened.press("Enter")
    for number, (view, tried) in enumerate(STOPS, 1):
        opened.until(f"document.querySelector('.tour-count')?.textContent.startsWith('{count(number)}')")
        opened.settle()
        address = opened.address
        assert address.startswith(f"#{view}?") and "open=tour" in address, address
        assert opened.text(".tour h2") and len(opened.text(".tour-text").split()) > 20
        for expected in says[number]:
            assert expected in opened.text(".tour-text"), (number, expected)
        if view:
            names = "[...document.querySelectorAll('[data-plate]')].map((each) => each.spec.name)"
            assert view in opened.page.evaluate(names)
        opened.page.locator("[data-key=tour-try]").focus()
        opened.press("Enter")
        after = opened.address
        assert after != address and tried in after and "open=tour" in after, (number, after)
        assert not opened.is_seen("#fault")
        opened.page.locator("[data-key=tour-next]").focus()
        opened.press("Enter")
    assert "open=" not in opened.address and not opened.is_seen(".tour")


def test_a_stop_forgets_what_was_tried_and_its_address_leads_back(open_demo: OpenPage) -> None:
    opened = open_demo("#?open=tour&stop=6")
    assert count(7) in opened.text(".tour-count")
    opened.click("tour-try")
    assert "training would leak" in opened.text("#effect")
    opened.click("tour-back")
    assert count(6) in opened.text(".tour-count") and not opened.is_seen("#effect")
    opened.click("tour-leave")
    assert not opened.is_seen(".tour") and opened.is_seen(".inspector"), "the view of the stop stays"


@pytest.mark.parametrize(
    ("recording", "shape", "width"),
    few(1, [(True, {"heads": 1, "norm": "first"}, 390), (False, {"heads": 1, "decoder_layers": 1}, 1440)]),
)
def test_the_tour_offers_only_what_a_page_can_try(
    open_page: OpenPage, monkeypatch: pytest.MonkeyPatch, recording: bool, shape: Any, width: int
) -> None:
    if recording:
        monkeypatch.setattr(payload, "COMPUTES", 0)
    given = translator(**shape).explain("How are you ?", to="hi", target="आप कैसे हैं ?")
    left_out = []
    opened = open_page(f"#{SELF}", width=width, of=given)
    if width == 390:
        opened.click(".close-sheet")
    opened.click("#open-tour")
    assert opened.is_seen("#drawing"), "the first stop's view, whatever was open"
    for number in range(1, 15):
        opened.until(f"document.querySelector('.tour-count')?.textContent === 'Stop {number} of 14'")
        opened.assert_fits(width)
        if opened.page.locator("[data-key=tour-try]").count() == 0:
            left_out.append(number)
        else:
            before = opened.address
            for _ in range(2):  # the second time it is undone
                opened.click("tour-try")
            assert opened.address == before, number
        if number == 14:
            text = opened.page.locator(".tour-text").text_content()
            assert ("cannot decode it again" if recording else "The largest difference") in text
        opened.click("tour-next")
    at_the_end = "document.activeElement.id || document.activeElement.className"
    assert opened.page.evaluate(at_the_end) == ("close-sheet" if width == 390 else "open-tour")
    assert left_out == ([3, 6, 7, 9, 10] if recording else [3]), "one head; no switch in a recording"
