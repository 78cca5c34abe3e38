"""The operations of the fused training step, on rows without padding: each is a part of the model with its
gradient. Products of matrices are torch's; the rest is compiled (fused.c).

Weights, activations and gradients are bf16 or float32; sums are float32.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from pellucid.learning.compiled import BLOCK, LANES, QUERIES, Dropout, compute, shares
from pellucid.model import ACTIVATIONS, Norm, keep_or_drop

DIGITS = 5  # binary digits of the number of rows in a batch; the rest are 0
Gradients = tuple[Tensor | None, ...]


class Draws:
    """The random numbers of a pass: each dropout gets the next seed. The first comes from torch's generator,
    so a resumed training draws the same."""

    def __init__(self) -> None:
        self._first: int | None = None
        self._count = itertools.count(1)

    def next(self, rate: float) -> Any:
        """Return the dropout for the next place, with its rate rounded to 1/256, as in the model."""
        if not rate:
            return Dropout(0, 0)
        if self._first is None:
            self._first = int(torch.empty((), dtype=torch.int64).random_())
        seed = (self._first + next(self._count) * 0x9E3779B97F4A7C15) % 2**64 - 2**63
        return Dropout(seed, max(1, min(255, round(rate * 256))))


@dataclass(frozen=True)
class Rows:
    """The real tokens of several sentences, one after the other, without padding between them."""

    ids: Tensor  # N
    places: Tensor  # N: the position of each in its sentence
    starts: Tensor  # B + 2: the row at which each sentence begins, and the number of all rows
    longest: int

    @classmethod
    def of(cls, ids_BL: Tensor, real_BL: Tensor) -> "Rows":
        """Return the tokens that are real, and after them one more sentence, of padding: it makes the number
        of rows one of few. oneDNN compiles a product for each new size, which took a fifth of a step."""
        ids, lengths = ids_BL[real_BL], real_BL.sum(1)
        added = -len(ids) % (1 << max(0, len(ids).bit_length() - DIGITS))
        starts = F.pad(lengths.cumsum(0), (1, 0))
        starts = torch.cat([starts, starts[-1:] + added])
        places = torch.arange(ids_BL.shape[1]).expand_as(ids_BL)[real_BL]
        longest = max(added, int(lengths.max()) if len(lengths) else 0)
        return cls(F.pad(ids, (0, added)), F.pad(places, (0, added)), starts, longest)


def embed(table: Tensor, rows: Rows, positions: Tensor, scale: float, dropout: Any) -> Tensor:
    """Return dropout(embedding * scale + position) of each row, N D."""
    return _Embedding.apply(table, rows, positions, scale, dropout)


class _Embedding(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, table_VD: Tensor, rows: Rows, positions: Tensor, scale: float, dropout: Any
    ) -> Tensor:
        out = table_VD.new_empty(len(rows.ids), table_VD.shape[1])
        about = dict(width=out.shape[1], ids=rows.ids, scale=scale, dropout=dropout)
        given = dict(places=rows.places, table=table_VD, positions=positions, out=out)
        compute("embed", len(out), out, **about, **given)
        ctx.about, ctx.shape = about, table_VD.shape
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_out: Tensor) -> Gradients:
        d_out, d_table = d_out.contiguous(), torch.zeros(ctx.shape)
        blocks = -(-d_out.shape[1] // BLOCK)
        compute("embed_backward", blocks, d_out, rows=len(d_out), out=d_out, d_table=d_table, **ctx.about)
        return d_table.to(d_out.dtype), None, None, None, None


def linear(x: Tensor, *layers: nn.Linear) -> Tensor:
    """Return x W^T + b of several layers side by side, as one product."""
    return _Linear.apply(x, *[each.weight for each in layers], *[each.bias for each in layers])


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, *parameters: Tensor) -> Tensor:
        half = len(parameters) // 2
        weight, bias = (joined(each) for each in (parameters[:half], parameters[half:]))
        ctx.save_for_backward(x, weight)
        ctx.sizes = [len(each) for each in parameters[half:]]
        return torch.addmm(bias, x, weight.mT)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_y: Tensor) -> Gradients:
        x, weight = ctx.saved_tensors
        d_y, count = d_y.contiguous(), len(ctx.sizes)
        d_x = d_y @ weight if ctx.needs_input_grad[0] else None
        learns = any(ctx.needs_input_grad[1:])
        d_weight = (d_y.mT @ x).split(ctx.sizes) if learns else [None] * count
        d_bias = column_sums(d_y).split(ctx.sizes) if learns else [None] * count
        return d_x, *d_weight, *d_bias


def joined(tensors: Sequence[Tensor]) -> Tensor:
    """Return tensors one below the other; one alone is not copied."""
    return tensors[0] if len(tensors) == 1 else torch.cat([*tensors])


def column_sums(x: Tensor) -> Tensor:
    """Return the sum of all rows, added up in float32."""
    sums = torch.zeros(shares(len(x)), x.shape[1])
    compute("column_sums", len(x), x, width=x.shape[1], x=x, sums=sums)
    return sums.sum(0).to(x.dtype)


def add_norm(x: Tensor, y: Tensor | None, norm: Norm, dropout: Any) -> tuple[Tensor, Tensor]:
    """Return x + dropout(y), and the norm of it. Without y, return x and the norm of x."""
    total, normed = _AddNorm.apply(x, y, norm.weight, norm.bias, norm.epsilon, dropout)
    return x if y is None else total, normed


class _AddNorm(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, y: Tensor | None, gain: Tensor, bias: Tensor, epsilon: float, dropout: Any
    ) -> tuple[Tensor | None, Tensor]:
        total, normed = None if y is None else torch.empty_like(x), torch.empty_like(x)
        about = dict(width=x.shape[1], gain=gain, dropout=dropout, statistics=torch.empty(len(x), 2))
        given = dict(x=x, y=y, bias=bias, total=total, normed=normed, epsilon=epsilon)
        compute("add_norm", len(x), x, **about, **given)
        ctx.about, ctx.adds = about, y is not None
        ctx.save_for_backward(x if total is None else total)
        ctx.set_materialize_grads(False)
        return total, normed

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_total: Tensor | None, d_normed: Tensor) -> Gradients:
        (total,) = ctx.saved_tensors
        width, sums = total.shape[1], torch.zeros(shares(len(total)), 2 * total.shape[1])
        d_x, d_y = torch.empty_like(total), torch.empty_like(total) if ctx.adds else None
        d_normed, d_total = d_normed.contiguous(), None if d_total is None else d_total.contiguous()
        given = dict(total=total, d_normed=d_normed, d_total=d_total, d_x=d_x, d_y=d_y, sums=sums)
        compute("add_norm_backward", len(total), total, **ctx.about, **given)
        d_gain, d_bias = sums.sum(0).to(total.dtype).split(width)
        return d_x, d_y, d_gain, d_bias, None, None


def activate(hidden: Tensor, name: str, rate: float, draws: Draws) -> Tensor:
    """Return dropout(activation(hidden)); `hidden` is not to be used after this."""
    if name == "relu":
        return _Relu.apply(hidden, draws.next(rate))
    activated = ACTIVATIONS[name](hidden)
    return activated * keep_or_drop(activated, rate) if rate else activated


class _Relu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dropout: Any) -> Tensor:
        compute("relu", len(x), x, width=x.shape[1], x=x, dropout=dropout)
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        ctx.dropout = dropout
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_y: Tensor) -> Gradients:
        (kept,), d_x = ctx.saved_tensors, d_y.contiguous()
        compute("relu_backward", len(d_x), d_x, width=d_x.shape[1], x=d_x, kept=kept, dropout=ctx.dropout)
        return d_x, None


def attend(
    queries: Tensor, memory: Tensor | None, heads: int, rows: Rows, others: Rows, causal: bool, dropout: Any
) -> Tensor:
    """Return softmax(Q K^T / sqrt(d_k)) V of each sentence and head, N D. queries: Q, N D, with K and V in
    memory, M 2D; without a memory Q, K and V, N 3D. rows, others: the sentences of Q, and of K and V."""
    return _Attention.apply(queries, memory, heads, rows, others, causal, dropout)


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        queries: Tensor,
        memory: Tensor | None,
        heads: int,
        rows: Rows,
        others: Rows,
        causal: bool,
        dropout: Any,
    ) -> Tensor:
        width = queries.shape[1] // (3 if memory is None else 1)
        out = queries.new_empty(len(queries), width)
        ctx.about = dict(
            heads=heads,
            head=width // heads,
            q_starts=rows.starts,
            k_starts=others.starts,
            log_sizes=torch.empty(len(queries), heads),
            longest=others.longest,
            causal=causal,
            dropout=dropout,
            scale=(width // heads) ** -0.5,
        )
        _attend("attend", out, **ctx.about, **_places("", queries, memory, width), out=out)
        ctx.save_for_backward(queries, memory)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_out: Tensor) -> Gradients:
        queries, memory = ctx.saved_tensors
        d_out, width = d_out.contiguous(), d_out.shape[1]
        d_queries, d_memory = torch.empty_like(queries), None if memory is None else torch.empty_like(memory)
        places = _places("", queries, memory, width) | _places("d_", d_queries, d_memory, width)
        _attend("attend_backward", d_out, **ctx.about, **places, d_out=d_out)
        return d_queries, d_memory, None, None, None, None, None


def _places(prefix: str, queries: Tensor, memory: Tensor | None, width: int) -> dict[str, int]:
    """Return where queries, keys and values begin, and how far their rows are apart."""
    both, first = (queries, width) if memory is None else (memory, 0)
    size = both.element_size()
    names = {f"{prefix}q": queries.data_ptr(), f"{prefix}k": both.data_ptr() + first * size}
    names |= {f"{prefix}v": both.data_ptr() + (first + width) * size}
    return names | ({} if prefix else {"q_stride": queries.shape[1], "k_stride": both.shape[1]})


def _attend(kernel: str, like: Tensor, **arguments: Any) -> None:
    head, longest = (-(-arguments[name] // LANES) * LANES for name in ("head", "longest"))
    roominess = QUERIES * (3 * head + 2 * longest) + 4 * longest * head
    sentences = len(arguments["q_starts"]) - 1
    room = torch.empty(shares(sentences), roominess)
    compute(kernel, sentences, like, room=room, roominess=roominess, **arguments)
