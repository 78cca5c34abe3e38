"""A worked example: every stage of an attention by its name, and what can be asked of it."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor

from pellucid.config.nearest import nearest
from pellucid.seeing.records import Record, Records
from pellucid.worked.stages import STAGES, Given, run, shapes

if TYPE_CHECKING:
    from pellucid.worked.check import Report


class WorkedExample(Records):
    """Every stage of an attention by its name, in the order of computation, in float64."""

    def __init__(
        self, given: Given, tokens: Mapping[str, list[list[str]]], arguments: Mapping[str, Any] | None = None
    ) -> None:
        self.given = given
        self.tokens = {axis: words[0] for axis, words in tokens.items()}
        self.arguments = dict(arguments or {})  # of `attention`; its matrices in float64
        records: dict[str, Record] = {}

        def record(name_axes: str, tensor: Tensor) -> Tensor:
            name, _, axes = name_axes.rpartition("_")
            here = {axis: words for axis, words in tokens.items() if axis in axes}
            records[name] = Record(name, axes, tensor.clone(), here)
            return tensor

        run(given, record)
        super().__init__(records)

    def no_such(self, name: str) -> str:
        """What is said of a stage that is not there."""
        near = nearest(name, STAGES, cutoff=0.5)
        hint = f" Near it: {', '.join(near)}." if near and near[0] not in self else ""
        return f"no stage {name!r} in this example. It has: {', '.join(self)}.{hint}"

    @property
    def shapes(self) -> dict[str, str]:
        """How each stage's shape comes about, "(2×4)·(4×3) = (2×3)": of each head, if there are several."""
        return shapes(self.given, {name: record.tensor for name, record in self.items()})

    def check(self, claims: Mapping[str, Any], decimals: int | None = None) -> "Report":
        """Judge claimed numbers cell by cell, each from the claimed line before it and from the start."""
        from pellucid.worked.check import check

        return check(self, claims, decimals)

    def _repr_html_(self) -> str:
        from pellucid.show.notebook import preformatted
        from pellucid.worked.example_text import stages_text

        return preformatted(stages_text(self, width=100))

    def to_html(
        self, path: str | Path, claims: Mapping[str, Any] | None = None, decimals: int | None = None
    ) -> None:
        """One page that needs no network: plates, claims with their verdicts, and a form to change them."""
        from pellucid.folder.whole_file import place
        from pellucid.worked.examples import Example

        chosen = place(path)
        example = Example(chosen.stem, self.arguments, claims=claims or {}, decimals=decimals)
        example.to_html(chosen)

    def show(self) -> None:
        """Prints every stage: its matrix, and how its shape comes about."""
        from pellucid.seeing.viewed import columns_of_terminal, print_lines
        from pellucid.worked.example_text import stages_text

        print_lines(stages_text(self, width=columns_of_terminal()))
