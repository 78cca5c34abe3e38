"""The learning rate of each step."""

import math

from pellucid.config.schema import TrainingConfig


def learning_rate(step: int, training: TrainingConfig, width: int, done: float = 0.0) -> float:
    """Return the rate at a step, counted from 1: peak * min(step / warmup, sqrt(warmup / step)).

    "paper" is the case peak = (width * warmup)^-0.5, which is width^-0.5 * min(step^-0.5, step * warmup^-1.5)
    (Vaswani et al. 2017, equation 3). In the last share `cooldown` of the training the rate falls from there
    to 0, in a straight line (Hägele et al. 2024); done: the share that is over.
    """
    warmup, cooldown = training.warmup_steps, training.cooldown
    peak = (width * warmup) ** -0.5 if training.schedule == "paper" else training.peak_rate
    left = min(1.0, (1.0 - done) / cooldown) if cooldown else 1.0
    return peak * min(step / warmup, math.sqrt(warmup / step)) * left
