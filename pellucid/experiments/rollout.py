"""Attention rollout (Abnar and Zuidema 2020, Quantifying Attention Flow in Transformers): how much of each
source word would have reached each position if vectors were only mixed by the attention weights.

It is derived, not part of the model: the heads' weights are averaged, the residual counts as half, and
values, W^O, norms and feed-forward layers are left out. It is defined for the encoder; the last table, the
mean cross-attention of the last decoder layer through it, is our addition.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from pellucid.experiments.said import said
from pellucid.reading.words import visible
from pellucid.show.columns import columns, stacked
from pellucid.show.drawing import drawing, shade

if TYPE_CHECKING:
    from pellucid.translator import Translator

ABOUT = "attention rollout: which source words would reach each position (derived, not in the model)"
NEEDS = "sentence"


@dataclass(frozen=True)
class Rollout:
    """Shares that sum to 1 in each row."""

    title: str
    source: list[str]
    expected: list[str]
    encoder: list[list[float]]  # after the last encoder layer: position, source word
    direct: list[list[float]]  # the last cross-attention, mean of the heads: target position, source position
    through: list[list[float]]  # the same through the rollout: target position, source word

    @property
    def conclusion(self) -> str:
        """How much of each vector is still its own word, and whether the cross-attention's answer changes."""
        own = [row[place] for place, row in enumerate(self.encoder)]
        changed = sum(
            _largest(before) != _largest(after)
            for before, after in zip(self.direct, self.through, strict=True)
        )
        return (
            f"Rolled out through the encoder's layers, a position holds {sum(own) / len(own):.2f} of its own "
            "word on average and others for the rest; so at "
            f"{changed} of {len(self.through)} target positions the word that counts most, if one asks what "
            "the vectors looked at are made of, is another than the one looked at."
        )

    def lines(self, width: int) -> list[str]:
        """The conclusion; the encoder's rollout; the cross-attention as it is and through it."""
        derived = (
            "Derived, not in the model: mean of the heads, half for the residual, nothing of values, norms "
            "and feed-forward layers (Abnar and Zuidema 2020). The cross-attention through it is ours."
        )
        tables = (
            ("encoder output: what each position would be made of", self.source, self.encoder),
            ("last cross-attention, as it is: rows are the words to be said", self.expected, self.direct),
            ("last cross-attention, through the rollout", self.expected, self.through),
        )
        shown = [[title, *_table(rows, self.source, shares, width)] for title, rows, shares in tables]
        return stacked(width, self.conclusion, self.title, *shown, derived)

    def plot(self, path: str | Path) -> None:
        """The three tables as shades."""
        source, expected = [[visible(word) for word in words] for words in (self.source, self.expected)]
        panels = (
            ("encoder, rolled out", source, self.encoder),
            ("last cross-attention", expected, self.direct),
            ("through the rollout", expected, self.through),
        )
        with drawing(path, "rollout", "".join([*source, *expected])) as figure:
            figure.set_size_inches(3.2 + 1.3 * len(source), 1.8 + 0.4 * max(len(source), len(expected)))
            for axes, (title, rows, grid) in zip(figure.subplots(1, 3), panels, strict=True):
                image = shade(axes, grid, 1.0, rows=rows, columns=source, turned=True)
                axes.set_title(f"{title}\n(derived)" if "roll" in title else title, fontsize=8)
            figure.colorbar(image, ax=axes, shrink=0.8)


def experiment(
    translator: "Translator", text: str, to: str | None = None, *, target: str | None = None
) -> Rollout:
    """Multiply the encoder's mean attention weights layer by layer, the residual counted as half."""
    pair = said(translator, text, to, target)
    layers = [part for part in pair.attentions if part.startswith("encoder")]
    rolled = torch.eye(len(pair.explanation.source_ids), dtype=torch.float64)
    for part in layers:
        mixing = (_mean_of_heads(pair.trace[f"{part}.weights"].tensor) + torch.eye(len(rolled))) / 2
        rolled = mixing @ rolled
    direct = _mean_of_heads(pair.trace[f"{pair.explanation.watched_layer}.weights"].tensor)
    source = pair.explanation.source_tokens
    tables = [each.tolist() for each in (rolled, direct, direct @ rolled)]
    return Rollout(pair.title, source, pair.expected_tokens, *tables)


def _mean_of_heads(weights_BHLM: Tensor) -> Tensor:
    return weights_BHLM[0].double().mean(0)


def _largest(row: list[float]) -> int:
    return row.index(max(row))


def _table(rows: list[str], header: list[str], shares: list[list[float]], width: int) -> list[str]:
    cells = [[f"{share:.2f}" for share in row] for row in shares]
    return columns(["", *header], [[name, *row] for name, row in zip(rows, cells, strict=True)], width)
