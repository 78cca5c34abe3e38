"""Load a Pellucid or a transformers model folder; convert a transformers one to Pellucid, and compare the
result with the original."""

import logging
from dataclasses import dataclass
from pathlib import Path

import torch

from pellucid.errors import PellucidError, UsageError
from pellucid.folder.checkpoint import save_model
from pellucid.folder.load import Loaded, load_model
from pellucid.folder.manifest import is_sealed
from pellucid.folder.whole_file import making
from pellucid.interop.bart_family import read_foreign
from pellucid.interop.foreign import Foreign, is_foreign, open_foreign
from pellucid.interop.generation import left_out
from pellucid.interop.kinds import FAMILIES
from pellucid.interop.parity import Parity, against_transformers
from pellucid.interop.strangers import find_stranger

LOG = logging.getLogger("pellucid")


@dataclass(frozen=True)
class Conversion:
    """What was converted, where it was written, and the result of the comparison (None: not compared)."""

    found: str
    out: Path
    parity: Parity | None

    def __str__(self) -> str:
        return "\n".join([f"{self.found}.", *([str(self.parity)] if self.parity else [])])


def load_folder(
    folder: Path, device: str | torch.device = "cpu", dtype: torch.dtype = torch.float32
) -> Loaded:
    """Load a Pellucid model folder, a checkpoint of a training run, or a transformers model folder; for the
    last of these, log what was found.

    dtype: the data type for the weights of a transformers model, which may be large; Pellucid's weights are
    always read in float32.
    """
    if not is_foreign(folder):
        _refuse_stranger(folder)
        return load_model(folder, device)
    foreign = open_foreign(folder)
    loaded = read_foreign(foreign, dtype)
    loaded.model.to(device)
    LOG.info("%s.", describe(foreign, loaded))
    return loaded


def describe(foreign: Foreign, loaded: Loaded) -> str:
    """Describe a transformers model, and name those of its settings that Pellucid does not have."""
    config = loaded.model.config
    kind = FAMILIES[str(foreign.config["model_type"])].name
    sizes = " and ".join(f"{size:,}" for size in dict.fromkeys((config.vocabulary, config.target_size)))
    layers = f"{config.encoder_layers}+{config.decoder_layers} layers, width {config.width}"
    settings = ", ".join(left_out(foreign, config.end_id))
    missing = f"; without {settings}, which Pellucid does not have" if settings else ""
    shared = "; with both embeddings of its weights, although config.json says that they are one"
    return f"{foreign.folder}: {kind}, {layers}, {sizes} tokens{shared if foreign.corrected else ''}{missing}"


def import_model(
    path: str | Path, out: str | Path, check: bool = True, source_language: str | None = None
) -> Conversion:
    """Write the MarianMT, Pegasus, M2M100 or NLLB model in the folder `path` as a Pellucid model folder.

    source_language: the language that an M2M100 or NLLB model translates from (default: the one that its
    tokenizer names).
    check: compare both models (needs transformers); if they differ, raise an error and write nothing.
    """
    path, out = Path(path), Path(out)
    _refuse_others(path)
    refuse_used(out)
    foreign = open_foreign(path)
    if source_language is not None:
        if foreign.config["model_type"] != "m2m_100":
            raise UsageError(
                f"{path}: this model has one source language, so {source_language!r} cannot be chosen. Leave "
                "it out: only M2M100 and NLLB have several."
            )
        foreign.source_language = source_language
    loaded = read_foreign(foreign)
    parity = against_transformers(path, loaded, foreign.corrected) if check else None
    if parity:
        parity.check(path)
    with making(out):
        save_model(out, loaded.model, loaded.vocabulary, loaded.config, loaded.manifest["provenance"])
    return Conversion(describe(foreign, loaded), out, parity)


def _refuse_others(path: Path) -> None:
    """Raise an error unless the folder holds a transformers model."""
    if is_sealed(path):
        raise PellucidError(f"{path}: this is already a Pellucid model. Use it directly.")
    if not is_foreign(path):
        _refuse_stranger(path)
        raise PellucidError(
            f"{path}: there is no config.json, so this is not a transformers model. Name the folder that "
            "holds config.json, the weights and the vocabulary."
        )


def _refuse_stranger(path: Path) -> None:
    """Raise an error for a known model of another program, unless the folder is a Pellucid model too."""
    if not is_sealed(path) and (what := find_stranger(path)):
        raise PellucidError(f"{path}: this is no model that Pellucid reads. {what}")


def refuse_used(out: Path) -> None:
    """Raise an error if `out` exists, unless it is an empty folder."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out}: it already exists. Name a new folder.")
