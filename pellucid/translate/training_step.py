"""A checkpoint of a training run as a model for a translator."""

from pathlib import Path

import safetensors.torch
import torch

from pellucid.errors import PellucidError
from pellucid.folder.checkpoint import AVERAGING, STATE, TENSORS, Loaded, load_model
from pellucid.folder.seal import is_sealed, read_manifest, verified

OF_MODEL = "model."  # the checkpoint's other tensors are AdamW's moments and random numbers


def load_model_or_step(folder: Path, device: str | torch.device) -> Loaded:
    """Load a model folder, or a checkpoint in the folder of its run (checkpoints/step-N, or
    averaging/checkpoints/step-N). A checkpoint uses the vocabulary of the run's last/."""
    if not (folder / STATE).is_file():
        _refuse_without_validation(folder)
        return load_model(folder, device)
    manifest, files = verified(folder, "training state", (TENSORS, STATE))
    run, weights = folder.resolve().parent.parent, safetensors.torch.load(files[TENSORS])
    if run.name == AVERAGING:  # weights and nothing else
        run = run.parent
    else:
        named = {name.removeprefix(OF_MODEL): name for name in weights if name.startswith(OF_MODEL)}
        weights = {name: weights[full] for name, full in named.items()}
    last = load_model(run / "last", device)
    last.model.load_state_dict(weights)
    return last._replace(manifest=manifest)


def _refuse_without_validation(run_folder: Path) -> None:
    """Raise for the folder of a training run without a validation: its only model is in last/."""
    last = run_folder / "last"
    # In this order, because a trainer may move a first model from .new into its place meanwhile.
    if any(map(is_sealed, (run_folder / ".new", run_folder))) or not is_sealed(last):
        return
    steps = read_manifest(last, "model")["provenance"]["steps"]
    raise PellucidError(
        f"{run_folder}: this training run had no validation so far, so it has not chosen a model. "
        f"Its model as of step {steps:,} is {last}."
    )
