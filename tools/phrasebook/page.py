"""docs/phrasebook.md: the grammar's patterns with examples in which every word form comes at least once."""

from collections.abc import Iterable
from heapq import heapify, heappop, heappush

from pellucid.data.phrasebook import DIRECTIONS, LANGUAGES, NOTES
from tools.phrasebook.parts import split, summary
from tools.phrasebook.sentences import Meaning, meanings, words

_EXAMPLES = 8  # of every pattern at least so many rows
_SEED = 1  # the demo's split
_OPENING = """# The phrasebook: grammar and examples

The demo's model learns from this phrasebook, which a grammar makes (`tools/phrasebook/`):
tables of words in four languages and patterns that put them together. This page is for native
speakers to check: **every word form of the phrasebook comes in at least one row**. It is made by
`python -m tools.phrasebook`.

Sentences stand here as in the held-out files: with a capital and without final punctuation.
Training has each source with and without the capital and with and without final punctuation, short
statements also with `!`, and English also in its short forms (*I'm, don't*); the translation always
has its capital and ends as the source does (French sets a space before `?` and `!`, Spanish opens with
`¿` and `¡`, Hindi ends a statement with `।`).

## Conventions: one right answer for each source

Where a language offers several right translations, the phrasebook always takes this one.

- **I, you, we, they are men.** The note's आप कैसे हैं addresses a man: मैं छात्र हूँ, je suis
  content, estoy contento.
- **You** is one person, addressed politely: आप, vous, usted. **Your** is आपका, votre, su. Only *I love
  you* says tu (je t'aime, te amo), and French with tu is understood.
- **Will** is the near future of French and Spanish: je vais manger, voy a comer; Hindi has a future of
  its own. **The past** is what happened once: j'ai mangé, comí, मैंने खाया; *was* is étais, estaba or era.
- **The simple present is the habitual one**: he reads = il lit = él lee = वह पढ़ता है. The
  progressive has its own form in every language: he is reading = il est en train de lire = él está
  leyendo = वह पढ़ रहा है.
- **Sat** is a position, not a movement: était assis, estaba sentado, बैठा था.
- **Spanish** leaves *yo* and *nosotros* unsaid and says *él, ella, usted, ellos*. Yes-no questions
  keep the order of the statement; after *dónde, qué, cómo* the verb comes first. Every adjective
  follows its noun. *Estar* for places, feelings and what is hot, cold, open or closed; *ser* for
  the rest. What is liked is the subject: me gustan los gatos.
- **French** asks with *est-ce que* and says *pas de* after a negated verb with an indefinite
  object. *Petit, grand, nouveau, vieux* precede the noun, the other adjectives follow. What is
  liked has the definite article.
- **Hindi** says वह for he and she and वे for they; the definite article is not said; *a* is एक, but
  not before what a person is (मैं छात्र हूँ). The order is subject, time, place, object, verb. नहीं
  takes the place of है after a habitual verb (नहीं खाता), after चाहता and after सकता; elsewhere है
  stays. The dot is written in ज़, फ़, ड़ and ढ़,
  but not under ख.
- **Bank** is *rive, orilla, किनारा* with the river's words (river, boat, water, fish) and *banque,
  banco, बैंक* otherwise.
- **Where two English sentences are one in French** (*hello* and *good morning*: bonjour; *movie* and
  *film*), French is translated by the first; a dash stands where a sentence is French alone.
- *Café* is coffee, *la fille* the girl, *la femme* the woman, *il* he and *elle* she (*it* is only the
  weather's); *le dimanche* is *on Sundays*.
- *Je suis student* mixes two languages because the notes do; it is translated as *je suis
  étudiant*.
"""


def page() -> str:
    """The whole page as Markdown."""
    chosen = _covering(meanings())
    parts = [_OPENING, _counts(), "## The notes' own sentences\n", _notes()]
    for pattern in dict.fromkeys(meaning.pattern for meaning in meanings()):
        of_pattern = [meaning for meaning in meanings() if meaning.pattern == pattern]
        rows = [meaning for meaning in of_pattern if meaning in chosen]
        rows += [meaning for meaning in of_pattern if meaning not in chosen][: max(0, _EXAMPLES - len(rows))]
        parts.append(f"## {pattern[0].upper()}{pattern[1:]}\n")
        parts.append(
            _table(
                ("English", "French", "Spanish", "Hindi"),
                [[m.text(lang) or "–" for lang in LANGUAGES] for m in rows],
            )
        )
    return "\n".join(parts)


def _covering(pool: tuple[Meaning, ...]) -> set[Meaning]:
    """Few sentences that together hold every word form: always the one with the most forms not yet seen."""
    forms = {
        meaning: {(lang, word) for lang in LANGUAGES for word in words(meaning.text(lang))}
        for meaning in pool
    }
    missing, chosen = set().union(*forms.values()), set()
    # A sentence's number of new forms only falls: if it still holds when its turn comes, no other has more.
    queue = [(-len(forms[meaning]), place) for place, meaning in enumerate(pool)]
    heapify(queue)
    while missing:
        fewer, place = heappop(queue)
        new = forms[pool[place]] & missing
        if len(new) == -fewer:
            chosen.add(pool[place])
            missing -= new
        else:
            heappush(queue, (-len(new), place))
    return chosen


def _counts() -> str:
    rows = [
        [
            direction,
            *(str(counts[name]) for name in ("train", "validation", "held-out", "held_out_far", "left-out")),
        ]
        for direction, counts in summary(split(_SEED)).items()
    ]
    head = ("direction", "train", "validation", "held out", "of these far", "left out")
    about = (
        f"Phrases by direction with seed {_SEED}, each before its variants. A held-out phrase is *far* when\n"
        "no training source of its direction is within one word of it; *left out* are neighbours that had\n"
        "to go for this.\n"
    )
    return f"## Counts\n\n{about}\n{_table(head, rows)}"


def _notes() -> str:
    assert all((note.source_language, note.target_language) in DIRECTIONS for note in NOTES)
    rows = [[f"{note.source_language} to {note.target_language}", note.source, note.target] for note in NOTES]
    return _table(("direction", "source", "translation"), rows)


def _table(head: Iterable[str], rows: Iterable[list[str]]) -> str:
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)
