"""The module against torch.nn.Transformer with the same random weights, in float64."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from pellucid.config.schema import ModelConfig
from pellucid.model import Transformer

WIDTH, HEADS, HIDDEN, LAYERS, VOCABULARY = 16, 4, 24, 2, 19
# torch's names for a layer's parts, and ours
ATTENTIONS = {"self_attn": "self_attention", "multihead_attn": "cross_attention"}
PLAIN = {"linear1": "feed_forward.inner", "linear2": "feed_forward.outer"}
PLAIN |= {f"norm{k}": f"residual_{k}.norm" for k in (1, 2, 3)}


def torch_transformer(norm: str, activation: str) -> nn.Transformer:
    """torch's own, with random norms and biases; its stacks end in a norm, ours only with the norm first."""
    shape = dict(activation=activation, batch_first=True, norm_first=norm == "first", dropout=0.0)
    theirs = nn.Transformer(WIDTH, HEADS, LAYERS, LAYERS, HIDDEN, **shape)  # type: ignore[arg-type]
    if norm == "last":
        theirs.encoder.norm = theirs.decoder.norm = None
    generator = torch.Generator().manual_seed(3)
    for name, parameter in theirs.named_parameters():
        noise = torch.randn(parameter.shape, generator=generator)
        parameter.data = 1 + 0.3 * noise if "norm" in name and name.endswith("weight") else 0.4 * noise
    return theirs.double().eval()


def mapped(theirs: nn.Transformer) -> dict[str, Tensor]:
    """Their weights under our names."""
    ours: dict[str, Tensor] = {}
    for name, value in theirs.state_dict().items():
        *path, part, kind = name.split(".")
        if path and path[-1] in ATTENTIONS:  # self_attn.out_proj.weight
            ours[".".join([*path[:-1], ATTENTIONS[path[-1]], "output", kind])] = value
        elif part in ATTENTIONS:  # self_attn.in_proj_weight: queries, keys and values in one matrix
            for ours_part, third in zip(("query", "key", "value"), value.chunk(3), strict=True):
                ours[".".join([*path, ATTENTIONS[part], ours_part, kind.removeprefix("in_proj_")])] = third
        else:
            ours[".".join([*path, PLAIN.get(part, part), kind])] = value
    return ours


def both(norm: str, activation: str) -> tuple[Transformer, nn.Transformer]:
    config: dict[str, Any] = dict(vocabulary=VOCABULARY, width=WIDTH, heads=HEADS, hidden=HIDDEN, norm=norm)
    config |= dict(activation=activation, encoder_layers=LAYERS, decoder_layers=LAYERS, dropout=0.0)
    ours, theirs = Transformer(ModelConfig(**config)).double().eval(), torch_transformer(norm, activation)
    # strict: every name must be met
    ours.load_state_dict(mapped(theirs) | {"embedding.weight": ours.embedding.weight})
    return ours, theirs


def embedded(ids: Tensor, matrix: Tensor) -> Tensor:
    """torch has no embedding and no positions: written here once more."""
    position = torch.arange(ids.shape[1], dtype=torch.float64)[:, None]
    frequency = torch.exp(torch.arange(0, WIDTH, 2, dtype=torch.float64) * (-math.log(10000.0) / WIDTH))
    table = torch.zeros(ids.shape[1], WIDTH, dtype=torch.float64)
    table[:, 0::2], table[:, 1::2] = torch.sin(position * frequency), torch.cos(position * frequency)
    return matrix[ids] * math.sqrt(WIDTH) + table


# torch's own fast paths announce nested tensors as a prototype and say when they are not taken
@pytest.mark.filterwarnings("ignore:.*nested.tensor.*:UserWarning")
@pytest.mark.parametrize("pad_target", [False, True], ids=["causal", "causal and padding"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm", ["last", "first"])
def test_same_as_torch(norm: str, activation: str, pad_target: bool) -> None:
    ours, theirs = both(norm, activation)
    generator = torch.Generator().manual_seed(5)
    source = torch.randint(4, VOCABULARY, (3, 7), generator=generator)
    target = torch.randint(4, VOCABULARY, (3, 6), generator=generator)
    source_mask = torch.arange(7) < torch.tensor([[7], [4], [1]])
    target_mask = torch.arange(6) < torch.tensor([[3], [6], [2]]) if pad_target else None
    matrix = ours.embedding.weight.detach()
    expected = theirs(
        embedded(source, matrix),
        embedded(target, matrix),
        tgt_mask=torch.ones(6, 6, dtype=torch.bool).triu(1),  # True here means: may not look
        src_key_padding_mask=~source_mask,
        memory_key_padding_mask=~source_mask,
        tgt_key_padding_mask=None if target_mask is None else ~target_mask,
    )
    with torch.no_grad():  # the fused kernel
        assert (ours.read(source, source_mask, target, target_mask) - expected).abs().max() < 1e-9
    output = ours.read(source, source_mask, target, target_mask)  # the explicit lines
    assert (output - expected).abs().max() < 1e-9
    assert (ours.logits(output) - expected @ matrix.T).abs().max() < 1e-8
    if pad_target:
        return  # a row of theirs that may look nowhere has gradients that are not numbers
    for each in (output, expected):
        each.pow(2).sum().backward()
    for parameter in theirs.parameters():  # so that `mapped` maps gradients too
        parameter.data = parameter.grad
    gradients = mapped(theirs)
    for name, parameter in ours.named_parameters():
        if name != "embedding.weight":
            assert (parameter.grad - gradients[name]).abs().max() < 1e-8, name
