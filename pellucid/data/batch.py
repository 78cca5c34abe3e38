"""Make batches with a limited number of tokens. Their order depends only on the lengths, the seed and the
epoch."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

import numpy as np
import torch
from torch import Tensor

from pellucid.data.examples import Examples, places_of
from pellucid.data.order import draw, permute
from pellucid.data.sifting import Array
from pellucid.errors import UsageError
from pellucid.text.vocabulary import Vocabulary

# Pairs are sorted by length within windows of this number of batches: less padding than in small windows, and
# more chance than in a sorted corpus.
_WINDOW = 100

AHEAD = 2  # batches that are made while one is learned
T = TypeVar("T")
Place: TypeAlias = tuple[int, int]  # in an epoch: a window's first pair, and how many of its batches are done
Change: TypeAlias = Callable[[Examples, Array, int], Examples]


@dataclass(frozen=True)
class Batch:
    """Several pairs of similar lengths as padded tensors of ids. A mask is True at tokens, False at
    padding."""

    source: Tensor  # B M
    source_mask: Tensor  # B M
    target_in: Tensor  # B L: the start token, then the target without its last token: the decoder's input
    target_out: Tensor  # B L: the target with its end token: what the decoder must predict
    target_mask: Tensor  # B L
    origins: tuple[str, ...]  # file:line of each row

    @property
    def tokens(self) -> int:
        """Return the number of target tokens, without padding."""
        return int(self.target_mask.sum())

    def to(self, device: torch.device | str) -> "Batch":
        """Return the same batch on another device."""
        tensors = {name: each for name, each in vars(self).items() if name != "origins"}
        return replace(self, **{name: each.to(device, non_blocking=True) for name, each in tensors.items()})

    def rows(self, part: slice) -> "Batch":
        """Return a batch with these rows only."""
        return replace(self, **{name: each[part] for name, each in vars(self).items()})


@dataclass(frozen=True)
class Order:
    """In which batches, and in which order, a text is learned."""

    tokens: int  # the most that a side of a batch may have, padding included
    seed: int
    quotas: Sequence[int] = ()  # the pairs of each corpus in an epoch; (): all of them


def batches(
    examples: Examples, vocabulary: Vocabulary, tokens: int, seed: int, epoch: int
) -> Iterator[Batch]:
    """Yield the batches of an epoch."""
    for _, some, rows in plan_batches(examples, Order(tokens, seed), epoch):
        yield make_batch(some, rows, vocabulary.start_id, vocabulary.pad_id)


def plan_batches(
    examples: Examples, order: Order, epoch: int, first: Sequence[int] = (0, 0), change: Change | None = None
) -> Iterator[tuple[Place, Examples, Array]]:
    """Yield the batches of an epoch from the place `first` on: the place after the batch, some examples, and
    which of them are in the batch. A side has at most `order.tokens` tokens, padding included. Raise an error
    if a pair is longer.

    An epoch is cut into windows, which are random samples of the text. Their pairs are sorted by length and
    cut into batches, and these are shuffled. change: what replaces the examples of a window.
    """
    longest, tokens = examples.figures.longest, order.tokens
    if longest > tokens:
        raise UsageError(
            f"[training] batch_tokens = {tokens} is less than the longest pair's {longest} tokens, so "
            f"no batch can hold it. Set batch_tokens = {longest} or more, or a lower [data] max_length."
        )
    sizes, size, number = examples.sizes, window_size(examples, tokens), first[1]
    quotas = order.quotas or sizes
    for start in range(first[0], sum(quotas), size):
        rows = draw(start, min(start + size, sum(quotas)), sizes, quotas, order.seed, epoch)
        some = examples.gather(rows)
        if change:
            some = change(some, rows, epoch)
        plan, key = _cut(some.lengths, tokens), f"{order.seed} {epoch} window {start}"
        for place in permute(np.arange(len(plan), dtype=np.uint64), len(plan), key)[number:]:
            number += 1
            yield (start, number), some, plan[int(place)]
        number = 0


def window_size(examples: Examples, tokens: int) -> int:
    """Return the number of pairs in a window."""
    return max(1, _WINDOW * tokens * len(examples) // max(1, examples.figures.longer))


def _cut(lengths: Array, tokens: int) -> list[Array]:
    """Return rows of these lengths in batches: neighbours in the order of length."""
    longer = lengths.max(1, initial=0)
    order = np.lexsort((lengths[:, 0], lengths[:, 1], longer))
    starts = [0]
    for place, length in enumerate(longer[order].tolist()):
        if length * (place - starts[-1] + 1) > tokens:
            starts.append(place)
    return np.split(order, starts[1:])


def make_batch(examples: Examples, rows: Array, start_id: int, pad_id: int) -> Batch:
    """Return these examples as a batch, padded on the right."""
    some = examples.take(rows)
    source, source_mask = _side(some, 0, pad_id)
    target_out, target_mask = _side(some, 1, pad_id)
    target_in = torch.full_like(target_out, start_id)
    target_in[:, 1:] = target_out[:, :-1].masked_fill(~target_mask[:, 1:], pad_id)
    return Batch(source, source_mask, target_in, target_out, target_mask, some.origins())


def _side(examples: Examples, side: int, pad_id: int) -> tuple[Tensor, Tensor]:
    """Return the sources (side 0) or the targets (side 1) as a tensor B M, padded on the right, and a mask
    B M that is True at real tokens."""
    lengths, begins = examples.lengths[:, side], examples.pairs["begin"] + side * examples.pairs["source"]
    mask = np.arange(lengths.max()) < lengths[:, None]
    ids = np.full(mask.shape, pad_id, np.int64)
    ids[mask] = examples.ids[places_of(begins, lengths)]
    return torch.from_numpy(ids), torch.from_numpy(mask)


def ahead(endless: Iterator[T]) -> Iterator[T]:
    """Yield the same things; a thread makes the next ones while the caller waits for a device."""
    with ThreadPoolExecutor(1) as thread:
        waiting = deque(thread.submit(next, endless) for _ in range(AHEAD))
        while True:
            waiting.append(thread.submit(next, endless))
            yield waiting.popleft().result()


def pad(
    rows: Sequence[Sequence[int]], pad_id: int, device: torch.device | str = "cpu"
) -> tuple[Tensor, Tensor]:
    """Return rows of ids as a tensor B M, padded on the right, and a mask B M that is True at real tokens."""
    longest = max(map(len, rows))
    ids = torch.tensor([[*row, *[pad_id] * (longest - len(row))] for row in rows], device=device)
    lengths = torch.tensor([len(row) for row in rows], device=device)
    return ids, torch.arange(longest, device=device) < lengths[:, None]
