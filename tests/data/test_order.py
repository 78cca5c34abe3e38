"""The computed order: a permutation for each key, and corpora in their shares."""

import random
from collections import Counter

import numpy as np
import pytest

from pellucid.data.order import draw, permute, quotas_of
from pellucid.errors import UsageError


@pytest.mark.parametrize("count", [*range(1, 20), 255, 256, 257, 5000])
def test_each_place_is_taken_once(count: int) -> None:
    numbers = np.arange(count, dtype=np.uint64)
    orders = [permute(numbers, count, key).tolist() for key in ("1 0", "1 1", "1 0")]
    assert sorted(orders[0]) == sorted(orders[1]) == list(range(count)) and orders[0] == orders[2]
    some = np.array(random.Random(count).sample(range(count), count // 3), np.uint64)
    assert permute(some, count, "1 0").tolist() == [orders[0][number] for number in some.tolist()]


def test_all_orders_of_four_are_equally_probable_and_neighbours_are_unrelated() -> None:
    numbers = np.arange(4, dtype=np.uint64)
    found = Counter(tuple(permute(numbers, 4, str(key)).tolist()) for key in range(2400))
    assert (
        len(found) == 24 and sum((each - 100) ** 2 / 100 for each in found.values()) < 50
    )  # chi-squared: 0.1%
    places = permute(np.arange(10_000, dtype=np.uint64), 10_000, "1").astype(float)
    assert abs(np.corrcoef(places[1:], places[:-1])[0, 1]) < 0.04
    assert abs(np.corrcoef(places, np.arange(10_000))[0, 1]) < 0.04


def test_a_hundred_million_pairs_have_an_order_too() -> None:
    places = permute(np.arange(99_999_000, 100_000_000, dtype=np.uint64), 100_000_000, "1")
    assert len(set(places.tolist())) == 1000 and places.max() < 100_000_000 and places.mean() > 4e7


@pytest.mark.parametrize(
    ("weights", "temperature", "quotas"),
    [
        ((), 1.0, [900, 90, 0, 10]),
        ((1, 1, 5, 2), 1.0, [250, 250, 0, 500]),
        ((0, 1, 0, 0), 1.0, [0, 1000, 0, 0]),
        ((), 2.0, [703, 222, 0, 74]),
    ],
)
def test_each_corpus_has_its_share_and_no_pair_comes_again_before_all_have_come(
    weights: tuple[float, ...], temperature: float, quotas: list[int]
) -> None:
    sizes = [900, 90, 0, 10]
    assert quotas_of(sizes, weights, temperature) == quotas
    drawn, counts, ends = list[int](), [0] * 1000, np.cumsum([0, *sizes])
    for epoch in range(5):
        parts = [(0, 333), (333, 334), (334, sum(quotas))]  # windows of any size
        rows = [row for part in parts for row in draw(*part, sizes, quotas, 7, epoch).tolist()]
        assert rows != drawn
        drawn = rows
        for row in drawn:
            counts[row] += 1
        for corpus, size in enumerate(sizes):
            own = counts[ends[corpus] : ends[corpus + 1]]
            assert sum(own) == quotas[corpus] * (epoch + 1)
            assert size == 0 or max(own) - min(own) <= 1


@pytest.mark.parametrize(
    ("weights", "temperature", "message"),
    [
        (
            (1.0,),
            1.0,
            "weights has 1 numbers for 2 corpora. Give one for each corpus of train, in their order.",
        ),
        ((1.0, 2.0), 3.0, "weights and temperature = 3 are both given. Choose one of the two."),
        (
            (0.0, 2.0),
            1.0,
            "weights = [0.0, 2.0] leave no pair. Give a corpus that has pairs a weight above 0.",
        ),
    ],
)
def test_weights_that_cannot_be(weights: tuple[float, ...], temperature: float, message: str) -> None:
    with pytest.raises(UsageError) as error:
        quotas_of([10, 0], weights, temperature)
    assert str(error.value).startswith(f"[data] {message}")
