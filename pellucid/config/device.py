"""Devices: the one of a name, checked, and the one where a model computes."""

import torch
from torch import nn

from pellucid.errors import UsageError


def device_named(device: str | torch.device) -> torch.device:
    """The device of this name, checked; "auto" is a GPU where PyTorch sees one."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    remedy = 'Use "auto", "cpu" or "cuda".'
    try:
        chosen = torch.device(device)
    except (RuntimeError, TypeError, ValueError):
        raise UsageError(f'device = "{device}": there is none of this name. {remedy}') from None
    try:
        torch.zeros(1, device=chosen).item()  # which some devices that have a name cannot
    except (RuntimeError, AssertionError, ImportError) as error:
        reason = str(error).splitlines()[0].partition(". ")[0].rstrip(".")
        raise UsageError(f'device = "{device}": {reason}. {remedy}') from None
    return chosen


def device_of(model: nn.Module) -> torch.device:
    """Where the model computes."""
    return next(model.parameters()).device
