"""Choose settings that suit a user's text and time: each setting with its reason, written as a commented
configuration."""

import math
import os
import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pellucid.config.device import device_named
from pellucid.config.schema import PRESETS, Config, ModelConfig
from pellucid.config.toml_file import PATHS, each_path, from_table, one_line, override
from pellucid.data.corpus import Pair, read_pairs

# A closed set of words, where each word can be a token. A longer list is never complete.
WORDS_AT_MOST, SEEN_AT_LEAST = 1000, 50  # different words; how often each occurs on average
CHARACTERS_AT_MOST = 500
# Subwords by the number of pairs: fewer for less text (Sennrich and Zhang 2019).
SUBWORDS = {10_000: 2_000, 50_000: 6_000, 500_000: 8_000, 2_000_000: 16_000, math.inf: 32_000}
SPECIAL = 5  # pad, unknown, start, end, and the mark of a word's beginning

# A preset needs at least this number of pairs, and should see each pair LEAST_EPOCHS times.
PAIRS = {"big": 10_000_000, "base": 1_000_000, "small": 50_000}
LEAST_EPOCHS = 5

# Target tokens a second are about 2e11 / (2e7 + parameters) on two cores with AVX-512 BF16. The estimate
# may be wrong by half: a warm-up of half or twice the length does no harm.
SPEED, BESIDE_PARAMETERS = 2e11, 2e7
ON_A_GPU = 20.0  # times as fast, at least

RATES = {"tiny": 0.002, "small": 0.001, "base": 0.0007, "big": 0.0005}
VALIDATIONS = 15
COOLDOWN = 0.3
SHORT = 4  # words; BLEU counts sequences of four


class Corpus(NamedTuple):
    """Statistics of a corpus, from which settings are chosen. The numbers of words and characters on each
    side are means per line; white space does not count."""

    pairs: int
    source_words: float
    target_words: float
    source_characters: float
    target_characters: float
    different_words: int
    different_characters: int
    letters: float  # their share of the characters
    subwords: int  # number of subwords that the text certainly yields


class Chosen(NamedTuple):
    """A chosen setting: its name (section.key), its value, and the reason."""

    name: str
    value: Any
    reason: str = ""


def choose_settings(
    files: Sequence[str], minutes: float, settings: Mapping[str, Any], device: str, out: Path
) -> tuple[Config, str]:
    """Choose settings for parallel text (one or two files) and a training time. Return them, and the text of
    train.toml for the folder `out`.

    settings: settings that the user fixes, such as {"training.seed": 2}.
    """
    faster = 1.0 if device_named(device).type == "cpu" else ON_A_GPU  # checked before the data are read
    given = {"data.train": [list(files)], "training.minutes": minutes, **settings}
    checked = _config(given)
    pairs, _ = read_pairs(checked.data.train, checked.data)
    chosen = choose(look_at(pairs), checked.training.minutes or 0.0, faster)
    left_out = {*settings, *(["data.held_out"] if checked.data.validation else [])}
    chosen = [
        Chosen("data.train", given["data.train"]),
        *(each for each in chosen if each.name not in left_out),
    ]
    chosen += [Chosen(name, value, "as --set says") for name, value in settings.items()]
    config = _config({each.name: each.value for each in chosen})
    return config, _to_toml(chosen, config, out)


def _to_toml(chosen: Sequence[Chosen], config: Config, out: Path) -> str:
    """Return the settings as TOML, with their reasons as comments."""
    command = shlex.join(["pellucid", "train", str(out / "train.toml"), "--out", str(out), "--resume"])
    sections: dict[str, list[str]] = {section: [] for section in vars(config)}
    for name, value, reason in chosen:
        section, key = name.split(".")
        # The value as the configuration has it; a preset is not a setting of its own.
        value = getattr(getattr(config, section), key, value)
        if name in PATHS:  # as it leads from there: the file says nothing about the disk above
            value = each_path(value, lambda path: os.path.relpath(path, out))
        row = f"{key} = {one_line(value)}"
        sections[section].append(f"{row}  # {reason}" if reason else row)
    blocks = ["\n".join([f"[{section}]", *rows]) for section, rows in sections.items() if rows]
    return "\n\n".join([f"# Chosen by pellucid train; to go on: {command}", *blocks]) + "\n"


