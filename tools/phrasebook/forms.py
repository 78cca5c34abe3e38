"""What a word has in four languages, and how a row of the lexicon's tables is read."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Noun:
    """A noun in four languages, with the languages in which it is feminine."""

    english: tuple[str, ...]  # singular, plural
    french: tuple[str, ...]  # singular, plural
    spanish: tuple[str, ...]  # singular, plural
    hindi: tuple[str, ...]  # direct, oblique, plural direct, plural oblique
    feminine: frozenset[str]


@dataclass(frozen=True)
class Adjective:
    """An adjective in four languages: masculine, feminine, plurals (Hindi: masculine plural and oblique)."""

    english: str
    french: tuple[str, ...]
    spanish: tuple[str, ...]
    hindi: tuple[str, ...]


@dataclass(frozen=True)
class Verb:
    """A verb in four languages, in the forms that the phrasebook uses."""

    english: tuple[str, ...]  # base, third person, -ing, past
    french: tuple[str, ...]  # je, il, nous, vous, ils, infinitive, participle; +allé: with être
    spanish: tuple[str, ...]  # yo, él, nosotros, ellos, infinitive, gerund, past: yo, él, nosotros, ellos
    hindi: tuple[str, ...]  # the stem; masculine, feminine and plural past, if not regular; ने: takes it


@dataclass(frozen=True)
class Adverbial:
    """A time or place that is said as a whole."""

    english: str
    french: str
    spanish: str
    hindi: str


def cells(row: str) -> list[list[str]]:
    """The words of a row by language; an underscore is a space within a word's form."""
    return [[form.replace("_", " ") for form in cell.split()] for cell in row.split("|")]


def padded(forms: list[str], length: int) -> tuple[str, ...]:
    """Forms filled up with "-", which marks a form that the phrasebook does not use."""
    return tuple(forms + ["-"] * (length - len(forms)))


def noun(row: str) -> Noun:
    english, french, spanish, hindi = cells(row)
    genders = {"french": french.pop(0), "spanish": spanish.pop(0), "hindi": hindi.pop(0)}
    feminine = frozenset(language for language, gender in genders.items() if gender == "f")
    oblique = hindi if len(hindi) > 1 else hindi * 2
    return Noun(padded(english, 2), padded(french, 2), padded(spanish, 2), padded(oblique, 4), feminine)


def adjective(row: str) -> Adjective:
    english, french, spanish, hindi = cells(row)
    invariable = hindi if len(hindi) > 1 else hindi * 3
    return Adjective(english[0], padded(french, 4), padded(spanish, 4), tuple(invariable))


def verb(row: str) -> Verb:
    english, french, spanish, hindi = cells(row)
    return Verb(padded(english, 4), padded(french, 7), padded(spanish, 10), tuple(hindi))


def rows(table: str) -> list[str]:
    """The rows of a table; an indented line continues the one before."""
    return table.strip().replace("\n    ", " ").splitlines()
