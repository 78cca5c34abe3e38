"""The compiled kernels of the fused training step: their C structures, and how threads share their work."""

import ctypes
import functools
import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from ctypes import c_int64, c_void_p
from typing import Any

import torch
from torch import Tensor

from pellucid.decoding.library import library_and_kind, structure

BLOCK, QUERIES, LANES = 64, 64, 16  # as in fused.c and vectors.h

Dropout = structure("Dropout", "int64 seed, dropped")
Embedding = structure(
    "Embedding",
    "int64 half, width, rows; * ids, places, table, positions, out, d_table; Dropout dropout; float scale",
)
AddNorm = structure(
    "AddNorm",
    "int64 half, width; * x, y, gain, bias, total, normed, statistics, d_normed, d_total, d_x, d_y, sums;"
    "Dropout dropout; float epsilon",
)
Columns = structure("Columns", "int64 half, width; * x, kept, sums; Dropout dropout")
CrossEntropy = structure(
    "CrossEntropy", "int64 half, width, rows; * logits, expected, losses, room; float smoothing, consistency"
)
Adam = structure(
    "Adam",
    "int64 half, size; * gradients; int64 processes; * squares, weight, mean, variance, working;"
    "float scale, decay, beta1, beta2, rate, root, epsilon",
)
Attention = structure(
    "Attention",
    "int64 half, heads, head; * q, k, v, out, q_starts, k_starts, log_sizes, d_out, d_q, d_k, d_v, room;"
    "int64 roominess, q_stride, k_stride, longest, causal; Dropout dropout; float scale",
)
KERNELS = {
    "embed": Embedding,
    "embed_backward": Embedding,
    "add_norm": AddNorm,
    "add_norm_backward": AddNorm,
    "column_sums": Columns,
    "relu": Columns,
    "relu_backward": Columns,
    "cross_entropy": CrossEntropy,
    "consistent_cross_entropy": CrossEntropy,
    "squares": Adam,
    "adamw": Adam,
    "attend": Attention,
    "attend_backward": Attention,
}


def compute(kernel: str, count: int, like: Tensor, **arguments: Any) -> None:
    """Call a kernel for `count` rows (or sentences, or blocks of columns), which the threads share. Tensors
    are handed over by their address, so they must be contiguous. like: has the type of the numbers."""
    half = int(like.dtype == torch.bfloat16)
    given = {name: each.data_ptr() if isinstance(each, Tensor) else each for name, each in arguments.items()}
    structure, function, parts = KERNELS[kernel](half=half, **given), _function(kernel), shares(count)
    bounds = [count * part // parts for part in range(parts + 1)]
    spans = [(ctypes.byref(structure), *span, part) for part, span in enumerate(itertools.pairwise(bounds))]
    if parts == 1:
        function(*spans[0])
    else:
        [*_threads(parts).map(lambda span: function(*span), spans)]


def add_to(sums: Tensor, x: Tensor) -> None:
    """Add x, in bf16 or float32, to float32 sums of the same shape, in one pass over memory."""
    compute("column_sums", 1, x, width=x.numel(), x=x, sums=sums)


def shares(count: int) -> int:
    """Return in how many shares `compute` divides this number of rows."""
    return max(1, min(torch.get_num_threads(), count))


def room_for(rows: int, width: int) -> Tensor:
    """Return the room for the exponentials of these rows of logits, two rows for each share."""
    return torch.empty(shares(rows), 2 * (-(-width // LANES) * LANES))


@functools.cache
def _function(kernel: str) -> Callable[..., None]:
    library, kind = library_and_kind()
    function = getattr(library, f"{kind}_{kernel}")
    function.argtypes, function.restype = [c_void_p, *[c_int64] * 3], None
    return function


@functools.cache
def _threads(count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count)
