"""A checkpoint of a training run as a translator's model: what it was at that step."""

from pathlib import Path

import safetensors.torch
import torch

from pellucid.checkpoint import STATE, TENSORS, Loaded, load_model
from pellucid.seal import verified

OF_MODEL = "model."  # beside these the checkpoint holds AdamW's moments and random numbers


def load_model_or_step(folder: Path, device: str | torch.device) -> Loaded:
    """The model in a folder; that of RUN/checkpoints/step-N takes its vocabulary from RUN/last."""
    if not (folder / STATE).is_file():
        return load_model(folder, device)
    manifest, files = verified(folder, "training state", (TENSORS, STATE))
    last = load_model(folder.resolve().parent.parent / "last", device)
    tensors = safetensors.torch.load(files[TENSORS]).items()
    last.model.load_state_dict(
        {name.removeprefix(OF_MODEL): tensor for name, tensor in tensors if name.startswith(OF_MODEL)}
    )
    return last._replace(manifest=manifest)
