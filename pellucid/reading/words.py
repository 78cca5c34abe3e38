"""The words of a sentence: which ones the vocabulary has, and which tokens belong to a word."""

import math
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

from pellucid.errors import UsageError, nearest
from pellucid.text.preparation import prepare
from pellucid.text.preparation import visible as visible
from pellucid.text.vocabulary import Vocabulary
from pellucid.translate.sentences import Sentence, check_texts, read_source, read_target

TAG = re.compile(r">>([^<>]+)<<")  # of a language
TOKENS = 256  # the longest sentence that is explained: attention matrices grow with the square of the length
SPACE = "▁"
NAMED = 5  # unknown characters that a message names
BYTE = re.compile(r"<0x([0-9A-F]{2})>")


def number_text(number: float, form: str) -> str:
    """Write a number in a format such as ".4f"; write NaN as ?."""
    return "?" if math.isnan(number) else format(number, form)


def source_of(text: str, to: str | None, vocabulary: Vocabulary) -> Sentence:
    """Read the sentence to explain. Raise an error if it is empty or too long, or if it has a word that a
    vocabulary of whole words does not have."""
    check_texts([text])
    source = read_source(text, to, vocabulary, TOKENS)
    if source.empty:
        raise UsageError('the sentence is empty: nothing to explain. Give one, such as "How are you".')
    _check(source, "sentence", vocabulary)
    return source


def target_of(text: str, to: str | None, vocabulary: Vocabulary) -> Sentence:
    """Read a target that the user chose; raise an error if it is too long or has an unknown word. If it is
    empty, only the end token is expected."""
    check_texts([text], "target")
    target = read_target(text, to, vocabulary, TOKENS)
    _check(target, "target", vocabulary)
    return target


def _check(sentence: Sentence, side: str, vocabulary: Vocabulary) -> None:
    """Raise an error if a sentence is too long, or has a word that a vocabulary of words does not have."""
    if sentence.truncated:
        raise UsageError(
            f"the {side} is longer than the {TOKENS} tokens that an explanation shows: "
            "its matrices grow with the square of the length. Give a shorter one."
        )
    unknown = list(dict.fromkeys(map(visible, sentence.unknown)))
    if unknown and vocabulary.kind != "word":
        warnings.warn(f"{side}: {unknown_characters(unknown)}", stacklevel=5)
        return
    if side == "sentence":
        _check_language(sentence, unknown, vocabulary)
    near = [advice(word, sentence.to, side, vocabulary) for word in unknown]
    if len(near) == 1:
        raise UsageError(f"{side}: the model has no word {unknown[0]!r}. {near[0]}")
    if near:
        each = " ".join(f"{word!r}: {advised}" for word, advised in zip(unknown, near, strict=True))
        raise UsageError(f"{side}: the model does not have {len(near)} of these words. {each}")


def _check_language(sentence: Sentence, unknown: Sequence[str], vocabulary: Vocabulary) -> None:
    """Raise an error for a language tag inside the sentence, and for a sentence whose words belong to another
    language."""
    tag = TAG.fullmatch(unknown[0]) if unknown else None
    if tag and tag[1] in vocabulary.target_languages:
        raise UsageError(
            f"sentence: the tag {unknown[0]} asks for {tag[1]}, but the translation is to {sentence.to}. A "
            "tag counts only at the start of the sentence, and only if to= (--to) names no other language. "
            "Remove the tag, or remove to=."
        )
    language, known = vocabulary.source_language(sentence.to) or "", vocabulary.words_of
    if language not in known:
        return
    prepared = prepare(sentence.untagged, vocabulary.preparation, language)
    words = vocabulary.source.encode(" ".join(word for word in prepared.split() if word.isalpha()))
    others = [name for name, of in known.items() if words and {*of}.issuperset(words)]
    if others and not {*known[language]}.intersection(words):
        ways = [pair[1] for pair in vocabulary.languages or () if pair[0] == others[0]]
        remedy = f", or translate to {' or '.join(ways)}" if ways else ""
        raise UsageError(
            f'sentence: this is in "{others[0]}", but to translate to "{sentence.to}" the model needs '
            f'"{language}". Write it in "{language}"{remedy}.'
        )


