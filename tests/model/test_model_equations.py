"""The module against the paper's equations, written again as loops over heads and positions in float64."""

import contextlib
import math
from typing import Any

import numpy as np
import pytest
import torch
from by_hand import ACTIVATIONS, ByHand, Changes
from torch import Tensor

from pellucid.config.schema import ModelConfig
from pellucid.model import Transformer
from pellucid.seeing.trace import Trace, trace

Array = np.ndarray[Any, np.dtype[np.float64]]
Weights = dict[str, Array]

SMALL = dict(vocabulary=13, width=8, heads=2, hidden=12, encoder_layers=2, decoder_layers=2, dropout=0.0)
VARIANTS: dict[str, dict[str, Any]] = {
    "as the paper": {},
    "norm first": dict(norm="first"),
    "silu, norm first": dict(activation="silu", norm="first"),
    "two vocabularies": dict(target_vocabulary=9, activation="gelu"),
    "two vocabularies, untied, output bias": dict(target_vocabulary=9, tied=False, output_bias=True),
    "embeddings not scaled": dict(scale_embeddings=False),
    "deep encoder": dict(encoder_layers=3, decoder_layers=1),
    "deep decoder": dict(encoder_layers=1, decoder_layers=3, norm="first", heads=4),
    "one head": dict(heads=1),
}

# Source lengths 6, 4, 1; target lengths 5, 2, 4. Padding (id 0) is on the right; it is computed too.
SOURCE = [[5, 7, 4, 8, 6, 3], [9, 12, 4, 3, 0, 0], [3, 0, 0, 0, 0, 0]]
TARGET = [[2, 5, 8, 6, 7], [2, 8, 0, 0, 0], [2, 4, 4, 5, 0]]


def random_model(seed: int = 0, **settings: Any) -> Transformer:
    """A model in which no bias is 0 and no norm the identity, so that each of them counts."""
    model = Transformer(ModelConfig(**{**SMALL, **settings})).eval()
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        noise = torch.randn(parameter.shape, generator=generator)
        parameter.data = 1 + 0.3 * noise if name.endswith("norm.weight") else 0.4 * noise
    return model


def doubles(model: Transformer) -> Weights:
    return {name: parameter.detach().double().numpy() for name, parameter in model.state_dict().items()}


@pytest.mark.parametrize("watch", [False, True], ids=["unwatched", "watched"])
@pytest.mark.parametrize("settings", VARIANTS.values(), ids=VARIANTS.keys())
def test_end_to_end_against_loops(settings: dict[str, Any], watch: bool) -> None:
    model = random_model(**settings).double()
    source, target = torch.tensor(SOURCE), torch.tensor(TARGET)
    with torch.no_grad():
        if watch:
            with trace(model):
                logits = model(source, source != 0, target)
        else:
            logits = model(source, source != 0, target)
    expected = ByHand(model.config, model.state_dict(), Changes()).logits(
        source, source != 0, target, torch.ones_like(target, dtype=torch.bool)
    )
    assert (logits - expected).abs().max() < 1e-9


# In fp32: each traced tensor recomputed, in float64, from the tensors that it was made of.


