"""Measure translations against references: BLEU and chrF by sacreBLEU (Post 2018), and exact matches."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

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
    lists, (bleu, chrf) = lists_of(hypotheses, references), metrics_of(lowercase, tokenize)
    return Scores(
        bleu.corpus_score(hypotheses, lists).score,
        chrf.corpus_score(hypotheses, lists).score,
        exactly_right(hypotheses, lists, lowercase),
        len(hypotheses),
        str(bleu.get_signature()),
        str(chrf.get_signature()),
    )


def metrics_of(lowercase: bool, tokenize: str) -> tuple[Any, Any]:
    """Return sacreBLEU's BLEU and chrF, which are imported here, because that is slow."""
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    # force: no warning about text that looks tokenised, as the text of some recipes must be.
    return BLEU(lowercase=lowercase, tokenize=tokenize, force=True), CHRF(lowercase=lowercase)


def lists_of(
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


def chrf_of_each(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], lowercase: bool = False
) -> list[float]:
    """Return chrF of each sentence, as sacreBLEU has it for a sentence. references: one or several lists."""
    chrf = metrics_of(lowercase, "none")[1]
    rows = zip(hypotheses, zip(*references, strict=True), strict=True)
    return [chrf.sentence_score(said, right).score for said, right in rows]


def load_comet(path: str) -> Any:
    """Load a COMET model (Rei et al. 2020) from its checkpoint, such as
    wmt22-comet-da/checkpoints/model.ckpt. Nothing is downloaded. Loading it runs what its maker put into it.
    """
    try:
        from comet import load_from_checkpoint
    except ImportError:
        raise PellucidError("COMET needs another package: pip install unbabel-comet") from None
    if not Path(path).is_file():
        inside = "Name the file of its weights, such as wmt22-comet-da/checkpoints/model.ckpt."
        raise PellucidError(f"{path}: no such file of a COMET model. {inside}")
    return load_from_checkpoint(path, local_files_only=True)


def comet_of(
    model: Any, sources: Sequence[str], hypotheses: Sequence[str], references: Sequence[str]
) -> float:
    """Return the score that a COMET model gives translations: the mean over sentences."""
    rows = zip(sources, hypotheses, references, strict=True)
    samples = [{"src": source, "mt": said, "ref": right} for source, said, right in rows]
    return float(model.predict(samples, batch_size=8, gpus=0, progress_bar=False).system_score)


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
