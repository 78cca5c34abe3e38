"""Settings that are whole numbers: checked, and refused by their name."""

from typing import Any

from pellucid.config.whole import is_whole
from pellucid.errors import Setting, UsageError

LAST_SEED = 2**32 - 1


def whole_setting(name: str, value: Any, low: int, high: int, what: str = "") -> int:
    """The setting as an int, or an error that names it; `what` says what it counts."""
    if not is_whole(value, low, high):
        raise UsageError(
            f"{{}} must be a whole number from {low:,} to {high:,}{_so(what)}.", Setting(name, value)
        )
    return int(value)


def whole_list(name: str, values: Any, low: int, high: int, what: str = "") -> list[int]:
    """The same for a list of them, of which there is at least one."""
    if (
        not isinstance(values, list | tuple | range)
        or not values
        or not all(is_whole(value, low, high) for value in values)
    ):
        raise UsageError(
            f"{{}} must be a list of whole numbers from {low:,} to {high:,}{_so(what)}.",
            Setting(name, values),
        )
    return [int(value) for value in values]


def seed_setting(seed: Any) -> int:
    """Where random numbers begin."""
    return whole_setting("seed", seed, 0, LAST_SEED)


def _so(what: str) -> str:
    return f": {what}" if what else ""
