"""Subword sampling: a random segmentation of a text, the same for the same seed in every process.

SentencePiece's own sampling depends on the process too, so no resume could repeat it.
"""

import functools
import math
import random
import re
from itertools import groupby

from sentencepiece import SentencePieceProcessor

UNKNOWN_PENALTY = 10.0  # of a character outside the vocabulary, below the rarest piece; as in SentencePiece


class Sampler:
    """Draws random segmentations by one SentencePiece model."""

    def __init__(self, model: SentencePieceProcessor, kind: str) -> None:
        self._model, self._by_merges = model, kind == "bpe"
        special = (model.is_control, model.is_unknown, model.is_byte, model.is_unused)
        ids = [token for token in range(model.get_piece_size()) if not any(test(token) for test in special)]
        self._ids = {model.id_to_piece(token): token for token in ids}
        self._scores = {model.id_to_piece(token): model.get_score(token) for token in ids}
        self._longest = max(map(len, self._scores), default=1)
        # Words can be segmented one by one, unless the model was trained with pieces that cross spaces.
        crossing = any("▁" in piece[1:] for piece in self._scores)
        self._words = re.compile(r".+" if crossing else r"▁[^▁]*|[^▁]+", re.DOTALL)
        self._lattice = functools.lru_cache(maxsize=100_000)(self._make_lattice)

    def encode(self, text: str, sampling: float, chance: random.Random) -> list[int]:
        """Return the ids of a random segmentation.

        Unigram (Kudo 2018): each segmentation with its probability ** sampling.
        BPE (Provilkov et al. 2020): each merge is left out with the probability `sampling`.
        """
        pieces: list[str] = []
        for word in self._words.findall(self._model.normalize(text)):
            segment = self._merge if self._by_merges else self._draw
            pieces += segment(word, sampling, chance)
        ids: list[int] = []
        for known, run in groupby(pieces, self._ids.__contains__):
            same = list(run)
            ids += [self._ids[piece] for piece in same] if known else self._unknown("".join(same))
        return ids

    def _draw(self, word: str, power: float, chance: random.Random) -> list[str]:
        """Draw pieces from the end to the beginning, each with its share of all ways to get there."""
        lattice, end, pieces = self._lattice(word, power), len(word), []
        while end:
            starts, shares = lattice[end]
            start = chance.choices(starts, cum_weights=shares)[0] if len(starts) > 1 else starts[0]
            pieces.append(word[start:end])
            end = start
        return pieces[::-1]

    def _make_lattice(self, word: str, power: float) -> list[tuple[list[int], list[float]]]:
        """Return for each end: where its last piece may start, and the cumulated shares of these starts."""
        rarest = min(self._scores.values(), default=0.0) - UNKNOWN_PENALTY
        totals, lattice = [0.0], [([0], [1.0])]  # totals: log of the sum over all ways to a place
        for end in range(1, len(word) + 1):
            ways = {
                start: totals[start] + power * self._scores[word[start:end]]
                for start in range(max(0, end - self._longest), end)
                if word[start:end] in self._scores
            }
            if end - 1 not in ways:
                ways[end - 1] = totals[end - 1] + power * rarest
            most = max(ways.values())
            shares = [math.exp(way - most) for way in ways.values()]
            totals.append(most + math.log(sum(shares)))
            lattice.append((list(ways), [sum(shares[: count + 1]) for count in range(len(shares))]))
        return lattice

    def _merge(self, word: str, dropped: float, chance: random.Random) -> list[str]:
        """Merge the best pair of those that are not left out, again and again."""
        pieces = list(word)
        while True:
            merges = [
                (-self._scores[pair], place)
                for place in range(len(pieces) - 1)
                if (pair := pieces[place] + pieces[place + 1]) in self._scores and chance.random() >= dropped
            ]
            if not merges:
                return pieces
            place = min(merges)[1]
            pieces[place : place + 2] = [pieces[place] + pieces[place + 1]]

    def _unknown(self, text: str) -> list[int]:
        """Return the bytes of a text if the model has byte pieces; else one unknown token."""
        tokens = [self._model.piece_to_id(f"<0x{byte:02X}>") for byte in text.encode()]
        return tokens if all(map(self._model.is_byte, tokens)) else [self._model.unk_id()]


sampler = functools.lru_cache(maxsize=8)(Sampler)
