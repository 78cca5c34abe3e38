"""Word alignment by cross-attention: the source word of each target word."""

import math
from dataclasses import dataclass

from pellucid.reading.looking import merge_pieces
from pellucid.reading.reading import Reading
from pellucid.reading.words import Word, words_of


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
    """Align words by the last decoder layer's cross-attention, the mean of its heads.

    The rows that *predict* a target word's pieces decide. The alignment says where the model looked, which
    need not be what a word means (Jain and Wallace 2019, Attention is not Explanation).
    """
    words = words_of(reading.source_ids, reading.source_tokens, reading.vocabulary)
    source = [word for word in words if not word.special]
    target = [word for word in target_words(reading) if not word.special]
    links = []
    if source and target:
        best = merge_pieces(reading.attention_to_source(), target, source).max(-1)
        each = enumerate(zip(best.indices.tolist(), best.values.tolist(), strict=True))
        links = [Link(asked, place, share) for place, (asked, share) in each if not math.isnan(share)]
    links.sort(key=lambda link: (link.source, link.target))
    source_texts, target_texts = ([word.text for word in words] for words in (source, target))
    heads = reading.trace[f"{reading.watched_layer}.weights"].tensor.shape[1]
    return Alignment(links, source_texts, target_texts, reading.watched_layer, list(range(heads)))


def target_words(reading: Reading) -> list[Word]:
    """Return the words of the target, the end token last."""
    tokens = [step.expected for step in reading.steps]
    return words_of(reading.target_ids, tokens, reading.vocabulary)
