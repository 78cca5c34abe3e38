"""A checkpoint of a training run as a translator's model: what it was at that step."""

from pathlib import Path

import safetensors.torch
import torch

from pellucid.checkpoint import AVERAGING, STATE, TENSORS, Loaded, load_model
from pellucid.seal import verified

OF_MODEL = "model."  # beside these the checkpoint holds AdamW's moments and random numbers


def load_model_or_step(folder: Path, device: str | torch.device) -> Loaded:
    """The model in a folder; that of RUN/checkpoints/step-N or RUN/averaging/checkpoints/step-N takes its
    vocabulary from RUN/last."""
    if not (folder / STATE).is_file():
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
