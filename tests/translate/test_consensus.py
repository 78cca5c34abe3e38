"""Of several samples the one that is most like the others: sacreBLEU's chrF decides, pair by pair."""

import json
import os
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import toy
from command import Command
from sacrebleu.metrics.chrf import CHRF

import pellucid as package
from pellucid.translate.consensus import by_expected_chrf, expected_chrf
from pellucid.translate.translation import Hypothesis, Translation


def test_expected_chrf_is_the_mean_of_sacrebleus() -> None:
    """Lengths from nothing to longer than all n-grams, letters of several kinds, repetitions."""
    seed = int(os.environ.get("SEED") or random.randrange(10**6))
    print(f"SEED={seed}")
    chance, chrf = random.Random(seed), CHRF()
    for _ in range(int(os.environ.get("ROUNDS", 10))):
        letters = chance.choice(("ab", "abc de ", "äöü ß 猫", " "))
        texts = [
            "".join(chance.choices(letters, k=chance.randint(0, 30))) for _ in range(chance.randint(1, 9))
        ]
        texts += chance.choices(texts, k=chance.randint(0, 9))
        counts = Counter(texts)
        found = expected_chrf([*counts], [*counts.values()])
        for text, mean in zip(counts, found, strict=True):
            each = [chrf.sentence_score(text, [other]).score for other in texts]
            assert mean == pytest.approx(sum(each) / len(each), abs=1e-9)


def test_the_hypothesis_most_like_the_others_comes_first() -> None:
    texts = ["ein Hund", "die Katze schläft", "die Katze schläft jetzt", "ein Hund", "die Katze schlief"]
    samples = [Hypothesis(text, [], [], -float(n), [], True) for n, text in enumerate(texts)]
    chosen = by_expected_chrf(Translation("the cat sleeps", samples, False, ()))
    assert chosen.text == "die Katze schläft jetzt" and chosen.score == -2.0  # chrF counts recall twice
    assert [each.text for each in chosen.hypotheses].count("ein Hund") == 1 and len(chosen.hypotheses) == 4


def test_the_command_chooses_among_samples(
    pellucid: Command, toy_model: Path, files: Callable[..., Path], tmp_path: Path
) -> None:
    chance = random.Random(1)
    lines = [toy.sentence(chance) for _ in range(5)]
    stdin = "".join(f"{line}\n" for line in lines).encode()
    translator = package.load(toy_model, "cpu")
    drawn = translator.translate(lines, sample=True, n_best=12, temperature=2.0, seed=3)
    expected = [by_expected_chrf(each) for each in drawn]
    how = "--mbr", "chrf", "--samples", 12, "--temperature", 2.0, "--seed", 3
    outcome = pellucid("translate", toy_model, *how, stdin=stdin)
    assert outcome.code == 0 and outcome.out.splitlines() == [each.text for each in expected]
    assert any(one.text != other.text for one, other in zip(expected, drawn, strict=True))
    lists = pellucid("translate", toy_model, *how, "--n-best", 2, stdin=stdin).out.splitlines()
    assert lists[1].split(" ||| ")[:2] == ["0", expected[0].hypotheses[1].text]
    table = tmp_path / "out.tsv"
    source = files("in.txt", *lines)
    assert pellucid("translate", toy_model, *how, "--source", source, "--out", table).code == 0
    assert [row.split("\t")[1] for row in table.read_text().splitlines()] == outcome.out.splitlines()
    as_json = pellucid("translate", toy_model, *how, "--json", stdin=stdin).out.splitlines()
    assert [json.loads(row)["text"] for row in as_json] == outcome.out.splitlines()
    for given, said in (
        (("--mbr", "chrf", "--samples", 0), "--samples 0 must be a whole number from 1 to 1000."),
        (("--samples", 8), "--samples 8 is for --mbr. Give that too, or leave it out."),
    ):
        outcome = pellucid("translate", toy_model, *given, stdin=stdin)
        assert outcome.code == 2 and outcome.err == f"pellucid: {said}\n"
