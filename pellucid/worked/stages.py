"""The stages of an attention, in order, through the model's own `attend`: float64, entered at any of them.

A number that is not there (elided on a slide: "…") is NaN, and so is whatever depends on it.
"""

import math
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial

import torch
from torch import Tensor

from pellucid.cache import Mask
from pellucid.dropout import Dropout
from pellucid.model import See, attend
from pellucid.seeing.watching import watched, watching

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
ENTRIES = ("scores", "scaled_scores", "masked_scores", "weights")  # where one may come in after the queries


@dataclass(frozen=True)
class Projection:
    """What queries, keys or values are made from: a matrix, and the W that it is multiplied with, if any."""

    source: str
    matrix: Tensor
    weight: str
    weights: Tensor | None  # in × out for all heads together, or head × in × out


@dataclass(frozen=True)
class Given:
    """What an example starts from; matrices with a head first, H × rows × columns."""

    heads: int
    queries: int  # L
    keys: int  # M
    divisor: float | None  # what the scores are divided by; None: they are not
    causal: bool
    matrices: Mapping[str, Tensor]  # the stages that are given as they are; the mask too, 0 or -inf
    projections: Mapping[str, Projection] = field(default_factory=dict)  # of queries, keys, values
    w_output: Tensor | None = None

    @property
    def entry(self) -> str | None:
        """The stage after the queries at which the example comes in, if it does."""
        return next((name for name in ENTRIES if name in self.matrices), None)

    @property
    def has_values(self) -> bool:
        """Whether it goes on after the weights."""
        return "values" in self.matrices or "values" in self.projections

    def is_reached(self, name: str) -> bool:
        """Whether a stage has numbers: it comes not before the entry, nor after the end."""
        order = list(STAGES)
        if name in ("queries", "keys"):
            return self.entry is None
        if name == "values":
            return self.has_values
        if order.index(name) > order.index("weights"):
            return self.has_values and (name != "output" or self.w_output is not None)
        return self.entry is None or order.index(name) >= order.index(self.entry)


def run(given: Given, see: See) -> None:
    """All stages, each shown to `see`, which returns what is used from there on."""
    masks: list[Tensor] = []

    def shown(name_axes: str, tensor: Tensor) -> Tensor:
        name = name_axes.rpartition("_")[0]
        tensor = given.matrices[name][None] if name in given.matrices else tensor
        if name == "masked_scores" and masks:
            # What is masked is -inf even where its score is not known: NaN - inf would be NaN.
            tensor = tensor.masked_fill(masks[0] == -math.inf, -math.inf)
        tensor = see(name_axes, tensor) if given.is_reached(name) else tensor
        if name == "mask" and given.is_reached(name):
            masks.append(tensor)
        return tensor

    queries, keys, values = (shown(f"{name}_{STAGES[name]}", _made(given, name)) for name in list(STAGES)[:3])
    mask = Mask(first_query=0) if given.causal else Mask()
    scale = 1.0 if given.divisor is None else 1 / given.divisor
    with nullcontext() if watched() else watching(lambda path, name, axes, tensor: tensor):
        context = attend(queries, keys, values, mask, shown, Dropout(0.0), scale)
    concatenated = shown("concatenated_BLD", context.transpose(1, 2).flatten(2))
    if given.w_output is not None:
        shown("output_BLD", concatenated @ given.w_output)


def _made(given: Given, name: str) -> Tensor:
    """Queries, keys or values: 1 × H × rows × columns; no columns where there are none."""
    if name in given.matrices:
        return given.matrices[name][None]
    if name not in given.projections:
        rows = given.queries if name == "queries" else given.keys
        return torch.zeros(1, given.heads, rows, 0, dtype=torch.float64)
    projection = given.projections[name]
    if projection.weights is None:
        return split(projection.matrix, given.heads)[None]
    product = projection.matrix @ projection.weights
    return (product if product.dim() == 3 else split(product, given.heads))[None]


def split(matrix: Tensor, heads: int) -> Tensor:
    """Rows × columns -> a slice of the columns for each head, H × rows × columns/H."""
    return matrix.unflatten(-1, (heads, -1)).transpose(0, 1)


def size(matrix: Tensor) -> str:
    """2×4: the rows and columns of a matrix (of one head, if it has several)."""
    return "×".join(map(str, matrix.shape[-2:]))


def product(left: str, right: str, result: str) -> str:
    """(2×4)·(4×3) = (2×3)."""
    return f"({left})·({right}) = ({result})"


def shapes(given: Given, tensors: Mapping[str, Tensor]) -> dict[str, str]:
    """How each stage's shape comes about: "(2×4)·(4×3) = (2×3)"; of each head, where there are several."""
    told: dict[str, str] = {}
    for name, tensor in tensors.items():
        told[name] = _ways(given, tensors).get(name, lambda result: f"({result})")(size(tensor))
    return told


def _ways(given: Given, tensors: Mapping[str, Tensor]) -> dict[str, Callable[[str], str]]:
    ways: dict[str, Callable[[str], str]] = {}

    def multiplied(name: str, left: str, right: str) -> None:
        ways[name] = lambda result: product(left, right, result)

    for name, projection in given.projections.items():
        if name in tensors:
            ways[name] = partial(_projected, projection, given.heads)
    if given.entry is None:
        multiplied("scores", size(tensors["queries"]), size(tensors["keys"].mT))
    divisor = "1" if given.divisor is None else f"{given.divisor:.6g}"
    if given.entry != "scaled_scores":
        ways["scaled_scores"] = lambda result: f"({result}) ÷ {divisor} = ({result})"
    if given.entry != "masked_scores":
        ways["masked_scores"] = lambda result: f"({result}) + ({result}) = ({result})"
    if given.entry != "weights":
        ways["weights"] = lambda result: f"softmax of each row of ({result}) = ({result})"
    if given.has_values:
        multiplied("context", size(tensors["weights"]), size(tensors["values"]))
        joined = f"{given.heads} heads of ({size(tensors['context'])}) side by side = "
        ways["concatenated"] = lambda result: f"{joined if given.heads > 1 else ''}({result})"
    if given.w_output is not None:
        multiplied("output", size(tensors["concatenated"]), size(given.w_output))
    return ways


def _projected(projection: Projection, heads: int, result: str) -> str:
    w = projection.weights
    whole = size(projection.matrix) if w is None else f"{projection.matrix.shape[0]}×{w.shape[-1]}"
    told = f"({whole})" if w is None else product(size(projection.matrix), size(w), whole)
    return told if whole == result else f"{told}, {heads} heads of ({result})"
