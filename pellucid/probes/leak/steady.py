"""A pass that can be repeated: mode, random numbers and buffers held, so that two outputs can be compared."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.nn.modules.dropout import _DropoutNd

from pellucid.dropout import Dropout

# Where modules keep the probability of dropping a value.
RATES = ((Dropout, "rate"), (_DropoutNd, "p"), (nn.MultiheadAttention, "dropout"), (nn.RNNBase, "dropout"))


@contextmanager
def steady(module: nn.Module | None, training: bool, dropout: bool = True) -> Iterator[None]:
    """The module in training (with gradients) or evaluation mode, if asked with every dropout rate 0; then
    each of its parts is as it was."""
    parts = [] if module is None else list(module.modules())
    modes = [part.training for part in parts]
    rates = [
        (part, name, getattr(part, name)) for part in parts for kind, name in RATES if isinstance(part, kind)
    ]
    try:
        if module is not None:
            module.train(training)
        for part, name, rate in rates:
            setattr(part, name, rate if dropout else 0.0)
        with torch.set_grad_enabled(training):
            yield
    finally:
        for each, mode in zip(parts, modes, strict=True):
            each.training = mode
        for part, name, rate in rates:
            setattr(part, name, rate)


def repeatable(call: Callable[[], Tensor], module: nn.Module | None, seed: int) -> tuple[Tensor, bool]:
    """What `call` gives with the random numbers of `seed`, and whether it drew any; generators and buffers
    (running means, say) are afterwards as they were."""
    buffers = {} if module is None else {name: each.clone() for name, each in module.named_buffers()}
    cuda = list(range(torch.cuda.device_count())) if torch.cuda.is_initialized() else []
    with torch.random.fork_rng(cuda):
        torch.manual_seed(seed)
        before = _generators(cuda)
        output = call()
        drew = any(not torch.equal(*pair) for pair in zip(before, _generators(cuda), strict=True))
    with torch.no_grad():
        for name, each in [] if module is None else module.named_buffers():
            if name in buffers and buffers[name].shape == each.shape:
                each.copy_(buffers[name])
    return output, drew


def _generators(cuda: list[int]) -> list[Tensor]:
    return [torch.get_rng_state(), *(torch.cuda.get_rng_state(device) for device in cuda)]
