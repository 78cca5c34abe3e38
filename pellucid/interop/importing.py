"""Take in a model of another program: read its folder, hold it against the original, write one of ours."""

from dataclasses import dataclass
from pathlib import Path

from pellucid.errors import PellucidError
from pellucid.folder.checkpoint import Loaded, save_model
from pellucid.folder.seal import check_writable
from pellucid.interop.foreign import SUPPORTED, Foreign, is_foreign, open_foreign
from pellucid.interop.marian import left_out, read_marian
from pellucid.interop.parity import Parity, against_transformers


@dataclass(frozen=True)
class Imported:
    """What was taken in, what was left out, and how it compares with the original (None: not compared)."""

    found: str
    left_out: tuple[str, ...]
    parity: Parity | None

    def __str__(self) -> str:
        settings = f"\nNot taken over, for it has no counterpart here: {', '.join(self.left_out)}."
        parity = f"\n{self.parity}" if self.parity else ""
        return f"{self.found}.{settings if self.left_out else ''}{parity}"


def import_model(path: str | Path, out: str | Path, check: bool = True) -> Imported:
    """Write the MarianMT model in the folder `path` as a model folder of ours.

    check: compare both models (needs transformers); a difference is an error, and nothing is written.
    """
    path, out = Path(path), Path(out)
    if not is_foreign(path):
        raise PellucidError(
            f"{path}: there is no config.json, so this is no model of transformers. Name the folder that "
            "holds config.json, the weights and the vocabulary."
        )
    if out.exists() and any(out.iterdir()):
        raise PellucidError(f"{out}: this folder is not empty. Name a new one.")
    foreign = open_foreign(path)
    loaded = read_marian(foreign)
    parity = against_transformers(path, loaded) if check else None
    check_writable(out, 5 * sum(each.numel() for each in loaded.model.parameters()))
    save_model(out, loaded.model, loaded.vocabulary, loaded.config, loaded.manifest["provenance"])
    return Imported(describe(foreign, loaded), tuple(left_out(foreign.generation)), parity)


def describe(foreign: Foreign, loaded: Loaded) -> str:
    """Say what was found, in a line."""
    config = loaded.model.config
    kind = SUPPORTED[str(foreign.config["model_type"])]
    sizes = dict.fromkeys((config.vocabulary, config.target_size))
    layers = f"{config.encoder_layers}+{config.decoder_layers} layers, width {config.width}"
    return f"{foreign.folder}: {kind}, {layers}, {' and '.join(f'{size:,}' for size in sizes)} tokens"
