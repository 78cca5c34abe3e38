"""Word alignment by cross-attention: the source word of each target word."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pellucid.reading.looking import merge_pieces
from pellucid.reading.reading import Reading
from pellucid.reading.words import Word, words_of
from pellucid.seeing.records import attentions


@dataclass(frozen=True)
class Link:
    """A target word and the source word that it looked at most, counted from 0 without special tokens."""

    source: int
    target: int
    share: float  # of the attention, for this source word


@dataclass(frozen=True)
class Alignment:
    """One link for each target word; str(alignment) is a line of Pharaoh pairs, "0-0 1-2"."""

    links: list[Link]  # by source word, then by target word
    source_words: list[str]
    target_words: list[str]
    layer: str  # the path of the attention that the links come from
    heads: list[int]

    def __str__(self) -> str:
        return " ".join(f"{link.source}-{link.target}" for link in self.links)


def align(reading: Reading, layer: int = -1, heads: int | Sequence[int] | None = None) -> Alignment:
    """Align words by one decoder layer's cross-attention (-1 is the last) and the mean of some of its heads.

    The rows that *predict* a target word's pieces decide. The alignment says where the model looked, which
    need not be what a word means (Jain and Wallace 2019, Attention is not Explanation).
    """
    layers = attentions(reading.trace, "cross")
    weights = reading.trace[f"{layers[layer]}.weights"].tensor[0]
    chosen = range(len(weights)) if heads is None else heads
    heads = list(chosen) if isinstance(chosen, Sequence) else [chosen]
    words = words_of(reading.source_ids, reading.source_tokens, reading.vocabulary)
    source = [word for word in words if not word.special]
    target = [word for word in target_words(reading) if not word.special]
    links = []
    if source and target:
        best = merge_pieces(weights[heads].mean(0), target, source).max(-1)
        each = enumerate(zip(best.indices.tolist(), best.values.tolist(), strict=True))
        links = [Link(asked, place, share) for place, (asked, share) in each if not math.isnan(share)]
    links.sort(key=lambda link: (link.source, link.target))
    source_texts, target_texts = ([word.text for word in words] for words in (source, target))
    return Alignment(links, source_texts, target_texts, layers[layer], heads)


def target_words(reading: Reading) -> list[Word]:
    """Return the words of the target, the end token last."""
    tokens = [step.expected for step in reading.steps]
    return words_of(reading.target_ids, tokens, reading.vocabulary)
