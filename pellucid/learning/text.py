"""What a training run is asked to do, and its text from files or from Python: pairs to learn from, pairs to
validate on, and checks of both."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pellucid.config.schema import Config, DataConfig
from pellucid.data.corpus import (
    Pair,
    Report,
    fingerprint,
    fingerprint_of,
    hold_out,
    read_pairs,
    take_pairs,
)
from pellucid.errors import UsageError

Texts = Iterable[tuple[str, str]]
IDENTICAL = 0.05  # where more of the targets equal their sources, a model copies others too


@dataclass(frozen=True)
class Request:
    """What the caller of `training` asks for. The pairs are empty if the text comes from files."""

    config: Config
    out: Path
    resume: bool = False
    accept: Sequence[str] = ()
    device: str = "auto"
    report: Callable[[str], None] = lambda line: None
    pairs: Sequence[tuple[str, str]] = ()
    validation_pairs: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Text:
    """The cleaned pairs of a run, and reports of what was left out."""

    train: list[Pair]
    train_report: Report
    validation: list[Pair]
    validation_report: Report


def check_text(asked: Request) -> None:
    """Raise an error if there is no training text, or if a text is given in two ways, for example as pairs
    and as files."""
    data = asked.config.data
    for name, given, files in (
        ("pairs", asked.pairs, data.train),
        ("validation_pairs", asked.validation_pairs, data.validation),
    ):
        if given and files:
            raise UsageError(f"{name} and files in [data] are both given. Leave one of them out.")
    if not data.train and not asked.pairs:
        example = 'train = ["train.en", "train.de"]'
        raise UsageError(f"[data] train is missing: name the parallel text, as in {example}.")
    if data.held_out and (data.validation or asked.validation_pairs):
        both = f"[data] held_out = {data.held_out} and validation text are both given"
        raise UsageError(f"{both}. Choose one of the two to validate on, and leave the other out.")


def read_text(asked: Request) -> Text:
    """Read and clean all pairs by the rules of [data]. If [data] held_out is set, move that many training
    pairs to the validation pairs."""
    data = data_of(asked.config)
    train, report = take_pairs(asked.pairs, "pairs", data) if asked.pairs else read_pairs(data.train, data)
    if data.held_out:
        train, held_out = hold_out(train, data.held_out)
        report = replace(report, kept=len(train), held_out=len(held_out))
        return Text(train, report, held_out, Report(read=len(held_out), kept=len(held_out)))
    if asked.validation_pairs:
        return Text(train, report, *take_pairs(asked.validation_pairs, "validation_pairs", data))
    return Text(train, report, *read_pairs(data.validation, data))


def data_of(config: Config) -> DataConfig:
    """Return [data] with the languages of the corpora only: a model to start from may have more."""
    if config.training.start_from is None:
        return config.data
    return replace(config.data, languages=config.data.languages[: max(1, len(config.data.train))])


def fingerprints(asked: Request) -> dict[str, str]:
    """Return the SHA-256 of each text file, of a ready-made vocabulary, and of text from Python."""
    data = asked.config.data
    ready_made = [name for name in asked.config.vocabulary.model if Path(name).exists()]
    texts = {"pairs": asked.pairs, "validation_pairs": asked.validation_pairs}
    hashes = fingerprint((*data.train, *data.validation, ready_made))
    return hashes | {name: fingerprint_of(text) for name, text in texts.items() if text}


def warn_if_identical(name: str, report: Report) -> None:
    """Warn if many targets equal their sources: nobody translated them, or one file is named twice."""
    if report.identical > IDENTICAL * (pairs := report.kept + report.held_out):
        warnings.warn(
            f"[data] {name}: in {report.identical:,} of {pairs:,} pairs ({report.identical / pairs:.0%}) the "
            "target is the source, and so the model learns to copy. If it shall translate, leave these pairs "
            "out, and look whether the right two files are named.",
            stacklevel=2,
        )


def overlap(text: Text) -> str:
    """Return a message on how many validation sources are also in the training text, or "" if none are."""
    learned = {pair.source for pair in text.train}
    seen = sum(pair.source in learned for pair in text.validation)
    if not seen:
        return ""
    return (
        f"{seen:,} of the {len(text.validation):,} validation sentences are in the training text: on new "
        "text the model is worse than its validations say"
    )
