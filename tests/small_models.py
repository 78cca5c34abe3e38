"""A small model with a batch for it, and the contract of a trace: every name with its axes."""

from typing import Any

import torch
from torch import Tensor

from pellucid.config.schema import ModelConfig
from pellucid.model import Transformer

SOURCE = torch.tensor([[5, 7, 4, 3], [9, 3, 0, 0]])
TARGET = torch.tensor([[2, 5, 8], [2, 6, 0]])
B, L, M, H, D, K, F, V = 2, 3, 4, 2, 8, 4, 12, 11
SIZES = {"B": B, "L": L, "M": M, "H": H, "D": D, "K": K, "U": K, "F": F, "V": V}

STACK = {"token_embeddings": "BLD", "positions": "LD", "embedded": "BLD", "output": "BLD"}
ATTENTION = {
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
FEED_FORWARD = {"hidden": "BLF", "activated": "BLF", "output": "BLD"}
RESIDUAL = {"sum": "BLD", "output": "BLD"}
NORM = {"mean": "BL", "variance": "BL", "standardized": "BLD", "output": "BLD"}


def contract(norm: str, encoder_layers: int, decoder_layers: int) -> dict[str, str]:
    """Return every name that a trace of such a model holds, with its axes."""
    parts: dict[str, dict[str, str]] = {
        "encoder": STACK,
        "decoder": STACK | {"logits": "BLV", "probabilities": "BLV"},
    }
    for stack, layers in (("encoder", encoder_layers), ("decoder", decoder_layers)):
        attentions = ["self_attention"] if stack == "encoder" else ["self_attention", "cross_attention"]
        for number in range(layers):
            layer = f"{stack}.layers.{number}"
            parts |= {f"{layer}.{attention}": ATTENTION for attention in attentions}
            parts[f"{layer}.feed_forward"] = FEED_FORWARD
            for k in range(1, len(attentions) + 2):
                parts |= {f"{layer}.residual_{k}": RESIDUAL, f"{layer}.residual_{k}.norm": NORM}
        if norm == "first":
            parts[f"{stack}.norm"] = NORM
    return {f"{path}.{name}": axes for path, names in parts.items() for name, axes in names.items()}


def small_model(**settings: Any) -> Transformer:
    """Return a model with random weights, the same every time."""
    torch.manual_seed(0)
    config = dict(vocabulary=V, width=D, heads=H, hidden=F, encoder_layers=1, decoder_layers=2, dropout=0.0)
    model = Transformer(ModelConfig(**{**config, **settings})).eval()
    for parameter in model.parameters():  # no bias of zero, no norm that does nothing
        parameter.data += 0.1 * torch.randn(parameter.shape)
    return model


def run(model: Transformer) -> Tensor:
    """Run a pass over the batch."""
    return model(SOURCE, SOURCE != 0, TARGET)


class Words:
    """A vocabulary that writes source tokens as s5 and target tokens as t5."""

    def source_tokens(self, ids: list[int]) -> list[str]:
        return [f"s{token}" for token in ids]

    def target_tokens(self, ids: list[int]) -> list[str]:
        return [f"t{token}" for token in ids]
