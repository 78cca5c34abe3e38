"""The words of a sentence: which of them the vocabulary knows, and which tokens make up a word."""

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from pellucid.config.nearest import nearest
from pellucid.data import phrasebook
from pellucid.errors import UsageError
from pellucid.text.preparation import prepare
from pellucid.text.renumbered import Pieces
from pellucid.text.vocabulary import Vocabulary
from pellucid.translate.sentences import Sentence, read_source, read_target

TAG = re.compile(r">>([^<>]+)<<")  # of a language
TOKENS = 256  # the longest sentence that is explained: attention matrices grow with the square of the length
SPACE = "▁"
BYTE = re.compile(r"<0x([0-9A-F]{2})>")


def visible(text: str) -> str:
    """Replace control characters and lone surrogates with �, so that the text is safe to show anywhere."""
    hidden = ("Cc", "Cs")
    return "".join("�" if unicodedata.category(letter) in hidden else letter for letter in text)


def number_text(number: float, form: str) -> str:
    """Write a number in a format such as ".4f"; write NaN as ?."""
    return "?" if math.isnan(number) else format(number, form)


def source_of(text: str, to: str | None, vocabulary: Vocabulary) -> Sentence:
    """Read the sentence to explain. It must not be empty or too long; each word must be known where a word
    is one token."""
    source = read_source(text, to, vocabulary, TOKENS)
    if source.empty:
        raise UsageError('the sentence is empty: nothing to explain. Give one, such as "How are you".')
    _check(source, "sentence", vocabulary)
    return source


def target_of(text: str, to: str | None, vocabulary: Vocabulary) -> Sentence:
    """Read a target that the user chose. It may be empty: then only the end token is expected."""
    target = read_target(text, to, vocabulary, TOKENS)
    _check(target, "target", vocabulary)
    return target


def _check(sentence: Sentence, side: str, vocabulary: Vocabulary) -> None:
    if sentence.truncated:
        raise UsageError(
            f"the {side} is longer than the {TOKENS} tokens that an explanation shows: "
            "its matrices grow with the square of the length. Give a shorter one."
        )
    check_known(sentence.untagged, list(sentence.ids), sentence.to, vocabulary, is_target=side == "target")


def check_known(text: str, ids: list[int], to: str | None, vocabulary: Vocabulary, is_target: bool) -> None:
    """Raise for words that the vocabulary does not have, where a word is one token, all at once."""
    unknown = unknown_words(text, ids, to, vocabulary, is_target)
    tag = TAG.fullmatch(unknown[0]) if unknown and not is_target else None
    if tag and tag[1] in vocabulary.target_languages:
        raise UsageError(
            f"sentence: the tag {unknown[0]} asks for {tag[1]}, but the translation goes to {to}. A tag "
            "counts only at the start of the sentence, and only if to= (--to) names no other language. "
            "Remove the tag, or remove to=."
        )
    if not is_target:
        _check_language(text, to, vocabulary)
    side = "target" if is_target else "sentence"
    if len(unknown) == 1:
        near = advice(unknown[0], vocabulary, is_target, to)
        raise UsageError(f"{side}: the model has no word {unknown[0]!r}. {near}")
    if unknown:
        near = " ".join(f"{word!r}: {advice(word, vocabulary, is_target, to)}" for word in unknown)
        raise UsageError(f"{side}: the model does not have {len(unknown)} of these words. {near}")


def _check_language(text: str, to: str | None, vocabulary: Vocabulary) -> None:
    """Raise for a text of the phrasebook in another language than the one that is translated."""
    language, known = vocabulary.source_language(to), languages_of(vocabulary)
    if language not in known:
        return
    words = [word for word in prepare(text, vocabulary.preparation, language).split() if word.isalpha()]
    others = [name for name, of in known.items() if words and name != language and of.issuperset(words)]
    if others and not any(word in known[language] for word in words):
        ways = [pair[1] for pair in vocabulary.languages or () if pair[0] == others[0]]
        remedy = f", or translate to {' or '.join(ways)}" if ways else ""
        raise UsageError(
            f'sentence: this is "{others[0]}", and to "{to}" the model reads "{language}". Write it '
            f'in "{language}"{remedy}.'
        )


