"""The learning rate of each step."""

import math

from pellucid.config.schema import TrainingConfig


def learning_rate(step: int, training: TrainingConfig, width: int) -> float:
    """Return the rate at a step, counted from 1: peak * min(step / warmup, sqrt(warmup / step)).

    "paper" is the case peak = (width * warmup)^-0.5, which is width^-0.5 * min(step^-0.5, step * warmup^-1.5)
    (Vaswani et al. 2017, equation 3).
    """
    warmup = training.warmup_steps
    peak = (width * warmup) ** -0.5 if training.schedule == "paper" else training.peak_rate
    return peak * min(step / warmup, math.sqrt(warmup / step))
