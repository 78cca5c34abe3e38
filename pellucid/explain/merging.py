"""Pieces as words: which tokens make up a word, and attention between words instead of between pieces.

A word begins where a piece begins with ▁ (a space), or with each token where the vocabulary is one of words;
byte pieces belong to the word that they spell. The special tokens (start, end, the tag >>xx<< of a language)
stand for themselves. What a word is looked at with is the sum over its pieces, and how it looks itself is the
mean over its pieces: so that each row still sums to 1.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from pellucid.explain.looking import attentions
from pellucid.see import Record, UnknownTensor, no_such_name, stack_of
from pellucid.vocabulary import Vocabulary

if TYPE_CHECKING:
    from pellucid.explain.explanation import Explanation

SPACE = "▁"
BYTE = re.compile(r"<0x([0-9A-F]{2})>")


@dataclass(frozen=True)
class Word:
    """Neighbouring tokens that make up a word, by their places, and its text without spaces."""

    text: str
    places: tuple[int, ...]
    special: bool = False  # start, end, padding, or a language's tag


class Merged(Mapping[str, Record]):
    """The attention weights of a pass between words: by the names that they have in the trace."""

    def __init__(self, records: dict[str, Record], source: list[Word], target: list[Word]) -> None:
        self._records = records
        self.source, self.target = source, target  # what the encoder read, and the decoder

    def __getitem__(self, name: str) -> Record:
        if name not in self._records:
            raise UnknownTensor(no_such_name(name, self._records))
        return self._records[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)


def merged(explanation: "Explanation") -> Merged:
    """Every attention's weights, B H, then words that ask and words that are attended to."""
    words = {"encoder": source_words(explanation), "decoder": read_words(explanation)}
    records = {}
    for part in attentions(explanation.trace):
        name = f"{part}.weights"
        record, asks, asked = explanation.trace[name], words[stack_of(name, "L")], words[stack_of(name, "M")]
        tokens = {"L": [[word.text for word in asks]], "M": [[word.text for word in asked]]}
        records[name] = Record(name, record.axes, between(record.tensor, asks, asked), tokens)
    return Merged(records, words["encoder"], words["decoder"])


def between(weights: Tensor, asks: Sequence[Word], asked: Sequence[Word]) -> Tensor:
    """... L M of tokens -> of words: the mean over the pieces that ask, the sum over those asked."""
    rows = torch.stack([weights[..., list(word.places), :].mean(-2) for word in asks], -2)
    return torch.stack([rows[..., list(word.places)].sum(-1) for word in asked], -1)


def source_words(explanation: "Explanation") -> list[Word]:
    """The words that the encoder read."""
    return words_of(explanation.source_ids, explanation.source_tokens, explanation.vocabulary)


def read_words(explanation: "Explanation") -> list[Word]:
    """The words that the decoder read: the target shifted right, the start token first."""
    ids = [explanation.vocabulary.start_id, *explanation.target_ids[:-1]]
    return words_of(ids, explanation.target_tokens, explanation.vocabulary)


def said_words(explanation: "Explanation") -> list[Word]:
    """The words that the decoder was to say: the target, the end token last."""
    tokens = [step.expected for step in explanation.steps]
    return words_of(explanation.target_ids, tokens, explanation.vocabulary)


def words_of(ids: Sequence[int], tokens: Sequence[str], vocabulary: Vocabulary) -> list[Word]:
    """The words of a sentence's tokens, given as ids and as the labels that the vocabulary has for them."""
    alone = special_ids(vocabulary)
    groups: list[list[int]] = []
    begins = True  # whether the next token begins a word whatever it is
    for place, (token, label) in enumerate(zip(ids, tokens, strict=True)):
        if begins or token in alone or vocabulary.kind == "word" or label.startswith(SPACE):
            groups.append([place])
        else:
            groups[-1].append(place)
        begins = token in alone
    return [
        Word(spelled([tokens[place] for place in group]), tuple(group), ids[group[0]] in alone)
        for group in groups
    ]


def special_ids(vocabulary: Vocabulary) -> set[int]:
    """Start, end, padding and the tags of languages: what is no part of a text."""
    several = len(vocabulary.target_languages) > 1
    tags = [vocabulary.encode_source("", language)[0] for language in vocabulary.target_languages if several]
    padding = {vocabulary.pad_id} - {vocabulary.unknown_id}  # a vocabulary may pad with its unknown token
    return {vocabulary.start_id, vocabulary.end_id, *padding, *tags}


def spelled(pieces: Sequence[str]) -> str:
    """The text of a word's pieces, bytes as the characters that they spell; spaces at its ends left out."""
    text, run = "", bytearray()
    for piece in [*pieces, ""]:
        if match := BYTE.fullmatch(piece):
            run.append(int(match[1], 16))
            continue
        text += run.decode(errors="replace") + piece
        run.clear()
    return text.strip(SPACE).replace(SPACE, " ") or text
