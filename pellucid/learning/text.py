"""The text of a run, from files or from Python: what to learn from, what to validate on, what looks wrong."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pellucid.config.schema import DataConfig
from pellucid.data.corpus import Pair, Report, fingerprint, fingerprint_of, read_pairs, take_pairs
from pellucid.data.held_out import hold_out
from pellucid.errors import UsageError

Texts = Iterable[tuple[str, str]]
IDENTICAL = 0.75  # if more of the targets equal their sources, one file was probably named twice


@dataclass(frozen=True)
class PythonText:
    """Pairs of texts from Python; empty where the text comes from files."""

    pairs: Sequence[tuple[str, str]] = ()
    validation_pairs: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Text:
    """The cleaned pairs of a run; the reports count what was left out."""

    train: list[Pair]
    train_report: Report
    validation: list[Pair]
    validation_report: Report


def check_text(pairs: Texts | None, validation_pairs: Texts | None, data: DataConfig) -> PythonText:
    """Return the text from Python; raise if the same text is named twice, or if there is none at all."""
    text = PythonText(tuple(pairs or ()), tuple(validation_pairs or ()))
    for name, files in (("pairs", data.train), ("validation_pairs", data.validation)):
        if getattr(text, name) and files:
            raise UsageError(f"{name} and files in [data] are both given. Leave one of them out.")
    if not data.train and not text.pairs:
        example = 'train = ["train.en", "train.de"]'
        raise UsageError(f"[data] train is missing: name the parallel text, as in {example}.")
    if data.held_out and (data.validation or text.validation_pairs):
        both = f"[data] held_out = {data.held_out}, and there is validation text too"
        raise UsageError(f"{both}. Leave one of them out.")
    return text


def read_text(data: DataConfig, text: PythonText) -> Text:
    """Read and clean all pairs as `data` says, and hold some out for validation if it asks for that."""
    train, report = take_pairs(text.pairs, "pairs", data) if text.pairs else read_pairs(data.train, data)
    if data.held_out:
        train, held_out = hold_out(train, data.held_out)
        report = replace(report, kept=len(train), held_out=len(held_out))
        return Text(train, report, held_out, Report(read=len(held_out), kept=len(held_out)))
    if text.validation_pairs:
        return Text(train, report, *take_pairs(text.validation_pairs, "validation_pairs", data))
    return Text(train, report, *read_pairs(data.validation, data))


def fingerprints(data: DataConfig, text: PythonText, others: Sequence[str]) -> dict[str, str]:
    """Return the SHA-256 of each file, of the files `others` too, and of the text from Python."""
    hashes = fingerprint((*data.train, *data.validation, others))
    return hashes | {name: fingerprint_of(texts) for name, texts in vars(text).items() if texts}


def warn_if_identical(name: str, report: Report) -> None:
    """Warn if most targets equal their sources: one file was probably named for both sides."""
    kept = report.kept + report.held_out
    if report.identical > IDENTICAL * kept:
        warnings.warn(
            f"[data] {name}: in {report.identical:,} of {kept:,} pairs the target is the source. If "
            "the model shall do more than copy, look whether the right two files are named.",
            stacklevel=2,
        )


def overlap(text: Text) -> str:
    """Say how much of the validation text is in the training text; return "" if nothing is."""
    learned = {pair.source for pair in text.train}
    seen = sum(pair.source in learned for pair in text.validation)
    if not seen:
        return ""
    return (
        f"{seen:,} of the {len(text.validation):,} validation sentences are in the training text: on new "
        "text the model is worse than its validations say"
    )
