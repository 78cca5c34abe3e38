"""Make batches with a limited number of tokens. Their order depends only on the lengths, the seed and the
epoch."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from pellucid.data.examples import Example
from pellucid.errors import UsageError
from pellucid.text.vocabulary import Vocabulary

# Pairs are sorted by length within windows of this number of batches: less padding than in small windows, and
# more chance than in a sorted corpus.
_WINDOW = 100

Lengths = tuple[int, int]  # of a source and its target, in tokens


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


def batches(
    examples: Sequence[Example], vocabulary: Vocabulary, tokens: int, seed: int, epoch: int, first: int = 0
) -> Iterator[Batch]:
    """Yield the batches of an epoch. `first` is the number of the batch to begin with, after a resume."""
    lengths = [(len(example.source), len(example.target)) for example in examples]
    for rows in plan_batches(lengths, seed, epoch, tokens)[first:]:
        yield make_batch([examples[row] for row in rows], vocabulary.start_id, vocabulary.pad_id)


def plan_batches(lengths: Sequence[Lengths], seed: int, epoch: int, batch_tokens: int) -> list[list[int]]:
    """Return the batches as lists of indices of pairs. Each pair is in one batch; a side has at most
    `batch_tokens` tokens, padding included. Raise an error if a pair is longer.

    Shuffle the pairs, sort them by length within large windows, cut them into batches, and shuffle the
    batches.
    """
    longest = max(map(max, lengths), default=0)
    if longest > batch_tokens:
        raise UsageError(
            f"[training] batch_tokens = {batch_tokens} is less than the longest pair's {longest} tokens, so "
            f"no batch can hold it. Set batch_tokens = {longest} or more, or a lower [data] max_length."
        )
    chance = random.Random(f"{seed} {epoch}")
    order = _shuffle(range(len(lengths)), chance)
    window = max(1, _WINDOW * batch_tokens * len(lengths) // max(1, sum(map(max, lengths))))
    plan: list[list[int]] = []
    for start in range(0, len(order), window):
        rows = order[start : start + window]
        first = len(plan)
        for row in sorted(rows, key=lambda row: (max(lengths[row]), lengths[row][::-1])):
            if len(plan) == first or max(lengths[row]) * (len(plan[-1]) + 1) > batch_tokens:
                plan.append([])
            plan[-1].append(row)
    return [plan[number] for number in _shuffle(range(len(plan)), chance)]


def make_batch(examples: Sequence[Example], start_id: int, pad_id: int) -> Batch:
    """Return the examples as a batch, padded on the right."""
    source, source_mask = pad([example.source for example in examples], pad_id)
    target_out, target_mask = pad([example.target for example in examples], pad_id)
    target_in, _ = pad([[start_id, *example.target[:-1]] for example in examples], pad_id)
    origins = tuple(example.pair.origin for example in examples)
    return Batch(source, source_mask, target_in, target_out, target_mask, origins)


def pad(
    rows: Sequence[Sequence[int]], pad_id: int, device: torch.device | str = "cpu"
) -> tuple[Tensor, Tensor]:
    """Return rows of ids as a tensor B M, padded on the right, and a mask B M that is True at real tokens."""
    longest = max(map(len, rows))
    ids = torch.tensor([[*row, *[pad_id] * (longest - len(row))] for row in rows], device=device)
    lengths = torch.tensor([len(row) for row in rows], device=device)
    return ids, torch.arange(longest, device=device) < lengths[:, None]


def _shuffle(items: Sequence[int], chance: random.Random) -> list[int]:
    """Return the items in random order. Only random() is used, because Python promises not to change its
    results."""
    keys = [chance.random() for _ in items]
    return sorted(items, key=keys.__getitem__)
