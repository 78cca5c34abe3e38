"""Alignment of words, on pairs of words that are known: attention at the step that says a word, and shifted.

The tables of tools/phrasebook say which nouns, adjectives and verbs translate each other. A word of a
held-out sentence counts if exactly one word on each side comes from its row. Shifted: the attention of the
next step, which reads the word (Chen et al. 2020, Accurate Word Alignment Induction from Neural Machine
Translation).
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import torch

import pellucid
from benchmarks.report import write_report
from pellucid.data import phrasebook
from pellucid.reading.looking import merge_pieces
from pellucid.reading.passes import in_batch, watch
from pellucid.reading.words import Word, words_of
from pellucid.text.vocabulary import Vocabulary
from tools.phrasebook.lexicon import ADJECTIVES
from tools.phrasebook.nouns import NOUNS
from tools.phrasebook.verbs import VERBS

LANGUAGES = {"en": "english", "fr": "french", "es": "spanish", "hi": "hindi"}
SENTENCES = 100  # of each direction
ABOUT = (
    "The share of known words whose link is right: of each target word, the source word with the most "
    f"attention, in about {SENTENCES} held-out sentences of each direction with their references, by the "
    "demo model. Each known word has one right link and gets one, so this is precision and recall.",
    "`explain --alignment`, `translate --json` and the server use the mean of the last layer's heads at the "
    "step that says the word. Shifted attention is far worse here, in each layer and head, so they stay as "
    "they are: this model of two layers looks at a word when it says it, and not when it reads it. Chen "
    "et al. found the opposite in models of six layers; no such model was measured on known pairs.",
)
Asked = tuple[tuple[list[int], list[int]], list[list[Word]], list[tuple[int, int]]]


def rows_of(language: str) -> dict[str, str]:
    """Return the row of the tables that a form belongs to; forms of several rows are left out."""
    found = defaultdict[str, set[str]](set)
    tables: tuple[dict[str, Any], ...] = NOUNS, ADJECTIVES, VERBS
    for kind, table in enumerate(tables):
        for name, row in table.items():
            forms = getattr(row, LANGUAGES[language])
            for form in (forms,) if isinstance(forms, str) else forms:
                found[form.casefold()].add(f"{kind == 2} {name}")
    return {form: rows.pop() for form, rows in found.items() if len(rows) == 1 and " " not in form}


def known(sides: list[list[Word]], tables: list[dict[str, str]]) -> list[tuple[int, int]]:
    """Return the pairs of words, by their numbers, that are known to translate each other."""
    both = list(zip(tables, sides, strict=True))
    rows = [[table.get(word.text.casefold()) for word in words] for table, words in both]
    once = [{row for row, count in Counter(side).items() if row and count == 1} for side in rows]
    return [(rows[0].index(row), rows[1].index(row)) for row in sorted(once[0] & once[1])]


def sentences(direction: tuple[str, str], vocabulary: Vocabulary) -> Iterator[Asked]:
    """Yield the ids, words and known pairs of held-out sentences."""
    tables, to = [rows_of(language) for language in direction], direction[1]
    phrases = [each for each in phrasebook.split()["held-out"] if each.direction == "-".join(direction)]
    for phrase in phrases[:: max(1, len(phrases) // SENTENCES)]:
        ids = vocabulary.encode_source(phrase.source, to), vocabulary.encode_target(phrase.target, to)
        tokens = vocabulary.source_tokens(ids[0]), vocabulary.target_tokens(ids[1])
        sides = [
            words_of(*side, vocabulary, bool(place))
            for place, side in enumerate(zip(ids, tokens, strict=True))
        ]
        words = [[word for word in side if not word.special] for side in sides]
        if pairs := known(words, tables):
            yield ids, words, pairs


def main() -> None:
    """Measure each layer, each head and the mean of the heads, at both steps."""
    translator = pellucid.load("demo", device="cpu", precision="fp32")
    right, total = Counter[Any](), Counter[Any]()
    for direction in phrasebook.DIRECTIONS:
        asked = list(sentences(direction, translator.vocabulary))
        total[direction] = sum(len(pairs) for *_, pairs in asked)
        batch = in_batch(translator.model, [ids for ids, *_ in asked])
        seen = watch(translator.model, batch, only="*.cross_attention.weights")
        for layer, record in enumerate(seen.values()):
            for weights, (_, words, pairs) in zip(record.tensor, asked, strict=True):
                for shift in (0, 1):
                    rows = weights.roll(-shift, 1)
                    heads = torch.cat((rows, rows.mean(0, keepdim=True)))
                    best = merge_pieces(heads, words[1], words[0]).argmax(-1).tolist()
                    for head, links in enumerate(best):
                        right[layer, head, shift, direction] += sum(links[b] == a for a, b in pairs)
    heads = translator.model.config.heads
    rows = [
        [
            f"{layer}",
            "mean" if head == heads else f"{head}",
            "shifted" if shift else "says",
            *(f"{right[layer, head, shift, each] / total[each]:.3f}" for each in total),
        ]
        for layer, head, shift in dict.fromkeys(key[:3] for key in right)
    ]
    columns = [f"{source}-{target} ({total[source, target]} words)" for source, target in total]
    write_report("alignment", "Alignment of known words", ABOUT, ["layer", "head", "step", *columns], rows)


if __name__ == "__main__":
    main()
