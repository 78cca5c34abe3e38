"""Whole numbers, of Python or NumPy."""

from typing import Any

import numpy as np


def is_whole(value: Any, low: int | None = None, high: int | None = None) -> bool:
    """Tell whether this is a whole number (not a bool), of Python or NumPy, from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        return False
    return bool((low is None or low <= value) and (high is None or value <= high))
