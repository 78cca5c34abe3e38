"""Convert weights between Pellucid and the families of transformers, which name and order them differently.

Their positions have all sines first and all cosines after them; ours alternate, as in the paper. So
every tensor with the model dimension is permuted along it. That changes no result: sums over the model
dimension have the same terms.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from pellucid.config.schema import ModelConfig

SHARED, HEAD, BIAS = "model.shared.weight", "lm_head.weight", "final_logits_bias"
EMBEDDINGS = ("model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight")
POSITIONS = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")
INPUT, OUTPUT, NOT_AT_ALL = 1, 0, None
ATTENTION = {"query": ("q_proj", INPUT), "key": ("k_proj", INPUT), "value": ("v_proj", INPUT)}
ATTENTION |= {"output": ("out_proj", OUTPUT)}
FEED_FORWARD = {"inner": ("fc1", INPUT), "outer": ("fc2", OUTPUT)}
NORMS = {  # of the residuals of each stack, in order
    "encoder": ("self_attn_layer_norm", "final_layer_norm"),
    "decoder": ("self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm"),
}


class Place(NamedTuple):
    """The names that a Pellucid tensor may have in the files of transformers, and the axis to reorder."""

    names: tuple[str, ...]  # the first that is there counts; an export writes the last
    axis: int | None  # the one that is the model dimension


def places(config: ModelConfig) -> dict[str, Place]:
    """Return, for each parameter of Pellucid, its names in the files of transformers and the axis to
    reorder."""
    return dict([*_embeddings(config), *_inputs(config), *_layers(config)])


def order(width: int) -> Tensor:
    """Return, for each index of Pellucid's model dimension, the index in their: ours =
    theirs[..., order]."""
    return torch.arange(width).view(2, -1).T.flatten()  # a width is even


def take(tensor: Tensor, axis: int | None) -> Tensor:
    """Reorder a tensor from their order to Pellucid's, along this axis (None: no change)."""
    return tensor if axis is None else tensor.index_select(axis, order(tensor.shape[axis]))


def give(tensor: Tensor, axis: int | None) -> Tensor:
    """Reorder a tensor from Pellucid's order to their, along this axis (None: no change)."""
    return tensor if axis is None else tensor.index_select(axis, order(tensor.shape[axis]).argsort())


def _embeddings(config: ModelConfig) -> Iterator[tuple[str, Place]]:
    encoder, decoder = EMBEDDINGS
    if config.tied and config.target_vocabulary is None:
        yield "embedding.weight", Place((SHARED, encoder, decoder, HEAD, SHARED), INPUT)
    else:
        yield "encoder.embedding.weight", Place((encoder, SHARED, encoder), INPUT)
        tied = (HEAD,) if config.tied else ()
        yield "decoder.embedding.weight", Place((decoder, SHARED, *tied, decoder), INPUT)
    if not config.tied:
        yield "decoder.projection.weight", Place((HEAD,), INPUT)
    if config.output_bias:
        yield "decoder.projection.bias", Place((BIAS,), NOT_AT_ALL)  # theirs is 1 V


def _inputs(config: ModelConfig) -> Iterator[tuple[str, Place]]:
    for stack, theirs in zip(NORMS, POSITIONS, strict=True):
        if config.positions == "learned":
            yield f"{stack}.position_embedding.weight", Place((theirs,), INPUT)
            yield from _affine(f"{stack}.input_norm", f"model.{stack}.layernorm_embedding", OUTPUT)


def _layers(config: ModelConfig) -> Iterator[tuple[str, Place]]:
    for stack, count in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        for index in range(count):
            ours, theirs = f"{stack}.layers.{index}", f"model.{stack}.layers.{index}"
            yield from _attention(f"{ours}.self_attention", f"{theirs}.self_attn")
            if stack == "decoder":
                yield from _attention(f"{ours}.cross_attention", f"{theirs}.encoder_attn")
            for name, (their_name, axis) in FEED_FORWARD.items():
                yield from _affine(f"{ours}.feed_forward.{name}", f"{theirs}.{their_name}", axis)
            for number, norm in enumerate(NORMS[stack], start=1):
                yield from _affine(f"{ours}.residual_{number}.norm", f"{theirs}.{norm}", OUTPUT)
        if config.norm == "first":
            yield from _affine(f"{stack}.norm", f"model.{stack}.layer_norm", OUTPUT)


def _attention(ours: str, theirs: str) -> Iterator[tuple[str, Place]]:
    for name, (their_name, axis) in ATTENTION.items():
        yield from _affine(f"{ours}.{name}", f"{theirs}.{their_name}", axis)


def _affine(ours: str, theirs: str, axis: int) -> Iterator[tuple[str, Place]]:
    yield f"{ours}.weight", Place((f"{theirs}.weight",), axis)
    yield f"{ours}.bias", Place((f"{theirs}.bias",), OUTPUT if axis == OUTPUT else NOT_AT_ALL)
