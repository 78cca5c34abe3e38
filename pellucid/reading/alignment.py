"""Word alignment from cross-attention: for each target word the source word that was looked at to say it.

The weights of one decoder layer (the last, unless another is asked for), the mean of its heads; the rows that
*predict* a word's pieces, not those that read it; pieces merged to words; the special tokens left out; and of
what is left the largest. It says where the model looked, which need not be what a word means (Jain and
Wallace 2019, Attention is not Explanation).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pellucid.config.whole import is_whole
from pellucid.errors import UsageError
from pellucid.reading.merging import between, said_words, source_words
from pellucid.reading.reading import Reading
from pellucid.seeing.records import attentions


@dataclass(frozen=True)
class Link:
    """A target word and the source word that it was aligned with, counted from 0 without special tokens."""

    source: int
    target: int
    share: float  # of the attention, what the source word got


@dataclass(frozen=True)
class Alignment:
    """The links of a translation, one for each target word; as text they are Pharaoh pairs, "0-0 1-2"."""

    links: list[Link]  # by source word, then by target word
    source_words: list[str]
    target_words: list[str]
    layer: str  # the attention that they come from
    heads: list[int]

    def __str__(self) -> str:
        return " ".join(f"{link.source}-{link.target}" for link in self.links)

    @property
    def origin(self) -> str:
        """Where the links come from, in words."""
        named = ", ".join(map(str, self.heads))
        which = f"the mean of heads {named}" if len(self.heads) > 1 else f"head {named}"
        return f"{self.layer}.weights, {which}; the largest of each row that predicts a word"


def alignment(reading: Reading, layer: int = -1, heads: int | Sequence[int] | None = None) -> Alignment:
    """The alignment by a decoder layer's cross-attention (-1 is the last), and by the mean of these heads."""
    layers = attentions(reading.trace, "cross")
    if not is_whole(layer, -len(layers), len(layers) - 1):
        raise UsageError(
            f"layer = {layer!r}: the decoder has {len(layers)} layers. Give 0 to {len(layers) - 1}, or -1 "
            "for the last."
        )
    weights = reading.trace[f"{layers[layer]}.weights"].tensor[0]
    every = list(range(len(weights)))
    heads = every if heads is None else list(heads) if isinstance(heads, Sequence) else [heads]
    if not heads or not all(is_whole(head, 0, len(weights) - 1) for head in heads):
        raise UsageError(
            f"heads = {heads}: the layer has {len(weights)}. Give numbers from 0 to {len(weights) - 1}."
        )
    source = [word for word in source_words(reading) if not word.special]
    target = [word for word in said_words(reading) if not word.special]
    links = []
    if source and target:
        shares = between(weights[heads].mean(0), target, source)
        best = shares.max(-1)
        each = enumerate(zip(best.indices.tolist(), best.values.tolist(), strict=True))
        links = [Link(asked, place, share) for place, (asked, share) in each if not math.isnan(share)]
    return Alignment(
        sorted(links, key=lambda link: (link.source, link.target)),
        [word.text for word in source],
        [word.text for word in target],
        layers[layer],
        heads,
    )
