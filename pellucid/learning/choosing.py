"""Choose settings that suit a user's text, time and machine: each setting with its reason, written as a
commented configuration."""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from pellucid.config.schema import NO_LIMIT, PRESETS, Config
from pellucid.config.toml_file import PATHS, each_path, from_table, inherited, one_line, override, to_table
from pellucid.data.sifting import ParallelText, hold_out
from pellucid.folder.load import Loaded, device_named
from pellucid.learning.measuring import Corpus, Pace, kind_of, look_at, measure, tokens_of, vocabulary_size
from pellucid.learning.run import VALIDATING
from pellucid.learning.text import Request, check_text, read_text

# A larger preset needs at least this number of pairs, and should see each pair LEAST_EPOCHS times.
PAIRS = {"small": 50_000, "base": 1_000_000, "big": 10_000_000}
LEAST_EPOCHS = 5

RATES = {"tiny": 0.002, "small": 0.001, "base": 0.0007, "big": 0.0005}
VALIDATIONS, ROOM = 12, 15  # there is time for some more: the average's, and those that take longer
COOLDOWN = 0.3
MINUTES = 30.0  # if the user says nothing
FEW = 50  # sentences: their BLEU is chance
SHORT = 4  # words; BLEU counts sequences of four


class Chosen(NamedTuple):
    """A chosen setting: its name (section.key), its value, and the reason."""

    name: str
    value: Any
    reason: str = ""


def choose_settings(
    files: Sequence[str],
    settings: Mapping[str, Any],
    device: str,
    out: Path,
    report: Callable[[str], None],
    started: Loaded | None,
) -> tuple[Config, str]:
    """Choose settings for parallel text (one or two files) and a training time; measure how fast they are.
    Return them, and as TOML for a file in the folder `out`.

    settings: settings that the user fixes, such as {"training.seed": 2}. started: the model that the training
    starts from, if there is one; its vocabulary, shape and so on are taken.
    """
    text = Chosen("data.train", [list(files)])
    limit = Chosen("training.minutes", MINUTES, "these end the training")
    fixed = [text, limit, *(Chosen(name, value, "as the command says") for name, value in settings.items())]
    fixed += _inherited(fixed, started.config) if started else []
    checked = _config(fixed)
    where = device_named(device)  # checked before the data are read
    asked = Request(checked, out)
    check_text(asked)
    texts = read_text(asked)
    assert isinstance(texts.train, ParallelText)  # there are files
    pairs = list(texts.train)
    if not texts.validation:
        hold_out(texts.train.sources, max(len(pairs) - 1, 1))  # an error where there is only one source
    report("measuring how fast this machine trains on this text ...")
    chosen = choose(
        look_at(pairs),
        checked.training.minutes or MINUTES,
        lambda some: measure(pairs, _config([*some, *fixed]), where, started),
        settings,
        started and started.config.model.width,
        len(texts.validation),
    )
    chosen = [*{each.name: each for each in (text, limit, *chosen, *fixed)}.values()]
    config = _config(chosen)
    return config, _to_toml(chosen, config, out)


def _inherited(fixed: Sequence[Chosen], theirs: Config) -> list[Chosen]:
    """Return the settings that are taken from the model to start from, without those that are defaults or
    follow from the vocabulary."""
    taken, usual = inherited(_table(fixed), to_table(theirs)), to_table(Config())
    return [
        Chosen(f"{section}.{name}", value, "as in the model to start from")
        for section, values in taken.items()
        for name, value in values.items()
        if value != usual[section].get(name) and not name.endswith("_id") and name != "vocabulary"
    ]


def _to_toml(chosen: Sequence[Chosen], config: Config, out: Path) -> str:
    """Return the settings as TOML, with their reasons as comments."""
    sections: dict[str, list[str]] = {section: [] for section in vars(config)}
    for name, value, reason in chosen:
        section, key = name.split(".")
        # The value as the configuration has it; a preset is not a setting of its own.
        value = getattr(getattr(config, section), key, value)
        if name in PATHS:  # as it leads from there: the file says nothing about the disk above
            value = each_path(value, lambda path: _from(out, path))
        row = f"{key} = {one_line(value)}"
        sections[section].append(f"{row}  # {reason}" if reason else row)
    blocks = ["\n".join([f"[{section}]", *rows]) for section, rows in sections.items() if rows]
    return "\n\n".join(blocks) + "\n"


def _from(out: Path, path: str) -> str:
    """Return a path as it leads from `out`; on another drive of Windows, as it is."""
    with suppress(ValueError):
        return os.path.relpath(path, out)
    return path


