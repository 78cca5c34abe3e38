"""The words of a sentence, as a vocabulary knows them and as people can see them."""

import re
import unicodedata
from collections.abc import Sequence

from pellucid.config.nearest import nearest
from pellucid.errors import UsageError
from pellucid.text.preparation import prepare
from pellucid.text.vocabulary import Vocabulary
from pellucid.translate.sentences import Sentence, read_source, read_target

TAG = re.compile(r">>([^<>]+)<<")  # of a language
TOKENS = 256  # of a source or a given target: a matrix of attention grows with the square


def visible(text: str) -> str:
    """The text with what no terminal, page or file should get, control characters and half pairs, as �."""
    hidden = ("Cc", "Cs")
    return "".join("�" if unicodedata.category(letter) in hidden else letter for letter in text)


def source_of(text: str, to: str | None, vocabulary: Vocabulary) -> Sentence:
    """A sentence to look into: not empty, not too long, and of known words where a word is one token."""
    source = read_source(text, to, vocabulary, TOKENS)
    if source.empty:
        raise UsageError('the sentence is empty: nothing to explain. Give one, such as "How are you".')
    _check(source, "sentence", vocabulary)
    return source


def target_of(text: str, to: str | None, vocabulary: Vocabulary) -> Sentence:
    """A given translation, which may be empty: its end is said at once."""
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
    """Where a word is one token: raises for the first word that the vocabulary does not have."""
    word = unknown_word(text, ids, to, vocabulary, is_target)
    tag = TAG.fullmatch(word) if word and not is_target else None
    if tag and tag[1] in vocabulary.target_languages:
        raise UsageError(
            f"sentence: {word} asks for {tag[1]}, and the translation goes to {to}. A tag is read only where "
            "the sentence begins and no other language is asked for with to= (--to): leave one of them out."
        )
    if word is not None:
        side = "target" if is_target else "sentence"
        raise UsageError(f"{side}: the model has no word {word!r}. {advice(word, vocabulary, is_target)}")


def unknown_word(
    text: str, ids: Sequence[int], to: str | None, vocabulary: Vocabulary, is_target: bool = False
) -> str | None:
    """Where a word is one token: the first word of the text that the vocabulary does not have, or None."""
    if vocabulary.kind != "word" or vocabulary.unknown_id not in ids:
        return None
    model = vocabulary.target if is_target else vocabulary.source
    language = vocabulary.target_language(to) if is_target else vocabulary.source_language(to)
    words = prepare(visible(text), vocabulary.preparation, language).split()
    return next((word for word in words if vocabulary.unknown_id in model.encode(word)), None)


def advice(word: str, vocabulary: Vocabulary, is_target: bool = False) -> str:
    """The words near one that a vocabulary of words does not have."""
    model = vocabulary.target if is_target else vocabulary.source
    pieces = [model.id_to_piece(token) for token in range(model.get_piece_size())]
    words = [piece.removeprefix("▁") for piece in pieces if piece.startswith("▁") and piece != "▁"]
    by_letters = {known.casefold(): known for known in words}
    near = nearest(word.casefold(), by_letters)
    if near:
        return f"Near it: {', '.join(by_letters[letters] for letters in near)}."
    return f"It knows {len(words)} words, and none is near this one. Say it with others."
