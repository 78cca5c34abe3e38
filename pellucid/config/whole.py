"""Whole numbers that a caller chooses: checked, and refused by the name of the setting."""

import operator
from typing import Any

import numpy as np

from pellucid.errors import UsageError


def is_whole(value: Any, low: int | None = None, high: int | None = None) -> bool:
    """Tell whether this is a whole number (not a bool), of Python or NumPy, from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        return False
    number = operator.index(value)
    return (low is None or low <= number) and (high is None or number <= high)


def whole_setting(name: str, value: Any, low: int, high: int) -> int:
    """Return a setting as an int, or raise an error that names it."""
    if not is_whole(value, low, high):
        raise UsageError(f"{name} = {value!r:.60} must be a whole number from {low:,} to {high:,}.")
    return int(value)
