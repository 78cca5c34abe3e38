"""Gradients by name: how a number changes with each value of each tensor of a pass."""

import torch
from torch import Tensor

from pellucid.errors import UsageError
from pellucid.seeing.trace import Trace


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
    if not isinstance(trace, Trace):
        raise UsageError(
            f"trace is a {type(trace).__name__} and must be a trace: what "
            "`with trace(model, gradients=True) as seen` gave."
        )
    wanted = {name: record.tensor for name, record in trace.items() if record.tensor.requires_grad}
    if not wanted:
        raise UsageError("the trace kept no graph: make it with trace(model, gradients=True).")
    try:
        found = torch.autograd.grad(of, list(wanted.values()), retain_graph=True, allow_unused=True)
    except RuntimeError as error:
        if "retain_graph" not in str(error):
            raise
        raise UsageError(
            "the graph of this number is gone: backward() freed it. Ask for the gradients before it, or call "
            "backward(retain_graph=True)."
        ) from None
    if all(gradient is None for gradient in found):
        raise UsageError(
            "no tensor of the trace leads to this number: it comes from another pass, or from what was "
            "computed before these tensors. Compute it inside this trace, from what the model returned."
        )
    return {
        name: torch.zeros_like(tensor) if gradient is None else gradient
        for (name, tensor), gradient in zip(wanted.items(), found, strict=True)
    }