def choose(
    corpus: Corpus,
    minutes: float,
    pace_of: Callable[[Sequence[Chosen]], Pace],
    settings: Mapping[str, Any] = MappingProxyType({}),
    width: int | None = None,
    judged: int = 0,
) -> list[Chosen]:
    """Choose the settings for a corpus.

    pace_of: measures how fast some settings are. settings: those that the user fixes; its preset is taken,
    and its steps end the training if the minutes do not. width: of the model that the training starts from,
    if there is one; then no vocabulary and no shape are chosen. judged: pairs that the user gives to
    validate on; then none are held out.
    """
    kind, budget = kind_of(corpus), _batch_tokens(corpus)
    text, preset = _vocabulary(corpus, kind), settings.get("model.preset")

    def steps_of(pace: Pace) -> float:
        return max(1.0, min(60 * minutes / pace.step, settings.get("training.steps", math.inf)))

    def width_of(preset: str) -> int:
        return int(settings.get("model.width", PRESETS[preset]["width"]))

    def trial(preset: str) -> Pace:
        return pace_of([*text, budget, *_model(corpus, kind, preset, 1.0, width_of(preset))])

    if width:
        pace, own = pace_of([budget]), [_low_rate(width)]
    else:
        preset, pace = (preset, trial(preset)) if preset in PRESETS else _largest(corpus, steps_of, trial)
        own = [*text, *_model(corpus, kind, preset, _epochs(corpus, steps_of, pace), width_of(preset))]
        own += _learning(corpus, kind, width_of(preset))
    held_out = _held_out(corpus, minutes, pace)
    loss = Chosen("training.validation_metric", "loss", "BLEU of so few sentences says little")
    few = (
        [loss] if (judged or held_out.value) < FEW and not any(each.name == loss.name for each in own) else []
    )
    return [*([] if judged else [held_out]), *_schedule(corpus, steps_of, pace, budget), *few, *own]


def _largest(
    corpus: Corpus, steps_of: Callable[[Pace], float], trial: Callable[[str], Pace]
) -> tuple[str, Pace]:
    """Return the largest preset that has enough pairs, and sees each of them often enough in the time; and
    its pace. Larger ones than one that is too slow are not measured."""
    largest, pace = "tiny", trial("tiny")
    for preset, pairs in PAIRS.items():
        if corpus.pairs < pairs or _epochs(corpus, steps_of, pace) < LEAST_EPOCHS:
            break
        larger = trial(preset)
        if _epochs(corpus, steps_of, larger) < LEAST_EPOCHS:
            break
        largest, pace = preset, larger
    return largest, pace


def _epochs(corpus: Corpus, steps_of: Callable[[Pace], float], pace: Pace) -> float:
    """Return how often each pair is seen in the training."""
    return steps_of(pace) * pace.pairs / corpus.pairs


def _batch_tokens(corpus: Corpus) -> Chosen:
    """Return the largest power of two, from 1,024 to 4,096, that splits an epoch into 100 batches or more;
    of subwords 200, because smaller batches learn more in the same time (docs/results/what-helps.md)."""
    kind = kind_of(corpus)
    largest = corpus.pairs * tokens_of(corpus, kind) / (200 if kind == "subwords" else 100)
    power = 2 ** math.floor(math.log2(max(largest, 1)))
    return Chosen("training.batch_tokens", min(4096, max(1024, power)))


