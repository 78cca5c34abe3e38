"""Word alignment by cross-attention: the source word of each target word."""

import math
from dataclasses import dataclass

from pellucid.reading.looking import merge_pieces
from pellucid.reading.reading import Reading
from pellucid.reading.words import words_of


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


def align(reading: Reading) -> Alignment:
    """Return the source word of each target word, by the last decoder layer's cross-attention, the mean of
    its heads; as str, a line of Pharaoh pairs, "0-0 1-2".

    The rows that *predict* a target word's pieces decide. The alignment says where the model looked, which
    need not be what a word means (Jain and Wallace 2019, Attention is not Explanation).
    """
    expected = [step.expected for step in reading.steps]
    sides = (reading.source_ids, reading.source_tokens), (reading.target_ids, expected)
    source, target = (
        [word for word in words_of(*side, reading.vocabulary) if not word.special] for side in sides
    )
    links = []
    if source and target:
        best = merge_pieces(reading.attention_to_source(), target, source).max(-1)
        each = enumerate(zip(best.indices.tolist(), best.values.tolist(), strict=True))
        links = [Link(asked, place, share) for place, (asked, share) in each if not math.isnan(share)]
    links.sort(key=lambda link: (link.source, link.target))
    source_texts, target_texts = ([word.text for word in words] for words in (source, target))
    heads = reading.trace[f"{reading.watched_layer}.weights"].tensor.shape[1]
    return Alignment(links, source_texts, target_texts, reading.watched_layer, list(range(heads)))
