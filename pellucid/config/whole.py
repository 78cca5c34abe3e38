"""Recognise whole numbers, of Python or NumPy."""

from typing import Any

import numpy as np


def is_whole(value: Any, low: int | None = None, high: int | None = None) -> bool:
    """Tell whether a value is a whole number of Python or NumPy (not a bool), from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        return False
    return bool((low is None or low <= value) and (high is None or value <= high))
