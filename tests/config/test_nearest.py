"""What an error offers, and what counts as a whole number."""

import math
from typing import Any

import numpy as np
import pytest
import torch

from pellucid.config.nearest import did_you_mean, nearest
from pellucid.config.whole import is_whole


def test_the_nearest_names_come_first_and_few() -> None:
    known = ["mask", "weight", "weights", "output"]
    assert nearest("weightss", known) == ["weights", "weight"]
    assert nearest("weightss", known, n=1) == ["weights"]
    assert nearest("weightss", known, cutoff=0.99) == []


def test_did_you_mean_offers_one_name_or_nothing() -> None:
    assert did_you_mean("biem", {"beam": 1, "width": 2}) == ' Did you mean "beam"?'
    assert did_you_mean("zzz", ("beam", "width")) == ""


@pytest.mark.parametrize("value", [0, 3, -2, 10**400, np.int64(3), np.uint8(3)])
def test_whole_numbers(value: Any) -> None:
    assert is_whole(value)


@pytest.mark.parametrize(
    "value", [True, np.True_, 3.0, np.float64(3), "3", None, math.nan, [3], np.array([3]), torch.tensor(3)]
)
def test_what_is_no_whole_number(value: Any) -> None:
    assert not is_whole(value)


def test_the_limits_are_allowed() -> None:
    assert [is_whole(value, 1, 3) for value in range(5)] == [False, True, True, True, False]
    assert [is_whole(value, low=1) for value in (0, 1, 9)] == [False, True, True]
    assert [is_whole(np.int8(value), high=1) for value in (-9, 1, 2)] == [True, True, False]