class Recomputed:
    """Every tensor of a trace from its recorded inputs, by the equation that its name stands for."""

    def __init__(self, seen: Trace, model: Transformer) -> None:
        self.seen, self.model, self.weights = seen, model, doubles(model)
        self.norm_first = model.config.norm == "first"
        self.done: dict[str, Array] = {}

    def recorded(self, name: str) -> Array:
        return self.seen[name].tensor.double().numpy()

    def linear(self, x: Array, name: str) -> Array:
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def embedding(self, stack: str, ids: list[list[int]]) -> None:
        matrix = self.weights["embedding.weight"]
        width = matrix.shape[1]
        scale, frequencies = math.sqrt(width), 10000 ** (-np.arange(0, width, 2) / width)
        angles = np.arange(len(ids[0]))[:, None] * frequencies
        self.done[f"{stack}.positions"] = np.stack([np.sin(angles), np.cos(angles)], -1).reshape(-1, width)
        self.done[f"{stack}.token_embeddings"] = np.array(
            [[matrix[token] * scale for token in row] for row in ids]
        )
        self.done[f"{stack}.embedded"] = self.recorded(f"{stack}.token_embeddings") + self.recorded(
            f"{stack}.positions"
        )

    def norm(self, path: str, x: Array) -> Array:
        """The statistics of x; returns what left the norm."""
        get = self.recorded
        self.done[f"{path}.mean"] = x.mean(-1)
        self.done[f"{path}.variance"] = ((x - get(f"{path}.mean")[..., None]) ** 2).mean(-1)
        deviation = np.sqrt(get(f"{path}.variance") + 1e-5)[..., None]
        self.done[f"{path}.standardized"] = (x - get(f"{path}.mean")[..., None]) / deviation
        scaled = get(f"{path}.standardized") * self.weights[f"{path}.weight"]
        self.done[f"{path}.output"] = scaled + self.weights[f"{path}.bias"]
        return get(f"{path}.output")

    def attention(self, path: str, x: Array, y: Array, allowed: Array) -> Array:
        get, heads = self.recorded, self.model.config.heads
        for name, z, part in (("queries", x, "query"), ("keys", y, "key"), ("values", y, "value")):
            projected = self.linear(z, f"{path}.{part}")
            self.done[f"{path}.{name}"] = np.stack(np.split(projected, heads, axis=-1), axis=1)
        self.done[f"{path}.scores"] = np.einsum(
            "bhlk,bhmk->bhlm", get(f"{path}.queries"), get(f"{path}.keys")
        )
        self.done[f"{path}.scaled_scores"] = get(f"{path}.scores") / math.sqrt(
            get(f"{path}.queries").shape[-1]
        )
        self.done[f"{path}.mask"] = np.where(
            np.broadcast_to(allowed, get(f"{path}.scores").shape), 0.0, -math.inf
        )
        self.done[f"{path}.masked_scores"] = get(f"{path}.scaled_scores") + get(f"{path}.mask")
        exponentials = np.exp(get(f"{path}.masked_scores"))
        self.done[f"{path}.weights"] = exponentials / exponentials.sum(-1, keepdims=True)
        self.done[f"{path}.context"] = np.einsum(
            "bhlm,bhmu->bhlu", get(f"{path}.weights"), get(f"{path}.values")
        )
        self.done[f"{path}.concatenated"] = np.concatenate(
            list(get(f"{path}.context").swapaxes(0, 1)), axis=-1
        )
        self.done[f"{path}.output"] = self.linear(get(f"{path}.concatenated"), f"{path}.output")
        return get(f"{path}.output")

    def feed_forward(self, path: str, x: Array) -> Array:
        activation = np.vectorize(ACTIVATIONS[self.model.config.activation])
        self.done[f"{path}.hidden"] = self.linear(x, f"{path}.inner")
        self.done[f"{path}.activated"] = activation(self.recorded(f"{path}.hidden"))
        self.done[f"{path}.output"] = self.linear(self.recorded(f"{path}.activated"), f"{path}.outer")
        return self.recorded(f"{path}.output")

    def residual(self, path: str, x: Array, sublayer: Any) -> Array:
        out = sublayer(self.norm(f"{path}.norm", x) if self.norm_first else x)
        self.done[f"{path}.sum"] = x + out
        total = self.recorded(f"{path}.sum")
        self.done[f"{path}.output"] = total if self.norm_first else self.norm(f"{path}.norm", total)
        return self.recorded(f"{path}.output")

    def stack(self, side: str, ids: list[list[int]], layers: int, allowed: Array, memory: Any = None) -> None:
        self.embedding(side, ids)
        x = self.recorded(f"{side}.embedded")
        for number in range(layers):
            at = f"{side}.layers.{number}"
            x = self.residual(
                f"{at}.residual_1", x, lambda y, at=at: self.attention(f"{at}.self_attention", y, y, allowed)
            )
            if memory is not None:
                look = lambda y, at=at: self.attention(f"{at}.cross_attention", y, *memory)  # noqa: E731
                x = self.residual(f"{at}.residual_2", x, look)
            last = 2 if memory is None else 3
            x = self.residual(
                f"{at}.residual_{last}", x, lambda y, at=at: self.feed_forward(f"{at}.feed_forward", y)
            )
        self.done[f"{side}.output"] = self.norm(f"{side}.norm", x) if self.norm_first else x

    def all(self) -> dict[str, Array]:
        config, real = self.model.config, np.array(SOURCE) != 0
        self.stack("encoder", SOURCE, config.encoder_layers, real[:, None, None, :])
        causal = np.tril(np.ones((len(TARGET[0]), len(TARGET[0]))))[None, None] == 1
        memory = (self.recorded("encoder.output"), real[:, None, None, :])
        self.stack("decoder", TARGET, config.decoder_layers, causal, memory)
        self.done["decoder.logits"] = self.recorded("decoder.output") @ self.weights["embedding.weight"].T
        exponentials = np.exp(self.recorded("decoder.logits"))
        self.done["decoder.probabilities"] = exponentials / exponentials.sum(-1, keepdims=True)
        return self.done


@pytest.mark.parametrize("norm", ["last", "first"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_each_traced_tensor_from_its_recorded_inputs(norm: str, activation: str) -> None:
    model = random_model(norm=norm, activation=activation)
    source, target = torch.tensor(SOURCE), torch.tensor(TARGET)
    with trace(model) as seen:
        model(source, source != 0, target)
    expected = Recomputed(seen, model).all()
    assert set(expected) == set(seen)  # nothing was shown that is not recomputed here
    for name, record in seen.items():
        assert record.tensor.dtype == torch.float32
        assert_equal(record.tensor, expected[name], name)


def assert_equal(tensor: Tensor, expected: Array, name: str) -> None:
    wanted = torch.from_numpy(np.ascontiguousarray(expected)).float()
    torch.testing.assert_close(tensor, wanted, rtol=1e-5, atol=1e-5, msg=lambda text: f"{name}: {text}")


@pytest.mark.parametrize("watch", [False, True], ids=["fused", "watched"])
def test_no_mask_says_that_every_token_is_real(watch: bool) -> None:
    model = random_model()
    source, target = torch.tensor([row[:4] for row in [SOURCE[0], [9, 12, 0, 0]]]), torch.tensor(TARGET[:2])
    outputs = []
    for source_mask, target_mask in ((None, None), (source > -1, target > -1)):
        with torch.no_grad(), trace(model) if watch else contextlib.nullcontext():
            outputs.append(model(source, source_mask, target, target_mask))
    assert torch.equal(*outputs)
    with torch.no_grad():
        assert not torch.allclose(outputs[0], model(source, source != 0, target, target != 0), atol=1e-3)
