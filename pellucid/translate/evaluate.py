"""How good translations are against one reference a sentence: BLEU and chrF by sacreBLEU (Post 2018), and the
share that is exactly right."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from pellucid.errors import PellucidError, UsageError

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
    hypotheses: Sequence[str], references: Sequence[str], lowercase: bool = False, tokenize: str = "13a"
) -> Scores:
    """Corpus BLEU and chrF, and the percentage of exactly right sentences. Text that is tokenised already
    wants tokenize="none"."""
    if tokenize not in TOKENIZERS:
        raise UsageError(f"tokenize = {tokenize!r} is not one of {', '.join(TOKENIZERS)}.")
    if len(hypotheses) != len(references):
        raise PellucidError(
            f"{len(hypotheses)} translations cannot be compared with {len(references)} references: "
            "there must be one for each. Look for lines that one side lacks."
        )
    if not references:
        raise PellucidError(
            "there is nothing to evaluate: no translations and no references. Look at the files."
        )
    # Here, for it is slow to import.
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    # force: sacreBLEU would warn of text that looks tokenised, which some of our recipes want to be.
    bleu = BLEU(lowercase=lowercase, tokenize=tokenize, force=True)
    chrf = CHRF(lowercase=lowercase)
    return Scores(
        bleu.corpus_score(hypotheses, [references]).score,
        chrf.corpus_score(hypotheses, [references]).score,
        exactly_right(hypotheses, references, lowercase),
        len(references),
        str(bleu.get_signature()),
        str(chrf.get_signature()),
    )


def exactly_right(hypotheses: Sequence[str], references: Sequence[str], lowercase: bool = False) -> float:
    """The percentage of the hypotheses that equal their reference, after NFC and without the white space at
    either end."""

    def plain(text: str) -> str:
        return unicodedata.normalize("NFC", text.lower() if lowercase else text).strip()

    equal = sum(plain(one) == plain(other) for one, other in zip(hypotheses, references, strict=True))
    return 100 * equal / len(references)


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
