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
    """The pass over a batch, in the precision of the numbers given; `traced` has each tensor by its name, of
    each sentence."""

    def __init__(self, config: ModelConfig, numbers: dict[str, Tensor], changes: Changes) -> None:
        self.config, self.numbers, self.changes = config, numbers, changes
        self.traced: dict[str, list[Tensor]] = {}

    def see(self, name: str, tensor: Tensor) -> Tensor:
        self.traced.setdefault(name, []).append(tensor)
        return tensor

    def logits(self, source: Tensor, source_real: Tensor, target: Tensor, target_real: Tensor) -> Tensor:
        """B L V."""
        rows, numbers, tied = [], self.numbers, self.numbers.get("embedding.weight")
        tables = {stack: numbers.get(f"{stack}.embedding.weight", tied) for stack in ("encoder", "decoder")}
        projection = tables["decoder"] if self.config.tied else numbers["decoder.projection.weight"]
        for b in range(len(source)):
            x = self.embedded("encoder", source[b], tables["encoder"])
            keys_real, real = source_real[b].tolist(), target_real[b].tolist()
            for layer in range(self.config.encoder_layers):
                x = self.layer(f"encoder.layers.{layer}", b, x, None, keys_real, keys_real)
            memory = self.last_norm("encoder", x)
            y = self.embedded("decoder", target[b], tables["decoder"])
            for layer in range(self.config.decoder_layers):
                y = self.layer(f"decoder.layers.{layer}", b, y, memory, real, keys_real)
            logits = self.last_norm("decoder", y) @ projection.T + numbers.get("decoder.projection.bias", 0.0)
            rows.append(self.see("decoder.logits", logits))
            powers = logits.exp()
            self.see("decoder.probabilities", powers / powers.sum(-1, keepdim=True))
        return torch.stack(rows)

    def embedded(self, stack: str, ids: Tensor, table: Tensor) -> Tensor:
        width = self.config.width
        scale = math.sqrt(width) if self.config.scale_embeddings else 1.0
        rows = torch.stack([table[token] * scale for token in ids.tolist()])
        angles = [[place / 10_000 ** (j / width) for j in range(0, width, 2)] for place in range(len(ids))]
        waves = [[wave(a) for a in row for wave in (math.sin, math.cos)] for row in angles]
        self.see(f"{stack}.token_embeddings", rows)
        positions = self.see(f"{stack}.positions", torch.tensor(waves, dtype=rows.dtype))
        return self.see(f"{stack}.embedded", rows + positions)

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
        total = self.see(f"{path}.sum", added if path in self.changes.no_residual else x + added)
        out = total if first else self.norm(f"{path}.norm", total)
        out = self.changes.instead[path][b] if path in self.changes.instead else out
        return self.see(f"{path}.output", out)

    def norm(self, path: str, x: Tensor) -> Tensor:
        mean = self.see(f"{path}.mean", x.sum(-1) / x.shape[-1])[:, None]
        variance = self.see(f"{path}.variance", ((x - mean) ** 2).sum(-1) / x.shape[-1])[:, None]
        standardized = self.see(f"{path}.standardized", (x - mean) / torch.sqrt(variance + 1e-5))
        scaled = standardized * self.numbers[f"{path}.weight"]
        return self.see(f"{path}.output", scaled + self.numbers[f"{path}.bias"])

    def last_norm(self, stack: str, x: Tensor) -> Tensor:
        out = self.norm(f"{stack}.norm", x) if self.config.norm == "first" else x
        return self.see(f"{stack}.output", out)

    def linear(self, path: str, x: Tensor) -> Tensor:
        return x @ self.numbers[f"{path}.weight"].T + self.numbers[f"{path}.bias"]

    def feed_forward(self, path: str, x: Tensor) -> Tensor:
        hidden = self.see(f"{path}.hidden", self.linear(f"{path}.inner", x))
        values = [[ACTIVATIONS[self.config.activation](value) for value in row] for row in hidden.tolist()]
        activated = self.see(f"{path}.activated", torch.tensor(values, dtype=x.dtype))
        return self.see(f"{path}.output", self.linear(f"{path}.outer", activated))

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
        names = ("query", x), ("key", y), ("value", y)
        projected = [self.linear(f"{path}.{name}", z) for name, z in names]
        heads = zip(*(each.chunk(self.config.heads, dim=-1) for each in projected), strict=True)
        contexts, looked, masks = [], [], []
        for head, (queries, keys, values) in enumerate(heads):
            how = self.changes.silent.get((path, head))
            hidden_future = causal and (path, head) not in self.changes.lifted
            mask, rows = torch.full((len(queries), len(keys)), -math.inf, dtype=x.dtype), []
            for i, query in enumerate(queries):
                allowed = [m for m in range(len(keys)) if keys_real[m] and (m <= i or not hidden_future)]
                mask[i, allowed] = 0.0
                weights = self.weights(path, query, keys, allowed, how == "uniform")
                changed = self.changes.weights.get((path, b, head, i))
                rows.append(weights if changed is None else torch.tensor(changed, dtype=x.dtype))
            looked.append(torch.stack(rows))
            context = looked[-1] @ values
            if how == "zero":
                context = torch.zeros_like(context)
            if how == "mean":
                mean = context[[place for place, real in enumerate(asks_real) if real]].mean(0)
                context = torch.stack([mean] * len(context))
            contexts.append(context)
            masks.append(mask)
        self.see_attention(path, projected, torch.stack(masks), torch.stack(looked), torch.stack(contexts))
        concatenated = self.see(f"{path}.concatenated", torch.cat(contexts, dim=-1))
        return self.see(f"{path}.output", self.linear(f"{path}.output", concatenated))

    def see_attention(
        self, path: str, projected: list[Tensor], mask: Tensor, weights: Tensor, context: Tensor
    ) -> None:
        """Show the tensors of all heads, H L M or H L K."""
        heads = [torch.stack(each.chunk(self.config.heads, dim=-1)) for each in projected]
        scores = torch.stack([queries @ keys.T for queries, keys in zip(*heads[:2], strict=True)])
        scaled = scores / math.sqrt(heads[0].shape[-1])
        named = dict(zip(("queries", "keys", "values"), heads, strict=True))
        named |= dict(scores=scores, scaled_scores=scaled, mask=mask, masked_scores=scaled + mask)
        for name, tensor in (named | dict(weights=weights, context=context)).items():
            self.see(f"{path}.{name}", tensor)

    def weights(self, path: str, query: Tensor, keys: Tensor, allowed: list[int], uniform: bool) -> Tensor:
        divisor = 1.0 if path in self.changes.unscaled else math.sqrt(len(query))
        scores = [0.0 if uniform else float(query @ keys[m]) / divisor for m in allowed]
        exponentials = [math.exp(score - max(scores)) for score in scores]
        weights = torch.zeros(len(keys), dtype=query.dtype)
        for m, exponential in zip(allowed, exponentials, strict=True):
            weights[m] = exponential / sum(exponentials)
        return weights
