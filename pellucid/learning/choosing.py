"""A configuration that suits a corpus and the time there is, with the reason for each setting."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pellucid.config.schema import PRESETS, ModelConfig
from pellucid.data.corpus import Pair

HELD_OUT = 50, 0.02, 1000  # pairs to validate on: at least, the share of all, at most

# A closed set of words, where each word can be a token. A longer list is never complete.
WORDS_AT_MOST, SEEN_AT_LEAST = 1000, 50  # different words; how often each occurs on average
CHARACTERS_AT_MOST = 500
# Subwords by the number of pairs: fewer for less text (Sennrich and Zhang 2019).
SUBWORDS = {10_000: 2_000, 50_000: 6_000, 500_000: 8_000, 2_000_000: 16_000, math.inf: 32_000}
SPECIAL = 5  # pad, unknown, start, end, and the mark of a word's beginning

# From so many pairs on a preset has enough to learn; it should see them so many times.
PAIRS = {"small": 50_000, "base": 1_000_000, "big": 10_000_000}
LEAST_EPOCHS = 5

# Target tokens a second are about 2e11 / (2e7 + parameters) on two cores with AVX-512 BF16. The estimate
# may be wrong by half: a warm-up of half or twice the length does no harm.
SPEED, BESIDE_PARAMETERS = 2e11, 2e7
ON_A_GPU = 20.0  # times as fast, at least

RATES = {"tiny": 0.002, "small": 0.001, "base": 0.0007, "big": 0.0005}
VALIDATIONS = 15
SHORT = 4  # words; BLEU counts sequences of four


@dataclass(frozen=True)
class Corpus:
    """What a choice looks at; lengths are means of a line."""

    pairs: int
    source_words: float
    target_words: float
    source_characters: float
    target_characters: float
    words: int  # in all, on both sides
    different_words: int
    different_characters: int
    letters: float  # their share of the characters
    subwords: int  # that the text yields for certain


@dataclass(frozen=True)
class Chosen:
    """A setting, section.key, its value, and why."""

    name: str
    value: Any
    reason: str = ""


def look_at(pairs: Sequence[Pair]) -> Corpus:
    """The statistics of a corpus, white space not counted."""
    sources = Counter(word for pair in pairs for word in pair.source.split())
    targets = Counter(word for pair in pairs for word in pair.target.split())
    words = sources + targets
    characters: Counter[str] = Counter()
    for word, count in words.items():
        characters.update({character: count * word.count(character) for character in set(word)})
    # Merges of characters end at whole words, so each run of letters is a subword at last.
    runs = {run for word in words for run in re.findall(r"[^\W\d_]{2,16}", word)}
    letters = sum(count for character, count in characters.items() if character.isalpha())
    return Corpus(
        len(pairs),
        sources.total() / len(pairs),
        targets.total() / len(pairs),
        sum(len(word) * count for word, count in sources.items()) / len(pairs),
        sum(len(word) * count for word, count in targets.items()) / len(pairs),
        words.total(),
        len(words),
        len(characters),
        letters / max(characters.total(), 1),
        len(characters) + len(runs),
    )


def choose(corpus: Corpus, minutes: float, faster: float = 1.0) -> list[Chosen]:
    """The settings, in the order of a configuration. faster: times the speed of a processor."""
    kind = kind_of(corpus)
    size = vocabulary_size(corpus, kind)
    source, target = tokens_of(corpus, kind)
    seconds = 60 * minutes * faster
    preset = preset_for(corpus, size, seconds, corpus.pairs * target)
    seen = seconds * speed(preset, size)
    epochs = seen / (corpus.pairs * target)
    budget = batch_tokens(corpus.pairs * max(source, target))
    steps = max(seen / (budget * target / max(source, target)), 1)
    every = _rounded(steps / VALIDATIONS)
    return [
        Chosen("data.held_out", _held_out(corpus), f"of {corpus.pairs:,} pairs: to validate on"),
        *_vocabulary(corpus, kind, size),
        *_model(corpus, kind, preset, epochs),
        Chosen("training.minutes", float(minutes), "these end the training"),
        Chosen("training.steps", 1_000_000_000, "no limit"),
        Chosen("training.batch_tokens", budget, _batches_of(corpus.pairs * max(source, target) / budget)),
        *_rate(kind, preset),
        *_smoothing(kind),
        Chosen("training.warmup_steps", _rounded(steps / 10), f"a tenth of about {_rounded(steps):,} steps"),
        Chosen("training.validate_every", every, f"about {VALIDATIONS} times"),
        Chosen("training.checkpoint_every", every),
        Chosen("training.patience", 10, "validations without a better one end it earlier"),
        *_metric(corpus, kind),
    ]


def kind_of(corpus: Corpus) -> str:
    """What a token is: "words", where they are few and frequent; "characters", where lines are strings or
    numbers and no sentences; else "subwords"."""
    few = corpus.different_words <= WORDS_AT_MOST
    if few and corpus.words >= SEEN_AT_LEAST * corpus.different_words and corpus.source_words >= 2:
        return "words"
    short = max(corpus.source_characters, corpus.target_characters) <= 100
    no_words = corpus.source_words < 1.5 or corpus.letters < 0.5
    if corpus.different_characters <= CHARACTERS_AT_MOST and short and no_words:
        return "characters"
    return "subwords"


def vocabulary_size(corpus: Corpus, kind: str) -> int:
    """The number of tokens, special ones included."""
    if kind == "words":
        return corpus.different_words + SPECIAL
    if kind == "characters":
        return corpus.different_characters + SPECIAL
    usual = next(size for pairs, size in SUBWORDS.items() if corpus.pairs < pairs)
    return min(usual, corpus.subwords + SPECIAL)


def tokens_of(corpus: Corpus, kind: str) -> tuple[float, float]:
    """The mean number of tokens of a source and of a target, the end token included; about, for subwords."""
    sides = (
        (corpus.source_words, corpus.source_characters),
        (corpus.target_words, corpus.target_characters),
    )
    if kind == "words":
        return sides[0][0] + 1, sides[1][0] + 1
    if kind == "characters":
        return sum(sides[0]) + 1, sum(sides[1]) + 1
    (source, target) = (max(1.3 * words, characters / 4) + 1 for words, characters in sides)
    return source, target


def preset_for(corpus: Corpus, size: int, seconds: float, epoch: float) -> str:
    """The largest preset that has enough pairs, and sees each of them often enough in the time."""
    fitting = (
        name
        for name in ("big", "base", "small")
        if corpus.pairs >= PAIRS[name] and seconds * speed(name, size) >= LEAST_EPOCHS * epoch
    )
    return next(fitting, "tiny")


def speed(preset: str, size: int) -> float:
    """Target tokens a second, roughly."""
    return SPEED / (BESIDE_PARAMETERS + ModelConfig(**PRESETS[preset] | {"vocabulary": size}).parameters)


def batch_tokens(epoch: float) -> int:
    """A power of two from 1,024 to 4,096, the largest of which an epoch has a hundred."""
    return int(min(4096, max(1024, 2 ** math.floor(math.log2(max(epoch / 100, 1))))))


def _batches_of(steps: float) -> str:
    few = " (little text)" if steps < 100 else ""
    return f"an epoch has about {max(1, round(steps)):,} steps{few}"


def _held_out(corpus: Corpus) -> int:
    least, share, most = HELD_OUT
    return max(1, min(max(least, round(share * corpus.pairs)), most, corpus.pairs // 5))


def _vocabulary(corpus: Corpus, kind: str, size: int) -> list[Chosen]:
    if kind == "words":
        reason = f"a word is a token: the text has only {corpus.different_words:,} of them"
        return [Chosen("vocabulary.kind", "word", reason), Chosen("vocabulary.size", size)]
    if kind == "characters":
        why = f"a character is a token: {corpus.different_characters} of them, and no sentences of words"
        return [
            Chosen("vocabulary.kind", "bpe"),
            Chosen("vocabulary.size", size, why),
            Chosen("vocabulary.normalization", "identity", "no character is changed"),
        ]
    reason = f"subwords, as many as suit {corpus.pairs:,} pairs"
    return [Chosen("vocabulary.kind", "bpe"), Chosen("vocabulary.size", size, reason)]


def _model(corpus: Corpus, kind: str, preset: str, epochs: float) -> list[Chosen]:
    first = Chosen("model.norm", "first", "learns at a high rate without falling back")
    if kind != "subwords" and preset == "tiny":
        # Digit sums: validation loss 0.19 after 1,250 steps; tiny's own shape with dropout 0.1 had 1.04
        # after 1,200.
        reason = f"flat and wide: {kind} follow rules, a language has more to learn"
        return [
            Chosen("model.preset", preset, "width 128"),
            *(Chosen(f"model.{stack}_layers", 2, reason) for stack in ("encoder", "decoder")),
            Chosen("model.hidden", 512),
            first,
            Chosen("model.dropout", 0.0 if kind == "characters" else 0.1, "there is a rule to find"),
        ]
    shape = PRESETS[preset]
    layers = f"{shape['encoder_layers']}+{shape['decoder_layers']} layers"
    seen = f"each pair is seen about {max(epochs, 1):,.0f} times; the more often, the more dropout"
    return [
        Chosen(
            "model.preset",
            preset,
            f"width {shape['width']}, {layers}: for {corpus.pairs:,} pairs and this time",
        ),
        first,
        Chosen("model.dropout", 0.1 if epochs < 15 else 0.2 if epochs < 60 else 0.3, seen),
    ]


def _rate(kind: str, preset: str) -> list[Chosen]:
    if kind == "words":  # SCAN: at 0.002 the loss of held-out commands rose again now and then
        return [Chosen("training.peak_rate", min(0.0007, RATES[preset]), "low: words follow rules")]
    return [Chosen("training.peak_rate", RATES[preset], f"usual for a width of {PRESETS[preset]['width']}")]


def _smoothing(kind: str) -> list[Chosen]:
    if kind != "characters":
        return []
    return [Chosen("training.label_smoothing", 0.0, "one answer is right, and rare cases count more so")]


def _metric(corpus: Corpus, kind: str) -> list[Chosen]:
    if kind == "subwords" and corpus.target_words >= SHORT:
        return []
    return [Chosen("training.validation_metric", "exact", "BLEU says little of targets like these")]


def _rounded(number: float) -> int:
    """To one significant digit, or to 10: an estimate should look like one."""
    unit = 10 ** max(1, math.floor(math.log10(max(number, 1))))
    return max(10, round(number / unit) * unit)
