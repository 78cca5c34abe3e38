"""Sentences to translate or to score: prepared from text or ids, and cut if they are too long."""

import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pellucid.data.corpus import CHARACTERS_PER_TOKEN
from pellucid.errors import UsageError
from pellucid.text.vocabulary import Vocabulary, check_ids

INVISIBLE = "\u200b\ufeff"  # characters of which a line without a language is as good as empty
TOKENS = 1024  # at most, of a source or a target, unless the model was trained on longer ones
# For each of these tokens: the rest of a text is cut off before the vocabulary spends time on it.
CHARACTERS = CHARACTERS_PER_TOKEN
START = re.compile(r"\s*(START|<s>)(?=\s)")  # as notes write the start token, before a sentence


class TruncationWarning(UserWarning):
    """A text was too long; its end was left out."""


@dataclass(frozen=True)
class Sentence:
    """One text of a call as ids, with the end token, and its target language."""

    text: str
    untagged: str  # the text without the >>xx<< that chose its language
    ids: Sequence[int]
    to: str | None
    empty: bool = False  # nothing but white space and what normalisation removes
    truncated: bool = False
    unknown: Sequence[str] = ()  # its words or characters that the vocabulary does not have, in their order


def check_texts(texts: Iterable[object], name: str = "sentence", first: int = 0) -> None:
    """Raise an error if one of the texts is not a string. first: the index of the first of them."""
    for number, text in enumerate(texts, first + 1):
        if not isinstance(text, str):
            remedy = "Give a string, or a list of strings."
            raise UsageError(f"{name} {number} is {text!r:.60}, which is not text. {remedy}")


def read_source(text: str, to: str | None, vocabulary: Vocabulary, longest: int) -> Sentence:
    """Return a line of text as a source sentence. If the model has several languages, the line may begin with
    >>xx<< to choose one."""
    undecided = to is None and len(vocabulary.target_languages) > 1
    if not text.strip() or (undecided and not text.strip().strip(INVISIBLE)):
        ids = [vocabulary.end_id] if undecided else vocabulary.encode_source("", to)
        return Sentence(text, text, ids, to, empty=True)
    untagged, language = vocabulary.direction(text[: longest * CHARACTERS], to)
    untagged = without_start(untagged, vocabulary)
    ids, nothing = vocabulary.encode_source(untagged, language), vocabulary.encode_source("", language)
    kept, cut = _shorten(ids, longest)
    unknown = vocabulary.unknown_in(untagged, language) if vocabulary.unknown_id in kept else ()
    cut = cut or len(text) > longest * CHARACTERS
    return Sentence(text, untagged, kept, language, ids == nothing, cut, unknown)


def read_target(text: str, to: str | None, vocabulary: Vocabulary, longest: int) -> Sentence:
    """Return a line of text as a target sentence. An empty line becomes the end token alone, after the
    language if the model's targets begin with one."""
    if not text.strip():
        tag = vocabulary.target_tag(to) if to else []
        return Sentence(text, text, [*tag, vocabulary.end_id], to, empty=True)
    text = without_start(text, vocabulary)
    beginning = text[: longest * CHARACTERS]
    ids, cut = _shorten(vocabulary.encode_target(beginning, to), longest)
    empty = len(ids) == 1 + vocabulary.count_tags(ids)
    unknown = vocabulary.unknown_in(beginning, to, target=True) if vocabulary.unknown_id in ids else ()
    return Sentence(text, text, ids, to, empty, cut or len(text) > len(beginning), unknown)


def without_start(text: str, vocabulary: Vocabulary) -> str:
    """Return the text without a start token at its beginning, START or <s> as course notes write it, because
    the model adds its own.

    Only if the tokens are words and START is not in the vocabulary; otherwise the text is unchanged.
    """
    found = START.match(text) if vocabulary.kind == "word" else None
    if found and vocabulary.unknown_id in vocabulary.source.encode("START"):
        return text[found.end() :]
    return text


def take_ids(
    ids: Sequence[int], number: int, to: str | None, vocabulary: Vocabulary, longest: int
) -> Sentence:
    """Return a source sentence made of the caller's ids; raise an error if an id is unknown, or the end token
    is missing."""
    ids = check_ids(ids, vocabulary.source)
    text = " ".join(vocabulary.source_tokens(ids))
    if ids and ids[-1] != vocabulary.end_id:
        raise UsageError(
            f"sentence {number + 1} ends with id {ids[-1]}, not with the end token. "
            f"Append {vocabulary.end_id}: every source ends with it."
        )
    kept, cut = _shorten(ids or [vocabulary.end_id], longest)
    return Sentence(text, text, kept, to, len(kept) == 1, cut)


def _shorten(ids: list[int], longest: int) -> tuple[list[int], bool]:
    """Cut ids to at most `longest`, keeping the end token as the last one. Return them, and whether any were
    left out."""
    return (ids, False) if len(ids) <= longest else ([*ids[: longest - 1], ids[-1]], True)


def warn_of_truncation(sentences: Sequence[Sentence], longest: int, stacklevel: int = 3) -> None:
    """Warn about the sentences that were cut, if there are any: one warning for all of them."""
    numbers = [number for number, sentence in enumerate(sentences, start=1) if sentence.truncated]
    if numbers:
        which = ", ".join(map(str, numbers[:3])) + (", …" if len(numbers) > 3 else "")
        warnings.warn(
            f"sentence {which}: too long, only the beginning was read, up to {longest} tokens "
            f"or {longest * CHARACTERS} characters. Split the text into sentences.",
            TruncationWarning,
            stacklevel=stacklevel,
        )
