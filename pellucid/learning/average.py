"""Averaging of checkpoints (Vaswani et al. 2017, section 6.1): the mean of the last validations' weights."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor

from pellucid import checkpoint
from pellucid.errors import UsageError
from pellucid.seal import writing

FOLDER = "averaging"


def keep_for_average(run: Path, step: int, weights: dict[str, Tensor], most: int) -> None:
    """Put aside the weights of this step, sealed like a checkpoint, and drop all but the last `most`."""
    with writing(run):
        (run / FOLDER).mkdir(exist_ok=True)
    checkpoint.save_state(run / FOLDER, step, weights, {}, keep=most)


def averaged_weights(run: Path, up_to_step: int) -> dict[str, Tensor]:
    """The mean of the weights put aside at steps up to this one; nothing if there are none."""
    states = [state.tensors for state in checkpoint.whole_states(run / FOLDER) if state.step <= up_to_step]
    return average(states) if states else {}


def average(states: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of several models' parameters, summed in float64."""
    if not states or any(state.keys() != states[0].keys() for state in states):
        raise UsageError("an average needs at least one model, and the same parameters in all of them.")
    return {
        name: torch.stack([state[name].double() for state in states]).mean(0).to(first.dtype)
        for name, first in states[0].items()
    }
