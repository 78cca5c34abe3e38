"""What an error offers, and what counts as a whole number."""

import math
from typing import Any

import numpy as np
import torch

from pellucid.config.nearest import did_you_mean
from pellucid.config.whole import is_whole


def test_did_you_mean_offers_one_name_or_nothing() -> None:
    assert did_you_mean("biem", {"beam": 1, "width": 2}) == ' Did you mean "beam"?'
    assert did_you_mean("zzz", ("beam", "width")) == ""


def test_whole_numbers_and_their_limits() -> None:
    wrong: list[Any] = [True, np.True_, 3.0, "3", None, math.nan, [3], np.array([3]), torch.tensor(3)]
    assert not any(is_whole(value) for value in wrong)
    assert all(is_whole(value) for value in (0, -2, 10**400, np.int64(3), np.uint8(3)))
    assert [is_whole(value, 1, 3) for value in range(5)] == [False, True, True, True, False]
