"""Bad training pairs, planted and found: a lost line, copies, other languages, odd lengths, repetitions."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import toy
from command import Command

import pellucid as package
from pellucid.data.corpus import Pair
from pellucid.errors import PellucidError
from pellucid.probes import pairs as probe

SEED = 11


def toy_pairs(count: int) -> list[tuple[str, str]]:
    numbers = random.Random(SEED)
    sources = [toy.sentence(numbers) for _ in range(count)]
    return [(source, toy.reverse(source)) for source in sources]


def rows(pairs: list[tuple[str, str]]) -> list[Pair]:
    return [Pair(*pair, 0, line, "") for line, pair in enumerate(pairs, 1)]


@pytest.fixture(scope="module")
def misaligned() -> list[tuple[str, str]]:
    """Line 250 of the targets is lost, and one is added at the end."""
    sources, targets = map(list, zip(*toy_pairs(500), strict=True))
    return list(zip(sources, [*targets[:249], *targets[250:], "a b"], strict=True))


def test_a_lost_line_is_named(
    pellucid: Command, toy_model: Path, misaligned: list[tuple[str, str]], files: Callable[..., Path]
) -> None:
    sides = [files(name, *texts) for name, texts in zip("st", zip(*misaligned, strict=True), strict=True)]
    apart = pellucid("check", toy_model, "--source", sides[0], "--target", sides[1], "--worst", 2)
    assert apart.code == 0 and apart.err == ""
    table = files("t.tsv", *("\t".join(pair) for pair in misaligned))
    assert pellucid("check", toy_model, "--data", table, "--worst", 2) == apart
    report = package.load(toy_model).check(misaligned)
    told = json.loads(pellucid("check", toy_model, "--data", table, "--worst", 2, "--json").out)
    assert (told["change"]["line"], *(told["change"][side] for side in ("before", "after"))) == report.change
    assert told["kinds"] == {kind: list(lines) for kind, lines in report.kinds.items()}
    assert len(told["worst"]) == 2 and len(told["parts"]) == 10
    assert report.change is not None
    line, before, after = report.change
    assert abs(line - 250) <= 2 and before > after + 1
    text = " ".join(apart.out.split())
    assert "500 pairs, 500 of them scored. A score is the mean log-probability of a target's tokens:" in text
    assert f"The scores change at line {line}: {before:.2f} before it, {after:.2f} from there on. If " in text
    assert [(first, last) for first, last, _ in report.parts][:2] == [(1, 50), (51, 100)]
    assert min(mean for *_, mean in report.parts[:4]) > max(mean for *_, mean in report.parts[5:])
    assert len(report.worst) == 10 and report.worst[0][1] <= report.worst[1][1] < after
    pair, score, said = report.worst[0]
    assert said == package.load(toy_model).translate(pair.source).text
    assert f"line {pair.line}: {score:.2f} source {pair.source} target {pair.target} model {said} " in text
    assert report.lines(60) == package.load(toy_model).check(misaligned).lines(60)


def test_of_a_long_text_a_sample_is_scored(
    toy_model: Path, misaligned: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "SAMPLE", 200)
    report = package.load(toy_model).check([*misaligned, misaligned[7]])
    assert (report.pairs, report.scored) == (501, 200) and report.change is not None
    assert abs(report.change[0] - 250) <= 10 and list(report.kinds["repeat an earlier one"]) == [501]
    assert "501 pairs, 200 of them scored (drawn at random, seed 1). A score is" in report.lines(200)[0]


def test_the_change_is_found_wherever_it_is_and_chance_is_none() -> None:
    numbers = np.random.default_rng(SEED)
    print("seed", SEED)
    for _ in range(100):
        n = int(numbers.integers(60, 3000))
        scores = numbers.standard_t(3, n)
        assert probe._change(rows([("a", "b")] * n), scores) is None
        place = int(numbers.integers(n // 4, 3 * n // 4))
        scores[place:] += 4 * numbers.choice([-1, 1])
        found = probe._change(rows([("a", "b")] * n), scores)
        assert found is not None and abs(found[0] - (place + 1)) <= 5
        assert found[1:] == pytest.approx((scores[: found[0] - 1].mean(), scores[found[0] - 1 :].mean()))


@pytest.mark.parametrize("pairs", [[("a", "a")], [("a b", "b a")] * 100, [("a", "b"), ("", "c"), ("d", " ")]])
def test_little_text_and_pairs_that_are_alike(toy_model: Path, pairs: list[tuple[str, str]]) -> None:
    report = package.load(toy_model).check(pairs)
    assert report.change is None and report.parts[-1][1] <= len(pairs) and report.lines(80)
    assert "The scores change at no line." in report.lines(80)


def test_copies_repetitions_and_empty_lines_are_counted(
    pellucid: Command, toy_model: Path, files: Callable[..., Path]
) -> None:
    pairs = toy_pairs(30)
    pairs[4] = ("a b c", "a b c")
    pairs[9], pairs[12] = pairs[2], ("a b", " ")
    table = files("t.tsv", *("\t".join(pair) for pair in pairs))
    table.write_bytes(table.read_bytes().replace(b"\n", b" \xff\n", 1))
    lines = pellucid("check", toy_model, "--data", table, "--bad-utf8", "skip", "--worst", 0).out.splitlines()
    assert "1 pairs are empty on a side: line 13" in lines
    assert "1 pairs have target = source: line 5" in lines
    assert "1 pairs repeat an earlier one: line 10" in lines, "a line that is skipped is counted"
    copy = next(line for line in lines if "would rather copy" in line)
    assert copy == "Of the other sources, the model would rather copy 0% than translate."
    assert lines[0].startswith("29 pairs, 28 of them scored.")


def test_a_model_that_learned_to_copy_is_told(toy_model: Path) -> None:
    translator = package.load(toy_model)
    pairs = toy_pairs(40)
    palindromes = [(f"{source} {target}", "o o o o o o o o") for source, target in pairs[:20]]
    report = translator.check([("a", "a"), *palindromes])
    assert report.prefers_copy >= 0.9


def test_targets_that_differ_from_most_others() -> None:
    sources = [f"the red dog saw {name}" for name in ("anna", "ben", "carl", "dora") * 10]
    pairs = [(source, source.replace("the red dog saw", "el perro rojo vio a")) for source in sources]
    pairs[7] = (pairs[7][0], "the red dog saw dona")
    pairs[8] = (pairs[8][0], "красная собака видела Анну")
    pairs[11] = (pairs[11][0], "el perro " * 20)
    pairs[12] = (pairs[12][0], "el")
    pairs[13] = (pairs[13][0], pairs[13][0])
    found = probe._compare(rows(pairs))
    assert found == {
        "have mostly words of sources": [8],
        "are in letters of another script": [9],
        "have an odd length": [12, 13],
    }
    assert not any(probe._compare(rows([("1", "2"), ("12", "21")])).values())


def test_nothing_to_check(pellucid: Command, toy_model: Path, files: Callable[..., Path]) -> None:
    with pytest.raises(
        PellucidError, match=r"^there is no pair to check: each is empty on a side\. Look at the"
    ):
        package.load(toy_model).check([])
    table = files("t.tsv", "a\tb", "c")
    outcome = pellucid("check", toy_model, "--data", table)
    assert outcome.code == 1 and f"{table}:2: 1 column, but a line must have 2" in outcome.err
    outcome = pellucid("check", toy_model, "--data", table, "--worst", "-1")
    assert outcome.code == 2 and "argument --worst: '-1' is not a whole number, 0 or more" in outcome.err
    bad = files("b.tsv", "a\tb")
    bad.write_bytes(b"a\t\xff\n")
    assert "b.tsv:1: not UTF-8" in (told := pellucid("check", toy_model, "--data", bad)).err
    assert "give --bad-utf8 replace" in told.err
