"""Worked examples of what surrounds attention: embeddings with positions, a feed-forward network, Add & Norm.

The model's own modules compute them with small matrices in float64. The stages have their names in a trace.
"""

import re
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from pellucid.config.schema import ModelConfig
from pellucid.errors import UsageError
from pellucid.model import Decoder, FeedForward, Residual, embed
from pellucid.seeing.records import Record
from pellucid.seeing.trace import trace
from pellucid.seeing.watching import name_parts
from pellucid.worked.stages import product, size
from pellucid.worked.worked_example import WorkedExample

ROWS = ("ids", "b_1", "b_2", "norm_weight", "norm_bias")  # a list of numbers each
PART_MATRICES = ("ids", "w_embedding", "inputs", "sublayer", "w_1", "b_1", "w_2", "b_2", *ROWS[-2:])
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
    given = {
        name: torch.tensor(arguments[name], dtype=torch.float64)
        for name in PART_MATRICES
        if name in arguments
    }
    given |= {name: given[name].flatten() for name in ROWS if name in given}
    try:
        records, told = _embed(given, arguments) if "ids" in given else (_add_and_norm(given), {})
    except (KeyError, IndexError, RuntimeError, ValueError) as error:
        why = str(error).splitlines()[-1].strip().rstrip(".")
        raise UsageError(f"the matrices do not fit together: {why}. Correct their shapes.") from None
    tokens = {"L": list(arguments["tokens"])} if "tokens" in arguments else {}
    words = {axis: [each] for axis, each in tokens.items()}
    records = {name: Record(name, each.axes, each.tensor, words) for name, each in records.items()}
    rows = {name: tensor if tensor.dim() == 2 else tensor[None] for name, tensor in given.items()}
    one = {name: each.tensor[0] if each.axes[0] == "B" else each.tensor for name, each in records.items()}
    sizes = {name: size(tensor) for name, tensor in (rows | one).items()}
    for name in [name for name in records if name not in told]:
        shape = PART_SHAPES.get(name, f"({{{name}}})")
        told[name] = re.sub(r"\{(.+?)\}", lambda found: sizes[found[1]], shape)
    return WorkedExample(records, told, rows, tokens)


def _embed(
    given: Mapping[str, Tensor], settings: Mapping[str, Any]
) -> tuple[Mapping[str, Record], dict[str, str]]:
    """Compute the embeddings of the ids. If the whole embedding matrix is given, also compute the look-up as
    one_hot · W_E. Return the stages, and how the look-up comes about as text."""
    ids, rows = given["ids"].long(), given["w_embedding"]
    vocabulary, width = settings.get("vocabulary", len(rows)), rows.shape[1]
    matrix = rows
    if vocabulary > len(rows):
        matrix = torch.full((vocabulary, width), torch.nan, dtype=torch.float64).index_copy(0, ids, rows)
    config = ModelConfig(
        vocabulary, width, heads=1, hidden=1, decoder_layers=1, scale_embeddings=settings.get("scaled", False)
    )
    decoder = Decoder(config, own_embedding=True).double().eval()
    assert decoder.embedding is not None
    decoder.embedding.weight.data = matrix
    decoder.path = "decoder"
    with torch.no_grad(), trace(decoder) as seen:
        embed(decoder, ids[None], None, slice(0, len(ids)), len(ids))
    scaled = f", times √{width}" if settings.get("scaled") else ""
    looked_up = f"rows {', '.join(map(str, ids.tolist()))} of W_E ({vocabulary}×{width}){scaled}"
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
    hidden = given["w_1"].shape[1] if has_layer else 1
    config = ModelConfig(width=inputs.shape[1], heads=1, hidden=hidden, dropout=0.0)
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
