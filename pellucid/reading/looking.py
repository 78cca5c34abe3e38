"""Where each head looked: for every position that asks, the words that it shared its attention among."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from pellucid.errors import UsageError
from pellucid.reading.reading import Reading
from pellucid.reading.words import visible
from pellucid.seeing.records import UnknownTensor, attentions, no_such_name
from pellucid.show.columns import known

NAMED = 3  # words of a row that are named
ONE_WORD = 6  # positions that a head's line of text shows


@dataclass(frozen=True)
class Look:
    """One position of one head: who asks, and what it looked at."""

    asks: str  # the token that was read there
    expected: str | None  # in the decoder, the token that is to be said there
    words: list[tuple[str, float]]  # the most looked at, the most first, with their shares of 1
    entropy: float  # in bits: 0 for one word alone, log2 of their number where all get the same; may be NaN

    @property
    def most(self) -> str:
        """The word most looked at and its share: ? where the weights are no numbers, – where all are 0."""
        if not self.words:
            return "?" if math.isnan(self.entropy) else "–"
        return f"{visible(self.words[0][0])} {self.words[0][1]:.2f}"


@dataclass(frozen=True)
class HeadLook:
    """One head of one attention: where each of its positions looked."""

    part: str  # "decoder.layers.1.cross_attention"
    head: int
    looks: list[Look]

    @property
    def entropy(self) -> float:
        """The mean of its positions', in bits."""
        return sum(look.entropy for look in self.looks) / len(self.looks)

    def __str__(self) -> str:
        pairs = [f"{visible(look.expected or look.asks)} → {look.most}" for look in self.looks]
        more = f", … {len(pairs) - ONE_WORD} more" if len(pairs) > ONE_WORD else ""
        bits = known(self.entropy, ".2f")
        return f"{self.part} head {self.head} ({bits} bits): {', '.join(pairs[:ONE_WORD])}{more}"


def looked_at(reading: Reading, part: str | None = None) -> list[HeadLook]:
    """Each head of one attention, or of every cross-attention, in the order of computation."""
    trace = reading.trace
    parts = attentions(trace, "cross" if part is None else "")
    if part is not None:
        if not isinstance(part, str):
            raise UsageError(
                f"part = {part!r:.60} is not the path of an attention, which is text. Give one "
                f'such as "{parts[-1]}".'
            )
        if part not in parts:
            raise UnknownTensor(no_such_name(part, parts).replace("tensor", "attention"))
        parts = [part]
    looks = []
    for each in parts:
        record = trace[f"{each}.weights"]
        expected = [step.expected for step in reading.steps] if each.startswith("decoder") else None
        asks, asked = record.labels("L"), record.labels("M")
        for head, weights in enumerate(record.tensor[0]):
            looks.append(HeadLook(each, head, _looks(weights, asks, asked, expected)))
    return looks


def entropies(weights: Tensor) -> Tensor:
    """... M -> ...: −Σ p log2 p of each row, in bits."""
    return -(weights * weights.clamp_min(torch.finfo(weights.dtype).tiny).log2()).sum(-1)


def heads_entropies(reading: Reading) -> tuple[list[str], Tensor]:
    """The attentions by path, and P H: each head's mean entropy as a share of the most that a row can have.

    A row that may look at n words has at most log2 n bits; the causal mask leaves the first row one word,
    which says nothing and does not count.
    """
    parts = attentions(reading.trace)
    shares = []
    for part in parts:
        weights = reading.trace[f"{part}.weights"].tensor[0].double()
        allowed = (reading.trace[f"{part}.mask"].tensor[0] == 0).sum(-1)
        counts = allowed > 1
        most = allowed.clamp_min(2).double().log2()
        share = torch.where(counts, entropies(weights) / most, 0.0).sum(-1) / counts.sum(-1).clamp_min(1)
        shares.append(share)
    return parts, torch.stack(shares)


def _looks(
    weights_LM: Tensor, asks: Sequence[str], asked: Sequence[str], expected: Sequence[str] | None
) -> list[Look]:
    looks = []
    bits = entropies(weights_LM.double()).tolist()
    for place, row in enumerate(weights_LM):
        values, order = row.sort(descending=True, stable=True)
        best = zip(order[:NAMED].tolist(), values[:NAMED].tolist(), strict=True)
        words = [(asked[word], share) for word, share in best if share > 0]
        says = expected[place] if expected else None
        looks.append(Look(asks[place], says, words, abs(bits[place])))
    return looks
