"""The order in which pairs are learned: random, and computed, so that it needs neither memory nor a pass over
the text. It depends only on the seed, the epoch and the sizes of the corpora."""

import hashlib
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from pellucid.errors import UsageError

Numbers: TypeAlias = npt.NDArray[np.uint64]
Rows: TypeAlias = npt.NDArray[np.int64]
ROUNDS = 8
# The finalizer of SplitMix64 (Steele et al. 2014): odd multipliers whose products mix all bits.
MIX = np.array([0xBF58476D1CE4E5B9, 0x94D049BB133111EB], np.uint64)


def permute(numbers: Numbers, count: int, key: str) -> Numbers:
    """Return the places of these numbers in a random permutation of 0 … count - 1, which depends on the key
    only.

    A Feistel network (Luby and Rackoff 1988) permutes the numbers below a power of 4; what lies outside the
    count is permuted again until it lies inside.
    """
    half = np.uint64(max(1, ((count - 1).bit_length() + 1) // 2))
    keys = np.frombuffer(hashlib.blake2b(key.encode(), digest_size=8 * ROUNDS).digest(), "<u8")
    places, outside = numbers.copy(), np.arange(len(numbers))
    while len(outside):
        places[outside] = _feistel(places[outside], half, keys)
        outside = outside[places[outside] >= count]
    return places


def _feistel(numbers: Numbers, half: np.uint64, keys: Numbers) -> Numbers:
    mask = (np.uint64(1) << half) - np.uint64(1)
    left, right = numbers >> half, numbers & mask
    for key in keys:
        mixed = (right ^ key) * MIX[0]
        mixed = (mixed ^ (mixed >> np.uint64(29))) * MIX[1]
        left, right = right, left ^ ((mixed >> np.uint64(32)) & mask)
    return (left << half) | right


def quotas_of(sizes: Sequence[int], weights: Sequence[float], temperature: float) -> list[int]:
    """Return how many pairs of each corpus an epoch has. In all, it has as many as there are pairs.

    Without weights, a corpus counts as its size to the power of 1 / temperature: at 1 each pair comes once an
    epoch, and the higher the temperature, the more often come the pairs of a small corpus.
    """
    if weights and len(weights) != len(sizes):
        few = f"[data] weights has {len(weights)} numbers for {len(sizes)} corpora"
        raise UsageError(f"{few}. Give one for each corpus of train, in their order.")
    if weights and temperature != 1.0:
        both = f"[data] weights and temperature = {temperature:g} are both given"
        raise UsageError(f"{both}. Choose one of the two.")
    shares = weights or [(size / max(sizes)) ** (1 / temperature) for size in sizes]
    shares = [share if size else 0.0 for share, size in zip(shares, sizes, strict=True)]
    if not sum(shares):
        none = f"[data] weights = {list(weights)} leave no pair"
        raise UsageError(f"{none}. Give a corpus that has pairs a weight above 0.")
    return [round(share / sum(shares) * sum(sizes)) for share in shares]


def draw(first: int, end: int, sizes: Sequence[int], quotas: Sequence[int], seed: int, epoch: int) -> Rows:
    """Return the numbers of the pairs at places `first` to `end` of an epoch. The pairs of all corpora are
    numbered one corpus after the other.

    A corpus goes through all of its pairs before any comes again, from one epoch to the next.
    """
    places = permute(np.arange(first, end, dtype=np.uint64), sum(quotas), f"{seed} {epoch}")
    pairs, begin, start = np.empty(len(places), np.int64), 0, 0
    for corpus, (size, quota) in enumerate(zip(sizes, quotas, strict=True)):
        ours = np.flatnonzero((places >= begin) & (places < begin + quota))
        turns = places[ours] - np.uint64(begin) + np.uint64(epoch * quota)
        for time in np.unique(turns // np.uint64(max(size, 1))):
            now = turns // np.uint64(size) == time
            key = f"{seed} corpus {corpus} {time}"
            pairs[ours[now]] = permute(turns[now] % np.uint64(size), size, key).astype(np.int64) + start
        begin, start = begin + quota, start + size
    return pairs
