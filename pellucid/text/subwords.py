"""Subword sampling: split a text at random, in a way that depends only on the seed.

SentencePiece's own sampling also depends on the process, so a resumed training could not repeat it.
"""

import functools
import math
import random

from sentencepiece import SentencePieceProcessor

MOST = 64  # segmentations of a word to choose from, the most probable ones


def sample(model: SentencePieceProcessor, text: str, power: float, chance: random.Random) -> list[int]:
    """Return the ids of a text whose words are split at random. The chance of each way to split a word is in
    proportion to its probability ** power (Kudo 2018)."""
    ids: list[int] = []
    for word in model.normalize(text).replace("▁", " ").split():
        segmentations, probabilities = _segmentations(model, word, power)
        ids += chance.choices(segmentations, probabilities)[0]
    return ids


@functools.lru_cache(maxsize=100_000)
def _segmentations(
    model: SentencePieceProcessor, word: str, power: float
) -> tuple[list[list[int]], list[float]]:
    """Return the most probable ways to split a word, as ids, and how probable each is relative to the first,
    to the power `power`."""
    found = model.nbest_encode_as_ids(word, nbest_size=MOST)
    scores = [sum(map(model.get_score, ids)) for ids in found]
    return found, [math.exp(power * (score - scores[0])) for score in scores]
