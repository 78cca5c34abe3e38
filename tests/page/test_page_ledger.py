"""Why this word, in the page: ledgers, source shares and causal maps against Python's; the way to them."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import few
from engine_page import engine_page
from opened_page import PHONE, OpenPage
from test_page_engine import CONFIGS, shaken
from test_page_sentences import held_out

from pellucid.explanation import Explanation
from pellucid.page import payload

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

MAP = """\
async ([text, to, place, step]) => {
  const { model, sourceIds, targetIds, sentence } = text ? await explainText(text, to) : page.runs[0];
  const pass = keptPass(model, sourceIds, targetIds);
  const { clean, corrupt, restored } = causalMapOf(pass, sentence.expected, place, step);
  const rows = Object.fromEntries(restored.map(({ name, row }) => [name, row]));
  return [clean, corrupt, rows, stepLosingMost(pass, sentence.expected, place)];
}"""


def check_map(page: Any, explanation: Explanation, chance: random.Random, *text: str) -> None:
    """The page's causal map of a word and a step drawn at random is Python's."""
    step, place = (chance.randrange(len(each)) for each in (explanation.target_ids, explanation.source_ids))
    ours, theirs = (
        page.evaluate(MAP, [*(text or (None, None)), place, step]),
        explanation.causal_map(step, place),
    )
    assert ours[:2] == pytest.approx([theirs.clean, theirs.corrupt], abs=1e-5)
    assert list(ours[2]) == list(theirs.restored)
    for name, row in theirs.restored.items():
        assert ours[2][name] == pytest.approx(row, abs=1e-5), (text, place, step, name)
    most = explanation.causal_map(None, place)
    assert ours[3] == most.step or abs(most.clean - most.corrupt) < 1e-4  # nearly the same at several steps


@pytest.mark.parametrize("draws", [3, pytest.param(100, marks=pytest.mark.slow)])
def test_causal_maps_of_the_demo_are_pythons(
    browser: Any, demo: Explanation, draws: int, tmp_path: Path
) -> None:
    seed = random.SystemRandom().randrange(1 << 30)
    print("seed:", seed)
    chance = random.Random(seed)
    with engine_page(browser, [demo], tmp_path) as page:
        for to, text in chance.choices(held_out(), k=draws):
            check_map(page, demo.translator.explain(text, to=to), chance, text, to)


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
        check_map(page, explanation, chance)


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


def test_a_source_word_leads_to_its_causal_map_at_the_step_that_needs_it(
    open_demo: OpenPage, demo: Explanation
) -> None:
    page = open_demo("", 1440, 900)
    words = page.texts(".source-word")
    place = demo.source_tokens.index(words[0])
    page.click(".source-word")
    causal = demo.causal_map(None, place)
    assert f"map={place + 1}" in page.address and f"step={causal.step + 1}" in page.address
    assert page.text("#why-word h2") == f"What carries {words[0]} to {causal.word}?"
    assert f"goes from {causal.clean:.4f} to {causal.corrupt:.4f}" in page.text("#why-word > p")
    rows = [row.split("\t")[1:] for row in page.texts("#why-word tbody tr")]
    assert [[float(share) for share in row] for row in rows] == [
        pytest.approx(row, abs=0.0051) for row in causal.returned.values()
    ]
    page.click("map-0")
    assert page.text("#why-word h2").startswith("What carries to Hindi to ")
    page.click("why-input")
    assert page.text("#why-word h2") == f"Why {causal.word}?" and "map=" not in page.address


def test_a_recording_says_how_python_makes_the_map(
    open_page: OpenPage, hindi: Explanation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(payload, "COMPUTES", 0)
    page = open_page(of=hindi)
    page.click(".source-word")
    assert 'pellucid explain MODEL "How are you ?" --to hi --map How' in page.text("#why-word > p")


@pytest.mark.parametrize("address", few(2, ["", "&why=part", "&why=position", "&map=2"]))
def test_on_a_phone_every_button_of_the_answer_is_whole(open_demo: OpenPage, address: str) -> None:
    page = open_demo(f"#decoder.word?position=2{address}", **PHONE)
    buttons = (
        "[...document.querySelectorAll('#why-word button')].map((each) => each.getBoundingClientRect().right)"
    )
    assert max(page.page.evaluate(buttons)) <= 390 - 8
    page.assert_fits(390)


def test_an_invention_is_warned_of(open_demo: OpenPage) -> None:
    page = open_demo("", 390, 844)
    page.translate("I like cats", "es", "El gato estaba sentado en la alfombra")
    assert "it may be an invention" in page.text("#meter")
