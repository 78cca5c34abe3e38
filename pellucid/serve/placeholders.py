"""What must come back from a translation as it stood: placeholders, addresses and numbers."""

import re
from collections import Counter

PLACEHOLDER = re.compile(
    r"""
    ( (?:https?://|ftp://|www\.) (?: [!\#-;=?-~] | [^\W\u2e80-\uffef] )* (?<= [\w/&=\#%~+-] )
    | (?a: (?<![\w+-]) \w [\w.+-]{0,63}+ @ [\w-]++ (?: \.[\w-]++ )++ )
    | %% | (?<!\d) % (?: \d++\$ | \([^()\s]*+\) )? [-+\#\d.*]*+ (?: hh?|ll?|[zjtqL] )? [diouxXeEfFgGcrspaA@]
    | \{\{ [^{}]*+ \}\} | \{% [^{}%]*+ %\} | \\[nrt]
    | [$%\#]? \{ \s*+ [\w.$-]*+ \s*+ (?: [,:|!\[] (?: [^{}]++ | \{[^{}]*+\} )*+ )? \}
    | (?: (?<!\w) [+\-−±] )? \d++ (?: [.,:/'’\-\u00a0\u202f\u2009] \d++ )*+
        (?: [\ \u00a0\u202f]? % (?! [%({] | [-+\#\d.*$]*+ [A-Za-z@] ) )? )
    """,
    re.VERBOSE,
)
LONGEST = 500  # characters of the placeholders of a sentence that are mended


def mend(translation: str, source: str) -> str | None:
    """Return a translation in which each placeholder of its source stands as often as there. One that came
    back in another form, such as "% s" or "1.000,5" for "1,000.5", is written as it stood; return None if
    one is missing, or comes once more."""
    if not (wanted := Counter(PLACEHOLDER.findall(source))):
        return translation
    lost = wanted - Counter(PLACEHOLDER.findall(translation))
    for each in lost if sum(map(len, lost)) <= LONGEST else ():
        translation = _loose(each).sub(each.replace("\\", r"\\"), translation)
    found = Counter(PLACEHOLDER.findall(translation))
    return translation if all(found[each] == count for each, count in wanted.items()) else None


def leave_out(translation: str, source: str) -> str:
    """Return a translation without the placeholders of its source, which the model did not read there."""
    taken = set(PLACEHOLDER.findall(source))
    kept = PLACEHOLDER.sub(lambda match: "" if match[0] in taken else match[0], translation)
    return " ".join(kept.split()) if kept != translation else translation


def _loose(placeholder: str) -> re.Pattern[str]:
    """Return the pattern of the forms that a model may give to a placeholder: a number with other separators,
    anything else with other spaces or case."""
    if re.fullmatch(r"[+\-−±]?\d[\d.,:/'’\-\s]*%?", placeholder):
        sign = "" if placeholder[0].isdigit() else r"[+\-−–±]\s?"
        digits = r"[.,:/'’\-\s]?".join(re.findall(r"\d", placeholder)) + r"\s?%" * placeholder.endswith("%")
        return re.compile(rf"(?<!\d){sign}{digits}(?!\d)")
    end = r"\b" if placeholder[-1].isalnum() else ""
    return re.compile(r"\s*".join(map(re.escape, placeholder)) + end, re.IGNORECASE)
