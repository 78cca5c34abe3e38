"""What the page need not carry, because it can make it again, bit for bit: sums, products with one number,
copies. Each derivation is tried in float32 when the page is written; what comes out otherwise is carried.

A derivation in the header: {"how": a name of HOW, "of": the tensors it starts from, "parameters": those of
the model, "by": a number}. script/derived.js has the same names.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pellucid.config.schema import ModelConfig
from pellucid.model import Norm
from pellucid.seeing.edits import ADDED

Array = np.ndarray
Arrays = Mapping[str, Array]


@dataclass(frozen=True)
class Derivation:
    """How a tensor is made of others."""

    how: str
    of: tuple[str, ...]
    parameters: tuple[str, ...] = ()
    by: float | None = None

    def table(self) -> dict[str, object]:
        """As the header has it: only what there is."""
        table = {"how": self.how, "of": self.of, "parameters": self.parameters, "by": self.by}
        return {name: value for name, value in table.items() if value not in ((), None)}


def _standardize(x: Array, mean: Array, variance: Array, by: float) -> Array:
    return (x - mean[..., None]) / np.sqrt(variance[..., None] + np.float32(by))


def _beside(context_BHLU: Array, by: int) -> Array:
    sentences, _, length, width = context_BHLU.shape
    return context_BHLU.transpose(0, 2, 1, 3).reshape(sentences, length, by * width)


def _causal(scores: Array) -> Array:
    allowed = np.tril(np.ones(scores.shape[-2:], dtype=bool))
    return np.broadcast_to(np.where(allowed, np.float32(0), np.float32(-np.inf)), scores.shape)


HOW: dict[str, Callable[..., Array]] = {
    "same": lambda x: x,
    "first rows": lambda x, by: x[:by],
    "zeros": np.zeros_like,
    "causal": _causal,
    "times": lambda x, by: x * np.float32(by),
    "plus": lambda x, y: x + y,
    "beside": _beside,
    "relu": lambda x: np.maximum(x, np.float32(0)),
    "standardize": _standardize,
    "affine": lambda x, weight, bias: x * weight + bias,
    "rows of": lambda x, ids, by: x[ids][None] * np.float32(by),
}


def derivation(
    name: str,
    tensors: Arrays,
    available: Mapping[str, object],
    parameters: Arrays,
    config: ModelConfig,
    ids: Mapping[str, Sequence[int]],
) -> Derivation | None:
    """The first way to make this tensor of available ones that gives the same bits; None if there is none.

    ids: what each stack read.
    """
    for way in _ways(name, tensors, config, ids):
        if not all(source in available for source in way.of):
            continue
        if not all(parameter in parameters for parameter in way.parameters):
            continue
        numbers = [tensors[source] for source in way.of] + [parameters[name] for name in way.parameters]
        if way.how == "rows of":
            numbers.append(np.array(ids[name.partition(".")[0]]))
        options = {} if way.by is None else {"by": way.by}
        with np.errstate(all="ignore"):
            made = HOW[way.how](*numbers, **options)
        if same_bits(made, tensors[name]):
            return way
    return None


def same_bits(one: Array, other: Array) -> bool:
    """Whether two float32 arrays are equal, bit for bit."""
    bits = [np.ascontiguousarray(each, dtype=np.float32).view(np.uint32) for each in (one, other)]
    return one.shape == other.shape and bool((bits[0] == bits[1]).all())


def _ways(
    name: str, tensors: Arrays, config: ModelConfig, ids: Mapping[str, Sequence[int]]
) -> list[Derivation]:
    """What may give the tensor of this name."""
    path, _, last = name.rpartition(".")
    part = path.rpartition(".")[2]
    if part.endswith("_attention"):
        return _ways_of_attention(path, last, config)
    if part == "feed_forward":
        relu = last == "activated" and config.activation == "relu"
        return [Derivation("relu", (f"{path}.hidden",))] if relu else []
    if part == "norm":
        return _ways_of_norm(path, last, config)
    if part.startswith("residual_"):
        return _ways_of_residual(path, last, config)
    return _ways_of_stack(path, last, tensors, config, ids)


def _ways_of_attention(path: str, last: str, config: ModelConfig) -> list[Derivation]:
    scores = (f"{path}.scores",)
    scale = 1 / math.sqrt(config.width // config.heads)
    return {
        "scaled_scores": [Derivation("times", scores, by=scale), Derivation("same", scores)],
        "mask": [Derivation("zeros", scores), Derivation("causal", scores)],
        "masked_scores": [Derivation("plus", (f"{path}.scaled_scores", f"{path}.mask"))],
        "concatenated": [Derivation("beside", (f"{path}.context",), by=config.heads)],
    }.get(last, [])


def _ways_of_norm(path: str, last: str, config: ModelConfig) -> list[Derivation]:
    if last == "standardized":
        of = (normalised(path, config), f"{path}.mean", f"{path}.variance")
        return [Derivation("standardize", of, by=Norm.epsilon)]
    parameters = (f"{path}.weight", f"{path}.bias")
    return [Derivation("affine", (f"{path}.standardized",), parameters)] if last == "output" else []


def _ways_of_residual(path: str, last: str, config: ModelConfig) -> list[Derivation]:
    layer, number = path.split(".residual_")
    if last == "sum":
        added = f"{layer}.{ADDED[path.partition('.')[0]][number]}.output"
        return [Derivation("plus", (stream_before(path, config), added)), Derivation("same", (added,))]
    goes_on = f"{path}.sum" if config.norm == "first" else f"{path}.norm.output"
    return [Derivation("same", (goes_on,))]


def _ways_of_stack(
    stack: str,
    last: str,
    tensors: Arrays,
    config: ModelConfig,
    ids: Mapping[str, Sequence[int]],
) -> list[Derivation]:
    if last == "token_embeddings":
        scale = math.sqrt(config.width) if config.scale_embeddings else 1.0
        tables = ("embedding.weight", f"{stack}.embedding.weight")
        return [Derivation("rows of", (), (table,), by=scale) for table in tables]
    if last == "positions" and stack == "decoder":
        return [Derivation("first rows", ("encoder.positions",), by=len(ids["decoder"]))]
    if last == "embedded":
        return [Derivation("plus", (f"{stack}.token_embeddings", f"{stack}.positions"))]
    if last == "output":
        normed = f"{stack}.norm.output"
        return [Derivation("same", (normed if normed in tensors else stream_after(stack, config),))]
    return []


def normalised(norm: str, config: ModelConfig) -> str:
    """The tensor that the norm of this path makes its mean and variance of."""
    owner = norm.removesuffix(".norm")
    if owner in ADDED:  # a stack, which has one at its end when the norm comes first
        return stream_after(owner, config)
    return stream_before(owner, config) if config.norm == "first" else f"{owner}.sum"


def stream_before(residual: str, config: ModelConfig) -> str:
    """The stream that comes to the Add & Norm of this path, and that it adds."""
    layer, number = residual.split(".residual_")
    if number != "1":
        return f"{layer}.residual_{int(number) - 1}.output"
    stack, _, index = layer.split(".")
    return stream_after(stack, config, layers=int(index))


def stream_after(stack: str, config: ModelConfig, layers: int | None = None) -> str:
    """What goes on after all layers of a stack, or its first so many."""
    if layers is None:
        layers = config.encoder_layers if stack == "encoder" else config.decoder_layers
    return (
        f"{stack}.layers.{layers - 1}.residual_{len(ADDED[stack])}.output" if layers else f"{stack}.embedded"
    )
