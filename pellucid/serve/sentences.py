"""Where sentences end, and where words do.

Sentences are found by sentencex (MIT, kept by Wikimedia): offline, in some 300 languages with their
abbreviations, without losing a character, a megabyte in milliseconds. pysbd knows 23 languages, is slower and
has rested since 2021; syntok knows three.
"""

import re
import unicodedata

from sentencex import segment

from pellucid.serve.codes import broad
from pellucid.serve.markup import GAP, JOINT
from pellucid.serve.placeholders import PLACEHOLDER
from pellucid.text.preparation import valid

# Scripts that put no spaces between words: Thai, Lao, Tibetan, Burmese, Khmer, Japanese and Chinese.
UNSPACED = re.compile(
    "[\u0e00-\u109f\u1780-\u17ff\u3000-\u30ff\u31f0-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]"
)
AT_ONCE = 4000  # characters that are split together: in a text without spaces, time grows with their square
SHORT = 160  # characters: a shorter sentence is not cut, even if the model does not finish it
_SPACE = rf"[^\S{JOINT}]+"  # a joint does not part words
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
    ends, start, code = list[int](), 0, broad(language or "en")  # sentencex does not know deu_Latn
    while start < len(plain):
        found = segment(code, part := plain[start : start + AT_ONCE])
        if len(found) == 1 and start + AT_ONCE < len(plain):  # no sentence ends here: a word does
            spaces = [found.end() for found in re.finditer(_SPACE, text[start : start + AT_ONCE])]
            found = [part[: spaces[-1]] if spaces else part]
        for sentence in found[:-1] if start + AT_ONCE < len(plain) and len(found) > 1 else found:
            start += len(sentence)
            ends.append(start)
    return ends


def parts_of(text: str) -> list[int]:
    """Return where the two halves of a sentence end: at a comma near its middle, at white space, or else in
    the middle, but not inside a placeholder. A short sentence stays whole."""
    size, half = len(text), len(text) // 2
    inside = {place for found in PLACEHOLDER.finditer(text) for place in range(*found.span())[1:]}
    inside |= {place for place in range(size) if unicodedata.category(text[place])[0] == "M"}
    for end in (rf"[,;:]{_SPACE}|[،、，；]\s*", _SPACE, "") if size >= SHORT else ():
        places = {found.end() for found in re.finditer(end, text)} - inside
        if places := {each for each in places if size / 4 < each < size * 3 / 4}:
            return [min(places, key=lambda each: abs(each - half)), size]
    return [size]


def is_word(letter: str) -> bool:
    """Tell whether a character belongs to a word: a letter, a digit, or a mark on one of them."""
    return letter.isalnum() or (letter != "" and unicodedata.category(letter)[0] == "M")


def inside_word(text: str, place: int) -> bool:
    """Tell whether a place in a text lies inside a word, where nothing may be put."""
    before, after = text[max(place - 1, 0) : place], text[place : place + 1]
    if after and unicodedata.category(after)[0] == "M":
        return before != ""
    return is_word(before) and is_word(after) and not UNSPACED.search(before + after)
