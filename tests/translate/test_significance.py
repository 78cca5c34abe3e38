"""Better, or chance: sacreBLEU's tests, with the figures and the verdicts that they must have."""

import itertools
import os
import random

import pytest
import sacrebleu

import pellucid
from pellucid.errors import PellucidError
from pellucid.translate.evaluate import evaluate
from pellucid.translate.significance import significance

WORDS = ["a", "the", "cat", "dog", "sees", "likes", "old", "red", "house", "garden", "in", "near"]


def texts(chance: random.Random, count: int) -> list[str]:
    return [" ".join(chance.choices(WORDS, k=chance.randint(5, 12))) for _ in range(count)]


def damaged(lines: list[str], share: float, chance: random.Random) -> list[str]:
    """The lines, with so many of the words replaced."""
    each = [[chance.choice(WORDS) if chance.random() < share else w for w in line.split()] for line in lines]
    return [" ".join(words) for words in each]


def test_scores_are_those_of_evaluate_and_what_is_better_is_said() -> None:
    chance = random.Random(1)
    references = texts(chance, 60)
    good, bad = damaged(references, 0.1, chance), damaged(references, 0.4, chance)
    bleu, chrf, ter = pellucid.significance(good, bad, references)
    assert [each.metric for each in (bleu, chrf, ter)] == ["BLEU", "chrF2", "TER"]
    ours, theirs = evaluate(good, references), evaluate(bad, references)
    assert (bleu.score, bleu.other) == pytest.approx((ours.bleu, theirs.bleu))
    assert (chrf.score, chrf.other) == pytest.approx((ours.chrf, theirs.chrf))
    assert ter.score == pytest.approx(sacrebleu.corpus_ter(good, [references]).score)
    assert bleu.difference > 0 > ter.difference
    assert {each.verdict for each in (bleu, chrf, ter)} == {"better"}
    assert {each.verdict for each in significance(bad, good, references)} == {"worse"}
    assert "|bs:1000|ar:10000|seed:12345|" in bleu.signature and "nrefs:1" in ter.signature


def test_equal_translations_are_no_discovery() -> None:
    """sacreBLEU gives them its lowest p-value."""
    lines = texts(random.Random(2), 20)
    said = damaged(lines, 0.2, random.Random(3))
    for each in significance(said, list(said), lines):
        assert (each.difference, each.bootstrap, each.randomisation) == (0, 1, 1)
        assert each.verdict == "may be chance"


def test_a_few_sentences_prove_nothing() -> None:
    """Of three sentences, two of the eight exchanges make a difference as large: p is at least 0.25."""
    lines = texts(random.Random(5), 3)
    for each in significance(lines, damaged(lines, 0.9, random.Random(6)), lines):
        assert min(each.bootstrap, each.randomisation) == 0.25 and each.verdict == "may be chance"


def test_randomisation_is_near_what_all_exchanges_say() -> None:
    """Of eight sentences, all 256 exchanges between the two sides can be tried."""
    chance = random.Random(4)
    references = texts(chance, 8)
    sides = damaged(references, 0.3, chance), damaged(references, 0.5, chance)
    (_, found, _) = significance(*sides, references)
    larger = 0
    for swaps in itertools.product((False, True), repeat=8):
        mixed = [[sides[swap ^ side][n] for n, swap in enumerate(swaps)] for side in (0, 1)]
        scores = [sacrebleu.corpus_chrf(side, [references]).score for side in mixed]
        larger += abs(scores[0] - scores[1]) > abs(found.difference) + 1e-9
    assert found.randomisation == pytest.approx(larger / 256, abs=0.03)


def test_any_two_systems() -> None:
    """Sizes, damages, references and case are drawn: what must hold for all of them, holds."""
    seed = int(os.environ.get("SEED") or random.randrange(10**6))
    print(f"SEED={seed}")
    chance = random.Random(seed)
    for _ in range(int(os.environ.get("ROUNDS", 1))):
        lists = [texts(chance, chance.randint(1, 12))]
        lists += [damaged(lists[0], 0.3, chance) for _ in range(chance.randint(0, 2))]
        one, other = (damaged(lists[0], chance.random(), chance) for _ in range(2))
        how = dict(lowercase=chance.random() < 0.5, tokenize=chance.choice(("13a", "none", "char")))
        found, reverse = significance(one, other, lists, **how), significance(other, one, lists, **how)
        scores = evaluate(one, lists, **how)
        assert (found[0].score, found[1].score) == pytest.approx((scores.bleu, scores.chrf))
        opposite = {"better": "worse", "worse": "better", "may be chance": "may be chance"}
        for each, back in zip(found, reverse, strict=True):
            assert 0 < min(each.bootstrap, each.randomisation) <= max(each.bootstrap, each.randomisation) <= 1
            assert (each.score, each.other) == (back.other, back.score)
            assert each.randomisation == pytest.approx(back.randomisation, abs=0.05)
            if max(abs(p - 0.05) for p in (each.bootstrap, each.randomisation)) > 0.05:
                assert back.verdict == opposite[each.verdict]


def test_what_does_not_belong_together() -> None:
    with pytest.raises(PellucidError, match=r"^1 translations cannot be compared with 2 references: "):
        significance(["a", "b"], ["a"], ["a", "b"])
