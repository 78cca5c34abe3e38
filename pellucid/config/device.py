"""Devices: find a device by name, or the device of a model."""

import torch
from torch import nn

from pellucid.errors import Setting, UsageError


def device_named(device: str | torch.device) -> torch.device:
    """Return the device with this name, after trying it. "auto" is a GPU if PyTorch sees one."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    remedy, setting = 'Use "auto", "cpu" or "cuda".', Setting("device", device)
    try:
        chosen = torch.device(device)
    except (RuntimeError, TypeError, ValueError):
        raise UsageError(f"{{}} is not the name of a device. {remedy}", setting) from None
    try:
        torch.zeros(1, device=chosen).item()  # some devices have a name and cannot compute
    except (RuntimeError, AssertionError, ImportError) as error:
        reason = str(error).splitlines()[0].partition(". ")[0].rstrip(".")
        raise UsageError("{} cannot be used: {}. {}", setting, reason, remedy) from None
    return chosen


def device_of(model: nn.Module) -> torch.device:
    """Return the device of the model's parameters."""
    return next(model.parameters()).device
