"""Batches: every pair once, within the budget, in an order that a resume can repeat."""

import itertools
import random

import pytest
import torch

from pellucid.data.batch import make_batch, plan_batches
from pellucid.data.corpus import Pair
from pellucid.data.examples import Example
from pellucid.errors import UsageError


def random_lengths(count: int) -> list[tuple[int, int]]:
    chance = random.Random(1)
    return [(chance.randint(2, 40), chance.randint(2, 40)) for _ in range(count)]


def example(source: list[int], target: list[int], line: int = 1) -> Example:
    return Example(source, target, Pair("a", "b", 0, line, "train.en"))


@pytest.mark.parametrize("batch_tokens", [40, 41, 4096])
def test_each_pair_is_in_one_batch_and_no_batch_is_over_the_budget(batch_tokens: int) -> None:
    lengths = random_lengths(3000)
    plan = plan_batches(lengths, 1, 0, batch_tokens)
    assert sorted(row for rows in plan for row in rows) == list(range(3000))
    assert all(len(rows) * max(max(lengths[row]) for row in rows) <= batch_tokens for rows in plan)


def test_sorting_leaves_little_padding() -> None:
    lengths = random_lengths(5000)
    plan = plan_batches(lengths, 1, 0, 2000)
    padded = sum(len(rows) * max(max(lengths[row]) for row in rows) for rows in plan)
    assert sum(map(max, lengths)) > 0.98 * padded


def test_pairs_of_rare_lengths_have_other_neighbours_in_each_epoch() -> None:
    lengths = [(length, length) for length in range(5, 1005)]  # each once, in several windows
    first, second = ({frozenset(rows) for rows in plan_batches(lengths, 1, epoch, 2000)} for epoch in (0, 1))
    together = [sum(len(rows) > 1 for rows in plan) for plan in (first, second, first & second)]
    assert together[2] < 0.1 * min(together[:2])


def test_batches_come_in_another_order_in_each_epoch() -> None:
    lengths = [(length, length) for length in range(100, 400)]  # one window: each epoch has the same batches
    orders = [
        [max(max(lengths[row]) for row in rows) for rows in plan_batches(lengths, 1, epoch, 800)]
        for epoch in range(4)
    ]
    assert len({tuple(order) for order in orders}) == 4
    for order in orders:  # short and long ones come mixed: each length is followed by any other
        rising = sum(one < other for one, other in itertools.pairwise(order))
        assert 0.3 < rising / len(order) < 0.7


def test_a_batch_is_shifted_padded_and_masked() -> None:
    batch = make_batch(
        [example([7, 8, 3], [9, 3], 2), example([7, 3], [9, 10, 11, 3], 1)], start_id=2, pad_id=1
    )
    assert batch.source.tolist() == [[7, 8, 3], [7, 3, 1]]
    assert batch.source_mask.tolist() == [[True, True, True], [True, True, False]]
    assert batch.target_in.tolist() == [[2, 9, 1, 1], [2, 9, 10, 11]]
    assert batch.target_out.tolist() == [[9, 3, 1, 1], [9, 10, 11, 3]]
    assert batch.target_mask.tolist() == [[True, True, False, False], [True] * 4]
    assert (batch.source.dtype, batch.target_in.dtype) == (torch.int64, torch.int64)
    assert (batch.tokens, batch.origins) == (6, ("train.en:2", "train.en:1"))
    assert batch.to("cpu").source.equal(batch.source)


def test_a_budget_below_the_longest_pair_is_an_error_and_an_empty_corpus_is_none() -> None:
    assert plan_batches([], 1, 0, 100) == []
    with pytest.raises(UsageError, match=r"batch_tokens = 20 is less than .* Set batch_tokens = 30 or more"):
        plan_batches([(3, 4), (30, 5)], 1, 0, 20)
