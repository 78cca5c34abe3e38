"""AdamW on a CPU, with the sum of all processes' gradients and their clipping, in two passes over memory."""

import ctypes
import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from pellucid.decoding.library import has_kernels
from pellucid.learning.compiled import BLOCK, compute, shares

State = dict[str, Tensor]


class Gradients:
    """The gradients of a step, which lie in each process's own tensors. weights: float32, of the optimizer;
    working: those that have gradients, in bf16 or the same. others: the gradients of each other process."""

    def __init__(
        self, weights: Sequence[Tensor], working: Sequence[Tensor], others: Sequence[Sequence[Tensor]]
    ) -> None:
        self._parts: dict[Tensor, tuple[Tensor, list[Tensor]]] = {}
        for number, (weight, copy) in enumerate(zip(weights, working, strict=True)):
            if copy.grad is not None:
                parts = [copy.grad, *(each[number] for each in others)]
                self._parts[weight] = copy, [part.contiguous() for part in parts]

    def norm(self) -> float:
        """Return the norm of all gradients together."""
        squares = torch.zeros(shares(1 << 30), dtype=torch.float64)
        for _, parts in self._parts.values():
            _compute("squares", parts, squares=squares)
        return math.sqrt(float(squares.sum()))

    def update(self, optimizer: torch.optim.AdamW, scale: float) -> None:
        """Update the weights, the optimizer's moments, and the copy of the weights. scale: what the gradients
        are multiplied by."""
        for weight, state, group in _states(optimizer):
            if weight not in self._parts:
                continue
            copy, parts = self._parts[weight]
            state["step"] += 1
            step, rate, (beta1, beta2) = float(state["step"]), group["lr"], group["betas"]
            _compute(
                "adamw",
                parts,
                weight=weight,
                mean=state["exp_avg"],
                variance=state["exp_avg_sq"],
                working=None if copy is weight else copy,
                scale=scale,
                decay=1 - rate * group["weight_decay"],
                beta1=beta1,
                beta2=beta2,
                rate=rate / (1 - beta1**step),
                root=(1 - beta2**step) ** -0.5,
                epsilon=group["eps"],
            )


def applies(weights: Sequence[Tensor]) -> bool:
    """Tell whether these weights can be updated so: whole tensors on a CPU, and there are kernels."""
    return has_kernels() and all(type(each.data) is Tensor and each.device.type == "cpu" for each in weights)


def _states(optimizer: torch.optim.AdamW) -> Iterator[tuple[Tensor, State, dict[str, Any]]]:
    """Yield each weight with its moments, which are 0 at first, and its group's settings."""
    for group in optimizer.param_groups:
        for weight in group["params"]:
            state = optimizer.state[weight]
            if not state:
                state["step"] = torch.zeros((), dtype=torch.float32)
                state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(weight), torch.zeros_like(weight)
            yield weight, state, group


def _compute(kernel: str, parts: Sequence[Tensor], **arguments: Tensor | float | None) -> None:
    size, addresses = parts[0].numel(), (ctypes.c_void_p * len(parts))(*(each.data_ptr() for each in parts))
    about = dict(size=size, gradients=ctypes.addressof(addresses), processes=len(parts))
    compute(kernel, -(-size // BLOCK), parts[0], **about, **arguments)
