"""Look for bad pairs in parallel text with a model that was trained on it."""

import itertools
import random
import unicodedata
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pellucid.data.corpus import Pair
from pellucid.errors import PellucidError
from pellucid.seeing.viewed import Viewed
from pellucid.translate.likelihood import Along
from pellucid.translate.text_translator import TextTranslator

SAMPLE, SEED = 20_000, 1  # pairs that are scored and compared; of a longer text they are drawn at random
PARTS = 10  # of the text, each with its mean score
CLEAR, EDGE = 6.0, 20  # standard deviations of a change that is no chance; pairs on either side of it
COPIES = 1000  # pairs whose copy is scored too, at most
EMPTY = "are empty on a side"
COPIED = "have target = source"
OFTEN, ODD = 5, 4  # times as often among the sources; times as long as usual, beside its source


@dataclass(frozen=True)
class PairsReport(Viewed):
    """What is suspicious in parallel text. A score is the mean log-probability of a target's tokens."""

    pairs: int
    scored: int
    parts: list[tuple[int, int, float]]  # first line, last line, mean score
    change: tuple[int, float, float] | None  # the line from which scores differ, the means before and after
    kinds: dict[str, Sequence[int]]  # the lines of suspicious pairs, by what is wrong
    prefers_copy: float | None  # share of the other sources that the model would copy; None without copies
    worst: list[tuple[Pair, float, str]]  # with the score and the model's own translation


def check_pairs(
    translator: TextTranslator,
    pairs: Iterable[Pair],
    to: str | None = None,
    worst: int = 10,
    along: Along = iter,
) -> PairsReport:
    """Look for bad pairs in parallel text. At most 20,000 are scored and compared, and the `worst` of them
    translated. along: as of `score`."""
    count, kinds, some = _look(pairs)
    if not some:
        raise PellucidError("there is no pair to check: each is empty on a side. Look at the files.")
    scores, prefers = _scores(translator, some, to, along), None
    edges = np.linspace(0, len(some), min(PARTS, len(some)) + 1).astype(int).tolist()
    ends = itertools.pairwise(edges)
    parts = [(some[a].line, some[b - 1].line, float(scores[a:b].mean())) for a, b in ends]
    others = [place for place, pair in enumerate(some) if pair.source != pair.target]
    if kinds[COPIED] and (others := others[:: len(some) // COPIES + 1]):
        copies = [replace(some[place], target=some[place].source) for place in others]
        prefers = float((_scores(translator, copies, to, along) > scores[others]).mean())
    order = scores.argsort(kind="stable")[:worst].tolist()
    said = translator.translate([some[place].source for place in order], to)
    shown = [(some[place], float(scores[place]), each.text) for place, each in zip(order, said, strict=True)]
    return PairsReport(count, len(some), parts, _change(some, scores), kinds | _compare(some), prefers, shown)


def _scores(translator: TextTranslator, pairs: Sequence[Pair], to: str | None, along: Along) -> Any:
    scores = translator.score([pair.source for pair in pairs], [pair.target for pair in pairs], to, along)
    return np.array([score.total / max(len(score.per_token), 1) for score in scores])


def _look(pairs: Iterable[Pair]) -> tuple[int, dict[str, Sequence[int]], list[Pair]]:
    """Return the number of pairs, the lines of empty, copied and repeated ones, and at most SAMPLE pairs that
    are not empty."""
    empty, copied, lines, hashes = (array("q") for _ in range(4))  # 8 bytes a pair
    some, chance = list[Pair](), random.Random(SEED)
    for pair in pairs:
        lines.append(pair.line)
        hashes.append(hash((pair.source, pair.target)))
        if not pair.source.strip() or not pair.target.strip():
            empty.append(pair.line)
            continue
        if pair.source == pair.target:
            copied.append(pair.line)
        if len(some) < SAMPLE:
            some.append(pair)
        elif (place := chance.randrange(len(lines) - len(empty))) < SAMPLE:
            some[place] = pair  # so each pair has the same chance to stay
    first = np.unique(np.array(hashes), return_index=True)[1]
    repeated = np.delete(lines, first).tolist()
    kinds: dict[str, Sequence[int]] = {EMPTY: empty, COPIED: copied, "repeat an earlier one": repeated}
    return len(lines), kinds, sorted(some, key=lambda pair: pair.line)


def _change(pairs: Sequence[Pair], scores: Any) -> tuple[int, float, float] | None:
    """Return the line where the ranks of the scores before and after differ most, if that is no chance."""
    n = len(pairs)
    if n < 3 * EDGE:
        return None
    _, places, ties = np.unique(scores.round(3), return_inverse=True, return_counts=True)
    ranks = (ties.cumsum() - ties / 2)[places]  # equal scores have the mean of their ranks
    sums, before = ranks.cumsum()[:-1], np.arange(1, n)
    gaps = abs(sums / before - (ranks.sum() - sums) / (n - before))
    deviations = gaps * np.sqrt(12 * before * (n - before) / n) / n
    place = int(deviations[EDGE:-EDGE].argmax()) + EDGE
    if deviations[place] < CLEAR or gaps[place] < n / 5:
        return None
    return pairs[place + 1].line, float(scores[: place + 1].mean()), float(scores[place + 1 :].mean())


def _compare(pairs: Sequence[Pair]) -> dict[str, Sequence[int]]:
    """Return the lines of the pairs whose targets differ from most others: in words, letters or length."""
    pairs = [pair for pair in pairs if pair.source != pair.target]
    asked = Counter(word for pair in pairs for word in pair.source.split())
    said = Counter(word for pair in pairs for word in pair.target.split())
    scripts = Counter(script for pair in pairs for script in _scripts(pair.target))
    typical = np.median([len(pair.target) / len(pair.source) for pair in pairs] or [1.0])
    kinds = "have mostly words of sources", "are in letters of another script", "have an odd length"
    faults = []
    for pair in pairs:
        words, letters = pair.target.split(), _scripts(pair.target)
        foreign = sum(asked[word] > OFTEN * said[word] for word in words)
        strange = sum(20 * scripts[script] < scripts.total() for script in letters)
        ratio = len(pair.target) / len(pair.source) / typical
        odd = not 1 / ODD <= ratio <= ODD
        faults.append((2 * foreign > len(words), 2 * strange > len(letters), odd))
    each = list(zip(pairs, faults, strict=True))
    return {kind: [pair.line for pair, found in each if found[n]] for n, kind in enumerate(kinds)}


def _scripts(text: str) -> list[str]:
    """Return the script of each letter, the first word of its name: LATIN, DEVANAGARI, CJK."""
    return [unicodedata.name(letter, "?").partition(" ")[0] for letter in text if letter.isalpha()]
