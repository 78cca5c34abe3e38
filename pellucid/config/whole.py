"""Whole numbers that a caller chooses: checked, and refused by the name of the setting."""

import operator
from typing import Any

import numpy as np

from pellucid.errors import UsageError

LAST_SEED = 2**32 - 1


def is_whole(value: Any, low: int | None = None, high: int | None = None) -> bool:
    """Tell whether this is a whole number (not a bool), of Python or NumPy, from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        return False
    number = operator.index(value)
    return (low is None or low <= number) and (high is None or number <= high)


def whole_setting(name: str, value: Any, low: int, high: int, what: str = "") -> int:
    """Return a setting as an int, or raise an error that names it; `what` says what it counts."""
    if not is_whole(value, low, high):
        raise UsageError(_refusal(name, value, "a whole number", low, high, what))
    return int(value)


def whole_list(name: str, values: Any, low: int, high: int, what: str = "") -> list[int]:
    """Return a list of whole numbers, at least one, or raise an error that names it."""
    good = isinstance(values, list | tuple | range) and len(values) > 0
    if not good or not all(is_whole(value, low, high) for value in values):
        raise UsageError(_refusal(name, values, "a list of whole numbers", low, high, what))
    return [int(value) for value in values]


def seed_setting(seed: Any) -> int:
    """Return the seed of random numbers, or raise an error that names it."""
    return whole_setting("seed", seed, 0, LAST_SEED)


def _refusal(name: str, value: Any, kind: str, low: int, high: int, what: str) -> str:
    explained = f": {what}" if what else ""
    return f"{name} = {value!r:.60} must be {kind} from {low:,} to {high:,}{explained}."