def look_at(pairs: Sequence[Pair]) -> Corpus:
    """Return the statistics of a corpus."""
    sources = Counter(word for pair in pairs for word in pair.source.split())
    targets = Counter(word for pair in pairs for word in pair.target.split())
    words, characters = sources + targets, Counter[str]()
    for word, count in words.items():
        for character in word:
            characters[character] += count
    # Merges of characters end at whole words, so each run of letters becomes a subword.
    runs = {run for word in words for run in re.findall(r"[^\W\d_]{2,16}", word)}
    letters = sum(count for character, count in characters.items() if character.isalpha())
    in_sources, in_targets = (
        sum(len(word) * count for word, count in side.items()) / len(pairs) for side in (sources, targets)
    )
    return Corpus(
        pairs=len(pairs),
        source_words=sources.total() / len(pairs),
        target_words=targets.total() / len(pairs),
        source_characters=in_sources,
        target_characters=in_targets,
        different_words=len(words),
        different_characters=len(characters),
        letters=letters / max(characters.total(), 1),
        subwords=len(characters) + len(runs),
    )


def choose(corpus: Corpus, minutes: float, faster: float = 1.0) -> list[Chosen]:
    """Choose the settings for a corpus, in the order of a configuration file. faster: how many times faster
    than a CPU the device is."""
    kind = kind_of(corpus)
    size = vocabulary_size(corpus, kind)
    source, target = tokens_of(corpus, kind)
    longer, seconds = max(source, target), 60 * minutes * faster
    # The largest preset that has enough pairs, and sees each of them often enough in the time.
    enough = (
        name
        for name, pairs in PAIRS.items()
        if corpus.pairs >= pairs and seconds * speed(name, size) >= LEAST_EPOCHS * corpus.pairs * target
    )
    preset = next(enough, "tiny")
    seen = seconds * speed(preset, size)
    # The largest power of two, from 1,024 to 4,096, that splits an epoch into 100 batches or more.
    hundredth = max(corpus.pairs * longer / 100, 1)
    budget = int(min(4096, max(1024, 2 ** math.floor(math.log2(hundredth)))))
    steps, steps_of_epoch = max(seen / (budget * target / longer), 1), corpus.pairs * longer / budget
    every, few = _round(steps / VALIDATIONS), " (little text)" if steps_of_epoch < 100 else ""
    epoch = f"an epoch has about {max(1, round(steps_of_epoch)):,} steps{few}"
    held_out = max(1, min(max(50, round(0.02 * corpus.pairs)), 1000, corpus.pairs // 5))
    return [
        Chosen("data.held_out", held_out, f"of {corpus.pairs:,} pairs: to validate on"),
        *_vocabulary(corpus, kind, size),
        *_model(corpus, kind, preset, seen / (corpus.pairs * target)),
        Chosen("training.minutes", float(minutes), "these end the training"),
        Chosen("training.steps", 1_000_000_000, "no limit"),
        Chosen("training.batch_tokens", budget, epoch),
        Chosen("training.warmup_steps", _round(steps / 10), f"a tenth of about {_round(steps):,} steps"),
        Chosen("training.cooldown", COOLDOWN, "the share at the end in which the rate falls to 0"),
        Chosen("training.validate_every", every, f"about {VALIDATIONS} times"),
        Chosen("training.checkpoint_every", every),
        *_learning(corpus, kind, preset),
    ]


def _learning(corpus: Corpus, kind: str, preset: str) -> list[Chosen]:
    chosen = [Chosen("training.peak_rate", RATES[preset], f"usual for a width of {PRESETS[preset]['width']}")]
    if kind == "words":  # SCAN: at a rate of 0.002 the loss of held-out commands rose again now and then
        rate = min(0.0007, RATES[preset])
        chosen = [Chosen("training.peak_rate", rate, "low: words follow rules")]
    if kind == "characters":
        why = "one answer is right, and rare cases count more so"
        chosen.append(Chosen("training.label_smoothing", 0.0, why))
    if kind != "subwords" or corpus.target_words < SHORT:
        chosen.append(Chosen("training.validation_metric", "exact", "BLEU says little of targets like these"))
    if kind != "subwords":
        why = "with few tokens, hypotheses that end too early would fill a beam"
        chosen.append(Chosen("translation.beam", 1, why))
    return chosen


def kind_of(corpus: Corpus) -> str:
    """Return what a token should be: "words" if there are few different words and they are frequent,
    "characters" if lines are strings or numbers rather than sentences, else "subwords"."""
    few = corpus.different_words <= WORDS_AT_MOST
    words = corpus.pairs * (corpus.source_words + corpus.target_words)
    if few and words >= SEEN_AT_LEAST * corpus.different_words and corpus.source_words >= 2:
        return "words"
    short = max(corpus.source_characters, corpus.target_characters) <= 100
    no_words = corpus.source_words < 1.5 or corpus.letters < 0.5
    if corpus.different_characters <= CHARACTERS_AT_MOST and short and no_words:
        return "characters"
    return "subwords"


def vocabulary_size(corpus: Corpus, kind: str) -> int:
    """Return how many tokens the vocabulary should have, including special ones such as padding."""
    usual = next(size for pairs, size in SUBWORDS.items() if corpus.pairs < pairs)
    tokens = {"words": corpus.different_words, "characters": corpus.different_characters}
    return tokens[kind] + SPECIAL if kind in tokens else min(usual, corpus.subwords + SPECIAL)


def tokens_of(corpus: Corpus, kind: str) -> tuple[float, float]:
    """Return the mean number of tokens in a source and in a target; an estimate if tokens are subwords."""

    def tokens(words: float, characters: float) -> float:
        guess = max(1.3 * words, characters / 4)
        return {"words": words, "characters": words + characters}.get(kind, guess) + 1

    source = tokens(corpus.source_words, corpus.source_characters)
    return source, tokens(corpus.target_words, corpus.target_characters)


def speed(preset: str, size: int) -> float:
    """Return a rough estimate of the target tokens per second that a CPU trains on with this preset and
    vocabulary size."""
    return SPEED / (BESIDE_PARAMETERS + ModelConfig(**PRESETS[preset] | {"vocabulary": size}).parameters)


def _vocabulary(corpus: Corpus, kind: str, size: int) -> list[Chosen]:
    if kind == "words":
        reason = f"a word is a token: the text has only {corpus.different_words:,} of them"
        return [Chosen("vocabulary.kind", "word", reason), Chosen("vocabulary.size", size)]
    if kind == "subwords":
        reason = f"subwords, as many as suit {corpus.pairs:,} pairs"
        return [Chosen("vocabulary.kind", "bpe"), Chosen("vocabulary.size", size, reason)]
    reason = f"a character is a token: {corpus.different_characters} of them, and no sentences of words"
    identity = Chosen("vocabulary.normalization", "identity", "no character is changed")
    return [Chosen("vocabulary.kind", "bpe"), Chosen("vocabulary.size", size, reason), identity]


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
    size = f"width {PRESETS[preset]['width']}: for {corpus.pairs:,} pairs and this time"
    seen = f"each pair is seen about {max(epochs, 1):,.0f} times; the more often, the more dropout"
    dropout = 0.1 if epochs < 15 else 0.2 if epochs < 60 else 0.3
    return [Chosen("model.preset", preset, size), first, Chosen("model.dropout", dropout, seen)]


def _round(number: float) -> int:
    """Round to one significant digit, and to at least 10 (1747 gives 2000), so that an estimate looks like an
    estimate."""
    unit = 10 ** max(1, math.floor(math.log10(max(number, 1))))
    return max(10, round(number / unit) * unit)


def _config(settings: Mapping[str, Any]) -> Config:
    table: dict[str, Any] = {}
    override(table, settings, "--set")
    return from_table(table, where="train", folder=Path.cwd())
