"""The text of a run: from files or from Python, what to learn from and what to validate on."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pellucid.config.schema import DataConfig
from pellucid.data.corpus import Pair, Report, fingerprint, fingerprint_of, read_pairs, take_pairs
from pellucid.data.held_out import hold_out
from pellucid.errors import UsageError

Texts = Iterable[tuple[str, str]]


@dataclass(frozen=True)
class Given:
    """Pairs of texts that Python gives in place of files; empty where there are files."""

    pairs: Sequence[tuple[str, str]] = ()
    validation_pairs: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Text:
    """The cleaned pairs of a run; the reports count what was left out."""

    train: list[Pair]
    train_report: Report
    validation: list[Pair]
    validation_report: Report


def check_given(pairs: Texts | None, validation_pairs: Texts | None, data: DataConfig) -> Given:
    """What Python gives, where the configuration does not name files for the same."""
    for name, texts, files in (
        ("pairs", pairs, data.train),
        ("validation_pairs", validation_pairs, data.validation),
    ):
        if texts is not None and files:
            raise UsageError(f"{name} and files in [data] are both given. Leave one of them out.")
    given = Given(tuple(pairs or ()), tuple(validation_pairs or ()))
    if not data.train and not given.pairs:
        raise UsageError(
            '[data] train is missing: name the parallel text, as in train = ["train.en", "train.de"].'
        )
    if data.held_out and (data.validation or given.validation_pairs):
        raise UsageError(
            f"[data] held_out = {data.held_out}, and there is validation text too. Leave one of them out."
        )
    return given


def read_text(data: DataConfig, given: Given) -> Text:
    """All pairs, cleaned as `data` says; those that are held out are validated on."""
    train, report = take_pairs(given.pairs, "pairs", data) if given.pairs else read_pairs(data.train, data)
    if data.held_out:
        train, held_out = hold_out(train, data.held_out)
        report = replace(report, kept=len(train), held_out=len(held_out))
        return Text(train, report, held_out, Report(read=len(held_out), kept=len(held_out)))
    if given.validation_pairs:
        return Text(train, report, *take_pairs(given.validation_pairs, "validation_pairs", data))
    return Text(train, report, *read_pairs(data.validation, data))


def fingerprints(data: DataConfig, given: Given, others: Sequence[str]) -> dict[str, str]:
    """A SHA-256 for each file, `others` included, and for the pairs that Python gives."""
    found = fingerprint((*data.train, *data.validation, others))
    return found | {name: fingerprint_of(texts) for name, texts in vars(given).items() if texts}
