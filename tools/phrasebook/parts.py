"""Which sentences are learnt and which are kept to judge: split by meaning, before any variant."""

from collections import Counter
from collections.abc import Iterable
from functools import cache

from pellucid.data.phrasebook import DIRECTIONS, JE_SUIS_STUDENT, LANGUAGES, PARTS, Phrase
from tools.phrasebook.english import shorten
from tools.phrasebook.sentences import (
    Meaning,
    always,
    digest,
    meanings,
    phrases_of,
    toured,
    word_forms,
    words,
)

HELD_OUT = 250  # meanings, and so phrases in each direction
FAR = 170  # of these, not within one word of any training source
VALIDATION = 100
OFTEN = 8  # no word of a held-out sentence is in fewer training sentences of a direction
_CROWDED = 6  # a sentence with more neighbours than this would cost too many of them


def _of(part: Iterable[Phrase], direction: str) -> list[Phrase]:
    return [phrase for phrase in part if phrase.direction == direction]


def neighbourhood(text: str) -> set[tuple[str, ...]]:
    """Keys that two texts share exactly when one word at most is between them (put, left out or replaced).

    Case and punctuation do not count; j'aime counts as two words and also as one: far is far either way.
    """
    keys = set()
    for name, tokens in (("spaces", text.lower().split()), ("words", words(text.lower()))):
        tokens = [token.strip(",") for token in tokens if token not in (".", ",", "!", "¡", "?", "¿", "।")]
        for gap in range(len(tokens) + 1):
            keys.add((name, *tokens[:gap], "_", *tokens[gap:]))  # a word put in
            keys.add((name, *tokens[:gap], "_", *tokens[gap + 1 :]))  # a word replaced, or one left out
    return keys


@cache
def _neighbours() -> list[set[int]]:
    """For each meaning, by its number, those within one word of it in any language that is a source."""
    neighbours: list[set[int]] = [set() for _ in meanings()]
    for language in sorted({source for source, _ in DIRECTIONS}):
        by_key: dict[tuple[str, ...], list[int]] = {}
        for number, meaning in enumerate(meanings()):
            for key in neighbourhood(meaning.text(language)):
                by_key.setdefault(key, []).append(number)
        for group in by_key.values():
            for number in group if len(group) > 1 else ():
                neighbours[number].update(group)
    return [near - {number} for number, near in enumerate(neighbours)]


class _Remaining:
    """The meanings still there for training, by their numbers; what is taken out leaves no word rare."""

    def __init__(self, seed: int) -> None:
        self.forms = [word_forms(meaning) for meaning in meanings()]
        self.counts = Counter(word for forms in self.forms for word in forms)
        self.numbers = {
            number: digest(f"{seed} {meaning.text('en')}") for number, meaning in enumerate(meanings())
        }
        fixed = set(always())
        self.fixed = {number for number, meaning in enumerate(meanings()) if meaning in fixed}

    def take(self, how_many: int, with_neighbours: bool = False) -> tuple[set[int], set[int]]:
        """The first meanings that can be spared, in the seed's order, and neighbours that leave too."""
        taken: set[int] = set()
        left_out: set[int] = set()
        for number in sorted(self.numbers, key=self.numbers.__getitem__):
            near = _neighbours()[number] if with_neighbours else set()
            leaving = {number, *near} & self.numbers.keys()
            lost = Counter(word for one in leaving for word in self.forms[one])
            everywhere = meanings()[number].sources == ("en", "fr")
            if number in left_out or len(near) > _CROWDED or leaving & self.fixed or not everywhere:
                continue
            if len(taken) < how_many and all(self.counts[word] - lost[word] >= OFTEN for word in lost):
                taken.add(number)
                left_out |= near - taken
                self.counts.subtract(lost)
                for one in leaving:
                    del self.numbers[one]
        return taken, left_out


@cache
def split_meanings(seed: int) -> tuple[tuple[Meaning, ...], ...]:
    """Training, validation, held out and left out: the same for the same seed on every machine.

    Held-out meanings are held out of every direction; the neighbours of FAR of them leave training.
    """
    remaining = _Remaining(seed)
    far, left_out = remaining.take(FAR, with_neighbours=True)
    near, _ = remaining.take(HELD_OUT - FAR)
    validation, _ = remaining.take(VALIDATION)
    parts = ({*remaining.numbers}, validation, far | near, left_out)
    return tuple(tuple(meanings()[number] for number in sorted(part)) for part in parts)


@cache
def split(seed: int) -> dict[str, list[Phrase]]:
    """The same as phrases."""
    phrases = {name: phrases_of(part) for name, part in zip(PARTS, split_meanings(seed), strict=True)}
    phrases["train"].append(JE_SUIS_STUDENT)
    return phrases


def summary(whole: dict[str, list[Phrase]]) -> dict[str, dict[str, int]]:
    """By direction: the phrases in each part, and how many held-out ones are far from training."""
    counts = {}
    for source, target in DIRECTIONS:
        direction = f"{source}-{target}"
        parts = {name: _of(part, direction) for name, part in whole.items()}
        near = {key for phrase in parts["train"] for key in neighbourhood(phrase.source)}
        far = sum(near.isdisjoint(neighbourhood(phrase.source)) for phrase in parts["held-out"])
        counts[direction] = {name: len(part) for name, part in parts.items()} | {"held_out_far": far}
    return counts


def table(seed: int) -> str:
    """The phrasebook's file, a line for each meaning: its part, its kind, the languages that it is translated
    from, its English with short forms ("" if it has none), its text in each language."""
    part_of = dict.fromkeys(meanings(), "")
    for name, part in zip(PARTS, split_meanings(seed), strict=True):
        part_of |= dict.fromkeys(part, name)
    part_of |= dict.fromkeys(always(), "pinned") | dict.fromkeys(toured(), "tour")
    rows = []
    for meaning, its_part in part_of.items():
        text = meaning.text("en")
        short = "" if shorten(text) == text else shorten(text)
        texts = [meaning.text(language) for language in LANGUAGES]
        rows.append((its_part, meaning.kind, ",".join(meaning.sources), short, *texts))
    return "".join("\t".join(row) + "\n" for row in rows)
