"""Devices: find a device by name, or the device of a model."""

import torch
from torch import nn

from pellucid.errors import Setting, UsageError


def device_named(device: str | torch.device) -> torch.device:
    """Return the torch device of this name; raise an error if it cannot be used. "auto" is a GPU if PyTorch
    sees one, otherwise the CPU."""
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
        if isinstance(error, NotImplementedError):
            reason = f"this PyTorch was built without {chosen.type}"
        raise UsageError("{} cannot be used: {}. {}", setting, reason, remedy) from None
    return chosen


def device_of(model: nn.Module) -> torch.device:
    """Return the device on which the model's parameters are."""
    return next(model.parameters()).device
