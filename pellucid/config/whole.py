"""Whole numbers, as a caller may give them."""

import operator
from typing import Any

import numpy as np


def is_whole(value: Any, low: int | None = None, high: int | None = None) -> bool:
    """Whether this is a whole number from `low` to `high`: Python's or NumPy's, and no True or False."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        return False
    number = operator.index(value)
    return (low is None or low <= number) and (high is None or number <= high)
