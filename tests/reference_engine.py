"""The engine's int8 once more, in PyTorch, with the same roundings as kernels.c: equal to it bit for bit."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from pellucid.decoding.packing import LANES, Affine, Gains, Shape, embedding, parts_of
from pellucid.decoding.room import Array, Room, Rows, StepOutput
from pellucid.model import Norm, Transformer, round_up, sinusoids

CHUNK, MOST = 1024, 87.0  # as in kernels.c


class Quantised(NamedTuple):
    """An int8 matrix, N K, with a scale and a bias for each output."""

    weight: Tensor
    scale: Tensor
    bias: Tensor


class Weights:
    """A model's matrices in int8."""

    @torch.no_grad()
    def __init__(self, model: Transformer) -> None:
        self.shape, self.model = Shape.of(model.config), model
        self.norm_first = model.config.norm == "first"
        counts = {"encoder": model.config.encoder_layers, "decoder": model.config.decoder_layers}
        # The parts of each layer, and at the end, which is -1, those that follow all layers.
        self.parts: dict[str, list[dict[str, Any]]] = {
            stack: [{} for _ in range(count + 1)] for stack, count in counts.items()
        }
        for stack, number, parts in parts_of(model, self.shape):
            for name, part in parts.items():
                self.parts[stack][number][name] = pack(part) if isinstance(part, Affine) else part


class State:
    """As native.State: the encoded sources, and the keys and values of past tokens."""

    def __init__(self, weights: Weights, room: Room) -> None:
        self._weights, self._room, shape = weights, room, weights.shape
        length, cpu = round_up(room.positions), torch.device("cpu")
        self._positions = sinusoids(length, shape.width, torch.float32, cpu, shape.positions)
        self.rows = Rows.of(room)
        self._memory: dict[int, list[Tensor]] = {}  # of each place
        self._cache = torch.zeros(shape.layers, room.cells, 2, shape.across, dtype=torch.float16)

    @torch.no_grad()
    def encode(self, places: Sequence[int], begins: Array, sources: Sequence[Sequence[int]]) -> None:
        """Encode sources, and store their keys and values for cross-attention at these places, one for each
        source: here in memory of their own."""
        for place, ids in zip(places, sources, strict=True):
            self._memory[place] = self._read(ids)

    @torch.no_grad()
    def step(self, count: int, candidates: int) -> StepOutput:
        """Compute one step for the first `count` rows. Return the best next tokens of each row, or all logits
        if candidates = 0."""
        rows = Rows._make(each[:count] for each in self.rows)
        x = self._embed("decoder", torch.as_tensor(rows.token), torch.as_tensor(rows.position))
        *layers, last = self._weights.parts["decoder"]
        for number, layer in enumerate(layers):
            x = self._look_back(x, layer, number, rows)
            x = self._look_at_source(x, layer, number, rows.place)
            x = self._feed_forward(x, layer, "norm_3")
        logits = project(self._before(x, last["norm"]), last["logits"])
        asked = logits.gather(1, torch.as_tensor(rows.required).long().clamp(min=0)[:, None])[:, 0]
        likely = likeliest(logits, candidates, list(self._room.forbidden))
        found = [tensor.numpy() for tensor in (*likely, *weigh(logits), asked)]
        return StepOutput._make([*found, None if candidates else logits.numpy()])

    def _embed(self, stack: str, ids: Tensor, positions: Tensor) -> Tensor:
        model, shape = self._weights.model, self._weights.shape
        part = getattr(model, stack)
        vectors = embedding(model, part)[ids.long()] * part.scale + self._positions[positions.long()]
        return F.pad(vectors, (0, shape.padded - shape.width))

    def _before(self, x: Tensor, gains: Gains) -> Tensor:
        return normalise(x, gains, self._weights.shape.width) if self._weights.norm_first else x

    def _after(self, x: Tensor, gains: Gains) -> Tensor:
        return x if self._weights.norm_first else normalise(x, gains, self._weights.shape.width)

    def _read(self, ids: Sequence[int]) -> list[Tensor]:
        """Encode a source. Return its keys and values for the cross-attention of each decoder layer, M 2 A,
        where A is the padded width of all heads."""
        across = self._weights.shape.across
        x = self._embed("encoder", torch.tensor(ids), torch.arange(len(ids)))
        *layers, last = self._weights.parts["encoder"]
        for layer in layers:
            qkv = project(self._before(x, layer["norm_1"]), layer["qkv"])
            pairs = qkv[:, across:].half().unflatten(-1, (2, across))
            context = attend(qkv[:, :across], pairs.expand(len(ids), *pairs.shape), self._weights.shape)
            x = self._after(project(context, layer["self_output"]) + x, layer["norm_1"])
            x = self._feed_forward(x, layer, "norm_2")
        x, decoder = self._before(x, last["norm"]), self._weights.parts["decoder"][:-1]
        return [project(x, layer["cross_kv"]).half().unflatten(-1, (2, across)) for layer in decoder]

    def _look_back(self, x: Tensor, layer: dict[str, Any], number: int, rows: Rows) -> Tensor:
        across = self._weights.shape.across
        qkv = project(self._before(x, layer["norm_1"]), layer["qkv"])
        pairs = qkv[:, across:].half().unflatten(-1, (2, across))
        cells, ancestors = torch.as_tensor(rows.cell).long(), torch.as_tensor(rows.ancestor).long()
        self._cache[number, cells] = pairs
        context = torch.empty_like(qkv[:, :across])
        for length in set(rows.position.tolist()):  # rows of one length together
            some = torch.as_tensor(rows.position == length)
            seen = self._cache[number, torch.cat((ancestors[some, :length], cells[some, None]), 1)]
            context[some] = attend(qkv[some, :across], seen, self._weights.shape)
        return self._after(project(context, layer["self_output"]) + x, layer["norm_1"])

    def _look_at_source(self, x: Tensor, layer: dict[str, Any], number: int, places: Array) -> Tensor:
        query = project(self._before(x, layer["norm_2"]), layer["cross_query"])
        memories = [self._memory[place][number] for place in places.tolist()]
        lengths = torch.tensor([len(each) for each in memories])
        context = torch.empty_like(query)
        for length in set(lengths.tolist()):
            some = (lengths == length).nonzero()[:, 0]
            seen = torch.stack([memories[row] for row in some.tolist()])
            context[some] = attend(query[some], seen, self._weights.shape)
        return self._after(project(context, layer["cross_output"]) + x, layer["norm_2"])

    def _feed_forward(self, x: Tensor, layer: dict[str, Any], norm: str) -> Tensor:
        hidden = project(self._before(x, layer[norm]), layer["inner"])
        activation = ACTIVATIONS[self._weights.model.config.activation]
        return self._after(project(activation(hidden), layer["outer"]) + x, layer[norm])