def unknown_characters(unknown: Sequence[str]) -> str:
    """Say which characters (or pieces of words) a model does not know."""
    quoted = [repr(visible(each)) for each in unknown]
    named = ", ".join(quoted[:NAMED]) + (f" and {len(quoted) - NAMED} more" if len(quoted) > NAMED else "")
    they = "they are all the same unknown token" if len(quoted) > 1 else "it is an unknown token"
    return f"the model does not know {named}: to it {they}."


def advice(word: str, to: str | None, side: str, vocabulary: Vocabulary) -> str:
    """Return a hint for an unknown word of a "sentence" or a "target": the most similar known words, in the
    language of that side if it is known, or that there are none."""
    is_target = side == "target"
    language = vocabulary.target_language(to) if is_target else vocabulary.source_language(to)
    model = vocabulary.target if is_target else vocabulary.source
    own = vocabulary.words_of.get(language or "", range(model.get_piece_size()))
    words = [piece[1:] for piece in map(model.id_to_piece, own) if piece.startswith(SPACE) and piece != SPACE]
    by_letters = {known.casefold(): known for known in words}
    near = nearest(word.casefold(), by_letters)
    if near:
        return f"Near it: {', '.join(by_letters[letters] for letters in near)}."
    return f"It knows {len(words)} words, and none is near this one. Say it with others."


@dataclass(frozen=True)
class Word:
    """A word of a sentence: its text without spaces, and the positions of its tokens."""

    text: str
    places: tuple[int, ...]
    special: bool = False  # start, end, padding, or a language's tag


def words_of(
    ids: Sequence[int], tokens: Sequence[str], vocabulary: Vocabulary, target: bool = False
) -> list[Word]:
    """Group the tokens of a source (or of a target) into words.

    A word begins with a piece that begins with ▁ (a space); in a vocabulary of words, each token is a word.
    Pieces that are only spaces belong to the next word, or at the end to the last one. Each special token is
    separate.
    """

    def text_of(places: Sequence[int]) -> str:
        return spell([tokens[place] for place in places])

    def is_blank(places: Sequence[int]) -> bool:
        return not "".join(tokens[place] for place in places).strip(SPACE)

    special, words = special_ids(vocabulary, target), list[Word]()
    for is_special, run in groupby(range(len(ids)), lambda place: ids[place] in special):
        if is_special or vocabulary.kind == "word":
            words += [Word(text_of([place]), (place,), is_special) for place in run]
            continue
        groups: list[list[int]] = [[]]
        for place in run:
            if tokens[place].startswith(SPACE) and not is_blank(groups[-1]):
                groups.append([])
            groups[-1].append(place)
        if len(groups) > 1 and is_blank(groups[-1]):
            spaces = groups.pop()
            groups[-1] += spaces
        words += [Word(text_of(group), tuple(group), special=is_blank(group)) for group in groups]
    return words


@lru_cache(16)  # a model may have two hundred languages
def special_ids(vocabulary: Vocabulary, target: bool = False) -> frozenset[int]:
    """Return the ids of a side that have no text: start, end, padding and the tags of languages. Where each
    side has its own ids, a tag of the source may have the id of a word of the target."""
    sides = vocabulary.encode_source, vocabulary.encode_target
    own = sides if vocabulary.same_ids else sides[target : target + 1]
    empty = [encode("", language) for language in vocabulary.target_languages for encode in own]
    tags = [ids[0] for ids in empty if len(ids) > 1]
    padding = {vocabulary.pad_id} - {vocabulary.unknown_id}  # a vocabulary may pad with its unknown token
    return frozenset({vocabulary.start_id, vocabulary.end_id, *padding, *tags})


def spell(pieces: Sequence[str]) -> str:
    """Return the text of a word's pieces: decode byte pieces, and remove spaces at both ends."""
    text, run = "", bytearray()
    for piece in [*pieces, ""]:
        if match := BYTE.fullmatch(piece):
            run.append(int(match[1], 16))
            continue
        text += run.decode(errors="replace") + piece
        run.clear()
    return text.strip(SPACE).replace(SPACE, " ") or text
