"""Batches: every pair once, within the budget, in an order that a resume can repeat."""

import itertools
import random
import threading
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
import torch

from pellucid.data.batch import Order, ahead, make_batch, plan_batches
from pellucid.data.examples import Examples, pack
from pellucid.errors import UsageError

Lengths = list[tuple[int, int]]  # of a source and its target


def random_lengths(count: int) -> Lengths:
    chance = random.Random(1)
    return [(chance.randint(2, 40), chance.randint(2, 40)) for _ in range(count)]


def packed(sides: Sequence[tuple[list[int], list[int]]], corpora: Sequence[int] = ()) -> Examples:
    """Examples of these ids; their lines are their places. corpora: the number of the corpus of each."""
    each = enumerate(itertools.zip_longest(sides, corpora, fillvalue=0))
    return pack(((*ids, line, corpus) for line, (ids, corpus) in each), [("train.en", 0), ("more.en", 0)])  # type: ignore[misc]


def text(*corpora: Lengths) -> Examples:
    """Pairs of these lengths."""
    sides = [([5] * source, [5] * target) for lengths in corpora for source, target in lengths]
    return packed(sides, [number for number, lengths in enumerate(corpora) for _ in lengths])


def plan(lengths: Lengths, seed: int, epoch: int, tokens: int) -> list[list[tuple[int, int]]]:
    """The lengths of the pairs of each batch."""
    batches = plan_batches(text(lengths), Order(tokens, seed), epoch)
    return [[*map(tuple, examples.lengths[rows].tolist())] for _, examples, rows in batches]


def longest(batch: list[tuple[int, int]]) -> int:
    return max(map(max, batch))


@pytest.mark.parametrize("batch_tokens", [40, 41, 4096])
def test_each_pair_is_in_one_batch_and_no_batch_is_over_the_budget(batch_tokens: int) -> None:
    lengths = [(1 + number // 39, 1 + number % 39) for number in range(39**2)]  # each another one
    batches = plan(lengths, 1, 0, batch_tokens)
    assert sorted(pair for batch in batches for pair in batch) == lengths
    assert all(len(batch) * longest(batch) <= batch_tokens for batch in batches)


def test_sorting_leaves_little_padding() -> None:
    lengths = random_lengths(5000)
    padded = sum(len(batch) * longest(batch) for batch in plan(lengths, 1, 0, 2000))
    assert sum(map(max, lengths)) > 0.98 * padded


def test_pairs_of_rare_lengths_have_other_neighbours_in_each_epoch() -> None:
    lengths = [(length, length) for length in range(5, 1005)]  # each once, in several windows
    first, second = ({frozenset(batch) for batch in plan(lengths, 1, epoch, 2000)} for epoch in (0, 1))
    together = [sum(len(batch) > 1 for batch in each) for each in (first, second, first & second)]
    assert together[2] < 0.1 * min(together[:2])


def test_batches_come_in_another_order_in_each_epoch() -> None:
    lengths = [(length, length) for length in range(100, 400)]  # one window: each epoch has the same batches
    orders = [[*map(longest, plan(lengths, 1, epoch, 800))] for epoch in range(4)]
    assert len({tuple(order) for order in orders}) == 4
    for order in orders:  # short and long ones come mixed: each length is followed by any other
        rising = sum(one < other for one, other in itertools.pairwise(order))
        assert 0.3 < rising / len(order) < 0.7


def test_a_batch_is_shifted_padded_and_masked() -> None:
    examples = packed([([5], [6]), ([7, 3], [9, 10, 11, 3]), ([7, 8, 3], [9, 3])])
    batch = make_batch(examples, np.array([2, 1]), start_id=2, pad_id=1)
    assert batch.source.tolist() == [[7, 8, 3], [7, 3, 1]]
    assert batch.source_mask.tolist() == [[True, True, True], [True, True, False]]
    assert batch.target_in.tolist() == [[2, 9, 1, 1], [2, 9, 10, 11]]
    assert batch.target_out.tolist() == [[9, 3, 1, 1], [9, 10, 11, 3]]
    assert batch.target_mask.tolist() == [[True, True, False, False], [True] * 4]
    assert (batch.source.dtype, batch.target_in.dtype) == (torch.int64, torch.int64)
    assert (batch.tokens, batch.origins) == (6, ("train.en:2", "train.en:1"))
    assert batch.to("cpu").source.equal(batch.source)


def test_a_budget_below_the_longest_pair_is_an_error_and_an_empty_corpus_is_none() -> None:
    assert plan([], 1, 0, 100) == []
    with pytest.raises(UsageError, match=r"batch_tokens = 20 is less than .* Set batch_tokens = 30 or more"):
        plan([(3, 4), (30, 5)], 1, 0, 20)


def test_a_resume_begins_at_any_place_of_an_epoch() -> None:
    pairs, order = text(random_lengths(1500), random_lengths(90)), Order(100, 3, (700, 800))
    for epoch in (0, 1):
        batches = plan_batches(pairs, order, epoch)
        whole = [(place, some.take(rows).origins()) for place, some, rows in batches]
        assert len({window for (window, _), _ in whole}) > 2  # several windows
        for number in range(0, len(whole), 7):
            rest = plan_batches(pairs, order, epoch, whole[number][0])
            found = [(place, some.take(rows).origins()) for place, some, rows in rest]
            assert found == whole[number + 1 :]


def test_a_resume_in_smaller_batches_repeats_no_window_and_loses_none() -> None:
    pairs, half, seed = text(random_lengths(3000)), Order(50, 3), random.randrange(10**6)
    print(f"seed {seed}")
    whole = [
        (place, some.take(rows).origins()) for place, some, rows in plan_batches(pairs, Order(100, 3), 0)
    ]
    begin = random.Random(seed).choice([start for (start, number), _ in whole if number == 1])
    before = [origin for (start, _), origins in whole if start < begin for origin in origins]
    after = [some.take(rows).origins() for _, some, rows in plan_batches(pairs, half, 0, (begin, 0))]
    assert Counter(before + [each for origins in after for each in origins]) == Counter(
        each for _, origins in whole for each in origins
    )


def test_batches_are_made_ahead_in_order_and_an_error_comes_in_its_turn() -> None:
    made, enough = list[int](), threading.Event()

    def numbers() -> Iterator[int]:
        for number in range(6):
            made.append(number)
            if len(made) == 3:
                enough.set()
            yield number
        raise UsageError("no more")

    found = ahead(numbers())
    assert next(found) == 0 and enough.wait(10)  # two more, while the first is looked at
    assert [next(found) for _ in range(5)] == [1, 2, 3, 4, 5]
    with pytest.raises(UsageError, match="no more"):
        next(found)
