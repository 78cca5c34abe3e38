"""Averaging of checkpoints (Vaswani et al. 2017, section 6.1): of a run's last validations, or of any."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from pellucid.config.settings import differences
from pellucid.errors import UsageError
from pellucid.folder import checkpoint
from pellucid.folder.checkpoint import AVERAGING, TENSORS, WEIGHTS, Loaded, TrainingState
from pellucid.folder.seal import making, writing
from pellucid.learning.provenance import versions, what_is
from pellucid.translate.training_step import load_model_or_step


def keep_for_average(run: Path, step: int, weights: dict[str, Tensor], most: int) -> None:
    """Put aside the weights of this step, sealed like a checkpoint, and drop all but the last `most`."""
    with writing(run):
        (run / AVERAGING).mkdir(exist_ok=True)
    checkpoint.save_state(run / AVERAGING, step, weights, {}, keep=most)


def put_aside(run: Path, up_to_step: int) -> list[TrainingState]:
    """The weights that were put aside at steps up to this one, in the order of the steps."""
    states = [state for state in checkpoint.whole_states(run / AVERAGING) if state.step <= up_to_step]
    return states[::-1]


def mean(states: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of several models' parameters, summed in float64."""
    if not states or any(state.keys() != states[0].keys() for state in states):
        raise UsageError("an average needs at least one model, and the same parameters in all of them.")
    return {
        name: torch.stack([state[name].double() for state in states]).mean(0).to(first.dtype)
        for name, first in states[0].items()
    }


def average(out: str | Path, checkpoints: Sequence[str | Path]) -> Path:
    """Make `out`, a new folder, the model whose weights are the mean of those of `checkpoints`; returns it.

    A checkpoint is RUN/checkpoints/step-N, RUN/averaging/checkpoints/step-N or a model folder. All must have
    the same shape and the same vocabulary.
    """
    out = Path(out)
    if isinstance(checkpoints, str | Path) or not checkpoints:
        raise UsageError("checkpoints must be a list of at least one: name those to average.")
    if out.is_file() or (out.is_dir() and any(out.iterdir())):
        raise UsageError(
            f"{out} is there already, and an average is written to a new folder only. Name the new folder "
            "first, then the checkpoints."
        )
    loaded = [load_model_or_step(Path(folder), "cpu") for folder in checkpoints]
    for folder, each in zip(checkpoints, loaded, strict=True):
        if difference := _difference(each, loaded[0]):
            raise UsageError(
                f"{folder} cannot be averaged with {checkpoints[0]}: {difference}. "
                "Average checkpoints of one run, or of runs that start from one model."
            )
    model, vocabulary, config, _ = loaded[0]
    model.load_state_dict(mean([each.model.state_dict() for each in loaded]))
    with making(out):
        checkpoint.save_model(out, model, vocabulary, config, _provenance(loaded))
    return out


def _provenance(loaded: Sequence[Loaded]) -> dict[str, Any]:
    """Which models, in words and by the SHA-256 of their weights."""
    names = [what_is(each.manifest) for each in loaded]
    files = [each.manifest["files"] for each in loaded]
    return {
        "what": f"average of {'; '.join(names)}",
        "averaged": {
            f"{number}. {name}": hashes.get(WEIGHTS) or hashes[TENSORS]
            for number, (name, hashes) in enumerate(zip(names, files, strict=True), 1)
        },
        "licence": loaded[0].config.data.licence,
        "scores": {},
        "versions": versions(),
    }


def _difference(one: Loaded, other: Loaded) -> str:
    """What keeps two models from being averaged; dropout has no part in it."""
    shape = [name for name in vars(one.config.model) if not name.endswith("dropout")]
    if different := differences(one.config.model, other.config.model, shape):
        return f"its model is of another shape: {different}"
    return "" if one.vocabulary.same_as(other.vocabulary) else "its vocabulary is another one"