def pack(part: Affine) -> Quantised:
    """Quantise a matrix, with a scale for each output."""
    padding = (0, part.inputs - part.weight.shape[1], 0, part.outputs - part.weight.shape[0])
    weight, scale = quantise(F.pad(part.weight.float(), padding))
    return Quantised(weight, scale, part.bias.float())


def quantise(x_MK: Tensor) -> tuple[Tensor, Tensor]:
    """Quantise to int8. Return the int8 matrix, M K, and a scale for each row: x is about scale times
    int8."""
    top = x_MK.abs().amax(-1).nan_to_num(0.0, torch.inf).clamp(min=1e-30)
    broken = torch.where(x_MK.isfinite().all(-1), 0.0, torch.nan)
    whole = (x_MK * torch.full_like(top, 127.0).div(top)[:, None]).round()
    return whole.nan_to_num(0.0).to(torch.int8), top / 127.0 + broken


def project(x_MK: Tensor, matrix: Quantised) -> Tensor:
    """Compute x W^T + b in int8: sum the products exactly, multiply by the scales of rows and outputs, and
    add the bias."""
    quantised, scale = quantise(x_MK)
    sums = torch._int_mm(quantised, matrix.weight.mT)
    return sums.float() * scale[:, None] * matrix.scale + matrix.bias


def normalise(x_MD: Tensor, gains: Gains, width: int) -> Tensor:
    """Apply a LayerNorm over the first `width` numbers."""
    mean = (add_up(x_MD) / width)[:, None]
    apart = x_MD - mean
    squares = F.pad((apart * apart)[:, :width], (0, x_MD.shape[1] - width))
    variance = (add_up(squares) / width + Norm.epsilon).numpy()
    factor = 1.0 / torch.from_numpy(np.sqrt(variance))  # torch's own root rounds otherwise
    return apart * factor[:, None] * gains.gain + gains.bias


