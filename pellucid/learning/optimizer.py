"""The optimizer: AdamW, and a learning rate that rises linearly and then falls with the square root of the
step."""

import math

import torch
from torch import nn

from pellucid.config.schema import TrainingConfig


def learning_rate(step: int, training: TrainingConfig, width: int) -> float:
    """The rate at a step, counted from 1: peak * min(step / warmup, sqrt(warmup / step)).

    "paper" is the case peak = (width * warmup)^-0.5, which is width^-0.5 * min(step^-0.5, step * warmup^-1.5)
    (Vaswani et al. 2017, equation 3).
    """
    warmup = training.warmup_steps
    peak = (width * warmup) ** -0.5 if training.schedule == "paper" else training.peak_rate
    return peak * min(step / warmup, math.sqrt(warmup / step))


def optimizer_for(model: nn.Module, training: TrainingConfig) -> torch.optim.AdamW:
    """AdamW (Loshchilov and Hutter 2019); weight decay is for matrices, not for biases and norms.

    The bias of the keys is left as it is: it adds the same to all scores of a query, which softmax does not
    see. Its
    gradient is 0 but for rounding, and Adam would make a random walk of that.
    """
    learnt = [parameter for name, parameter in model.named_parameters() if not name.endswith(".key.bias")]
    matrices = [parameter for parameter in learnt if parameter.dim() > 1]
    vectors = [parameter for parameter in learnt if parameter.dim() <= 1]
    groups = [
        {"params": matrices, "weight_decay": training.weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=0.0, betas=training.betas, eps=training.epsilon, fused=True)
