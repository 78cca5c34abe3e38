"""Where sentences end, and where words do.

Sentences are found by sentencex (MIT, kept by Wikimedia): offline, in some 300 languages with their
abbreviations, without losing a character, a megabyte in milliseconds. pysbd knows 23 languages, is slower and
has rested since 2021; syntok knows three.
"""

import re
import unicodedata

from sentencex import segment

from pellucid.serve.markup import GAP, JOINT
from pellucid.text.preparation import valid

# Scripts that put no spaces between words: Thai, Lao, Tibetan, Burmese, Khmer, Japanese and Chinese.
UNSPACED = re.compile(
    "[\u0e00-\u109f\u1780-\u17ff\u3000-\u30ff\u31f0-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]"
)
AT_ONCE = 4000  # characters that are split together: in a text without spaces, time grows with their square
# White space before punctuation. It is matched once only, from its beginning, so that the time stays linear.
_GAP = re.compile(r"(?<!\s)\s++(?=[.,;:!?…)\]}”»।॥、。！？])")


def as_read(text: str) -> str:
    """Return text as the model reads it: with single spaces, none where a tag stood before punctuation."""
    without = _GAP.sub(lambda found: "" if GAP in found[0] else found[0], text.replace(JOINT, ""))
    return " ".join(without.split())


def sentence_ends(text: str, language: str | None) -> list[int]:
    """Return where each sentence ends, with the white space that follows."""
    # sentencex 1.0 fails at white space of several bytes behind an initial, such as "vitamine C\xa0."
    plain = re.sub(r"\s", " ", valid(text))
    ends, start = list[int](), 0
    while start < len(plain):
        found = segment(language or "en", plain[start : start + AT_ONCE])
        for sentence in found[:-1] if start + AT_ONCE < len(plain) and len(found) > 1 else found:
            start += len(sentence)
            ends.append(start)
    return ends


def is_word(letter: str) -> bool:
    """Tell whether a character belongs to a word: a letter, a digit, or a mark on one of them."""
    return letter.isalnum() or (letter != "" and unicodedata.category(letter)[0] == "M")


def inside_word(text: str, place: int) -> bool:
    """Tell whether a place in a text lies inside a word, where nothing may be put."""
    before, after = text[max(place - 1, 0) : place], text[place : place + 1]
    if after and unicodedata.category(after)[0] == "M":
        return before != ""
    return is_word(before) and is_word(after) and not UNSPACED.search(before + after)
