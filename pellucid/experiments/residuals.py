"""Residuals: each one removed, so that a sublayer's output replaces the stream instead of being added to it.

"We employ a residual connection around each of the two sub-layers, followed by layer normalization" (Vaswani
et al. 2017, section 3.1; He et al. 2016).
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from torch import Tensor

from pellucid.experiments.said import Said, said
from pellucid.reading.passes import watch
from pellucid.seeing.edits import ADDED, together, without_residual
from pellucid.show.columns import columns, digits, short, stacked
from pellucid.show.drawing import PURPLE, drawing

if TYPE_CHECKING:
    from pellucid.translator import Translator

ABOUT = "residuals carry the words through: how probable the translation is when one is removed"
NEEDS = "sentence"


@dataclass(frozen=True)
class Removed:
    """One residual connection; the lengths are of vectors, the mean over the positions."""

    part: str
    sublayer: str  # what it adds
    stream: float  # ‖x‖, what comes in
    added: float  # ‖Sublayer(x)‖
    total: float  # ‖x + Sublayer(x)‖
    probability: float  # of the translation without this one
    output_moves: float  # ‖decoder output − that with the residual‖ / ‖that with the residual‖


@dataclass(frozen=True)
class Residuals:
    """Each residual of a model, removed in turn."""

    title: str
    probability: float  # of the translation with all of them
    none: float  # with none of them
    removed: list[Removed]

    @property
    def conclusion(self) -> str:
        """What the worst and the mildest removal do."""
        worst = min(self.removed, key=lambda each: each.probability)
        mildest = max(self.removed, key=lambda each: each.probability)
        ruined = sum(each.probability < self.probability / 2 for each in self.removed)
        return (
            f"{ruined} of {len(self.removed)} residuals, each removed alone, cost this translation more than "
            f"half of its probability of {digits(self.probability)}: the most costly is "
            f"{short(worst.part)} ({digits(worst.probability)} without it), the least "
            f"{short(mildest.part)} ({digits(mildest.probability)}); without any it is {digits(self.none)}."
        )

    def lines(self, width: int) -> list[str]:
        """The conclusion, then a line for each residual."""
        header = ["residual", "around", "‖x‖", "‖added‖", "‖sum‖", "p without", "moved"]
        table = [
            [
                short(each.part),
                each.sublayer.replace("_", " "),
                f"{each.stream:.2f}",
                f"{each.added:.2f}",
                f"{each.total:.2f}",
                digits(each.probability),
                f"{100 * each.output_moves:.0f} %",
            ]
            for each in self.removed
        ]
        legend = (
            "‖x‖: the length of the stream's vectors that come in, ‖added‖: of what the sublayer adds, "
            "‖sum‖: of what goes on (before the norm, where it comes last); without the residual ‖added‖ "
            "goes on alone. p without: the translation's probability then. moved: how far the decoder's "
            "output lies from where it was, as a share of its length."
        )
        return stacked(width, self.conclusion, self.title, columns(header, table, width, left=2), legend)

    def plot(self, path: str | Path) -> None:
        """The probability without each residual, and the lengths of what flows through it."""
        names = [short(each.part) for each in self.removed]
        places = list(range(len(names)))
        with drawing(path, "residuals") as figure:
            figure.set_size_inches(9, 1.6 + 0.35 * len(names))
            left, right = figure.subplots(1, 2, sharey=True)
            left.barh(places, [each.probability for each in self.removed], color=PURPLE)
            left.axvline(self.probability, color="0.3", linestyle="--", label="with all")
            left.set_xlabel("probability of the translation without it", fontsize=8)
            left.set_yticks(places, names, fontsize=8)
            left.invert_yaxis()
            left.legend(fontsize=7)
            for shift, label, numbers in (
                (-0.27, "‖x‖", [each.stream for each in self.removed]),
                (0.0, "‖added‖", [each.added for each in self.removed]),
                (0.27, "‖sum‖", [each.total for each in self.removed]),
            ):
                right.barh([place + shift for place in places], numbers, 0.25, label=label)
            right.set_xlabel("length of the vectors, mean over the positions", fontsize=8)
            right.legend(fontsize=7)


def experiment(
    translator: "Translator", text: str, to: str | None = None, *, target: str | None = None
) -> Residuals:
    """Remove each residual connection of the model in turn."""
    pair = said(translator, text, to, target)
    parts = [name.removesuffix(".sum") for name in pair.trace if name.endswith(".sum")]
    removed = [_removed(pair, part) for part in parts]
    none = pair.probability(together(*(without_residual(part) for part in parts)))
    return Residuals(pair.title, pair.probability(), none, removed)


def _removed(pair: Said, part: str) -> Removed:
    layer, _, number = part.rpartition(".residual_")
    sublayer = ADDED[part.partition(".")[0]][number]
    total, added = pair.trace[f"{part}.sum"].tensor, pair.trace[f"{layer}.{sublayer}.output"].tensor
    edits = without_residual(part)
    seen = watch(pair.model, pair.source, pair.target, only="decoder.*", edits=edits)
    before, after = pair.trace["decoder.output"].tensor, seen["decoder.output"].tensor
    moves = _length(after - before) / _length(before)
    return Removed(
        part,
        sublayer,
        _length(total - added),
        _length(added),
        _length(total),
        pair.probability_in(seen),
        moves,
    )


def _length(vectors_BLD: Tensor) -> float:
    return float(vectors_BLD.double().norm(dim=-1).mean())
