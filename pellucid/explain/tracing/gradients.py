"""Gradients by name: how a number changes with each value of each tensor of a pass."""

import torch
from torch import Tensor

from pellucid.errors import UsageError
from pellucid.see import Trace


def gradients(of: Tensor, trace: Trace) -> dict[str, Tensor]:
    """The derivative of one number (a loss, a log-probability) by each tensor of a trace that was made with
    gradients=True, in its shape; 0 where it has no influence. Masks and positions, which nothing learns, are
    left out."""
    if not isinstance(of, Tensor):
        raise UsageError(
            f"gradients are of one number that the model computed, and this is {of!r:.60}, which Python "
            "holds without its graph. Give the tensor itself, without .item()."
        )
    if of.numel() != 1 or not of.requires_grad:
        raise UsageError(
            f"gradients are of one number that the model computed, and this is a tensor {tuple(of.shape)}"
            f"{'' if of.requires_grad else ' without a graph'}. Give a loss, such as logits.sum(), computed "
            "without torch.no_grad()."
        )
    wanted = {name: record.tensor for name, record in trace.items() if record.tensor.requires_grad}
    if not wanted:
        raise UsageError("the trace kept no graph: make it with trace(model, gradients=True).")
    found = torch.autograd.grad(of, list(wanted.values()), retain_graph=True, materialize_grads=True)
    return dict(zip(wanted, found, strict=True))
