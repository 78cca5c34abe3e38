"""The Transformer once more, by loops over sentences and heads, with everything an edit may change spelt out.

It shares no code with the model: it reads the numbers of the state_dict alone.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from pellucid.config.schema import ModelConfig

ACTIVATIONS: dict[str, Callable[[float], float]] = {
    "relu": lambda value: max(0.0, value),
    "gelu": lambda value: value * 0.5 * (1 + math.erf(value / math.sqrt(2))),
    "silu": lambda value: value / (1 + math.exp(-value)),
}


@dataclass
class Changes:
    """What is done otherwise, by the path of a part."""

    silent: dict[tuple[str, int], str] = field(default_factory=dict)  # (attention, head): zero, mean, uniform
    lifted: set[tuple[str, int]] = field(default_factory=set)  # (attention, head) without its causal mask
    unscaled: set[str] = field(default_factory=set)  # attentions
    no_residual: set[str] = field(default_factory=set)
    weights: dict[tuple[str, int, int, int], list[float]] = field(
        default_factory=dict
    )  # … sentence, head, row
    instead: dict[str, Tensor] = field(default_factory=dict)  # the stream after a residual, B L D


class ByHand:
    """The pass over a batch, in the precision of the numbers given."""

    def __init__(self, config: ModelConfig, numbers: dict[str, Tensor], changes: Changes) -> None:
        self.config, self.numbers, self.changes = config, numbers, changes

    def logits(self, source: Tensor, source_real: Tensor, target: Tensor, target_real: Tensor) -> Tensor:
        """B L V."""
        rows, numbers, tied = [], self.numbers, self.numbers.get("embedding.weight")
        tables = {stack: numbers.get(f"{stack}.embedding.weight", tied) for stack in ("encoder", "decoder")}
        projection = tables["decoder"] if self.config.tied else numbers["decoder.projection.weight"]
        for b in range(len(source)):
            x = self.embedded(source[b], tables["encoder"])
            keys_real, real = source_real[b].tolist(), target_real[b].tolist()
            for layer in range(self.config.encoder_layers):
                x = self.layer(f"encoder.layers.{layer}", b, x, None, keys_real, keys_real)
            memory = self.last_norm("encoder", x)
            y = self.embedded(target[b], tables["decoder"])
            for layer in range(self.config.decoder_layers):
                y = self.layer(f"decoder.layers.{layer}", b, y, memory, real, keys_real)
            logits = self.last_norm("decoder", y) @ projection.T
            rows.append(logits + numbers.get("decoder.projection.bias", 0.0))
        return torch.stack(rows)

    def embedded(self, ids: Tensor, table: Tensor) -> Tensor:
        width = self.config.width
        scale = math.sqrt(width) if self.config.scale_embeddings else 1.0
        rows = []
        for place, token in enumerate(ids.tolist()):
            row = table[token] * scale
            angles = [place / 10_000 ** (2 * (j // 2) / width) for j in range(width)]
            waves = [math.cos(a) if j % 2 else math.sin(a) for j, a in enumerate(angles)]
            rows.append(row + torch.tensor(waves, dtype=row.dtype))
        return torch.stack(rows)

    def layer(
        self, path: str, b: int, x: Tensor, memory: Tensor | None, real: list[bool], memory_real: list[bool]
    ) -> Tensor:
        causal = memory is not None
        own, other = f"{path}.self_attention", f"{path}.cross_attention"
        steps: list[Callable[[Tensor], Tensor]] = [
            lambda y: self.attention(own, b, y, y, real, real, causal),
            lambda y: self.feed_forward(f"{path}.feed_forward", y),
        ]
        if memory is not None:
            steps.insert(1, lambda y: self.attention(other, b, y, memory, real, memory_real, False))
        for number, step in enumerate(steps, start=1):
            x = self.add_and_norm(f"{path}.residual_{number}", b, x, step)
        return x

    def add_and_norm(self, path: str, b: int, x: Tensor, step: Callable[[Tensor], Tensor]) -> Tensor:
        first = self.config.norm == "first"
        added = step(self.norm(f"{path}.norm", x) if first else x)
        total = added if path in self.changes.no_residual else x + added
        out = total if first else self.norm(f"{path}.norm", total)
        return self.changes.instead[path][b] if path in self.changes.instead else out

    def norm(self, path: str, x: Tensor) -> Tensor:
        rows = []
        for row in x:
            mean = row.sum() / len(row)
            variance = ((row - mean) ** 2).sum() / len(row)
            standardized = (row - mean) / torch.sqrt(variance + 1e-5)
            rows.append(standardized * self.numbers[f"{path}.weight"] + self.numbers[f"{path}.bias"])
        return torch.stack(rows)

    def last_norm(self, stack: str, x: Tensor) -> Tensor:
        return self.norm(f"{stack}.norm", x) if self.config.norm == "first" else x

    def linear(self, path: str, x: Tensor) -> Tensor:
        return x @ self.numbers[f"{path}.weight"].T + self.numbers[f"{path}.bias"]

    def feed_forward(self, path: str, x: Tensor) -> Tensor:
        hidden = self.linear(f"{path}.inner", x)
        values = [[ACTIVATIONS[self.config.activation](value) for value in row] for row in hidden.tolist()]
        return self.linear(f"{path}.outer", torch.tensor(values, dtype=x.dtype))

    def attention(
        self,
        path: str,
        b: int,
        x: Tensor,
        y: Tensor,
        asks_real: list[bool],
        keys_real: list[bool],
        causal: bool,
    ) -> Tensor:
        size = self.config.width // self.config.heads
        projected = [self.linear(f"{path}.{name}", z) for name, z in (("query", x), ("key", y), ("value", y))]
        contexts = []
        for head in range(self.config.heads):
            queries, keys, values = (each[:, head * size : (head + 1) * size] for each in projected)
            how = self.changes.silent.get((path, head))
            hidden_future = causal and (path, head) not in self.changes.lifted
            rows = []
            for i, query in enumerate(queries):
                allowed = [m for m in range(len(keys)) if keys_real[m] and (m <= i or not hidden_future)]
                weights = self.weights(path, query, keys, allowed, how == "uniform")
                if (path, b, head, i) in self.changes.weights:
                    weights = torch.tensor(self.changes.weights[path, b, head, i], dtype=x.dtype)
                rows.append(sum((weights[m] * values[m] for m in range(len(keys))), torch.zeros_like(query)))
            context = torch.stack(rows)
            if how == "zero":
                context = torch.zeros_like(context)
            if how == "mean":
                mean = context[[place for place, real in enumerate(asks_real) if real]].mean(0)
                context = torch.stack([mean] * len(context))
            contexts.append(context)
        return self.linear(f"{path}.output", torch.cat(contexts, dim=-1))

    def weights(self, path: str, query: Tensor, keys: Tensor, allowed: list[int], uniform: bool) -> Tensor:
        divisor = 1.0 if path in self.changes.unscaled else math.sqrt(len(query))
        scores = [0.0 if uniform else float(query @ keys[m]) / divisor for m in allowed]
        exponentials = [math.exp(score - max(scores)) for score in scores]
        weights = torch.zeros(len(keys), dtype=query.dtype)
        for m, exponential in zip(allowed, exponentials, strict=True):
            weights[m] = exponential / sum(exponentials)
        return weights
