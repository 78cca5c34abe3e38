"""Prepare text for a vocabulary by one of four recipes: none, moses, moses-lowercase, words."""

import re
import unicodedata
from functools import cache
from typing import Any

# Punctuation that belongs to the word around it: don't, t-shirt, and/or, R&D, a@b.org; in numbers: 1,000.
_INSIDE_WORDS, _INSIDE_NUMBERS = "'-/&@.", ",:"
_OPENING, _CLOSING, _SPACED_IN_FRENCH = r"¿¡(\[{“„‘#", r".,;:!?…)\]}”’'\"।॥%", "?!:;»%"


def prepare(text: str, name: str, language: str | None) -> str:
    """Prepare a line of text by the recipe `name`, with the rules of a language such as "de". None: the rules
    of English."""
    if name == "none":
        return text
    if name == "words":
        return _words(text, language)
    # Moses reads lines with their line feed, and its rule for a period after a quotation mark looks at it.
    normalizer, tokenizer = _moses_tools(language or "en")
    normalized = normalizer.normalize((text.lower() if name == "moses-lowercase" else text) + "\n")
    return str(tokenizer.tokenize(normalized, escape=True, return_str=True))


def restore(text: str, name: str, language: str | None) -> str:
    """Turn the output of a model into ordinary text: with "words", attach punctuation to its word again.

    With a moses recipe, the output stays tokenised and escaped, like the references of published scores.
    """
    return _join(text, language) if name == "words" else text


def stays_tokenised(name: str) -> bool:
    """Return whether the output of models with this recipe is tokenised text, so that BLEU must not tokenise
    it again."""
    return name.startswith("moses")


@cache
def _moses_tools(language: str) -> tuple[Any, Any]:
    from sacremoses import MosesPunctNormalizer, MosesTokenizer  # half a second, for these recipes only

    return MosesPunctNormalizer(language, perl_parity=True), MosesTokenizer(language)


def _words(text: str, language: str | None) -> str:
    text = unicodedata.normalize("NFC", text).replace("’", "'")
    apart = re.sub(r"([^\w\s])\1*", lambda match: _set_apart(match, language), text)
    return " ".join(apart.split())


def _set_apart(match: re.Match[str], language: str | None) -> str:
    """Put spaces around punctuation that is not inside a word. A French elision becomes a token: l' amie."""
    mark, start, end = match[0], match.start(), match.end()
    before, after = match.string[start - 1 : start], match.string[end : end + 1]  # "" at either end
    if not unicodedata.category(mark[0]).startswith("P"):
        return mark  # a vowel sign or a virama is part of its word, and so is a symbol
    if before.isdecimal() and after.isdecimal() and mark in _INSIDE_NUMBERS:
        return mark
    if language == "fr" and mark == "'" and _in_word(before) and (_in_word(after) or after == " "):
        return "' "
    if _in_word(before) and _in_word(after) and mark in _INSIDE_WORDS:
        return mark
    return f" {mark} "


def _in_word(character: str) -> bool:
    return bool(character) and unicodedata.category(character)[0] in "LMN"


def _join(text: str, language: str | None) -> str:
    text = re.sub(r"(?<!\S)([\"']) (.*?) \1(?!\S)", r"\1\2\1", text)  # a pair of straight quotation marks
    text = re.sub(rf"(?<!\S)([{_OPENING}]+) ", r"\1", text)
    if language == "fr":
        text = re.sub(r"(?<=\w)' (?=\w)", "'", text)
    closing = "".join(mark for mark in _CLOSING if language != "fr" or mark not in _SPACED_IN_FRENCH)
    return re.sub(rf" ([{closing}]+)(?!\S)", r"\1", text)


def valid(text: str) -> str:
    """Replace each lone surrogate by a question mark, because UTF-8 cannot encode a lone surrogate."""
    return text.encode("utf-8", errors="replace").decode("utf-8")


def visible(text: str) -> str:
    """Replace control characters and lone surrogates with �, so that the text is safe to show anywhere."""
    hidden = ("Cc", "Cs")
    return "".join("�" if unicodedata.category(letter) in hidden else letter for letter in text)
