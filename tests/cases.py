"""Cases of a test, of which `make test` runs the first few, and `make test-all` all."""

from collections.abc import Iterable
from typing import Any

import pytest


def few(count: int, cases: Iterable[Any]) -> list[Any]:
    """Return the cases; those after the first `count` are slow."""
    return [
        each if number < count else pytest.param(*in_tuple(each), marks=pytest.mark.slow)
        for number, each in enumerate(cases)
    ]


def in_tuple(case: Any) -> tuple[Any, ...]:
    """A case of several values as it is, of one as a tuple."""
    return case if isinstance(case, tuple) else (case,)
