"""Declare settings with their limits, convert values to their types, and check them."""

import math
import os
import sys
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from typing import Any

from pellucid.errors import Setting, UsageError, did_you_mean

NUMBERS = {int: Integral, float: Real}  # NumPy's too
ABOVE_0 = math.ulp(0.0)  # the smallest positive number
KINDS = {int: "a whole number", float: "a number", str: "text in quotes", bool: "true or false"}


def number(default: Any, low: float, high: float) -> Any:
    """Declare a setting that is a number, or several, within [low, high]."""
    return field(default=default, metadata={"low": low, "high": high})


def choice(default: str, *others: str) -> Any:
    """Declare a setting that is one of a few words; the first word is the default."""
    return field(default=default, metadata={"choices": (default, *others)})


def plain(value: Any) -> Any:
    """Return a value as types that TOML has: paths become text, tuples become lists."""
    if isinstance(value, Mapping):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, tuple | list):
        return [plain(entry) for entry in value]
    return os.fspath(value) if isinstance(value, os.PathLike) else value


@dataclass(frozen=True)
class Section:
    """A section of a configuration. Every value is converted to its type and checked against its limits when
    the section is made."""

    def __post_init__(self) -> None:
        hints = typing.get_type_hints(type(self))
        for setting in fields(self):
            name, limits = f"[{title(type(self))}] {setting.name}", setting.metadata
            value = plain(getattr(self, setting.name))
            value = limits["read"](name, value) if "read" in limits else value
            object.__setattr__(self, setting.name, convert(name, value, hints[setting.name], limits))


def convert(name: str, value: Any, kind: Any, limits: Mapping[str, Any]) -> Any:
    """Convert a value of TOML or Python to the type of a setting; raise an error if that is not possible, or
    if it lies outside the limits that `number` and `choice` declare."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is types.UnionType:
        return None if value is None else convert(name, value, arguments[0], limits)
    if origin is tuple:
        value = [value] if arguments[-1] is Ellipsis and not isinstance(value, list) else value
        if not isinstance(value, list):
            raise UsageError(f"{name} = {value!r} must be a list.")
        kinds = [arguments[0]] * len(value) if arguments[-1] is Ellipsis else arguments
        if len(kinds) != len(value):
            raise UsageError(f"{name} = {value!r} must have {len(kinds)} entries.")
        return tuple(convert(name, entry, each, limits) for entry, each in zip(value, kinds, strict=True))
    if "choices" in limits and value not in limits["choices"]:
        near = did_you_mean(value, limits["choices"])
        raise UsageError(f"{name} = {value!r} is not one of {', '.join(limits['choices'])}.{near}")
    low, high = limits.get("low", -math.inf), limits.get("high", math.inf)
    is_right = isinstance(value, NUMBERS.get(kind, kind))
    if kind in NUMBERS:
        is_right = is_right and not isinstance(value, bool) and low <= value <= high
    if not is_right:
        within = _range(low, high) if kind in NUMBERS else ""
        raise UsageError(f"{{}} must be {KINDS[kind]}{within}.", Setting(name, value))
    return kind(value)


def _range(low: float, high: float) -> str:
    if low == ABOVE_0:
        return " above 0" + (f" and at most {high:.10g}" if high < sys.float_info.max else "")
    if low == -math.inf:
        return ""
    return f", {low:g} or more" if high == math.inf else f" from {low:g} to {high:.10g}"


def differences(ours: Any, theirs: Any, names: Iterable[str]) -> str:
    """Describe how two sections differ: each setting with both values; "" if they are equal."""
    pairs = {name: (getattr(ours, name), getattr(theirs, name)) for name in names}
    different = [f"{name} = {one} (there {other})" for name, (one, other) in pairs.items() if one != other]
    return ", ".join(different)


def title(kind: type) -> str:
    """Return the name of a section in a TOML file: ModelConfig is [model]."""
    return kind.__name__.removesuffix("Config").lower()
