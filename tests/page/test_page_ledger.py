"""Why this word, in the page: its ledgers and source shares against Python's, and how one gets there."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_page import engine_page
from opened_page import OpenPage
from test_page_engine import CONFIGS, shaken

from pellucid.explanation import Explanation

pytestmark = pytest.mark.browser
LEDGER = """\
async ([step, ids]) => {
  const { model, sourceIds, targetIds, sentence } = page.runs[0];
  const pass = keptPass(model, sourceIds, targetIds);
  const { logit, byInput, byPart, byPosition } = ledgerOf(pass, step, ids);
  const shares = (terms, name) => terms.map((term) => term[name] ?? null);
  return {
    logit,
    by_input: shares(byInput, "share"),
    by_part: shares(byPart, "share"),
    by_position: shares(byPosition, "share"),
    absent: shares(byInput, "absent"),
    zero: shares(byPart, "zero"),
    mean: shares(byPart, "mean"),
    shares: sourceShares(pass, sentence.expected),
    agreement: [
      rankCorrelation(byPart, "zero"),
      rankCorrelation(byPart, "mean"),
      rankCorrelation(byInput, "absent"),
    ],
  };
}"""


def check(page: Any, explanation: Explanation, step: int, other: int | None) -> None:
    """The page's ledger of a step is Python's, of its word or of its word less another."""
    ids = [explanation.target_ids[step], *([] if other is None else [other])]
    said = None if other is None else explanation.vocabulary.target_tokens([other])[0]
    ledger = explanation.ledger(step, against=said)
    found = page.evaluate(LEDGER, [step, ids])
    size = max(1.0, float(explanation.trace["decoder.logits"].tensor[0, step, ids].abs().max()))
    assert found["logit"] == pytest.approx(ledger.logit, abs=1e-4 * size)
    for name, terms in ledger.readings.items():
        assert found[name] == pytest.approx([share for _, share in terms], abs=1e-4 * size), name
        assert sum(found[name]) == pytest.approx(found["logit"], abs=1e-4 * size)
    for name in ("zero", "mean", "absent"):
        ours, theirs = (
            [np.nan if each is None else each for each in row] for row in (found[name], getattr(ledger, name))
        )
        assert ours == pytest.approx(theirs, abs=1e-4 * size, nan_ok=True), name
    assert found["shares"] == pytest.approx(explanation.source_shares, abs=1e-4)


@pytest.mark.parametrize("settings", CONFIGS.values(), ids=CONFIGS)
def test_ledgers_of_random_models_are_pythons(browser: Any, settings: Any, tmp_path: Path) -> None:
    seed = random.SystemRandom().randrange(1 << 30)
    print("seed:", seed)
    chance = random.Random(seed)
    explanation = shaken(**settings).explain("I like cats", to="es", target="Me gustan los gatos")
    with engine_page(browser, [explanation], tmp_path) as page:
        for step in chance.sample(range(5), 2):
            others = [4 + each for each in range(8) if 4 + each != explanation.target_ids[step]]
            check(page, explanation, step, chance.choice([None, *others]))


def test_ledgers_of_the_demo_are_pythons(browser: Any, demo: Explanation, tmp_path: Path) -> None:
    with engine_page(browser, [demo], tmp_path) as page:
        for step in range(len(demo.steps)):
            check(page, demo, step, None)
        found = page.evaluate(LEDGER, [1, [demo.target_ids[1]]])
        assert found["agreement"] == pytest.approx([*demo.ledger(1).agreement.values()], abs=0.05)


def test_the_question_leads_from_the_next_word_to_the_ledger(open_demo: OpenPage, demo: Explanation) -> None:
    page = open_demo("#?step=2", 1280, 800)
    assert not page.is_seen("#why-word") and not page.is_seen("#meter")  # nothing is unusual
    page.click("why")
    assert page.text("#why-word h2") == "Why कैसे?"
    ledger = demo.ledger(1)
    shares = [f"{share:.4f}" for _, share in ledger.by_input]
    assert page.page.locator(".ledger tbody td:nth-child(2)").all_inner_texts() == shares
    assert "A ledger is not a cause" in page.text("#why-word .note")
    assert f"{demo.source_shares[1]:.2f} of कैसे comes from the source" in page.text("#why-word > p:last-child")
    page.press("Tab", "Enter")  # from the first reading to the second
    assert "why=part" in page.page.url
    largest = max(ledger.by_part, key=lambda term: abs(term[1]))
    assert page.text(".ledger tbody td:nth-child(2)") == f"{largest[1]:.4f}"
    page.click(f"less-{demo.steps[1].alternatives[1][0]}")
    other = demo.ledger(1, against=demo.steps[1].alternatives[1][0])
    assert page.text(".ledger tfoot td") == f"{other.logit:.4f}"
    page.go(page.page.url.partition("#")[2] + "&mask=off")
    assert "Reset them" in page.text("#why-word p") and page.complaints == []


def test_an_invention_is_warned_of(open_demo: OpenPage) -> None:
    page = open_demo("", 390, 844)
    page.translate("I like cats", "es", "El gato estaba sentado en la alfombra")
    assert "it may be an invention" in page.text("#meter")