def languages_of(vocabulary: Vocabulary) -> dict[str, frozenset[str]]:
    """Return the words of each language, where the vocabulary is the phrasebook's; else nothing is known."""
    if vocabulary.kind != "word" or not vocabulary.joint:
        return {}
    by_language = phrasebook.words()
    return by_language if set(_words(vocabulary.source)) <= frozenset().union(*by_language.values()) else {}


def _words(model: Pieces) -> list[str]:
    pieces = [model.id_to_piece(token) for token in range(model.get_piece_size())]
    return [piece.removeprefix(SPACE) for piece in pieces if piece.startswith(SPACE) and piece != SPACE]


def unknown_words(
    text: str, ids: Sequence[int], to: str | None, vocabulary: Vocabulary, is_target: bool = False
) -> list[str]:
    """Find the words that the vocabulary does not have; none where words have pieces."""
    if vocabulary.kind != "word" or vocabulary.unknown_id not in ids:
        return []
    model = vocabulary.target if is_target else vocabulary.source
    language = vocabulary.target_language(to) if is_target else vocabulary.source_language(to)
    words = prepare(visible(text), vocabulary.preparation, language).split()
    return list(dict.fromkeys(word for word in words if vocabulary.unknown_id in model.encode(word)))


def advice(word: str, vocabulary: Vocabulary, is_target: bool = False, to: str | None = None) -> str:
    """Name the words most like an unknown one; of the language that is read or written, if it is known."""
    model = vocabulary.target if is_target else vocabulary.source
    language = to if is_target else vocabulary.source_language(to) if to else None
    own = languages_of(vocabulary).get(language or "", frozenset())
    words = [known for known in _words(model) if not own or known in own]
    by_letters = {known.casefold(): known for known in words}
    near = nearest(word.casefold(), by_letters)
    if near:
        return f"Near it: {', '.join(by_letters[letters] for letters in near)}."
    return f"It knows {len(words)} words, and none is near this one. Say it with others."


@dataclass(frozen=True)
class Word:
    """A word of a sentence: its text without spaces, and the places of its tokens."""

    text: str
    places: tuple[int, ...]
    special: bool = False  # start, end, padding, or a language's tag


def words_of(ids: Sequence[int], tokens: Sequence[str], vocabulary: Vocabulary) -> list[Word]:
    """Group the tokens of a sentence, as ids and as labels, into words.

    A word begins at a piece that begins with ▁ (a space); in a vocabulary of words each token is a word.
    Pieces that are only spaces belong to the next word, or to the last one at the end. Special tokens stand
    alone.
    """
    special, by_words = special_ids(vocabulary), vocabulary.kind == "word"
    groups: list[list[int]] = []
    is_text: list[bool] = []
    for place, (token, label) in enumerate(zip(ids, tokens, strict=True)):
        joins = bool(groups) and is_text[-1] and token not in special and not by_words
        if joins and (not label.startswith(SPACE) or _is_blank(groups[-1], tokens)):
            groups[-1].append(place)
            continue
        groups.append([place])
        is_text.append(token not in special)
    for number in reversed(range(len(groups))):
        if not by_words and is_text[number] and _is_blank(groups[number], tokens):
            if number and is_text[number - 1]:
                groups[number - 1] += groups.pop(number)
                del is_text[number]
            else:
                is_text[number] = False  # the sentence has spaces and no word
    return [
        Word(spelled([tokens[place] for place in group]), tuple(group), not text)
        for group, text in zip(groups, is_text, strict=True)
    ]


def _is_blank(places: Sequence[int], tokens: Sequence[str]) -> bool:
    return not "".join(tokens[place] for place in places).strip(SPACE)


def special_ids(vocabulary: Vocabulary) -> set[int]:
    """Collect the ids that are no text: start, end, padding and the tags of languages."""
    several = len(vocabulary.target_languages) > 1
    tags = [vocabulary.encode_source("", language)[0] for language in vocabulary.target_languages if several]
    padding = {vocabulary.pad_id} - {vocabulary.unknown_id}  # a vocabulary may pad with its unknown token
    return {vocabulary.start_id, vocabulary.end_id, *padding, *tags}


def spelled(pieces: Sequence[str]) -> str:
    """Join the pieces of a word to its text: decode byte pieces, and drop the spaces at both ends."""
    text, run = "", bytearray()
    for piece in [*pieces, ""]:
        if match := BYTE.fullmatch(piece):
            run.append(int(match[1], 16))
            continue
        text += run.decode(errors="replace") + piece
        run.clear()
    return text.strip(SPACE).replace(SPACE, " ") or text
