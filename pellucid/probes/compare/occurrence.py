"""A word in a sentence: found in the text, and where its tokens stand."""

import unicodedata
from dataclasses import dataclass

from pellucid.errors import UsageError
from pellucid.reading.words import Word, advice, source_of, spelled, visible, words_of
from pellucid.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class Occurrence:
    """A word of a source sentence."""

    word: str  # as the sentence has it
    text: str  # the sentence
    to: str | None
    ids: list[int]
    tokens: list[str]  # of the word
    words: list[Word]  # all words of the sentence, the special tokens among them
    places: tuple[int, ...]  # of the word's tokens

    @property
    def number(self) -> int:
        """Which word of the sentence it is, from 0, special tokens not counted: as alignments count."""
        plain = [word for word in self.words if not word.special]
        return next(n for n, word in enumerate(plain) if set(self.places) <= set(word.places))


def find(
    word: str, text: str, to: str | None, vocabulary: Vocabulary, side: str, which: int | None = None
) -> Occurrence:
    """The word in the sentence, whatever its capitals and without punctuation around it."""
    if not isinstance(word, str):
        raise UsageError(
            f'the word {word!r} is no text: give one that both sentences have, as text, such as "bank".'
        )
    wanted = bare(word)
    if not wanted:
        raise UsageError(f'the word {word!r} is empty: give one that both sentences have, such as "bank".')
    sentence = source_of(text, to, vocabulary)
    ids = list(sentence.ids)
    tokens = vocabulary.source_tokens(ids)
    words = words_of(ids, tokens, vocabulary)
    # An unknown mark beside a word ("bank🙂") is no part of it.
    found = [each for each in words if not each.special and bare(each.text.replace("<unk>", " ")) == wanted]
    if not found:
        raise _missing(word, text, words, vocabulary, side)
    number = 1 if which is None else which
    if not 1 <= number <= len(found) or (which is None and len(found) > 1):
        times = f"{len(found)} times" if len(found) > 1 else "once"
        raise UsageError(
            f"{word!r} stands {times} in the {side} sentence, {visible(text)!r}. Say which, counted from 1, "
            "for the first sentence and for the second: which=(1, 1)."
        )
    chosen = found[number - 1]
    places = _without_marks(chosen, tokens, wanted)
    own = [tokens[place] for place in places]
    return Occurrence(spelled(own), text, sentence.to, ids, own, words, places)


def bare(text: str) -> str:
    """Without capitals, and without spaces and punctuation at its ends."""
    text = unicodedata.normalize("NFC", text).casefold()
    start, end = 0, len(text)
    while start < end and _is_mark(text[start]):
        start += 1
    while end > start and _is_mark(text[end - 1]):
        end -= 1
    return text[start:end]


def _is_mark(letter: str) -> bool:
    return letter.isspace() or unicodedata.category(letter).startswith("P")


def _without_marks(word: Word, tokens: list[str], wanted: str) -> tuple[int, ...]:
    """The places of its pieces without those of punctuation, where these are pieces of their own."""
    for start in range(len(word.places)):
        for end in range(start + 1, len(word.places) + 1):
            places = word.places[start:end]
            if spelled([tokens[place] for place in places]).casefold() == wanted:
                return places
    return word.places


def _missing(word: str, text: str, words: list[Word], vocabulary: Vocabulary, side: str) -> UsageError:
    unknown = vocabulary.kind == "word" and vocabulary.unknown_id in vocabulary.source.encode(word)
    if unknown:
        return UsageError(f"the model has no word {word!r}. {advice(word, vocabulary)}")
    own = ", ".join(each.text for each in words if not each.special)
    return UsageError(
        f"{word!r} is no word of the {side} sentence, {visible(text)!r}. Its words: {own}. Give one that "
        "both sentences have."
    )
