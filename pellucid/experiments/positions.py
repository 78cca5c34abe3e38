"""Positions: the table of sinusoids, and how large it is beside the word embeddings.

"PE(pos, 2i) = sin(pos / 10000^(2i/d_model)), PE(pos, 2i+1) = cos(pos / 10000^(2i/d_model))" (Vaswani et al.
2017, section 3.5); "we multiply those weights by sqrt(d_model)" (section 3.4) is what makes the embeddings as
long as the positions.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from pellucid.config.whole import whole_list, whole_setting
from pellucid.errors import UsageError
from pellucid.model import sinusoids
from pellucid.show.columns import columns, stacked
from pellucid.show.drawing import drawing, shade

if TYPE_CHECKING:
    from pellucid.translator import Translator

ABOUT = "the sinusoids of section 3.5 in numbers, and why embeddings are multiplied by sqrt(d)"
NEEDS = "model"
SHOWN = 8  # dimensions that a table has room for
DRAWN = 100  # positions of the picture
MOST = 10_000  # positions, and dimensions


@dataclass(frozen=True)
class Table:
    """The encodings of the first positions, for one width."""

    width: int
    values: list[list[float]]  # position, dimension: all of them

    def lines(self, width: int) -> list[str]:
        """At 4 decimals; sin at even dimensions, cos at odd ones."""
        shown = min(SHOWN, self.width)
        more = f", the first {shown} dimensions" if shown < self.width else ""
        header = ["i", *(f"{'cos' if j % 2 else 'sin'} {j}" for j in range(shown))]
        rows = [[str(i), *(f"{value:z.4f}" for value in row[:shown])] for i, row in enumerate(self.values)]
        return [f"d = {self.width}{more}", *columns(header, rows, width)]


@dataclass(frozen=True)
class Positions:
    """Encodings for several widths, and lengths of vectors in the model."""

    tables: list[Table]  # d = 4, d = 8, and the model's own
    position_length: float  # ‖PE(i)‖: sqrt(d / 2) at every position
    embedding_length: float  # the mean over the vocabulary, as the matrix has it
    factor: float  # sqrt(d), or 1 in a model that does not multiply
    neighbours: list[float]  # cos(PE(0), PE(k)) for k = 0, 1, 2, …

    @property
    def conclusion(self) -> str:
        """How long embeddings are beside positions, with the factor and without."""
        width = self.tables[-1].width
        scaled, plain = (self.embedding_length * factor for factor in (math.sqrt(width), 1.0))
        does = "does" if self.factor != 1 else "does not"
        return (
            f"A position's vector has the length √(d/2) = {self.position_length:.2f} at every position; a "
            f"word's has {plain:.2f} in the matrix, {plain / self.position_length:.1f} times that, and "
            f"multiplied by √d = {math.sqrt(width):.4g}, which this model {does}, {scaled:.2f}, "
            f"{scaled / self.position_length:.1f} times."
        )

    def lines(self, width: int) -> list[str]:
        """The conclusion, a table for each width, and how alike positions are."""
        alike = [[str(k), f"{cosine:.4f}"] for k, cosine in enumerate(self.neighbours)]
        title = "cosine of positions i and i + k, the same for every i: a distance, not a place"
        cosines = columns(["k", *(row[0] for row in alike)], [["", *(row[1] for row in alike)]], width)
        tables = [table.lines(width) for table in self.tables]
        return stacked(width, self.conclusion, *tables, [title, *cosines])

    def plot(self, path: str | Path) -> None:
        """The model's own table, positions × dimensions."""
        width = self.tables[-1].width
        grid = sinusoids(DRAWN, width, torch.float64, torch.device("cpu"))
        with drawing(path, "positions") as figure:
            figure.set_size_inches(8, 5)
            axes = figure.subplots()
            image = shade(axes, grid.numpy(), 1.0, signed=True)
            axes.set_xlabel(f"dimension of {width}: sin at even, cos at odd ones", fontsize=8)
            axes.set_ylabel("position", fontsize=8)
            figure.colorbar(image, ax=axes)


def experiment(
    translator: "Translator",
    *,
    length: int = 6,
    widths: Sequence[int] = (4, 8),
) -> Positions:
    """The encodings of the first `length` positions for these widths and for the model's own."""
    length = whole_setting("length", length, 1, MOST, "so many positions are shown")
    widths = whole_list("widths", widths, 2, MOST)
    if odd := [width for width in widths if width % 2]:
        raise UsageError(f"widths = {widths}: {odd[0]} is odd, and sine and cosine come in pairs.")
    model = translator.model
    own = model.config.width
    tables = [Table(width, _sinusoids(length, width)) for width in dict.fromkeys((*widths, own))]
    tables.sort(key=lambda table: table.width == own)
    embedding = model.embedding or model.encoder.embedding
    assert embedding is not None
    lengths = embedding.weight.detach().double().norm(dim=-1)
    first, *_ = vectors = torch.tensor(_sinusoids(length, own), dtype=torch.float64)
    cosines = torch.nn.functional.cosine_similarity(vectors, first[None], dim=-1)
    return Positions(
        tables, float(first.norm()), float(lengths.mean()), model.encoder.scale, cosines.tolist()
    )


def _sinusoids(length: int, width: int) -> list[list[float]]:
    return sinusoids(length, width, torch.float64, torch.device("cpu")).tolist()
