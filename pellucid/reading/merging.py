"""Pieces as words: which tokens make up a word, and attention between words instead of between pieces.

A word begins where a piece begins with ▁ (a space), or with each token where the vocabulary is one of words;
byte pieces belong to the word that they spell, and spaces by themselves to the word after them or, where none
follows, before them. The special tokens (start, end, the tag >>xx<< of a language) stand for themselves. What
a word is looked at with is the sum over its pieces, and how it looks itself is the mean over its pieces: so
that each row still sums to 1.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from pellucid.reading.reading import Reading
from pellucid.seeing.records import Record, Records, attentions, stack_of
from pellucid.text.vocabulary import Vocabulary

SPACE = "▁"
BYTE = re.compile(r"<0x([0-9A-F]{2})>")


@dataclass(frozen=True)
class Word:
    """Neighbouring tokens that make up a word, by their places, and its text without spaces."""

    text: str
    places: tuple[int, ...]
    special: bool = False  # start, end, padding, or a language's tag


class Merged(Records):
    """The attention weights of a pass between words: by the names that they have in the trace."""

    def __init__(self, records: Mapping[str, Record], source: list[Word], target: list[Word]) -> None:
        super().__init__(records)
        self.source, self.target = source, target  # what the encoder read, and the decoder


def merged(reading: Reading) -> Merged:
    """Every attention's weights, B H, then words that ask and words that are attended to."""
    words = {"encoder": source_words(reading), "decoder": read_words(reading)}
    records = {}
    for part in attentions(reading.trace):
        name = f"{part}.weights"
        record, asks, asked = reading.trace[name], words[stack_of(name, "L")], words[stack_of(name, "M")]
        tokens = {"L": [[word.text for word in asks]], "M": [[word.text for word in asked]]}
        records[name] = Record(name, record.axes, between(record.tensor, asks, asked), tokens)
    return Merged(records, words["encoder"], words["decoder"])


def between(weights: Tensor, asks: Sequence[Word], asked: Sequence[Word]) -> Tensor:
    """... L M of tokens -> of words: the mean over the pieces that ask, the sum over those asked."""
    rows = torch.stack([weights[..., list(word.places), :].mean(-2) for word in asks], -2)
    return torch.stack([rows[..., list(word.places)].sum(-1) for word in asked], -1)


def source_words(reading: Reading) -> list[Word]:
    """The words that the encoder read."""
    return words_of(reading.source_ids, reading.source_tokens, reading.vocabulary)


def read_words(reading: Reading) -> list[Word]:
    """The words that the decoder read: the target shifted right, the start token first."""
    return words_of(reading.read_ids, reading.target_tokens, reading.vocabulary)


def said_words(reading: Reading) -> list[Word]:
    """The words that the decoder was to say: the target, the end token last."""
    tokens = [step.expected for step in reading.steps]
    return words_of(reading.target_ids, tokens, reading.vocabulary)


def words_of(ids: Sequence[int], tokens: Sequence[str], vocabulary: Vocabulary) -> list[Word]:
    """The words of a sentence's tokens, given as ids and as the labels that the vocabulary has for them."""
    alone = special_ids(vocabulary)
    by_words = vocabulary.kind == "word"
    groups: list[list[int]] = []
    is_text: list[bool] = []
    for place, (token, label) in enumerate(zip(ids, tokens, strict=True)):
        goes_on = bool(groups) and is_text[-1] and token not in alone and not by_words
        # A piece goes on with a word, and whatever it is with spaces that are no word yet.
        if goes_on and (not label.startswith(SPACE) or _is_blank(groups[-1], tokens)):
            groups[-1].append(place)
            continue
        groups.append([place])
        is_text.append(token not in alone)
    for number in reversed(range(len(groups))):
        if not by_words and is_text[number] and _is_blank(groups[number], tokens):
            if number and is_text[number - 1]:
                groups[number - 1] += groups.pop(number)
                del is_text[number]
            else:
                is_text[number] = False  # nothing but spaces: no part of a text
    return [
        Word(spelled([tokens[place] for place in group]), tuple(group), not text)
        for group, text in zip(groups, is_text, strict=True)
    ]


def _is_blank(places: Sequence[int], tokens: Sequence[str]) -> bool:
    """Whether these pieces spell nothing but spaces."""
    return not "".join(tokens[place] for place in places).strip(SPACE)


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
