"""What is allowed and probably a mistake: told before the first step."""

import warnings
from collections.abc import Sequence

from pellucid.config.schema import TrainingConfig
from pellucid.data.corpus import Pair, Report

IDENTICAL = 0.75  # the share of pairs whose target is their source from which on it looks like a mistake


def doubt_settings(training: TrainingConfig) -> None:
    """Warn of settings with which nothing is learned."""
    idle = {"steps": training.steps, "minutes": training.minutes}
    if training.schedule != "paper":  # which has a peak of its own
        idle["peak_rate"] = training.peak_rate
    for name, value in idle.items():
        if value == 0:
            warnings.warn(
                f"[training] {name} = {value}: nothing is learned, and the model stays as it begins. Set "
                "more than 0.",
                stacklevel=2,
            )


def doubt_pairs(name: str, counts: Report) -> None:
    """Warn where most targets are their sources: one file may have been named as both sides."""
    kept = counts.kept + counts.held_out
    if counts.identical > IDENTICAL * kept:
        warnings.warn(
            f"[data] {name}: in {counts.identical:,} of {kept:,} pairs the target is the source. If "
            "the model shall do more than copy, look whether the right two files are named.",
            stacklevel=2,
        )


def overlap(training: Sequence[Pair], validation: Sequence[Pair]) -> str:
    """How much of the validation text is in the training text, as a line for people; empty if nothing is."""
    pairs = {(pair.source, pair.target) for pair in validation}
    sources = {pair.source for pair in validation}
    pairs &= {(pair.source, pair.target) for pair in training if pair.source in sources}
    sources &= {pair.source for pair in training}
    if not sources:
        return ""
    both = sum((pair.source, pair.target) in pairs for pair in validation)
    alone = sum(pair.source in sources for pair in validation) - both
    also = f", and so is the source of {alone:,} more" if alone else ""
    return (
        f"{both:,} of the {len(validation):,} validation pairs are in the training text{also}: on new text "
        "the model is worse than its validations say"
    )
