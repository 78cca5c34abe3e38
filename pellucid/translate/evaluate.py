"""How good translations are, by sacreBLEU (Post 2018): BLEU and chrF against one reference a sentence."""

from collections.abc import Sequence
from dataclasses import dataclass

from pellucid.errors import PellucidError, UsageError

# Those of sacreBLEU that need neither a download nor an extra.
TOKENIZERS = ("13a", "none", "intl", "char", "zh")


@dataclass(frozen=True)
class Scores:
    """BLEU and chrF, both of 100, each with the signature that says how it was computed."""

    bleu: float
    chrf: float
    bleu_signature: str
    chrf_signature: str

    def __str__(self) -> str:
        return f"BLEU {self.bleu:.2f} ({self.bleu_signature})\nchrF {self.chrf:.2f} ({self.chrf_signature})"


def evaluate(
    hypotheses: Sequence[str], references: Sequence[str], lowercase: bool = False, tokenize: str = "13a"
) -> Scores:
    """Corpus BLEU and chrF. Text that is tokenised already wants tokenize="none"."""
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
        str(bleu.get_signature()),
        str(chrf.get_signature()),
    )