def attend(query_MA: Tensor, pairs_MT2A: Tensor, shape: Shape) -> Tensor:
    """Return the output (context) of attention for each row, M A; all rows have the same number of keys,
    T."""
    keys, values = (part[..., : shape.heads * shape.head].float() for part in pairs_MT2A.unbind(2))
    by_head = (shape.heads, shape.head)
    query = query_MA[:, : shape.heads * shape.head].unflatten(-1, by_head)
    scores_MTH = add_up(query[:, None] * keys.unflatten(-1, by_head)) * shape.score_scale
    weights = exponential(scores_MTH - scores_MTH.amax(1, keepdim=True))
    inverse = 1.0 / add_up(weights.mT)
    weighted = weights[..., None] * values.unflatten(-1, by_head)
    context = in_order(weighted.flatten(2)).unflatten(-1, by_head)
    return F.pad((context * inverse[..., None]).flatten(1), (0, shape.across - shape.heads * shape.head))


def weigh(logits_MV: Tensor) -> tuple[Tensor, Tensor]:
    """Return each row's highest logit and its sum of exp(logit - highest), computed over chunks of the
    vocabulary, as kernels.c does."""
    greatest, total = torch.full((len(logits_MV),), -torch.inf), torch.zeros(len(logits_MV))
    for number, chunk in enumerate(logits_MV.split(CHUNK, dim=1)):
        top = chunk.nan_to_num(-torch.inf, torch.inf, -torch.inf).amax(-1)
        here = add_up(exponential(chunk - top[:, None]))
        if not number:
            greatest, total = top, here
            continue
        higher = top > greatest
        raised = total * exponential(greatest - top) + here
        total = torch.where(higher, raised, total + here * exponential(top - greatest))
        greatest = torch.where(higher, top, greatest)
    return greatest, total


def likeliest(logits_MV: Tensor, count: int, forbidden: list[int]) -> tuple[Tensor, Tensor]:
    """Return the `count` highest allowed logits of each row and their ids, in ascending order of ids. Of
    equal logits, the one with the lower id is chosen."""
    allowed = logits_MV.nan_to_num(-torch.inf, torch.inf, -torch.inf)
    allowed[:, forbidden] = -torch.inf
    values, ids = allowed.sort(dim=1, descending=True, stable=True)
    ids = ids[:, :count].masked_fill(values[:, :count] == -torch.inf, 0).sort(dim=1).values
    return allowed.gather(1, ids), ids.int()


def add_up(x: Tensor) -> Tensor:
    """Sum over the last axis, in the order of kernels.c: first into sixteen partial sums, then these in
    pairs."""
    x = F.pad(x, (0, -x.shape[-1] % LANES)).unflatten(-1, (-1, LANES))
    total = in_order(x)
    fours = total.unflatten(-1, (4, 4))
    each = (fours[..., 0] + fours[..., 2]) + (fours[..., 1] + fours[..., 3])
    return (each[..., 0] + each[..., 2]) + (each[..., 1] + each[..., 3])


def in_order(x: Tensor) -> Tensor:
    """Sum over the second-to-last axis, row by row. NumPy keeps this order; PyTorch may not."""
    return torch.from_numpy(np.add.reduce(x.contiguous().numpy(), axis=-2))


def exponential(x: Tensor) -> Tensor:
    """Compute e^x as vectors.h does, for x <= MOST."""
    y = (x * 1.44269504).clamp_min(-126.0)
    whole = y.round()
    r = y - whole
    p = r * 0.001326472731 + 0.009671512991
    for coefficient in (0.05550733581, 0.2402224243, 0.6931470037, 1.0):
        p = p * r + coefficient
    return p * ((whole.nan_to_num(0.0).int() + 127) << 23).view(torch.float32)


def relu(x: Tensor) -> Tensor:
    """Compute max(0, x)."""
    return torch.where(x < 0, 0.0, x)


def gelu(x: Tensor) -> Tensor:
    """Compute GELU, x Φ(x), as kernels.c does."""
    z = x.abs() * 0.70710678
    t = 1.0 / (z * 0.3275911 + 1.0)
    p = t * 1.061405429 - 1.453152027
    for coefficient in (1.421413741, -0.284496736, 0.254829592):
        p = p * t + coefficient
    tail = p * t * exponential(-(z * z)) * 0.5
    return x * torch.where(x > 0, 1.0 - tail, tail)


def silu(x: Tensor) -> Tensor:
    """Compute x / (1 + e^-x)."""
    return x / (exponential((-x).clamp_max(MOST)) + 1.0)


ACTIVATIONS = {"relu": relu, "gelu": gelu, "silu": silu}
