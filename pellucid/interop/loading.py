"""A model folder of ours or of transformers: whichever it is, it is loaded the same way."""

import logging
from pathlib import Path

import torch

from pellucid.folder.load import Loaded, load_model
from pellucid.interop.bart_family import left_out, read_foreign
from pellucid.interop.foreign import SUPPORTED, Foreign, is_foreign, open_foreign

LOG = logging.getLogger("pellucid")


def load_folder(
    folder: Path, device: str | torch.device = "cpu", dtype: torch.dtype = torch.float32
) -> Loaded:
    """Load a model folder, a checkpoint of a training run, or a folder of transformers; log what that is.

    dtype: of the weights of a folder of transformers, which may be large; ours are read in float32.
    """
    if not is_foreign(folder):
        return load_model(folder, device)
    foreign = open_foreign(folder)
    loaded = read_foreign(foreign, dtype)
    loaded.model.to(device)
    LOG.info("%s.", describe(foreign, loaded))
    return loaded


def describe(foreign: Foreign, loaded: Loaded) -> str:
    """Say what was found in a folder of transformers, and what of it has no counterpart here."""
    config = loaded.model.config
    kind = SUPPORTED[str(foreign.config["model_type"])]
    sizes = " and ".join(f"{size:,}" for size in dict.fromkeys((config.vocabulary, config.target_size)))
    layers = f"{config.encoder_layers}+{config.decoder_layers} layers, width {config.width}"
    settings = ", ".join(left_out(foreign.generation))
    missing = f"; without {settings}, which Pellucid does not have" if settings else ""
    return f"{foreign.folder}: {kind}, {layers}, {sizes} tokens{missing}"
