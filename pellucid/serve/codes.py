"""Codes of languages: a model writes eng_Latn or zh_CN, where a client says EN-US or zh-Hans."""

from collections.abc import Iterable, Mapping
from functools import lru_cache, partial

from langcodes import Language
from langcodes.tag_parser import LanguageTagError

LONGEST = 35  # characters of a code (RFC 5646, section 4.4.1)
OLD = {"pb": "pt-br", "zt": "zh-hant"}  # what LibreTranslate called them before
SAME = {"nb": "no", "no": "nb"}  # Norwegian, of which most write Bokmål


def _read(code: str) -> Language | None:
    """Return what a code means; None for what is no code."""
    try:
        return Language.get(code.removesuffix("_XX"))  # mBART's en_XX
    except LanguageTagError:
        return None


def short(code: str) -> str:
    """Return a code as BCP 47 writes it: en for eng_Latn. What is no code comes back as it is."""
    language = _read(code)
    return str(language.simplify_script()) if language else code


@lru_cache(1000)
def broad(code: str) -> str:
    """Return the code of a language without its script and region: ar for arb_Arab."""
    language = _read(code)
    return (language and language.prefer_macrolanguage().language) or code


def name_of(code: str) -> str:
    """Return the English name of a language, or its code if it has none."""
    language = _read(short(code))
    return language.display_name() if language and language.is_valid() else code


def _usual(part: str, code: str) -> str:
    """Return a code with the script, or the territory, that it means without saying: zh-Hant for zh_TW."""
    language = _read(code)
    full = language and language.maximize()
    return f"{full.language}-{getattr(full, part)}" if full else code


def by_codes(languages: Iterable[str]) -> dict[str, str]:
    """Return the languages by all codes that mean them, in small letters with hyphens. A code that means
    several is that of the first."""
    known, codes = [*languages], dict[str, str]()
    for form in (str, short, partial(_usual, "script"), partial(_usual, "territory"), broad):
        for language in known:
            codes.setdefault(form(language).lower().replace("_", "-"), language)
    return codes | {
        code: codes[other] for code, other in SAME.items() if other in codes and code not in codes
    }


def find(code: str, codes: Mapping[str, str]) -> str | None:
    """Return the language that a client means: for EN-US also en, if there is no American English. Its code
    becomes shorter until it is known (RFC 4647, section 3.4)."""
    written = code[:LONGEST].lower().replace("_", "-")
    written = OLD.get(written, written)
    while written and written not in codes:
        written = written.rpartition("-")[0]
    return codes.get(written)
