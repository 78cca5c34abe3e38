"""Subword sampling: split a text at random, in a way that depends only on the seed.

SentencePiece's own sampling also depends on the process, so a resumed training could not repeat it.
"""

import functools
import math
import random
from collections.abc import Sequence

from sentencepiece import SentencePieceProcessor

MOST = 64  # segmentations of a word to choose from, the most probable ones


def sample(
    model: SentencePieceProcessor, ids: Sequence[int], power: float, chance: random.Random
) -> list[int]:
    """Return the ids of the same text with its words split at random. The chance of each way to split a word
    is in proportion to its probability ** power (Kudo 2018).

    Language tags and end tokens stay as they are, and so do words with unknown characters or with bytes.
    """
    words: list[list[int]] = []
    for token in ids:
        if not words or model.is_control(token) or model.id_to_piece(token).startswith("▁"):
            words.append([])
        words[-1].append(token)
    sampled: list[int] = []
    for word in words:
        segmentations, probabilities = _segmentations(model, tuple(word), power)
        sampled += chance.choices(segmentations, probabilities)[0]
    return sampled


def can_sample(model: object) -> bool:
    """Return whether a vocabulary knows several ways to split a word, each with its probability."""
    try:
        return isinstance(model, SentencePieceProcessor) and bool(
            model.nbest_encode_as_ids("a", nbest_size=1)
        )
    except RuntimeError:  # it is of another kind
        return False


@functools.lru_cache(maxsize=100_000)
def _segmentations(
    model: SentencePieceProcessor, word: tuple[int, ...], power: float
) -> tuple[list[list[int]], list[float]]:
    """Return the most probable ways to split a word, as ids, and how probable each is relative to the first,
    to the power `power`."""
    text = "".join(map(model.id_to_piece, word)).removeprefix("▁")
    fixed = any(map(model.is_unknown, word)) or any(map(model.is_byte, word)) or model.is_control(word[0])
    if fixed or not text:
        return [[*word]], [1.0]
    found = model.nbest_encode_as_ids(text, nbest_size=MOST)
    scores = [sum(map(model.get_score, ids)) for ids in found]
    return found, [math.exp(power * (score - scores[0])) for score in scores]
