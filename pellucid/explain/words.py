"""The words of a sentence, as a vocabulary knows them and as people can see them."""

import difflib
import unicodedata

from pellucid.errors import UsageError
from pellucid.preparation import prepare
from pellucid.vocabulary import Vocabulary


def visible(text: str) -> str:
    """The text with what no terminal, page or file should get, control characters and half pairs, as �."""
    hidden = ("Cc", "Cs")
    return "".join("�" if unicodedata.category(letter) in hidden else letter for letter in text)


def check_known(text: str, ids: list[int], to: str | None, vocabulary: Vocabulary, is_target: bool) -> None:
    """Where a word is one token: raises for the first word that the vocabulary does not have."""
    if vocabulary.kind != "word" or vocabulary.unknown_id not in ids:
        return
    if is_target:
        side, language, model = "target", vocabulary.target_language(to), vocabulary.target
    else:
        side, language, model = "sentence", vocabulary.source_language(to), vocabulary.source
    for word in prepare(visible(text), vocabulary.preparation, language).split():
        if vocabulary.unknown_id in model.encode(word):
            known = [model.id_to_piece(token) for token in range(model.get_piece_size())]
            raise UsageError(f"{side}: the model has no word {word!r}. {_advice(word, known)}")


def _advice(word: str, pieces: list[str]) -> str:
    words = [piece.removeprefix("▁") for piece in pieces if piece.startswith("▁") and piece != "▁"]
    by_letters = {known.casefold(): known for known in words}
    near = difflib.get_close_matches(word.casefold(), by_letters, n=3, cutoff=0.6)
    if near:
        return f"Near it: {', '.join(by_letters[letters] for letters in near)}."
    return f"It knows {len(words)} words, and none is near this one. Say it with others."
