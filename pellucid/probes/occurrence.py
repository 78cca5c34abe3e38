"""Find a word in a sentence, and the positions of its tokens."""

import unicodedata
from dataclasses import dataclass

from pellucid.errors import UsageError
from pellucid.reading.words import Word, source_of, spell, visible, words_of
from pellucid.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class Occurrence:
    """A word at one place of a source sentence, with the positions of its tokens."""

    word: str  # as the sentence spells it
    text: str  # the sentence
    ids: list[int]  # of the sentence
    tokens: list[str]  # of the word
    words: list[Word]  # all words of the sentence, with the special tokens
    places: tuple[int, ...]  # the positions of the word's tokens
    number: int  # which word it is, counted from 0 without special tokens, as alignments count


def find(word: str, text: str, to: str | None, vocabulary: Vocabulary, side: str) -> Occurrence:
    """Find a word in a sentence, ignoring case and punctuation around it; raise an error unless it occurs
    once."""
    wanted, ids = bare(word), list(source_of(text, to, vocabulary).ids)
    tokens = vocabulary.source_tokens(ids)
    words = words_of(ids, tokens, vocabulary)
    plain = [each for each in words if not each.special]
    # An unknown character beside a word ("bank🙂") does not belong to it.
    same = [n for n, each in enumerate(plain) if bare(each.text.replace("<unk>", " ")) == wanted]
    if not same:
        listed = ", ".join(each.text for each in plain)
        raise UsageError(
            f"{word!r} is not a word of the {side} sentence, {visible(text)!r}. Its words: {listed}. Give "
            "one that both sentences have."
        )
    if len(same) > 1:
        raise UsageError(
            f"{word!r} occurs {len(same)} times in the {side} sentence. Give one that has the word once."
        )
    places = _without_punctuation(plain[same[0]], tokens, wanted)
    own = [tokens[place] for place in places]
    return Occurrence(spell(own), text, ids, own, words, places, same[0])


def bare(text: str) -> str:
    """Return a text in lower case, without spaces and punctuation at both ends."""
    text = unicodedata.normalize("NFC", text).casefold()
    marks = [letter for letter in text if letter.isspace() or unicodedata.category(letter).startswith("P")]
    return text.strip("".join(marks))


def _without_punctuation(word: Word, tokens: list[str], wanted: str) -> tuple[int, ...]:
    """Leave out the positions of tokens that are only punctuation."""
    for start in range(len(word.places)):
        for end in range(start + 1, len(word.places) + 1):
            places = word.places[start:end]
            spelled = unicodedata.normalize("NFC", spell([tokens[place] for place in places]))
            if spelled.casefold() == wanted:
                return places
    return word.places
