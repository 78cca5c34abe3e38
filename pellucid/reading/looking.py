"""Where attention heads looked: by head, between words, and as an alignment of words."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import torch
from torch import Tensor

from pellucid.reading.passes import in_batch, watch
from pellucid.reading.reading import Reading
from pellucid.reading.words import Word, words_of
from pellucid.seeing.records import Record, Records, UnknownTensor, attentions, no_such_name, stack_of
from pellucid.text.vocabulary import Vocabulary
from pellucid.translate.sentences import read_source
from pellucid.translate.text_translator import TextTranslator
from pellucid.translate.translation import Translation

NAMED = 3  # words that a row names
TOGETHER = 1024  # tokens of a pass that aligns several translations


@dataclass(frozen=True)
class Look:
    """One querying position in one head, and the tokens that it attends to most."""

    asks: str  # the token that was read at this position
    expected: str | None  # in the decoder, the next token
    words: list[tuple[str, float]]  # with their shares of the attention, the largest first
    entropy: float  # in bits: 0 for one word alone, log2 n for n words alike; may be NaN


@dataclass(frozen=True)
class HeadLook:
    """One head of an attention, and where each of its positions looked."""

    part: str  # "decoder.layers.1.cross_attention"
    head: int
    looks: list[Look]

    @property
    def entropy(self) -> float:
        """Return the mean entropy of the positions, in bits."""
        return sum(look.entropy for look in self.looks) / len(self.looks)


def find_looks(reading: Reading, part: str | None = None) -> list[HeadLook]:
    """Return the tokens with the largest weights at each position, for each head of the attention `part`; by
    default, of every cross-attention."""
    trace = reading.trace
    parts = attentions(trace, "cross" if part is None else "")
    if part is not None and part not in parts:
        raise UnknownTensor(no_such_name(part, parts).replace("tensor", "attention"))
    looks = []
    for each in parts if part is None else [part]:
        record = trace[f"{each}.weights"]
        expected = [step.expected for step in reading.steps] if each.startswith("decoder") else None
        for head, weights in enumerate(record.tensor[0]):
            looks.append(HeadLook(each, head, _looks(weights, record, expected)))
    return looks


def _looks(weights_LM: Tensor, record: Record, expected: Sequence[str] | None) -> list[Look]:
    asks, asked, looks = record.labels("L"), record.labels("M"), []
    bits = entropies(weights_LM.double()).tolist()
    for place, row in enumerate(weights_LM):
        shares, order = row.sort(descending=True, stable=True)
        best = zip(order[:NAMED].tolist(), shares[:NAMED].tolist(), strict=True)
        words = [(asked[word], share) for word, share in best if share > 0]
        looks.append(Look(asks[place], expected[place] if expected else None, words, abs(bits[place])))
    return looks


def entropies(weights: Tensor) -> Tensor:
    """Return the entropy of each row of weights in bits, −Σ p log2 p: ... M -> ..."""
    return -(weights * weights.clamp_min(torch.finfo(weights.dtype).tiny).log2()).sum(-1)


def softmax_gradients(weights: Tensor) -> Tensor:
    """Return the Frobenius norm of the softmax's Jacobian, diag(w) − w wᵀ, for each row: ... M -> ..."""
    squares = weights.square().sum(-1)  # the square of the norm is Σ w² − 2 Σ w³ + (Σ w²)²
    return (squares - 2 * weights.pow(3).sum(-1) + squares.square()).clamp_min(0).sqrt()


def merge_words(reading: Reading) -> Records:
    """Return the attention weights between words instead of pieces of words, by tensor name."""
    read_ids = [reading.vocabulary.start_id, *reading.target_ids[:-1]]
    words = {
        "encoder": words_of(reading.source_ids, reading.source_tokens, reading.vocabulary),
        "decoder": words_of(read_ids, reading.target_tokens, reading.vocabulary, target=True),
    }
    records = {}
    for part in attentions(reading.trace):
        name = f"{part}.weights"
        record, asks, asked = reading.trace[name], words[stack_of(name, "L")], words[stack_of(name, "M")]
        tokens = {"L": [[word.text for word in asks]], "M": [[word.text for word in asked]]}
        records[name] = Record(name, record.axes, merge_pieces(record.tensor, asks, asked), tokens)
    return Records(records)


def merge_pieces(weights: Tensor, asks: Sequence[Word], asked: Sequence[Word]) -> Tensor:
    """Merge weights ... L M from tokens to words: take the mean over the tokens of the querying word, and the
    sum over the tokens of the attended word. Each row still sums to 1."""
    rows = torch.stack([weights[..., list(word.places), :].mean(-2) for word in asks], -2)
    return torch.stack([rows[..., list(word.places)].sum(-1) for word in asked], -1)


@dataclass(frozen=True)
class Link:
    """A target word, and the source word with its largest attention weight, as indices from 0 that skip
    special tokens."""

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

    @property
    def order(self) -> float | None:
        """Return Kendall's τ of the links: 1 if the target words stand in the order of their source words, −1
        if in the reverse order. Pairs with the same source word are left out; None if no pair is left."""
        pairs = combinations(sorted(self.links, key=lambda link: link.target), 2)
        signs = [1 if one.source < other.source else -1 for one, other in pairs if one.source != other.source]
        return sum(signs) / len(signs) if signs else None


def align(reading: Reading) -> Alignment:
    """Return the source word of each target word: the one with the largest weight in the last decoder layer's
    cross-attention (the mean of its heads). str() of the result is a line of Pharaoh pairs, "0-0 1-2".

    The weights are taken at the positions that *predict* a target word's tokens. The alignment says where the
    model looked, not necessarily what a word means (Jain and Wallace 2019, Attention is not Explanation).
    """
    weights_HLM = reading.trace[f"{reading.watched_layer}.weights"].tensor[0]
    pair = reading.source_ids, reading.target_ids
    return _align(pair, weights_HLM, reading.watched_layer, reading.vocabulary)


def align_translation(
    translator: TextTranslator, translation: Translation, to: str | None = None
) -> Alignment:
    """Return the alignment of a translation, as `align` does, from a watched pass."""
    model, vocabulary = translator.model, translator.vocabulary
    layer = f"decoder.layers.{model.config.decoder_layers - 1}.cross_attention"
    ids = read_source(translation.source, to, vocabulary, translator.longest).ids
    pair = ids, translation.hypotheses[0].token_ids or [vocabulary.end_id]
    seen = watch(model, in_batch(model, [pair]), only=f"{layer}.weights")
    return _align(pair, seen[f"{layer}.weights"].tensor[0], layer, vocabulary)


def _align(
    pair: tuple[Sequence[int], Sequence[int]], weights_HLM: Tensor, layer: str, vocabulary: Vocabulary
) -> Alignment:
    """Return the alignment of source ids and target ids, from the weights of a cross-attention."""
    sides = (pair[0], vocabulary.source_tokens(pair[0])), (pair[1], vocabulary.target_tokens(pair[1]))
    words = (words_of(*side, vocabulary, target) for side, target in zip(sides, (False, True), strict=True))
    source, target = ([word for word in side if not word.special] for side in words)
    links = []
    if source and target:
        best = merge_pieces(weights_HLM.mean(0), target, source).max(-1)
        each = enumerate(zip(best.indices.tolist(), best.values.tolist(), strict=True))
        links = [Link(asked, place, share) for place, (asked, share) in each if not math.isnan(share)]
    links.sort(key=lambda link: (link.source, link.target))
    source_texts, target_texts = ([word.text for word in words] for words in (source, target))
    return Alignment(links, source_texts, target_texts, layer, list(range(len(weights_HLM))))
