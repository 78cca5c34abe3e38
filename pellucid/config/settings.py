"""Declare settings with their limits, convert values to their types, and check them."""

import os
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import field, fields
from typing import Any

from pellucid.config.nearest import did_you_mean
from pellucid.errors import UsageError


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


def check(section: Any) -> None:
    """Convert every value of a section to its type, and check its limits; raise an error for a wrong one."""
    hints = typing.get_type_hints(type(section))
    for setting in fields(section):
        name, limits = f"[{title(type(section))}] {setting.name}", setting.metadata
        value = plain(getattr(section, setting.name))
        value = convert(name, limits["read"](name, value) if "read" in limits else value, hints[setting.name])
        object.__setattr__(section, setting.name, value)
        for each in value if isinstance(value, tuple) else (value,):
            check_value(name, each, limits)


def convert(name: str, value: Any, kind: Any) -> Any:
    """Convert a TOML value to the type of the setting; raise an error if that is not possible."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is types.UnionType:
        return None if value is None else convert(name, value, arguments[0])
    if origin is tuple:
        value = [value] if kind == tuple[str, ...] and isinstance(value, str) else value
        if not isinstance(value, list):
            raise UsageError(f"{name} = {value!r} must be a list.")
        kinds = [arguments[0]] * len(value) if arguments[-1] is Ellipsis else arguments
        if len(kinds) != len(value):
            raise UsageError(f"{name} = {value!r} must have {len(kinds)} entries.")
        return tuple(convert(name, entry, each) for entry, each in zip(value, kinds, strict=True))
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        words = {int: "a whole number", float: "a number", str: "text in quotes", bool: "true or false"}
        raise UsageError(f"{name} = {value!r} must be {words[kind]}.")
    return value


def check_value(name: str, value: Any, limits: Mapping[str, Any]) -> None:
    """Check a value against the limits that `number` and `choice` declare."""
    if "choices" in limits and value not in limits["choices"]:
        near = did_you_mean(value, limits["choices"])
        raise UsageError(f"{name} = {value!r} is not one of {', '.join(limits['choices'])}.{near}")
    if "low" in limits and value is not None and not limits["low"] <= value <= limits["high"]:
        raise UsageError(f"{name} = {value!r} must lie between {limits['low']} and {limits['high']}.")


def differences(ours: Any, theirs: Any, names: Iterable[str]) -> str:
    """Describe how two sections differ: each setting with both values; "" if they are equal."""
    pairs = {name: (getattr(ours, name), getattr(theirs, name)) for name in names}
    different = [f"{name} = {one} (there {other})" for name, (one, other) in pairs.items() if one != other]
    return ", ".join(different)


def title(kind: type) -> str:
    """Return the name of a section in a TOML file: ModelConfig is [model]."""
    return kind.__name__.removesuffix("Config").lower()
