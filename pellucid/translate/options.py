"""How a call wants its translations: each option checked once, before anything is computed."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypedDict

from pellucid.config.nearest import did_you_mean
from pellucid.config.schema import TranslationConfig
from pellucid.errors import UsageError
from pellucid.translate.sample import Sampling, Seeds
from pellucid.translate.sentences import Prefix

RANGES = {  # of the settings that a configuration has too
    setting.name: (setting.metadata["low"], setting.metadata["high"])
    for setting in fields(TranslationConfig)
    if "low" in setting.metadata
}
BEAM, LENGTH, PENALTY = (RANGES[name] for name in ("beam", "max_length", "length_penalty"))
WHOLE: dict[str, tuple[int | None, int | None]] = {  # options that are whole numbers: the least, the most
    "beam": BEAM,
    "n_best": BEAM,
    "min_length": (0, LENGTH[1]),
    "max_length": LENGTH,
    "top_k": (1, None),
    "batch_tokens": (1, None),
}


class TranslationOptions(TypedDict, total=False):
    """What a call may say; what it leaves out, or gives as None, is as the model's configuration says."""

    beam: int | None  # hypotheses that are followed at once; 1 is greedy
    n_best: int | None  # how many of them are wanted
    length_penalty: float | None  # scores are divided by length ** length_penalty
    min_length: int | None  # tokens, the end token not included
    max_length: int | None  # tokens, the end token included
    prefix: Prefix | Sequence[Prefix | None] | None  # that translations begin with: one for all, or for each
    sample: bool | None  # draw n_best hypotheses at random; beam has no part in it
    temperature: float | None  # below 1 tamer, above 1 wilder
    top_k: int | None  # from so many likeliest tokens only
    top_p: float | None  # from the likeliest tokens that make up this probability
    seed: int | Seeds | None  # calls that share one Seeds(number) draw as a single call would
    batch_tokens: int | None  # source tokens decoded together; None: what fits and is fast


@dataclass(frozen=True)
class Options:
    """The options of a call without its prefix, complete and checked."""

    beam: int
    length_penalty: float
    n_best: int = 1
    min_length: int = 0
    max_length: int | None = None
    sample: bool = False
    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    seed: int | Seeds = 0
    batch_tokens: int | None = None

    def __post_init__(self) -> None:
        for name, (least, most) in WHOLE.items():
            if getattr(self, name) is not None:
                _whole(name, getattr(self, name), least, most)
        _whole("seed", self.seeds.number, None, None)
        least_penalty, most_penalty = PENALTY
        if not _number(self.length_penalty) or not least_penalty <= self.length_penalty <= most_penalty:
            raise UsageError(
                f"length_penalty = {self.length_penalty!r} must be a number from {least_penalty:g} to "
                f"{most_penalty:g}. "
                "With 1, hypotheses are compared by the mean of their log-probabilities, with 0 by the sum."
            )
        self._check_together()
        self._check_sampling()

    @property
    def width(self) -> int:
        """How many hypotheses of a sentence are followed at once."""
        return self.n_best if self.sample else self.beam

    @property
    def seeds(self) -> Seeds:
        """What gives each sentence its seed."""
        return self.seed if isinstance(self.seed, Seeds) else Seeds(self.seed)

    @property
    def sampling(self) -> Sampling:
        """How tokens are drawn."""
        return Sampling(self.temperature, self.top_k, self.top_p)

    def _check_together(self) -> None:
        if not self.sample and self.n_best > self.beam:
            raise UsageError(
                f"n_best = {self.n_best} is more than beam = {self.beam}, the hypotheses that are kept. "
                f"Set beam = {self.n_best} or more, or n_best = {self.beam} or less."
            )
        if self.max_length is not None and self.min_length >= self.max_length:
            raise UsageError(
                f"min_length = {self.min_length} leaves no room for the end token within max_length = "
                f"{self.max_length}. Set max_length = {self.min_length + 1} or more, or a smaller min_length."
            )

    def _check_sampling(self) -> None:
        if not _number(self.temperature) or self.temperature <= 0:
            raise UsageError(
                f"temperature = {self.temperature!r} must be a number above 0. "
                "For the likeliest token every time, leave sample out and set beam=1."
            )
        if self.top_p is not None and not (_number(self.top_p) and 0 < self.top_p <= 1):
            raise UsageError(
                f"top_p = {self.top_p!r} must be above 0 and at most 1, a share of the probability."
            )
        if self.sample:
            return
        for name, unset in dict(temperature=1.0, top_k=None, top_p=None).items():
            if getattr(self, name) != unset:
                raise UsageError(
                    f"{name} = {getattr(self, name)!r} needs sample=True. Set that too, or leave {name} out."
                )


def options_of(given: Mapping[str, Any], config: TranslationConfig) -> Options:
    """What a call says, and where it says nothing, what the model's configuration says."""
    known = TranslationOptions.__annotations__
    for name in given:
        if name not in known:
            hint = did_you_mean(name, known) or f" There are: {', '.join(known)}."
            raise UsageError(f'translation has no option "{name}".{hint}')
    defaults = {"beam": config.beam, "length_penalty": config.length_penalty}
    said = {name: value for name, value in given.items() if value is not None and name != "prefix"}
    return Options(**defaults | said)


def _whole(name: str, value: Any, least: int | None, most: int | None) -> None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or (least is not None and value < least) or (most is not None and value > most):
        bounds = "" if least is None else f", {least} or more" if most is None else f" from {least} to {most}"
        raise UsageError(f"{name} = {value!r} must be a whole number{bounds}.")


def _number(value: Any) -> bool:
    """Whether it is a number, not infinite, and not an integer beyond all floats."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
