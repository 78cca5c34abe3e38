"""A step with a cache and without one, next to each other in the page: rows, and numbers that are equal."""

import re

import pytest
import torch
from engine_page import numbers_of
from opened_page import Opened, OpenPage

from pellucid import edits
from pellucid.cache import GrowingPast, NoPast
from pellucid.explanation import Explanation
from pellucid.seeing.trace import trace

pytestmark = pytest.mark.browser

SELF = "decoder.layers.1.self_attention"
CROSS = "decoder.layers.1.cross_attention"


def cells(opened: Opened, selector: str) -> list[list[str]]:
    texts = "[...document.querySelectorAll(selector)].map((row) => [...row.children].map((c) => c.innerText))"
    rows: list[list[str]] = opened.page.evaluate(f"(selector) => {texts}", selector)
    return rows


def test_rows_and_numbers_of_both_ways_stand_next_to_each_other(
    open_page: OpenPage, hindi: Explanation
) -> None:
    opened = open_page("#?position=1", width=390)
    assert not opened.is_seen("#both-ways")
    for t in range(1, len(hindi.steps) + 1):
        opened.go(f"#?step={t}")
        opened.until(f"document.querySelector('#both-ways h2')?.textContent.startsWith('Step {t},')")
        rows = cells(opened, "#both-ways tbody tr")
        assert rows[0][1:] == ["1", str(t)]
        assert rows[1][1:] == [str(t), str(sum(range(1, t + 1)))]
        assert f"{t - 1} row" in rows[2][1] and "1 new" in rows[2][1] and f"{t} row" in rows[2][2]
        assert (
            f"{len(hindi.source_tokens)} rows, computed {'now' if t == 1 else 'once, at step 1'}"
            in rows[3][1]
        )
        for row, (token, probability) in zip(rows[4:], hindi.steps[t - 1].alternatives, strict=False):
            for cell in row[1:]:
                assert cell.startswith(token) and abs(float(cell.split()[-1]) - probability) < 6e-5
    opened.assert_fits(390)


def decoded(of: Explanation, t: int, cached: bool) -> list[dict[str, torch.Tensor]]:
    """The decoder's tensors without its mask, decoded step by step up to step t: of each step."""
    model, steps = of.translator.model, []
    lifted = edits.lift_mask(SELF) | edits.lift_mask("decoder.layers.0.self_attention")
    source = torch.tensor([of.source_ids])
    target = torch.tensor([[model.config.start_id, *of.target_ids[:-1]]])
    mask = torch.ones_like(source, dtype=torch.bool)
    with torch.no_grad():
        memory, past = model.remember(model.encode(source, mask), mask), GrowingPast()
        for step in range(t):
            with trace(model, edits=lifted) as seen:
                if cached:
                    model.decode(target[:, step : step + 1], memory, past)
                else:
                    model.decode(target[:, : step + 1], memory, NoPast())
            steps.append({name: record.tensor[0] for name, record in seen.items()})
    return steps


@pytest.mark.parametrize(("cached", "t"), [(True, 2), (True, 4), (False, 4)])
def test_without_its_mask_a_step_is_decoded_by_itself(
    open_page: OpenPage, hindi: Explanation, cached: bool, t: int
) -> None:
    steps = decoded(hindi, t, cached)
    address = f"#{SELF}.weights?step={t}&mask=off&head=1" + ("" if cached else "&cache=off")
    opened = open_page(address)
    shown = cells(opened, "[data-plate$=weights] tbody tr")
    rows = torch.tensor([[float(cell) for cell in row[1:]] for row in shown])
    assert rows.shape == (t, t + 1)
    assert torch.allclose(rows[:, -1], torch.ones(t), atol=2e-4), "the sums of the rows"
    weights = steps[-1][f"{SELF}.weights"][1]
    assert torch.allclose(rows[:, :-1][-1], weights[-1], atol=6e-5)
    if not cached:
        assert torch.allclose(rows[:, :-1], weights, atol=6e-5)
    for name, (_, numbers) in numbers_of(opened.page, "current.run").items():
        if not name.startswith("decoder") or name == "decoder.positions":
            continue
        ours, theirs = torch.tensor(numbers)[0], steps[-1][name]
        last = (..., -1) if ours.dim() == 1 else (..., -1, slice(None))
        assert torch.allclose(ours[last], theirs[last], atol=1e-5), name
    best = int(steps[-1]["decoder.probabilities"][-1].argmax())
    word = opened.page.evaluate(f"current.run.steps[{t - 1}].predicted")
    assert word == hindi.translator.vocabulary.target.id_to_piece(best).removeprefix("▁")
    assert f"{word} out." in opened.text("#moment")
    opened.until_there("#both-ways .equality")
    told = opened.text("#both-ways .equality")
    assert re.match(r"Step by step differs from all at once, by up to \d+\.\d\d \(decoder\.\S+\): ", told)
    opened.until_there("#both-ways h2")
    assert word in cells(opened, "#both-ways tbody tr")[4][1 if cached else 2]
    opened.go(address.replace(f"{SELF}.weights", f"{SELF}.context") + "&cell=1,1")
    terms = opened.page.locator(".inspector .terms tbody tr").count()
    assert terms == t
    opened.go(address.replace(f"{SELF}.weights", ""))
    assert word in opened.text("#drawing .next .best li:first-child")
    assert opened.page.locator("#drawing .target .token").count() == t


@pytest.mark.parametrize(("difference", "told"), [(0.5, "differs"), (0.002, "differs"), (9e-6, "equals")])
def test_what_differs_by_more_than_a_thousandth_is_not_equal(
    open_page: OpenPage, difference: float, told: str
) -> None:
    found = """(difference) => {
      const run = {};
      madeOnceOf(run, "compared true", async () => ({ difference, where: "here" }));
      return equalityOf(run, true);
    }"""
    assert open_page().page.evaluate(found, difference).startswith(f"Step by step {told}")
