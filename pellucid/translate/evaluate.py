"""Measure translations against references: BLEU and chrF by sacreBLEU (Post 2018), and exact matches."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from pellucid.errors import PellucidError, Setting, UsageError

# The tokenizers of sacreBLEU that need neither a download nor an extra package.
TOKENIZERS = ("13a", "none", "intl", "char", "zh")


@dataclass(frozen=True)
class Scores:
    """BLEU and chrF (0 to 100), each with the sacreBLEU signature that says how it was computed, and the
    percentage of translations that equal a reference."""

    bleu: float
    chrf: float
    exact: float
    sentences: int
    bleu_signature: str
    chrf_signature: str

    def __str__(self) -> str:
        right = round(self.exact * self.sentences / 100)
        return (
            f"BLEU {self.bleu:.2f} ({self.bleu_signature})\n"
            f"chrF {self.chrf:.2f} ({self.chrf_signature})\n"
            f"exact {self.exact:.2f} ({right:,} of {self.sentences:,})"
        )


def evaluate(
    hypotheses: Sequence[str],
    references: Sequence[str] | Sequence[Sequence[str]],
    lowercase: bool = False,
    tokenize: str = "13a",
) -> Scores:
    """Compare translations with references: compute BLEU, chrF and the percentage that equal a reference.

    references: a list with one reference for each hypothesis, or several such lists.
    tokenize: how BLEU splits the text: "none" (it is already tokenised), "13a", "intl", "char" or "zh".
    """
    if tokenize not in TOKENIZERS:
        raise UsageError(f"{{}} is not one of {', '.join(TOKENIZERS)}.", Setting("tokenize", tokenize))
    lists = _lists_of(hypotheses, references)
    # Imported here, because it is slow.
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    # force: no warning about text that looks tokenised, as the text of some recipes must be.
    bleu = BLEU(lowercase=lowercase, tokenize=tokenize, force=True)
    chrf = CHRF(lowercase=lowercase)
    return Scores(
        bleu.corpus_score(hypotheses, lists).score,
        chrf.corpus_score(hypotheses, lists).score,
        exactly_right(hypotheses, lists, lowercase),
        len(hypotheses),
        str(bleu.get_signature()),
        str(chrf.get_signature()),
    )


def _lists_of(
    hypotheses: Sequence[str], references: Sequence[str] | Sequence[Sequence[str]]
) -> list[Sequence[str]]:
    """Return the references as a list of lists. Raise an error if a list does not fit the hypotheses."""
    if isinstance(hypotheses, str) or isinstance(references, str):
        raise UsageError(
            "evaluate compares lists of texts, and was given a single text. Put it in a list: [text]."
        )
    one = all(isinstance(each, str) for each in references)
    lists = cast("list[Sequence[str]]", [references] if one else references)
    for texts in lists:
        if isinstance(texts, str) or len(texts) != len(hypotheses):
            raise PellucidError(
                f"{len(hypotheses)} translations cannot be compared with {len(texts)} references: "
                "there must be one for each. Look for lines that one side lacks."
            )
    if not hypotheses:
        raise PellucidError("there are no translations to evaluate. Look whether the files are empty.")
    return lists


def exactly_right(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], lowercase: bool = False
) -> float:
    """Return the percentage of hypotheses that equal one of their references, after Unicode normalisation
    (NFC) and without white space at both ends.

    references: one or several lists, each with one reference for each hypothesis.
    """

    def plain(text: str) -> str:
        return unicodedata.normalize("NFC", text.lower() if lowercase else text).strip()

    each = zip(hypotheses, zip(*references, strict=True), strict=True)
    equal = sum(plain(one) in map(plain, others) for one, others in each)
    return 100 * equal / len(hypotheses)


def worst_sentences(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], count: int, lowercase: bool = False
) -> list[tuple[int, float]]:
    """Return the sentences with the lowest chrF, the worst first: their indices, and chrF as sacreBLEU has it
    for a sentence. references: one or several lists."""
    from sacrebleu.metrics.chrf import CHRF

    chrf, rows = CHRF(lowercase=lowercase), zip(hypotheses, zip(*references, strict=True), strict=True)
    scores = [chrf.sentence_score(said, right).score for said, right in rows]
    return [(place, scores[place]) for place in sorted(range(len(scores)), key=scores.__getitem__)[:count]]


def note_on_short(references: Sequence[str], tokenize: str = "13a") -> str | None:
    """Return a note if most references are shorter than four tokens, because BLEU counts sequences of four;
    otherwise None."""
    from sacrebleu.metrics.bleu import BLEU

    split = BLEU(tokenize=tokenize).tokenizer
    short = sum(len(split(reference).split()) < 4 for reference in references)
    if 2 * short <= len(references):
        return None
    return (
        f"note: BLEU compares runs of four tokens, and {short:,} of {len(references):,} references have "
        "fewer than four: look at exact."
    )
