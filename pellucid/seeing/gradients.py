"""Gradients by name: how a number, such as a loss, depends on each tensor of a pass."""

import torch
from torch import Tensor

from pellucid.errors import UsageError
from pellucid.seeing.trace import Trace


def gradients(of: Tensor, trace: Trace) -> dict[str, Tensor]:
    """Return the derivative of one number, such as a loss, with respect to each tensor of a trace, by name.
    The trace must be made with gradients=True.

    The derivative is 0 for a tensor without influence. Masks and positions, which are not learned, are left
    out.
    """
    wanted = {name: record.tensor for name, record in trace.items() if record.tensor.requires_grad}
    if not wanted:
        raise UsageError("the trace has no autograd graph: make it with trace(model, gradients=True).")
    found = torch.autograd.grad(of, list(wanted.values()), retain_graph=True, allow_unused=True)
    if all(gradient is None for gradient in found):
        raise UsageError(
            "no tensor of the trace leads to this number: it comes from another pass, or was computed before "
            "these tensors. Compute it inside this trace, from what the model returned."
        )
    return {
        name: torch.zeros_like(tensor) if gradient is None else gradient
        for (name, tensor), gradient in zip(wanted.items(), found, strict=True)
    }
