"""The tour of the page from start to end by keyboard: each stop's view, its numbers against Python's trace,
what there is to try; and the form for one's own matrices in the page of a translation."""

from pathlib import Path
from typing import Any

import pytest
from test_page_views import CONTRAST, SMALL_TARGETS, Opened
from tiny import translator

import pellucid
from pellucid.explanation import Explanation
from pellucid.page import payload

pytestmark = pytest.mark.browser

SELF, CROSS = "decoder.layers.0.self_attention", "decoder.layers.0.cross_attention"
# Each stop: where its view is, and what its address says after its trial.
STOPS = [
    ("", "position=3"),
    ("encoder.embedded", "#encoder.positions"),
    ("encoder.layers.0.self_attention.weights", "head=1"),
    ("encoder.output", f"#{CROSS}.keys"),
    (f"{SELF}.queries", "cell=0,0"),
    (f"{SELF}.scores", "scale=off"),
    (f"{SELF}.mask", "mask=off"),
    (f"{SELF}.weights", f"#{SELF}.context?cell=1,0"),
    (f"{SELF}.concatenated", f"silent={SELF}:0"),
    ("decoder.layers.0.residual_1.sum", "residual=off"),
    (f"{CROSS}.weights", "step=2"),
    ("decoder.probabilities", "#decoder.logits"),
    (f"{SELF}.weights", "cache=off"),
    (f"{SELF}.weights", "#?open=tour"),
]


@pytest.fixture(scope="module")
def demo() -> Explanation:
    return pellucid.load("demo", precision="fp32").explain("How are you", to="hi")


