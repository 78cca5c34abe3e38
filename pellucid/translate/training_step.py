"""A checkpoint of a training run as a translator's model: what it was at that step."""

from pathlib import Path

import safetensors.torch
import torch

from pellucid.errors import PellucidError
from pellucid.folder.checkpoint import AVERAGING, STATE, TENSORS, Loaded, load_model
from pellucid.folder.seal import is_sealed, read_manifest, verified

OF_MODEL = "model."  # beside these the checkpoint holds AdamW's moments and random numbers


def load_model_or_step(folder: Path, device: str | torch.device) -> Loaded:
    """Load a model folder, or a checkpoint that still lies in its run (checkpoints/step-N, or
    averaging/checkpoints/step-N); a checkpoint takes its vocabulary from the run's last/."""
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
    """The folder of a training run that has not chosen a model yet has one in last/."""
    last = run_folder / "last"
    # In this order, for a trainer may seal a first model and put it into its place meanwhile.
    if any(map(is_sealed, (run_folder / ".new", run_folder))) or not is_sealed(last):
        return
    steps = read_manifest(last, "model")["provenance"]["steps"]
    raise PellucidError(
        f"{run_folder}: this training run had no validation so far, so it has not chosen a model. "
        f"Its model as of step {steps:,} is {last}."
    )
