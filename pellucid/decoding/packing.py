"""The matrices of a Transformer as the engine needs them: padded, and some joined (such as queries, keys and
values). `pack` in kernels.c quantises them to int8."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pellucid.config.schema import ModelConfig
from pellucid.model import Attention, Decoder, DecoderLayer, Encoder, EncoderLayer, Transformer
from pellucid.model import Norm as ModelNorm

BLOCK, LANES = 64, 16  # as in kernels.c
KINDS = {"int8": 0, "fp32": 1, "bf16": 2}
ACTIVATIONS = {"relu": 0, "gelu": 1, "silu": 2}


def up(number: int, multiple: int = BLOCK) -> int:
    """Round up to a multiple."""
    return -(-number // multiple) * multiple


@dataclass(frozen=True)
class Shape:
    """The sizes of a model, most of them padded: of its vectors, of a head, of all heads together, of the
    feed-forward network, of the vocabulary."""

    width: int
    padded: int
    heads: int
    head: int
    across: int
    hidden: int
    vocabulary: int
    score_scale: float  # 1 / sqrt(d_k), by which scores are multiplied
    positions: str  # the kind of sinusoids
    layers: int  # of the decoder

    @classmethod
    def of(cls, config: ModelConfig) -> "Shape":
        """Return the shape of a model with this configuration."""
        head, score_scale = up(config.width // config.heads, LANES), (config.width // config.heads) ** -0.5
        across, hidden = up(config.heads * head), up(config.hidden)
        widths = config.width, up(config.width), config.heads, head, across, hidden, up(config.target_size)
        return cls(*widths, score_scale, config.positions, config.decoder_layers)


class Affine(NamedTuple):
    """The map x W^T + b. W is stored without padding at its end, b with it."""

    weight: Tensor
    bias: Tensor
    inputs: int  # padded; the padded outputs are as many as the biases

    @property
    def outputs(self) -> int:
        """Return the number of outputs, with padding."""
        return len(self.bias)


class Gains(NamedTuple):
    """A LayerNorm's weight and bias, with zeros beyond its width."""

    gain: Tensor
    bias: Tensor


def layer_parts(layer: EncoderLayer | DecoderLayer, shape: Shape) -> dict[str, Affine | Gains]:
    """Return the matrices and norms of a layer, in the order in which a step multiplies by them; norms come
    last."""
    residuals = [layer.residual_1, layer.residual_2]
    parts: dict[str, Affine | Gains] = {
        "qkv": join(layer.self_attention, shape, "qkv"),
        "self_output": output(layer.self_attention, shape),
    }
    if isinstance(layer, DecoderLayer):
        residuals.append(layer.residual_3)
        parts["cross_query"] = join(layer.cross_attention, shape, "q")
        parts["cross_output"] = output(layer.cross_attention, shape)
    inner, outer = layer.feed_forward.inner, layer.feed_forward.outer
    parts["inner"] = Affine(inner.weight.detach(), _bias(inner, shape.hidden), shape.padded)
    parts["outer"] = Affine(outer.weight.detach(), _bias(outer, shape.padded), shape.hidden)
    return parts | {f"norm_{number}": norm(each.norm, shape) for number, each in enumerate(residuals, 1)}


def logits(model: Transformer, shape: Shape) -> Affine:
    """Return the projection to the vocabulary, padded with outputs that can never be chosen (their bias is
    -inf)."""
    weight, own = model.projection_weight.detach(), model.decoder.projection.bias
    bias = weight.new_zeros(len(weight)) if own is None else own.detach()
    return Affine(weight, F.pad(bias, (0, shape.vocabulary - len(bias)), value=-math.inf), shape.padded)


def parts_of(model: Transformer, shape: Shape) -> Iterator[tuple[str, int, dict[str, Affine | Gains]]]:
    """Yield (stack, layer number, {name: matrix or norm}): first what each step uses, in the order of use,
    then what is used once per source. Number -1 is for what follows the last layer, such as the final
    norm."""
    decoder = [cast(DecoderLayer, layer) for layer in model.decoder.layers]
    for number, layer in enumerate(decoder):
        yield "decoder", number, layer_parts(layer, shape)
    yield "decoder", -1, {"logits": logits(model, shape), "norm": norm(model.decoder.norm, shape)}
    for number, part in enumerate(model.encoder.layers):
        yield "encoder", number, layer_parts(cast(EncoderLayer, part), shape)
    yield "encoder", -1, {"norm": norm(model.encoder.norm, shape)}
    for number, layer in enumerate(decoder):  # what makes its keys and values of a source
        yield "decoder", number, {"cross_kv": join(layer.cross_attention, shape, "kv")}


def join(attention: Attention, shape: Shape, which: str) -> Affine:
    """Join the projections that `which` names, such as "qkv" for queries, keys and values, into one matrix,
    each head padded."""
    named = {"q": attention.query, "k": attention.key, "v": attention.value}
    layers = [named[letter] for letter in which]
    weights = [_by_head(layer.weight.detach(), shape) for layer in layers]
    biases = [_by_head(layer.bias.detach(), shape) for layer in layers]
    return Affine(torch.cat(weights), torch.cat(biases), shape.padded)


def output(attention: Attention, shape: Shape) -> Affine:
    """Return the weight and the bias of an attention's output projection, W^O."""
    weight = _by_head(attention.output.weight.detach().mT, shape).mT
    return Affine(weight.contiguous(), _bias(attention.output, shape.padded), shape.across)


def norm(part: nn.Module | None, shape: Shape) -> Gains:
    """Return a LayerNorm's weight and bias, padded; both are empty if there is no norm."""
    if part is None:
        return Gains(torch.zeros(0), torch.zeros(0))
    assert isinstance(part, ModelNorm)
    beyond = (0, shape.padded - shape.width)
    return Gains(F.pad(part.weight.detach(), beyond), F.pad(part.bias.detach(), beyond))


def embedding(model: Transformer, stack: Encoder | Decoder) -> Tensor:
    """Return the embedding matrix of a stack, without a copy if it is in float32."""
    part = model.embedding or stack.embedding
    assert part is not None
    return part.weight.detach().float().contiguous()


def _by_head(tensor: Tensor, shape: Shape) -> Tensor:
    """Pad the first axis of a tensor: each head to `shape.head`, and all heads together to `shape.across`."""
    heads = tensor.unflatten(0, (shape.heads, -1))
    padded = heads.new_zeros(shape.across, *heads.shape[2:])
    padded[: shape.heads * shape.head].unflatten(0, (shape.heads, -1))[:, : heads.shape[1]] = heads
    return padded


def _bias(layer: nn.Linear, outputs: int) -> Tensor:
    return F.pad(layer.bias.detach(), (0, outputs - layer.out_features))
