"""The stages of an attention, in order, computed by the model's own `attend` in float64.

An unknown number (left out on a slide: "…") is NaN, and so is every number computed from it.
"""

import math
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from pellucid.errors import UsageError
from pellucid.mask import Mask
from pellucid.model import Dropout, See, attend
from pellucid.seeing.watching import is_watched, watching

STAGES = {
    "queries": "BHLK",
    "keys": "BHMK",
    "values": "BHMU",
    "scores": "BHLM",
    "scaled_scores": "BHLM",
    "mask": "BHLM",
    "masked_scores": "BHLM",
    "weights": "BHLM",
    "context": "BHLU",
    "concatenated": "BLD",
    "output": "BLD",
}
ENTRIES = ("scores", "scaled_scores", "masked_scores", "weights")  # where an example may start, after Q and K
WEIGHTS = {"queries": "w_query", "keys": "w_key", "values": "w_value"}
# How the shape of a stage comes about, for the terminal and the page; {x} stands for the size of x.
SHAPES = {
    "scores": "({queries})·({keys^T}) = ({scores})",
    "scaled_scores": "({scores}) ÷ {divisor} = ({scores})",
    "masked_scores": "({scores}) + ({scores}) = ({scores})",
    "weights": "softmax of each row of ({scores}) = ({scores})",
    "context": "({weights})·({values}) = ({context})",
    "concatenated": "{heads} heads of ({context}) side by side = ({concatenated})",
    "output": "({concatenated})·({w_output}) = ({output})",
}


@dataclass(frozen=True)
class Start:
    """The numbers that an attention is computed from: inputs and weight matrices, or a later stage such as
    queries and keys."""

    arrays: Mapping[str, Tensor]  # by the names of `attention`: a matrix, or one for each head
    matrices: Mapping[str, Tensor]  # stages before `attend`, and stages in the arguments, H × rows × columns
    sources: Mapping[str, str]  # "inputs" or "memory" for the queries, keys and values projected from it
    heads: int
    divisor: float | None = None  # of the scores; None: they are not divided
    causal: bool = False

    @property
    def entry(self) -> str | None:
        """Return the given stage to start from if it comes after queries, keys and values, otherwise None."""
        return next((name for name in ENTRIES if name in self.arrays), None)

    @property
    def reached(self) -> list[str]:
        """Return the stages that are given or can be computed, in order: without values, to the weights."""
        names, first = list(STAGES), self.entry or "scores"
        last = "output" if "w_output" in self.arrays else "concatenated"
        last = last if "values" in self.matrices else "weights"
        before = [name for name in WEIGHTS if name in self.matrices]
        return [*before, *names[names.index(first) : names.index(last) + 1]]

    @property
    def lengths(self) -> tuple[int, int]:
        """Return the number of queries, L, and of keys, M."""
        if self.entry:
            return self.matrices[self.entry].shape[-2], self.matrices[self.entry].shape[-1]
        return self.matrices["queries"].shape[-2], self.matrices["keys"].shape[-2]


def run(start: Start, see: See) -> None:
    """Compute all stages. `see` receives each stage and returns the numbers that the next stages use."""
    masks: list[Tensor] = []
    reached, (queries, keys) = start.reached, start.lengths

    def show(name_axes: str, tensor: Tensor) -> Tensor:
        name = name_axes.rpartition("_")[0]
        tensor = start.matrices[name][None] if name in start.matrices else tensor
        if name == "masked_scores":
            # A masked score is -inf even where the score is not known: NaN - inf would be NaN.
            tensor = tensor.masked_fill(masks[0] == -math.inf, -math.inf)
        tensor = see(name_axes, tensor) if name in reached else tensor
        if name == "mask":
            masks.append(tensor)
        return tensor

    def project(name: str, rows: int) -> Tensor:
        empty = torch.zeros(1, start.heads, rows, 0, dtype=torch.float64)  # where there are none
        return show(f"{name}_{STAGES[name]}", empty)

    projected = project("queries", queries), project("keys", keys), project("values", keys)
    mask = Mask(first_query=0) if start.causal else Mask()
    with nullcontext() if is_watched() else watching(lambda name, axes, tensor: tensor):
        context = attend(*projected, mask, show, Dropout(0.0), 1 / (start.divisor or 1.0))
    concatenated = show("concatenated_BLD", context.transpose(1, 2).flatten(2))
    if "output" in reached:
        show("output_BLD", concatenated @ start.arrays["w_output"])


def split(matrix: Tensor, heads: int) -> Tensor:
    """Cut the columns into a slice for each head: rows × columns -> H × rows × columns/H."""
    return matrix.unflatten(-1, (heads, -1)).transpose(0, 1)


def read_words(name: str, words: Any, rows: int) -> list[str] | None:
    """Return the words of the rows, if any; raise an error if they are not one text for each row."""
    if words is None:
        return None
    listed = [words] if isinstance(words, str) or not isinstance(words, Iterable) else list(words)
    if wrong := next((each for each in listed if not isinstance(each, str)), None):
        raise UsageError(f'{name}: {wrong!r} is not a word. Write ["a", "b", …], a text for each row.')
    if len(listed) != rows:
        raise UsageError(f"{name}: {len(listed)} words for {rows} rows. Give {rows}.")
    return listed


def size(matrix: Tensor) -> str:
    """Return the rows and columns of a matrix, "2×4"; for several heads, those of one head."""
    return "×".join(map(str, matrix.shape[-2:]))


def product(left: str, right: str, result: str) -> str:
    """Return the shapes of a product: "(2×4)·(4×3) = (2×3)"."""
    return f"({left})·({right}) = ({result})"


def shapes(start: Start, tensors: Mapping[str, Tensor]) -> dict[str, str]:
    """Return the shapes from which each stage is computed, "(2×4)·(4×3) = (2×3)"; for several heads, those of
    one head."""
    sizes = {name: size(tensor) for name, tensor in {**start.arrays, **tensors}.items()}
    sizes |= {"divisor": f"{start.divisor or 1:.6g}", "heads": str(start.heads)}
    sizes["scores"] = "×".join(map(str, start.lengths))
    sizes["keys^T"] = size(tensors["keys"].mT) if "keys" in tensors else ""
    found = {}
    for name in tensors:
        is_plain = name in start.arrays or (name == "concatenated" and start.heads == 1)
        found[name] = f"({sizes[name]})" if is_plain else SHAPES.get(name, f"({{{name}}})").format(**sizes)
        if source := start.sources.get(name):
            columns = (start.arrays.get(WEIGHTS[name], start.arrays[source])).shape[-1]
            whole = f"{sizes[source].partition('×')[0]}×{columns}"
            given = WEIGHTS[name] in start.arrays
            found[name] = product(sizes[source], sizes[WEIGHTS[name]], whole) if given else f"({whole})"
            found[name] += "" if whole == sizes[name] else f", {start.heads} heads of ({sizes[name]})"
    return found
