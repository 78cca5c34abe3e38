"""How good translations are, with one reference or several: BLEU and chrF by sacreBLEU (Post 2018), and the
share that is exactly right."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from pellucid.errors import PellucidError, Setting, UsageError

# Those of sacreBLEU that need neither a download nor an extra.
TOKENIZERS = ("13a", "none", "intl", "char", "zh")


@dataclass(frozen=True)
class Scores:
    """BLEU and chrF, both of 100, each with the signature that says how it was computed; and the percentage
    of the sentences that are exactly right."""

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
    """Corpus BLEU and chrF of translations, by sacreBLEU, and the percentage that is exactly right.

    references: one for each hypothesis; or several such lists. tokenize: "none" for text that is tokenised
    already, "13a" (the default), "intl", "char" or "zh".
    """
    if tokenize not in TOKENIZERS:
        raise UsageError(f"{{}} is not one of {', '.join(TOKENIZERS)}.", Setting("tokenize", tokenize))
    lists = _lists(references)
    _check(hypotheses, lists)
    # Here, for it is slow to import.
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    # force: sacreBLEU would warn of text that looks tokenised, which some of our recipes want to be.
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


def _check(hypotheses: Sequence[str], lists: Sequence[Sequence[str]]) -> None:
    """Raise unless there are texts on both sides, and equally many in all lists."""
    for each in (hypotheses, *lists):
        if isinstance(each, str) or not all(isinstance(text, str) for text in each):
            raise UsageError(
                "hypotheses must be a list of texts, and references a list with a text for each of them, or "
                "a list of such lists."
            )
        if len(each) != len(hypotheses):
            raise PellucidError(
                f"{len(hypotheses)} translations cannot be compared with {len(each)} references: "
                "there must be one for each. Look for lines that one side lacks."
            )
    if not hypotheses:
        raise PellucidError(
            "there is nothing to evaluate: no translations and no references. Look at the files."
        )


def exactly_right(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], lowercase: bool = False
) -> float:
    """The percentage of the hypotheses that equal one of their references, after NFC and without the white
    space at either end; `references` are lists with one for each hypothesis."""

    def plain(text: str) -> str:
        return unicodedata.normalize("NFC", text.lower() if lowercase else text).strip()

    each = zip(hypotheses, zip(*references, strict=True), strict=True)
    equal = sum(plain(one) in map(plain, others) for one, others in each)
    return 100 * equal / len(hypotheses)


def note_on_short(references: Sequence[str], tokenize: str = "13a") -> str | None:
    """What to know about BLEU where most references are shorter than the runs of tokens that it compares."""
    from sacrebleu.metrics.bleu import BLEU

    split = BLEU(tokenize=tokenize).tokenizer
    short = sum(len(split(reference).split()) < 4 for reference in references)
    if 2 * short <= len(references):
        return None
    return (
        f"note: BLEU compares runs of four tokens, and {short:,} of {len(references):,} references have "
        "fewer than four: look at exact."
    )


def _lists(references: Sequence[str] | Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """One list for each reference that a sentence has."""
    one = isinstance(references, str) or all(isinstance(each, str) for each in references)
    return [references] if one else list(references)  # type: ignore[list-item]
