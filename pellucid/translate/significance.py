"""Tell whether translations are better than others, or whether chance may explain the difference: paired
bootstrap (Koehn 2004) and approximate randomisation (Riezler and Maxwell 2005), both by sacreBLEU."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from pellucid.translate.evaluate import lists_of, metrics_of

LEVEL = 0.05  # where both tests say less, chance is usually ruled out


@dataclass(frozen=True)
class Difference:
    """A metric of two sets of translations, and the p-values of two tests: how often chance alone makes a
    difference as large. The signature says how all of it was computed."""

    metric: str  # "BLEU", "chrF2" or "TER"
    score: float
    other: float
    bootstrap: float
    randomisation: float
    signature: str

    @property
    def difference(self) -> float:
        """Return how much higher the score of the first translations is."""
        return self.score - self.other

    @property
    def verdict(self) -> str:
        """Return "better" or "worse", for the first translations, or "may be chance"."""
        if max(self.bootstrap, self.randomisation) >= LEVEL:
            return "may be chance"
        # TER counts edits, so less is better.
        return "better" if (self.difference > 0) != (self.metric == "TER") else "worse"


def significance(
    hypotheses: Sequence[str],
    others: Sequence[str],
    references: Sequence[str] | Sequence[Sequence[str]],
    lowercase: bool = False,
    tokenize: str = "13a",
) -> list[Difference]:
    """Compare translations with other translations of the same sources: BLEU, chrF and TER of both, and how
    often chance alone makes differences as large.

    references, lowercase, tokenize: as in `evaluate`. The tests draw 1,000 and 10,000 times, from the seed in
    the environment variable SACREBLEU_SEED, or 12345.
    """
    from sacrebleu.metrics.ter import TER
    from sacrebleu.significance import PairedTest

    lists = lists_of(hypotheses, references)
    lists_of(others, references)
    # TER ignores case, as its authors' program and sacreBLEU do unless they are told otherwise.
    metrics = dict(zip(("BLEU", "chrF", "TER"), (*metrics_of(lowercase, tokenize), TER()), strict=True))
    systems: list[tuple[str, Sequence[str]]] = [("others", list(others)), ("ours", list(hypotheses))]
    tests = [PairedTest(systems, metrics, lists, test_type=test) for test in ("bs", "ar")]
    (_, bootstrap), (signatures, randomisation) = (test() for test in tests)
    found = []
    for name, signature in signatures.items():
        signature.update("bs", tests[0].n_samples)
        results: list[Any] = [bootstrap[name][1], randomisation[name][1]]
        ours, other = (float(cast("Any", bootstrap[name][place]).score) for place in (1, 0))
        # sacreBLEU counts larger differences only, but to exchange nothing, or all, makes one as large.
        least = 1.0 if ours == other else 0.5 ** (len(hypotheses) - 1)
        chances = [max(each.p_value, least) for each in results]
        found.append(Difference(name, ours, other, chances[0], chances[1], str(signature)))
    return found
