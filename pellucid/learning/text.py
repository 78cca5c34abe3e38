"""What a training run is asked to do, and its text from files or from Python: pairs to learn from, pairs to
validate on, and checks of both."""

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pellucid.config.schema import Config, DataConfig
from pellucid.data.corpus import Pair, Report, fingerprint, fingerprint_of
from pellucid.data.sifting import HELD_OUT, ParallelText, read_pairs, sift, source_hash, text_from, text_of
from pellucid.data.store import Prepared, fingerprint_of_prepared, open_prepared
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
    """The cleaned text of a run, and reports of what was left out."""

    train: ParallelText | Prepared
    train_report: Report
    validation: list[Pair]
    validation_report: Report


def check_text(asked: Request) -> None:
    """Raise an error if there is no training text, if a text is given in two ways, for example as pairs and
    as files, or if a new training may meet sentences that are too long for its model."""
    data = asked.config.data
    for name, given, files in (
        ("pairs", asked.pairs, data.train or data.prepared),
        ("validation_pairs", asked.validation_pairs, data.validation),
    ):
        if given and files:
            raise UsageError(f"{name} and files in [data] are both given. Leave one of them out.")
    if not data.train and not data.prepared and not asked.pairs:
        example = 'train = ["train.en", "train.de"]'
        raise UsageError(f"[data] train is missing: name the parallel text, as in {example}.")
    _refuse_same_sources(data_of(asked.config))
    model = asked.config.model
    if model.positions == "learned" and data.max_length > model.longest and not asked.resume:
        why = f"and the model has learned positions for [model] longest = {model.longest}"
        remedy = f"Set max_length = {model.longest} or less."
        raise UsageError(f"[data] max_length = {data.max_length} tokens, {why}. {remedy}")
    for file in (file for corpus in (*data.train, *data.validation) for file in corpus):
        if Path(file).is_fifo():
            raise UsageError(
                f"{file}: this is a pipe, and text is read more than once. Write it to a file first."
            )
    if data.held_out and (data.validation or asked.validation_pairs):
        both = f"[data] held_out = {data.held_out} and validation text are both given"
        raise UsageError(f"{both}. Choose one of the two to validate on, and leave the other out.")


def _refuse_same_sources(data: DataConfig) -> None:
    """Raise an error if two corpora in one language have the same file of sources, which is their name."""
    several, known = len(data.languages) > 1, set[tuple[str, int]]()
    for number, (source, *_) in enumerate(data.train):
        if (source, number * several) in known:
            raise UsageError(
                f"[data] train names {source} as the source of two corpora. Join them, in two new files; to "
                "let a corpus come more often, set weights."
            )
        known.add((source, number * several))


def read_text(asked: Request) -> Text:
    """Read and clean the text by the rules of [data], or open a prepared one. If [data] held_out is set, that
    many training pairs are the validation pairs."""
    data = data_of(asked.config)
    train: ParallelText | Prepared
    if data.prepared:
        prepared = open_prepared(Path(data.prepared), asked.config)
        train, report, held_out = prepared, prepared.report, prepared.held_out
    else:
        text = text_from(asked.pairs, "pairs", data) if asked.pairs else text_of(data.train, data)
        train, report = sift(text)
        held_out = list(train.with_fate(HELD_OUT)) if data.held_out else []
    if data.held_out:
        return Text(train, report, held_out, Report(read=len(held_out), kept=len(held_out)))
    if asked.validation_pairs:
        judged = text_from(asked.validation_pairs, "validation_pairs", data)
    else:
        judged = text_of(data.validation, data)
    return Text(train, report, *read_pairs(judged))


def data_of(config: Config) -> DataConfig:
    """Return [data] with the languages of the corpora only: a model to start from may have more."""
    if config.training.start_from is None:
        return config.data
    own = config.data.languages[: max(1, len(config.data.train))]
    return replace(config.data, languages=own[:1] if len({*own}) == 1 else own)


def fingerprints(asked: Request) -> dict[str, str]:
    """Return the SHA-256 of each text file, of a ready-made vocabulary, and of text from Python."""
    data = asked.config.data
    ready_made = [name for name in asked.config.vocabulary.model if Path(name).exists()]
    texts = {"pairs": asked.pairs, "validation_pairs": asked.validation_pairs}
    hashes = fingerprint((*(() if data.prepared else data.train), *data.validation, ready_made))
    if data.prepared:
        hashes |= fingerprint_of_prepared(Path(data.prepared))
    return hashes | {name: fingerprint_of(text) for name, text in texts.items() if text}


def warn_if_identical(name: str, report: Report) -> None:
    """Warn if many targets equal their sources: nobody translated them, or one file is named twice."""
    if report.identical > IDENTICAL * (pairs := report.kept + report.held_out):
        harm = "scores reward copying" if name == "validation" else "model learns to copy"
        warnings.warn(
            f"[data] {name}: in {report.identical:,} of {pairs:,} pairs ({report.identical / pairs:.0%}) the "
            f"target is the source, and so the {harm}. If it shall translate, leave these pairs "
            "out, and look whether the right two files are named.",
            stacklevel=2,
        )


def overlap(text: ParallelText, validation: Sequence[Pair]) -> str:
    """Return a message on how many validation sources are also in the training text, white space and case
    apart, or "" if none are."""
    sources = np.array([source_hash(pair.source) for pair in validation], np.uint64)
    seen = int(np.isin(sources, text.sources).sum())
    if not seen:
        return ""
    return (
        f"{seen:,} of the {len(validation):,} validation sentences are in the training text: on new "
        "text the model is worse than its validations say"
    )
