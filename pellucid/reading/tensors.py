"""The table of tensors (tensors.toml): what each tensor of a trace is, and from what it is computed."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from pellucid.config.schema import ModelConfig
from pellucid.seeing.edits import ADDED


@dataclass(frozen=True)
class TensorKind:
    """A row of the table: one kind of tensor, such as "attention.scores", which every attention of the model
    computes."""

    name: str
    axes: str
    by: str  # the operation
    of: tuple[str, ...]
    weights: tuple["Parameter", ...]
    symbol: str
    title: str
    equation: str  # HTML
    role: str
    notes: str  # HTML
    source: str  # where the notes and the paper write it
    reading: str
    stage: str = ""  # what the page says of the stage that makes it
    sign: str = ""  # HTML
    step: int = 0


@dataclass(frozen=True)
class Parameter:
    """The description of a parameter, such as "query", in every module that has it."""

    name: str
    symbol: str
    title: str
    bias: str


def kind_of(name: str) -> str:
    """Return the kind of a tensor: "decoder.layers.0.self_attention.weights" -> "attention.weights"."""
    path, _, last = name.rpartition(".")
    part = path.rpartition(".")[2].replace("input_norm", "norm")
    return f"{'attention' if part.endswith('_attention') else re.sub('_[0-9]+$', '', part)}.{last}"


def describe(name: str) -> TensorKind:
    """Return the table's row for a tensor's name; raise KeyError if there is none."""
    part, _, last = kind_of(name).partition(".")
    rows = kinds()
    return rows.get(f"{part}.{last}") or rows[f"{'stack' if part in ADDED else part}.{last}"]


def made_of(name: str, config: ModelConfig) -> tuple[list[str], list[str]]:
    """Return the names of the tensors and the parameters from which a tensor is computed, in a model with
    this configuration."""
    path, row = name.rpartition(".")[0], describe(name)
    parameters = [parameter for each in row.weights for parameter in _parameters(each.name, path, config)]
    return [_source(each, path, config) for each in row.of], parameters


def _source(reference: str, path: str, config: ModelConfig) -> str:
    """Return the full name of the tensor that an entry of `of`, such as "<read>", means for this module."""
    first, stack = config.norm == "first", path.partition(".")[0]
    stream = _stream(stack, config)

    def before(residual: str) -> str:
        return stream[stream.index(f"{residual}.output") - 1]

    match reference:
        case "<attended>" if path.endswith("cross_attention"):
            return "encoder.output"
        case "<read>" | "<attended>":
            layer, _, part = path.rpartition(".")
            number = next(number for number, added in ADDED[stack].items() if added == part)
            residual = f"{layer}.residual_{number}"
            return f"{residual}.norm.output" if first else before(residual)
        case "<stream>":
            return before(path)
        case "<added>":
            layer, number = path.split(".residual_")
            return f"{layer}.{ADDED[stack][number]}.output"
        case "<goes on>":
            return f"{path}.sum" if first else f"{path}.norm.output"
        case "<normed>" if path.endswith(".input_norm"):
            return f"{stack}.embedded"
        case "<normed>":
            owner = path.removesuffix(".norm")  # a stack or a residual connection
            if owner == stack:
                return stream[-1]
            return before(owner) if first else f"{owner}.sum"
        case "<last>":
            return f"{path}.norm.output" if first else stream[-1]
    return f"{path}.{reference}"


def _stream(stack: str, config: ModelConfig) -> list[str]:
    """List the names of the tensors in a stack's residual stream, in order: its embeddings, then the output
    of each residual connection."""
    layers = config.encoder_layers if stack == "encoder" else config.decoder_layers
    residuals = [(layer, number) for layer in range(layers) for number in ADDED[stack]]
    outputs = [f"{stack}.layers.{layer}.residual_{number}.output" for layer, number in residuals]
    return [f"{stack}.input_norm.output" if config.positions == "learned" else f"{stack}.embedded", *outputs]


def _parameters(reference: str, path: str, config: ModelConfig) -> tuple[str, ...]:
    """Return the full names of a weight and its bias, as in the model's state_dict."""
    shared = config.tied and config.target_vocabulary is None
    match reference:
        case "embedding":
            return ("embedding.weight" if shared else f"{path}.embedding.weight",)
        case "projection":
            tied = "embedding.weight" if shared else "decoder.embedding.weight"
            bias = ("decoder.projection.bias",) if config.output_bias else ()
            return (tied if config.tied else "decoder.projection.weight", *bias)
    layer = path if reference == "norm" else f"{path}.{reference}"
    return (f"{layer}.weight", f"{layer}.bias")


@cache
def kinds() -> Mapping[str, TensorKind]:
    """Return the rows of the table by name, in the order of computation within each part."""
    table = tomllib.loads((files("pellucid.reading") / "tensors.toml").read_text(encoding="utf-8"))
    words = {name: Parameter(name, **row) for name, row in table.pop("parameter").items()}
    kinds = {}
    for part, rows in table.items():
        for last, row in rows.items():
            weights = tuple(words[each] for each in row.pop("weights", ()))
            name, of, source = f"{part}.{last}", tuple(row.pop("of")), row.pop("from")
            kinds[name] = TensorKind(name, of=of, weights=weights, source=source, **row)
    return kinds
