"""Worked examples of what surrounds attention: embeddings with positions, a feed-forward network, Add & Norm.

The model's own modules compute them with small matrices in float64. The stages have their names in a trace.
"""

import math
import re
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from pellucid.config.schema import ModelConfig
from pellucid.config.settings import convert
from pellucid.errors import UsageError
from pellucid.model import Decoder, FeedForward, Residual, embed
from pellucid.seeing.records import Record
from pellucid.seeing.trace import trace
from pellucid.seeing.watching import name_parts
from pellucid.worked.stages import product, read_words, size
from pellucid.worked.worked_example import WorkedExample

ROWS = ("ids", "b_1", "b_2", "norm_weight", "norm_bias")  # a list of numbers each
NORM = ("norm_weight", "norm_bias")
PART_MATRICES = ("ids", "w_embedding", "inputs", "sublayer", "w_1", "b_1", "w_2", "b_2", *NORM)
# The three kinds of part, by the matrix that tells them: what else is needed, and what may be given.
NEEDED = {"ids": ("w_embedding",), "w_1": ("inputs", "w_2"), "sublayer": ("inputs",)}
OPTIONAL = {"ids": ("scaled", "vocabulary"), "w_1": ("b_1", "b_2", *NORM), "sublayer": NORM}
PART_STAGES = (
    *(f"decoder.{each}" for each in ("token_embeddings", "positions", "embedded")),
    *(f"feed_forward.{each}" for each in ("hidden", "activated", "output")),
    "residual.sum",
    *(f"residual.norm.{each}" for each in ("mean", "variance", "standardized", "output")),
    "residual.output",
)
# How the shape of a stage comes about, as in stages.py; of the others it is told alone.
PART_SHAPES = {
    "decoder.embedded": "({decoder.embedded}) + ({decoder.embedded}) = ({decoder.embedded})",
    "feed_forward.hidden": "({inputs})·({w_1}) = ({feed_forward.hidden}), plus b_1",
    "feed_forward.output": "({feed_forward.hidden})·({w_2}) = ({feed_forward.output}), plus b_2",
    "residual.sum": "({inputs}) + ({inputs}) = ({residual.sum})",
}


def work_out_part(arguments: Mapping[str, Any]) -> WorkedExample:
    """Compute every stage of an example without attention: of the embeddings if `ids` are given, otherwise of
    a sublayer with its residual connection and norm. Raise an error if the shapes do not fit."""
    given = _read(arguments)
    words = read_words("tokens", arguments.get("tokens"), len(given["ids" if "ids" in given else "inputs"]))
    records, told = _embed(given, arguments) if "ids" in given else (_add_and_norm(given), {})
    if arguments.get("vocabulary") is None and not any(bool(each.isnan().any()) for each in given.values()):
        for name, each in records.items():
            if not bool(each.tensor.isfinite().all()):
                raise UsageError(f"{name}: it overflows float64 (1.8e308). Give smaller numbers.")
    tokens = {"L": words} if words else {}
    batches = {axis: [each] for axis, each in tokens.items()}
    records = {name: Record(name, each.axes, each.tensor, batches) for name, each in records.items()}
    rows = {name: tensor if tensor.dim() == 2 else tensor[None] for name, tensor in given.items()}
    one = {name: each.tensor[0] if each.axes[0] == "B" else each.tensor for name, each in records.items()}
    sizes = {name: size(tensor) for name, tensor in (rows | one).items()}
    for name in [name for name in records if name not in told]:
        shape = PART_SHAPES.get(name, f"({{{name}}})")
        told[name] = re.sub(r"\{(.+?)\}", lambda found: sizes[found[1]], shape)
    return WorkedExample(records, told, rows, tokens)


def _read(arguments: Mapping[str, Any]) -> dict[str, Tensor]:
    """Return the matrices and rows that are given; raise an error if one of them is missing or is neither."""
    convert("scaled", arguments.get("scaled", False), bool, {})
    convert("vocabulary", arguments.get("vocabulary"), int | None, {"low": 1})
    needed = next(NEEDED[first] for first in NEEDED if first in arguments)
    if missing := next((name for name in needed if name not in arguments), None):
        raise UsageError(f"{missing} is missing: nothing can be computed without it. Give it.")
    given = {}
    for name in [name for name in PART_MATRICES if name in arguments]:
        wanted = "[1.0, 2.0, …]" if name in ROWS else "[[1.0, 2.0], …], whose rows have the same length"
        try:
            matrix = torch.tensor(arguments[name], dtype=torch.float64)
        except (TypeError, ValueError):
            raise UsageError(f"{name} is not of numbers only. Give {wanted}.") from None
        given[name] = matrix.flatten() if name in ROWS else matrix
        if given[name].dim() != (1 if name in ROWS else 2) or not matrix.numel():
            raise UsageError(f"{name} has the shape {tuple(matrix.shape)}. Give {wanted}.")
    return given


