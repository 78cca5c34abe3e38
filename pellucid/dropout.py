"""Dropout (Srivastava et al. 2014) with one random byte for each value: with more, random numbers took a
tenth of a training step on a CPU."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Dropout(nn.Module):
    """In training, set each value to 0 with probability `rate` and multiply the others by 1 / (1 - rate)."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.rate == 0.0:
            return x
        return x * keep_or_drop(x, self.rate) if x.device.type == "cpu" else F.dropout(x, self.rate)


def keep_or_drop(x: Tensor, rate: float) -> Tensor:
    """Return a factor for each value of x: 0 with probability `rate`, to the nearest 1/256, else the factor
    that keeps the mean."""
    dropped = max(1, min(255, round(rate * 256)))
    # 64 random bits are the bytes of 8 values; torch fills all 64 only if the range begins at -2^63.
    words = torch.empty((x.numel() + 7) // 8, dtype=torch.int64).random_(-(2**63), None)
    kept = (words.view(torch.uint8)[: x.numel()] >= dropped).view(x.shape)
    return kept.to(x.dtype).mul_(256 / (256 - dropped))