@pytest.fixture(scope="module")
def path(demo: Explanation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tour") / "page.html"
    demo.to_html(path)
    return path


def count(number: int) -> str:
    return f"Stop {number} of {len(STOPS)}"


def told(demo: Explanation) -> dict[int, list[str]]:
    """What some of the stops have to say: words and numbers from Python's trace."""

    def row_of(name: str) -> list[float]:
        """The second row of the first head."""
        numbers: list[float] = demo.trace[name].tensor[0, 0, 1].tolist()
        return numbers

    def most(name: str, tokens: tuple[str, ...]) -> list[str]:
        row = row_of(name)
        return [tokens[row.index(max(row))], f"({max(row):.4f})"]

    config, norm = demo.translator.model.config, "decoder.layers.0.residual_1.norm"
    source, target = tuple(demo.source_tokens), tuple(demo.target_tokens)
    words, length = [step.expected for step in demo.steps], len(demo.steps)
    weights = row_of(f"{SELF}.weights")
    return {
        1: [*source, *words],
        2: [f"{config.vocabulary} × {config.width}", f"√{config.width} = {config.width**0.5:.4f}"],
        3: most("encoder.layers.0.self_attention.weights", source),
        4: [f"{len(source)} × {config.width}"],
        5: [f"({length}×{config.width})·({config.width}×{config.width})", f"{config.heads} heads"],
        6: [f"{row_of(f'{SELF}.{name}')[0]:z.4f}" for name in ("scores", "scaled_scores")],
        7: [f"{length * (length - 1) // 2} of the {length**2} scores"],
        8: [target[weights.index(max(weights))], f"{max(weights):.4f}"],
        9: [f"{config.heads} heads"],
        10: [f"{demo.trace[f'{norm}.{name}'].tensor[0, 0].item():z.4f}" for name in ("mean", "variance")],
        11: [f"{length} × {len(source)}", *most(f"{CROSS}.weights", source)],
        12: [words[0], f"{demo.steps[0].probability:.4f}"],
        13: [words[0]],
        14: ["largest difference"],
    }


def test_the_tour_from_start_to_end_by_keyboard(browser: Any, demo: Explanation, path: Path) -> None:
    says = told(demo)
    with Opened(browser, path) as opened:
        opened.tab_to("Show me how")
        opened.press("Enter")
        for number, (view, tried) in enumerate(STOPS, 1):
            opened.until(f"document.querySelector('.tour-count')?.textContent.startsWith('{count(number)}')")
            opened.settle()
            address = opened.page.evaluate("location.hash")
            assert address.startswith(f"#{view}?") and "open=tour" in address, address
            assert opened.text(".tour h2") and len(opened.text(".tour-text").split()) > 20
            for expected in says[number]:
                assert expected in opened.text(".tour-text"), (number, expected)
            if view:
                assert view in opened.text(".opened .opened-facts")
            opened.page.locator("[data-key=tour-try]").focus()
            opened.press("Enter")
            after = opened.page.evaluate("location.hash")
            assert after != address and tried in after and "open=tour" in after, (number, after)
            assert not opened.page.locator("#fault").is_visible()
            opened.page.locator("[data-key=tour-next]").focus()
            opened.press("Enter")
        assert "open=" not in opened.page.evaluate("location.hash")
        assert not opened.page.locator(".tour").is_visible()


def test_a_stop_forgets_what_the_one_before_tried_and_its_address_leads_back(
    browser: Any, path: Path
) -> None:
    with Opened(browser, path, "#?open=tour&stop=6") as opened:
        assert count(7) in opened.text(".tour-count")
        opened.page.locator("[data-key=tour-try]").click()
        opened.settle()
        assert "training would leak" in opened.text("#effect")
        opened.page.locator("[data-key=tour-back]").click()
        opened.settle()
        assert (
            "Stop 6 of 14" in opened.text(".tour-count") and not opened.page.locator("#effect").is_visible()
        )
        opened.page.locator("[data-key=tour-leave]").click()
        opened.settle()
        assert not opened.page.locator(".tour").is_visible()
        assert opened.page.locator(".opened").is_visible(), "the view of the stop stays"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_the_tour_and_the_form_fit_and_can_be_read_and_touched(
    browser: Any, path: Path, width: int, scheme: str
) -> None:
    with Opened(browser, path, width=width, scheme=scheme) as opened:
        for address in ("#?open=tour", f"#{SELF}.mask?open=tour&stop=6", "#?open=own"):
            opened.go(address)
            assert opened.page.evaluate("document.documentElement.scrollWidth") == width, address
            ratios = opened.page.evaluate(CONTRAST)
            assert min(ratios)[0] >= 4.5, (address, min(ratios))
            assert opened.page.evaluate(SMALL_TARGETS) == [], address


def test_ones_own_matrices_are_judged_in_the_page_of_a_translation(browser: Any, path: Path) -> None:
    with Opened(browser, path) as opened:
        opened.tab_to("Your own matrices")
        opened.press("Enter")
        opened.page.get_by_role("button", name="Empty the form").click()
        opened.page.get_by_role("button", name="scores", exact=True).first.click()
        opened.page.fill('[data-place="scores"]', "2 1\n1 3")
        opened.page.get_by_role("button", name="causal").click()
        claimed = opened.page.get_by_role("group", name="stages with claims")
        claimed.get_by_role("button", name="weights", exact=True).click()
        for claims, verdict in (
            ("1.0 0.0\n0.12 0.88", "All 4 numbers are right."),
            ("1.0 0.0\n0.88 0.12", "The first stage that goes wrong is weights"),
        ):
            opened.page.fill('[data-place="claims.weights"]', claims)
            opened.page.locator(".verdict-banner", has_text=verdict).wait_for()
        address = opened.page.evaluate("location.hash")
        assert "open=own" in address and "form=" in address
        opened.page.locator("#open-own").click()
        opened.settle()
        assert opened.page.locator("#drawing").is_visible() and opened.text("h1").startswith("How are you")


@pytest.mark.parametrize(
    ("recording", "shape"),
    [(True, {}), (False, {"heads": 1, "decoder_layers": 1}), (True, {"heads": 1, "norm": "first"})],
)
@pytest.mark.parametrize("width", [1440, 390])
def test_the_tour_says_what_a_page_cannot_try(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recording: bool, shape: Any, width: int
) -> None:
    if recording:
        monkeypatch.setattr(payload, "COMPUTES", 0)
    given = translator(**shape).explain("How are you ?", to="hi", target="आप कैसे हैं ?")
    given.to_html(tmp_path / "page.html")
    reasons = []
    with Opened(browser, tmp_path / "page.html", f"#{SELF}", width=width) as opened:
        if width == 390:
            opened.page.locator(".close-sheet").click()
            opened.settle()
        opened.page.locator("#open-tour").click()
        opened.settle()
        assert opened.page.locator("#drawing").is_visible(), "the first stop's view, whatever was open"
        for number in range(1, 15):
            opened.until(f"document.querySelector('.tour-count')?.textContent === 'Stop {number} of 14'")
            assert opened.page.evaluate("document.documentElement.scrollWidth") == width, number
            assert opened.page.evaluate(SMALL_TARGETS) == [], number
            assert f"Stop {number} of 14" in opened.page.evaluate(
                "document.querySelector('#said').textContent"
            )
            if opened.page.locator(".tour-reason").count():
                reasons.append(opened.text(".tour-reason"))
            else:
                before = opened.page.evaluate("location.hash")
                for _ in range(2):  # the second time it is undone
                    opened.page.locator("[data-key=tour-try]").click()
                    opened.settle()
                assert opened.page.evaluate("location.hash") == before, number
            if number == 14:
                told = opened.text(".tour-text")
                assert ("cannot decode it again" if recording else "The largest difference") in told
            opened.page.locator("[data-key=tour-next]").click()
            opened.settle()
        at_the_end = "document.activeElement.id || document.activeElement.className"
        assert opened.page.evaluate(at_the_end) == ("close-sheet" if width == 390 else "open-tour")
    assert any("Another head: this model has one head." in each for each in reasons) == (
        shape.get("heads") == 1
    )
    assert (
        any("Silence head 0 of this layer: this page holds a recording" in each for each in reasons)
        == recording
    )


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("#__proto__", 'no tensor is called "__proto__". There are'),
        ("#toString?cell=99999999999,1&head=-3", 'no tensor is called "toString"'),
        ("#decoder.layers.99.self_attention.weigths?step=-5", "Nearest: decoder.layers"),
        ("#%E0%A4%A", "no tensor is called"),
        ("#?text=%20&to=hi", "the sentence is empty"),
        ("#?text=How&to=zz", 'not "zz"'),
        ("#?open=tour&stop=99999", ""),
        ("#decoder.logits?cell=99999,99999&step=99999", ""),
        ("#decoder.logits?cell=3,5&step=1", ""),
    ],
)
def test_an_address_that_means_harm_is_answered(browser: Any, path: Path, address: str, told: str) -> None:
    with Opened(browser, path) as opened:
        opened.go(address)
        assert told in opened.text("#fault")
        assert opened.page.locator("#fault").is_visible() == bool(told)
