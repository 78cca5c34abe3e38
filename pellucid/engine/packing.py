"""A Transformer's matrices as the engine multiplies by them: joined and padded."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from pellucid.config.schema import ModelConfig
from pellucid.model import Attention, Decoder, DecoderLayer, Encoder, EncoderLayer, FeedForward, Transformer
from pellucid.model import Norm as ModelNorm

BLOCK, LANES = 64, 16  # as in kernels.c
KINDS = {"int8": 0, "fp32": 1, "bf16": 2}
ACTIVATIONS = {"relu": 0, "gelu": 1, "silu": 2}


def up(number: int, multiple: int = BLOCK) -> int:
    """The next multiple."""
    return -(-number // multiple) * multiple


@dataclass(frozen=True)
class Shape:
    """A model's widths, padded: of its vectors, of a head, of all heads together, inside feed-forward."""

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
        """The shape of a model with this configuration."""
        head, score_scale = up(config.width // config.heads, LANES), (config.width // config.heads) ** -0.5
        across, hidden = up(config.heads * head), up(config.hidden)
        widths = config.width, up(config.width), config.heads, head, across, hidden, up(config.target_size)
        return cls(*widths, score_scale, config.positions, config.decoder_layers)


class Affine(NamedTuple):
    """x W^T + b: W without the zeros at its end, b with them."""

    weight: Tensor
    bias: Tensor
    inputs: int  # padded; the padded outputs are as many as the biases

    @property
    def outputs(self) -> int:
        """The padded outputs."""
        return len(self.bias)


class Gains(NamedTuple):
    """A LayerNorm's weight and bias, with zeros beyond its width."""

    gain: Tensor
    bias: Tensor


def encoder_parts(layer: EncoderLayer, shape: Shape) -> dict[str, Affine | Gains]:
    """What an encoder layer multiplies by, in the order in which it does; norms come last."""
    return {
        "qkv": joined(layer.self_attention, shape, "qkv"),
        "self_output": output(layer.self_attention, shape),
        **feed_forward_parts(layer.feed_forward, shape),
        "norm_1": norm(layer.residual_1.norm, shape),
        "norm_2": norm(layer.residual_2.norm, shape),
    }


def decoder_parts(layer: DecoderLayer, shape: Shape) -> dict[str, Affine | Gains]:
    """What a decoder layer multiplies by at a step, in the order in which it does; norms come last."""
    return {
        "qkv": joined(layer.self_attention, shape, "qkv"),
        "self_output": output(layer.self_attention, shape),
        "cross_query": joined(layer.cross_attention, shape, "q"),
        "cross_output": output(layer.cross_attention, shape),
        **feed_forward_parts(layer.feed_forward, shape),
        "norm_1": norm(layer.residual_1.norm, shape),
        "norm_2": norm(layer.residual_2.norm, shape),
        "norm_3": norm(layer.residual_3.norm, shape),
    }


def cross_parts(layer: DecoderLayer, shape: Shape) -> dict[str, Affine | Gains]:
    """What makes a decoder layer's keys and values of a source."""
    return {"cross_kv": joined(layer.cross_attention, shape, "kv")}


def feed_forward_parts(part: FeedForward, shape: Shape) -> dict[str, Affine]:
    """The two matrices of a feed-forward sublayer."""
    inner = Affine(_weight(part.inner), _bias(part.inner, shape.hidden), shape.padded)
    outer = Affine(_weight(part.outer), _bias(part.outer, shape.padded), shape.hidden)
    return {"inner": inner, "outer": outer}


def logits(model: Transformer, shape: Shape) -> Affine:
    """The projection to the vocabulary; what pads it can never be chosen."""
    weight, own = model.projection_weight.detach(), model.decoder.projection.bias
    bias = weight.new_zeros(len(weight)) if own is None else own.detach()
    return Affine(weight, F.pad(bias, (0, shape.vocabulary - len(bias)), value=-math.inf), shape.padded)


def final_norm(part: nn.Module | None, shape: Shape) -> Gains:
    """The norm after a stack, where there is one."""
    if part is None:
        return Gains(torch.zeros(0), torch.zeros(0))
    return norm(cast(ModelNorm, part), shape)


def parts_of(model: Transformer, shape: Shape) -> Iterator[tuple[str, int, dict[str, Affine | Gains]]]:
    """(stack, layer, its parts), in the order in which a step reads them; what is read once comes last."""
    decoder = [cast(DecoderLayer, layer) for layer in model.decoder.layers]
    for number, layer in enumerate(decoder):
        yield "decoder", number, decoder_parts(layer, shape)
    last = {"logits": logits(model, shape), "norm": final_norm(model.decoder.norm, shape)}
    yield "decoder", -1, cast("dict[str, Affine | Gains]", last)
    for number, part in enumerate(model.encoder.layers):
        yield "encoder", number, encoder_parts(cast(EncoderLayer, part), shape)
    yield "encoder", -1, {"norm": final_norm(model.encoder.norm, shape)}
    for number, layer in enumerate(decoder):
        yield "decoder", number, cross_parts(layer, shape)


def joined(attention: Attention, shape: Shape, which: str) -> Affine:
    """The projections to queries, keys and values as one matrix, each head padded."""
    named = {"q": attention.query, "k": attention.key, "v": attention.value}
    layers = [named[letter] for letter in which]
    weights = [_by_head(_weight(layer), shape) for layer in layers]
    biases = [_by_head(layer.bias.detach(), shape) for layer in layers]
    return Affine(torch.cat(weights), torch.cat(biases), shape.padded)


def output(attention: Attention, shape: Shape) -> Affine:
    """The projection of the concatenated heads."""
    weight = _by_head(_weight(attention.output).mT, shape).mT
    return Affine(weight.contiguous(), _bias(attention.output, shape.padded), shape.across)


def norm(part: ModelNorm, shape: Shape) -> Gains:
    """A LayerNorm's numbers, padded."""
    beyond = (0, shape.padded - shape.width)
    return Gains(F.pad(part.weight.detach(), beyond), F.pad(part.bias.detach(), beyond))


def embedding(model: Transformer, stack: Encoder | Decoder) -> Tensor:
    """The vectors of a stack's tokens, where the model has them if they are in float32."""
    part = model.embedding or stack.embedding
    assert part is not None
    return part.weight.detach().float().contiguous()


def _by_head(tensor: Tensor, shape: Shape) -> Tensor:
    """Pad each head's share of the first axis, and then the axis."""
    heads = tensor.unflatten(0, (shape.heads, -1))
    padded = heads.new_zeros(shape.across, *heads.shape[2:])
    padded[: shape.heads * shape.head].unflatten(0, (shape.heads, -1))[:, : heads.shape[1]] = heads
    return padded


def _weight(layer: nn.Linear) -> Tensor:
    return layer.weight.detach()


def _bias(layer: nn.Linear, outputs: int) -> Tensor:
    return F.pad(layer.bias.detach(), (0, outputs - layer.out_features))
