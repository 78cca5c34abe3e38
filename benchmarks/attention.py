"""Fused against explicit attention, forward and backward: which of the two should `attend` use to train?

python -m benchmarks.attention [--threads 1] [--repeats 9]
"""

import argparse
import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.report import machine, write_report
from pellucid.mask import Mask
from pellucid.model import Dropout, attend
from pellucid.seeing.watching import watching

SENTENCES, HEADS = 256, 4
LENGTHS, HEAD_WIDTHS = (16, 32, 64, 128), (32, 64)
PRECISIONS = {"fp32": torch.float32, "bf16": torch.bfloat16}
NO_DROPOUT = Dropout(0.0)

Attention = Callable[[Tensor, Tensor, Tensor, Mask], Tensor]


@dataclass(frozen=True)
class Row:
    """Medians, in milliseconds of processor time, of one shape in one precision."""

    precision: str
    length: int
    head_width: int
    explicit: float
    fused: float

    @property
    def ratio(self) -> float:
        """How many times as long the fused kernel takes."""
        return self.fused / self.explicit


def explicit(queries: Tensor, keys: Tensor, values: Tensor, mask: Mask) -> Tensor:
    """Compute the lines of the equation, as `attend` does when it is watched."""
    with watching(lambda name, axes, tensor: tensor):
        return attend(queries, keys, values, mask, lambda name, tensor: tensor, NO_DROPOUT)


def fused(queries: Tensor, keys: Tensor, values: Tensor, mask: Mask) -> Tensor:
    """PyTorch's kernel, with the mask that `attend` gives it."""
    may_look = mask.may_look(queries.shape[2], keys.shape[2], queries.device)
    scale = 1 / math.sqrt(queries.shape[-1])
    return F.scaled_dot_product_attention(queries, keys, values, attn_mask=may_look, scale=scale)


def seconds(attention: Attention, inputs: list[Tensor], gradient: Tensor) -> float:
    """Return the CPU time of a forward and a backward pass, without waiting for other programs."""
    start = time.process_time()
    context = attention(*inputs, Mask(first_query=0))
    torch.autograd.grad(context, inputs, gradient)
    return time.process_time() - start


def measure(precision: str, length: int, head_width: int, repeats: int) -> Row:
    """Both by turns, so that a slow moment meets both; each one's first turn is not counted."""
    shape = (SENTENCES, length, HEADS, head_width)
    torch.manual_seed(0)
    # As the model has them: B L H K in memory, seen as B H L K.
    tensors = [torch.randn(shape).to(PRECISIONS[precision]).transpose(1, 2) for _ in range(4)]
    inputs, gradient = [tensor.requires_grad_() for tensor in tensors[:3]], tensors[3]
    tolerance, mask = 1e-5 if precision == "fp32" else 3e-2, Mask(first_query=0)
    torch.testing.assert_close(explicit(*inputs, mask), fused(*inputs, mask), rtol=tolerance, atol=tolerance)
    times: dict[Attention, list[float]] = {explicit: [], fused: []}
    for _ in range(repeats + 1):
        for attention, taken in times.items():
            taken.append(seconds(attention, inputs, gradient))
    medians = [1000 * statistics.median(taken[1:]) for taken in times.values()]
    return Row(precision, length, head_width, *medians)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=9)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    rows = [
        measure(precision, length, head_width, given.repeats)
        for precision in PRECISIONS
        for length in LENGTHS
        for head_width in HEAD_WIDTHS
    ]
    about = (
        "Forward and backward under a causal mask, no dropout: what `attend` computes line by line, against "
        "`torch.nn.functional.scaled_dot_product_attention`. Medians in milliseconds of processor time, in "
        "which other programs do not count; above 1, the fused kernel takes so many times as long.",
        f"B = {SENTENCES}, H = {HEADS}; {given.repeats} repeats by turns in one process; {machine()}.",
    )
    columns = ("precision", "L = M", "K", "explicit ms", "fused ms", "fused / explicit")
    cells = [
        (
            row.precision,
            f"{row.length}",
            f"{row.head_width}",
            f"{row.explicit:.1f}",
            f"{row.fused:.1f}",
            f"{row.ratio:.2f}",
        )
        for row in rows
    ]
    write_report(
        "attention", "Attention in training: explicit lines against the fused kernel", about, columns, cells
    )


if __name__ == "__main__":
    main()
