"""The options of a translation, checked before anything is computed. This module does not import torch."""

import functools
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypedDict

from pellucid.config.schema import TranslationConfig
from pellucid.config.settings import ABOVE_0, convert, number
from pellucid.errors import Setting, UsageError, did_you_mean

Prefix = str | Sequence[int]
MORE = 2  # candidates beyond those that search keeps: one if the end may not come yet, one to see ties by
LIMITS = {setting.name: setting.metadata for setting in fields(TranslationConfig)}


class TranslationOptions(TypedDict, total=False):
    """The options of one call, which the docstring of `translate` explains. None means the default."""

    beam: int | None
    n_best: int | None
    length_penalty: float | None
    min_length: int | None
    max_length: int | None
    no_repeat_ngram_size: int | None
    repetition_penalty: float | None
    early_stopping: bool | None
    prefix: Prefix | Sequence[Prefix | None] | None
    sample: bool | None
    temperature: float | None
    top_k: int | None
    top_p: float | None
    seed: int | None
    batch_tokens: int | None
    memory: int | None


@dataclass(frozen=True)
class Options(TranslationConfig):
    """The options of one call, complete with defaults, but without the prefix: the model's settings, which
    the call may change, and options of the call alone."""

    max_length: int | None = field(default=None, metadata=LIMITS["max_length"])  # type: ignore[assignment]
    n_best: int = field(default=1, metadata=LIMITS["beam"])
    min_length: int = number(0, 0, LIMITS["max_length"]["high"])
    sample: bool = False
    temperature: float = number(1.0, ABOVE_0, sys.float_info.max)
    top_k: int | None = number(None, 1, math.inf)
    top_p: float | None = number(None, ABOVE_0, 1)
    seed: int = number(0, -math.inf, math.inf)
    batch_tokens: int | None = number(None, 1, math.inf)
    memory: int = number(4000, 1, math.inf)

    def __post_init__(self) -> None:
        if not self.sample and self.n_best > self.beam:
            raise UsageError(
                "{} is more than {}, the number of hypotheses to follow. Set {} or more, or {} or less.",
                Setting("n_best", self.n_best),
                Setting("beam", self.beam),
                Setting("beam", self.n_best),
                Setting("n_best", self.beam),
            )
        if self.max_length is not None and self.min_length >= self.max_length:
            raise UsageError(
                "{} leaves no room for the end token within {}. Set {} or more, or a smaller {}.",
                Setting("min_length", self.min_length),
                Setting("max_length", self.max_length),
                Setting("max_length", self.min_length + 1),
                Setting("min_length"),
            )

    @property
    def width(self) -> int:
        """Return the number of hypotheses that the search keeps for each sentence."""
        return self.n_best if self.sample else self.beam

    @property
    def candidates(self) -> int:
        """Return how many of the likeliest tokens of each row the search needs at each step, if nothing else
        needs more; 0: all tokens."""
        return 0 if self.sample or self.repetition_penalty != 1 else 2 * self.beam + MORE


@functools.lru_cache
def rules_of(options: Options) -> Options:
    """Return only the rules of the search, by which lanes are compared: equal rules share a lane."""
    n_best = options.n_best if options.sample else 1
    return replace(options, n_best=n_best, max_length=None, seed=0, batch_tokens=None, memory=1)


def options_of(options: Mapping[str, Any], config: TranslationConfig) -> Options:
    """Return complete options: those of the call, and the default for each that is None, which for some comes
    from `config`."""
    values = {"max_length": None} | check_values(options)
    values.pop("prefix", None)
    return Options(**vars(config) | values)


def check_values(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that are not None, as a dictionary. Raise an error for a value that is not allowed,
    or for an option of sampling, such as top_k, without `sample`."""
    values = {name: value for name, value in options.items() if value is not None}
    known = TranslationOptions.__annotations__
    for name, value in values.items():
        if name not in known:
            raise UsageError(f"there is no option {name!r}.{did_you_mean(name, known)}")
        if name in OPTIONS:
            convert(name, value, OPTIONS[name].type, OPTIONS[name].metadata)
    for name, unused in dict(temperature=1.0, top_k=None, top_p=None, seed=0).items():
        if values.get(name, unused) != unused and not values.get("sample"):
            needed = Setting("sample", True)
            message = "{} needs {}. Set that too, or leave {} out."
            raise UsageError(message, Setting(name, values[name]), needed, Setting(name))
    return values


OPTIONS = {option.name: option for option in fields(Options)}
