"""Repeat a forward pass exactly: fix the mode, the random numbers and the buffers."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


@contextmanager
def steady(module: nn.Module, training: bool) -> Iterator[None]:
    """Put the module into training mode (with gradients) or evaluation mode; restore each part afterwards."""
    modes = [(part, part.training) for part in module.modules()]
    try:
        module.train(training)
        with torch.set_grad_enabled(training):
            yield
    finally:
        for part, mode in modes:
            part.training = mode


def repeatable(call: Callable[[], Tensor], module: nn.Module, seed: int) -> Tensor:
    """Call with the random numbers of `seed`; restore the random generators and the module's buffers
    (running means, for example)."""
    buffers = [(buffer, buffer.clone()) for buffer in module.buffers()]
    cuda = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()
    with torch.random.fork_rng(cuda):
        torch.manual_seed(seed)
        output = call()
    with torch.no_grad():
        for buffer, value in buffers:
            buffer.copy_(value)
    return output