def _held_out(corpus: Corpus, minutes: float, pace: Pace) -> Chosen:
    """Choose how many pairs to validate on: as many as leave nine tenths of the time to the steps."""
    usual = max(1, min(max(50, round(0.02 * corpus.pairs)), 1000, corpus.pairs // 5))
    in_time = max(30, int(60 * minutes * VALIDATING / ROOM / pace.sentence))
    reason = f"of {corpus.pairs:,} pairs: to validate on"
    fewer = ", as many as there is time for" if in_time < usual else ""
    return Chosen("data.held_out", min(usual, in_time), reason + fewer)


def _schedule(corpus: Corpus, steps_of: Callable[[Pace], float], pace: Pace, budget: Chosen) -> list[Chosen]:
    steps, of_epoch = steps_of(pace), corpus.pairs / pace.pairs
    few = " (little text)" if of_epoch < 100 else ""
    share, said = (0.3, "three tenths") if kind_of(corpus) == "characters" else (0.1, "a tenth")
    warmup = f"{said} of about {_round(steps):,} steps of {pace.step:.2g} seconds, as measured"
    return [
        Chosen("training.steps", NO_LIMIT, "no limit"),
        budget._replace(reason=f"an epoch has about {max(1, round(of_epoch)):,} steps{few}"),
        Chosen("training.warmup_steps", _round(share * steps), warmup),
        Chosen("training.cooldown", COOLDOWN, "the share at the end in which the rate falls to 0"),
        Chosen("training.validations", VALIDATIONS, "in even parts of the time"),
    ]


def _learning(corpus: Corpus, kind: str, width: int) -> list[Chosen]:
    rate, why = _usual_rate(width), f"usual for a width of {width}"
    if kind == "subwords" and width < PRESETS["small"]["width"]:  # docs/results/what-helps.md
        rate, why = 0.004, "high: the norm comes first, and after the warm-up the rate falls"
    if kind == "words":  # SCAN: at a rate of 0.002 the loss of held-out commands rose again now and then
        rate, why = min(0.0007, rate), "low: words follow rules"
    chosen = [Chosen("training.peak_rate", rate, why)]
    if kind == "characters":
        why = "one answer is right, and rare cases count more so"
        chosen.append(Chosen("training.label_smoothing", 0.0, why))
        chosen.append(Chosen("training.first_weights", "usual", "small ones find rules of digits later"))
    if kind != "subwords" or corpus.words[1] < SHORT:
        chosen.append(Chosen("training.validation_metric", "exact", "BLEU says little of targets like these"))
    if kind != "subwords":
        why = "with few tokens, hypotheses that end too early would fill a beam"
        chosen.append(Chosen("translation.beam", 1, why))
    return chosen


def _low_rate(width: int) -> Chosen:
    return Chosen("training.peak_rate", _usual_rate(width) / 5, "low: it keeps what it knows")


def _usual_rate(width: int) -> float:
    no_wider = [rate for name, rate in RATES.items() if PRESETS[name]["width"] <= width]
    return no_wider[-1] if no_wider else RATES["tiny"]


def _vocabulary(corpus: Corpus, kind: str) -> list[Chosen]:
    size = vocabulary_size(corpus, kind)
    if kind == "words":
        reason = f"a word is a token: the text has only {corpus.different_words:,} of them"
        return [Chosen("vocabulary.kind", "word", reason), Chosen("vocabulary.size", size)]
    if kind == "subwords":
        reason = f"subwords, as many as suit {corpus.pairs:,} pairs"
        return [Chosen("vocabulary.kind", "bpe"), Chosen("vocabulary.size", size, reason)]
    reason = f"a character is a token: {corpus.different_characters} of them, and no sentences of words"
    identity = Chosen("vocabulary.normalization", "identity", "no character is changed")
    return [Chosen("vocabulary.kind", "bpe"), Chosen("vocabulary.size", size, reason), identity]


def _model(corpus: Corpus, kind: str, preset: str, epochs: float, width: int) -> list[Chosen]:
    first = Chosen("model.norm", "first", "learns at a high rate without falling back")
    rule = Chosen("model.dropout", 0.0 if kind == "characters" else 0.1, "there is a rule to find")
    if kind != "subwords" and preset == "tiny":
        # Digit sums: validation loss 0.19 after 1,250 steps; tiny's own shape with dropout 0.1 had 1.04
        # after 1,200.
        reason = f"flat and wide: {kind} follow rules, a language has more to learn"
        return [
            Chosen("model.preset", preset, f"width {width}"),
            *(Chosen(f"model.{stack}_layers", 2, reason) for stack in ("encoder", "decoder")),
            Chosen("model.hidden", 512),
            first,
            rule,
        ]
    size = f"width {width}: for {corpus.pairs:,} pairs and this time"
    seen = f"each pair is seen about {max(epochs, 1):,.0f} times; the more often, the more dropout"
    dropout = 0.1 if epochs < 15 else 0.2 if epochs < 60 else 0.3
    often = Chosen("model.dropout", dropout, seen)
    return [Chosen("model.preset", preset, size), first, often if kind == "subwords" else rule]


def _round(number: float) -> int:
    """Round to one significant digit, and to at least 10 (1747 gives 2000), so that an estimate looks like an
    estimate."""
    return max(10, int(float(f"{number:.0e}")))


def _table(chosen: Sequence[Chosen]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    override(table, {name: value for name, value, _ in chosen}, "train")
    return table


def _config(chosen: Sequence[Chosen]) -> Config:
    return from_table(_table(chosen), where="train", folder=Path.cwd())
