"""What is to be translated: text or ids, made ready for the model, and cut where it is too long."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from pellucid.data.corpus import CHARACTERS_PER_TOKEN
from pellucid.errors import UsageError
from pellucid.text.vocabulary import Vocabulary

TOKENS = 1024  # of a source or a target that the model reads, unless it was trained on longer ones
# For each of these tokens: what is further on is cut off before a vocabulary spends time on it.
CHARACTERS = CHARACTERS_PER_TOKEN

Prefix = str | Sequence[int]


class TruncationWarning(UserWarning):
    """Part of a text was left out because it is too long."""


@dataclass(frozen=True)
class Sentence:
    """A line as the caller gave it, its ids with the end token, and the language that it goes to or is in."""

    text: str
    untagged: str  # the text without the >>xx<< that chose its language
    ids: Sequence[int]
    to: str | None
    empty: bool = False  # nothing but white space, or what normalisation removes
    truncated: bool = False


def read_source(text: str, to: str | None, vocabulary: Vocabulary, longest: int) -> Sentence:
    """A line of text as a source; a leading >>xx<< may choose the language, if there are several."""
    _check(text)
    if not text.strip():
        undecided = to is None and len(vocabulary.target_languages) > 1
        ids = [vocabulary.end_id] if undecided else vocabulary.encode_source("", to)
        return Sentence(text, text, ids, to, empty=True)
    untagged, language = vocabulary.direction(text[: longest * CHARACTERS], to)
    ids, truncated = cut(vocabulary.encode_source(untagged, language), longest)
    empty = len(ids) == len(vocabulary.encode_source("", language))
    return Sentence(text, untagged, ids, language, empty, truncated or len(text) > longest * CHARACTERS)


def read_target(text: str, to: str | None, vocabulary: Vocabulary, longest: int) -> Sentence:
    """A line of text as a target; an empty one is an end token alone."""
    _check(text)
    if not text.strip():
        return Sentence(text, text, [vocabulary.end_id], to, empty=True)
    ids, truncated = cut(vocabulary.encode_target(text[: longest * CHARACTERS], to), longest)
    return Sentence(text, text, ids, to, len(ids) == 1, truncated or len(text) > longest * CHARACTERS)


def take_ids(
    ids: Sequence[int], number: int, to: str | None, vocabulary: Vocabulary, longest: int
) -> Sentence:
    """A source that was tokenised elsewhere."""
    ids = [int(token) for token in ids]
    text = " ".join(vocabulary.source_tokens(ids))  # which checks that the vocabulary has them
    if not ids:
        return Sentence(text, text, [vocabulary.end_id], to, empty=True)
    if ids[-1] != vocabulary.end_id:
        raise UsageError(
            f"sentence {number + 1} ends with id {ids[-1]}, not with the end token. "
            f"Append {vocabulary.end_id}: every source ends with it."
        )
    kept, truncated = cut(ids, longest)
    return Sentence(text, text, kept, to, len(ids) == 1, truncated)


def cut(ids: list[int], longest: int) -> tuple[list[int], bool]:
    """At most `longest` ids, of which the last is still the end token, and whether some were left out."""
    return (ids, False) if len(ids) <= longest else ([*ids[: longest - 1], ids[-1]], True)


def warn_of_truncation(sentences: Sequence[Sentence], longest: int) -> None:
    """One warning for all that were cut."""
    numbers = [number for number, sentence in enumerate(sentences, start=1) if sentence.truncated]
    if numbers:
        which = ", ".join(map(str, numbers[:3])) + (", …" if len(numbers) > 3 else "")
        warnings.warn(
            f"sentence {which}: too long, only the beginning was read, up to {longest} tokens "
            f"or {longest * CHARACTERS} characters. Split the text into sentences.",
            TruncationWarning,
            stacklevel=3,
        )


def prefixes_of(
    prefix: Prefix | Sequence[Prefix | None] | None, sentences: Sequence[Sentence], vocabulary: Vocabulary
) -> list[list[int]]:
    """The ids that each target must begin with: one prefix for all, or a list of one (or None) for each."""
    if isinstance(prefix, bytes) or not (prefix is None or isinstance(prefix, Iterable)):
        raise _no_prefix(prefix)
    each: list[Any] = list(prefix or [])
    if prefix is None or isinstance(prefix, str) or all(isinstance(token, Integral) for token in each):
        each = [prefix] * len(sentences)
    if len(each) != len(sentences):
        raise UsageError(
            f"prefix: {len(each)} of them for {len(sentences)} sentences. Give one for all, or one for each."
        )
    return [
        []
        if sentence.empty
        else vocabulary.target_tag(sentence.to)
        if prefix is None
        else read_prefix(prefix, sentence.to, vocabulary)
        for prefix, sentence in zip(each, sentences, strict=True)
    ]


def read_prefix(prefix: Prefix, to: str | None, vocabulary: Vocabulary) -> list[int]:
    """The ids that a target must begin with, without an end token."""
    if isinstance(prefix, str):
        ids = vocabulary.encode_target(prefix, to)[:-1] if prefix.strip() else []
        if vocabulary.unknown_id in ids:
            raise UsageError(
                f"prefix: {prefix!r} has words or characters that the vocabulary does not know, so no "
                "translation can begin with it. Choose others."
            )
        return ids
    if not isinstance(prefix, Iterable) or not all(isinstance(token, Integral) for token in prefix):
        raise _no_prefix(prefix)
    ids = [int(token) for token in prefix]
    vocabulary.target_tokens(ids)  # which checks that the vocabulary has them
    if ids[-1:] == [vocabulary.end_id]:
        ids.pop()
    for special in (vocabulary.pad_id, vocabulary.unknown_id, vocabulary.start_id, vocabulary.end_id):
        if special in ids:
            name = vocabulary.target_tokens([special])[0]
            raise UsageError(f"prefix: {name} (id {special}) cannot stand there. Leave it out.")
    return ids


def _no_prefix(prefix: Any) -> UsageError:
    return UsageError(
        f"prefix = {prefix!r:.60} is neither text nor a list of ids. Give the words that a translation must "
        'begin with, as in prefix="Ein Hund".'
    )


def _check(text: str) -> None:
    if not isinstance(text, str):
        remedy = "Decode it first." if isinstance(text, bytes) else "Give one sentence, as text."
        raise UsageError(f"a sentence must be text (str), not {type(text).__name__}: {text!r:.60}. {remedy}")
