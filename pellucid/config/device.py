"""Devices: the one of a name, checked, and the one where a model computes."""

import torch
from torch import nn

from pellucid.errors import Setting, UsageError


def device_named(device: str | torch.device) -> torch.device:
    """The device of this name, checked; "auto" is a GPU where PyTorch sees one."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    remedy, setting = 'Use "auto", "cpu" or "cuda".', Setting("device", device)
    try:
        chosen = torch.device(device)
    except (RuntimeError, TypeError, ValueError):
        raise UsageError(f"{{}} is not the name of a device. {remedy}", setting) from None
    try:
        torch.zeros(1, device=chosen).item()  # which some devices that have a name cannot
    except (RuntimeError, AssertionError, ImportError) as error:
        reason = str(error).splitlines()[0].partition(". ")[0].rstrip(".")
        raise UsageError("{} cannot be used: {}. {}", setting, reason, remedy) from None
    return chosen


def device_of(model: nn.Module) -> torch.device:
    """Where the model computes."""
    return next(model.parameters()).device
