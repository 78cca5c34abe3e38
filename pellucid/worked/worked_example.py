"""A worked example: every stage by its name, with methods to check and to show it."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor

from pellucid.errors import UsageError
from pellucid.folder.whole_file import place, write
from pellucid.seeing.records import Record, Records
from pellucid.seeing.viewed import Viewed, page
from pellucid.worked.check import Report, check
from pellucid.worked.stages import Start, run, shapes

ROWS = {"inputs": "L", "sublayer": "L", "w_embedding": "L", "memory": "M"}  # whose rows are words


class WorkedExample(Viewed, Records):
    """Every stage of a worked example by its name, in the order of computation, in float64."""

    def __init__(
        self,
        records: Mapping[str, Record],
        shapes: Mapping[str, str],
        given: Mapping[str, Tensor],
        tokens: Mapping[str, Sequence[str]],
    ) -> None:
        super().__init__(records)
        self.shapes = shapes  # how the shape of each stage comes about, "(2×4)·(4×3) = (2×3)"
        self.tokens = tokens  # along the axes L and M
        self.given = Records({})  # what it starts from, with the words of the rows
        for name, matrix in given.items():
            axis = ROWS.get(name, "K")
            words = {axis: [list(tokens[axis])]} if axis in tokens else {}
            self.given[name] = Record(name, f"{'H' * (matrix.dim() == 3)}{axis}D", matrix, words)


class WorkedAttention(WorkedExample):
    """Every stage of an attention."""

    def __init__(self, start: Start, tokens: Mapping[str, list[str]], arguments: Mapping[str, Any]) -> None:
        self.start = start
        self.arguments = arguments  # of `attention`; its matrices in float64
        records: dict[str, Record] = {}
        is_known = not any(bool(matrix.isnan().any()) for matrix in start.arrays.values())

        def record(name_axes: str, tensor: Tensor) -> Tensor:
            name, _, axes = name_axes.rpartition("_")
            if bool((tensor == math.inf).any()) or (is_known and bool(tensor.isnan().any())):
                raise UsageError(f"{name}: it overflows float64 (1.8e308). Give smaller numbers.")
            here = {axis: [words] for axis, words in tokens.items() if axis in axes}
            records[name] = Record(name, axes, tensor.clone(), here)
            return tensor

        run(start, record)
        tensors = {name: each.tensor for name, each in records.items()}
        super().__init__(records, shapes(start, tensors), start.arrays, tokens)

    def check(self, claims: Mapping[str, Any], decimals: int | None = None) -> Report:
        """Judge claimed numbers cell by cell. Each is compared with two numbers: one computed from the
        claimed stage before it, and one computed from the start."""
        return check(self.start, claims, decimals, self.tokens)

    def to_html(
        self, path: str | Path, claims: Mapping[str, Any] | None = None, decimals: int | None = None
    ) -> None:
        """Write a page that needs no network: matrices, claims with verdicts, a form to change them."""
        html = page(self, name=place(path).stem, claims=claims or {}, decimals=decimals)
        write(path, html.encode("utf-8", "replace"))