def _embed(
    given: Mapping[str, Tensor], settings: Mapping[str, Any]
) -> tuple[Mapping[str, Record], dict[str, str]]:
    """Compute the embeddings of the ids. If the whole embedding matrix is given, also compute the look-up as
    one_hot · W_E. Return the stages, and how the look-up comes about as text."""
    ids, rows = given["ids"].long(), given["w_embedding"]
    vocabulary, width = settings.get("vocabulary") or len(rows), rows.shape[1]
    if wrong := [each for each in given["ids"].tolist() if each not in range(vocabulary)]:
        shown = "…" if math.isnan(wrong[0]) else f"{wrong[0]:g}"
        raise UsageError(f"ids: {shown} is no row of W_E, whose rows are 0 to {vocabulary - 1}. Correct it.")
    if vocabulary < len(rows) or (vocabulary > len(rows) and len(ids) != len(rows)):
        each = f"a row for each of the {len(ids)} ids, or all {vocabulary}"
        raise UsageError(f"w_embedding has {len(rows)} rows, but vocabulary = {vocabulary}. Give {each}.")
    matrix = rows
    if vocabulary > len(rows):
        matrix = torch.full((vocabulary, width), torch.nan, dtype=torch.float64).index_copy(0, ids, rows)
    scaled = settings.get("scaled", False)
    tokens = max(vocabulary, 5)  # a model has at least 5 tokens; the matrix is set below
    config = ModelConfig(tokens, width, heads=1, hidden=1, decoder_layers=1, scale_embeddings=scaled)
    decoder = Decoder(config, own_embedding=True).double().eval()
    assert decoder.embedding is not None
    decoder.embedding.weight.data = matrix
    decoder.path = "decoder"
    with torch.no_grad(), trace(decoder) as seen:
        embed(decoder, ids[None], None, slice(0, len(ids)), len(ids))
    times = f", times √{width}" if scaled else ""
    looked_up = f"rows {', '.join(map(str, ids.tolist()))} of W_E ({vocabulary}×{width}){times}"
    told = {"decoder.token_embeddings": looked_up}
    if vocabulary > len(rows):
        return seen, told
    one_hot = torch.nn.functional.one_hot(ids, vocabulary).double()
    name = "one_hot · W_E"
    first = {"one_hot": Record("one_hot", "LV", one_hot), name: Record(name, "LD", one_hot @ matrix)}
    told[name] = product(size(one_hot), size(matrix), f"{len(ids)}×{width}")
    return first | dict(seen), told


def _add_and_norm(given: Mapping[str, Tensor]) -> Mapping[str, Record]:
    """Add the output of a sublayer (given, or computed by the feed-forward network) to the inputs, and
    normalise the sum. With a feed-forward network but no weights for the norm, compute the network only."""
    inputs, has_layer = given["inputs"], "w_1" in given
    if not has_layer and given["sublayer"].shape != inputs.shape:
        sizes = f"{size(given['sublayer'])} and must be {size(inputs)}"
        raise UsageError(f"sublayer is {sizes}, the shape of the inputs: the two are added.")
    hidden, width = given["w_1"].shape[-1] if has_layer else 1, inputs.shape[-1]
    wanted = {"w_1": (width, hidden), "b_1": (hidden,), "w_2": (hidden, width), "b_2": (width,)}
    for name, shape in {**wanted, "norm_weight": (width,), "norm_bias": (width,)}.items():
        if name in given and given[name].shape != shape:
            must = "×".join(map(str, shape))
            raise UsageError(f"{name} is {size(given[name])} and must be {must}, to fit what it meets.")
    # Not a ModelConfig: a model's width must be even.
    off = dict(dropout=0.0, activation_dropout=0.0)
    config: Any = SimpleNamespace(width=width, hidden=hidden, norm="last", activation="relu", **off)
    parts = nn.ModuleDict({"feed_forward": FeedForward(config), "residual": Residual(config)}).double().eval()
    norms = [each for each in ("weight", "bias") if f"norm_{each}" in given]
    weights = {f"residual.norm.{each}": given[f"norm_{each}"] for each in norms}
    for layer, place in (("inner", "1"), ("outer", "2")) if has_layer else ():
        weight = given[f"w_{place}"].T  # nn.Linear keeps out × in
        weights[f"feed_forward.{layer}.weight"] = weight
        weights[f"feed_forward.{layer}.bias"] = given.get(f"b_{place}", weight.new_zeros(len(weight)))
    parts.load_state_dict(weights, strict=False)
    name_parts(parts)
    sublayer = parts["feed_forward"] if has_layer else lambda _: given["sublayer"][None]
    with torch.no_grad(), trace(parts) as seen:
        if norms or not has_layer:
            parts["residual"](inputs[None], sublayer)
        else:
            sublayer(inputs[None])
    return seen
