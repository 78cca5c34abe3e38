"""Take in a model of another program: read its folder, hold it against the original, write one of ours."""

from dataclasses import dataclass
from pathlib import Path

from pellucid.errors import PellucidError, UsageError
from pellucid.folder.checkpoint import save_model
from pellucid.folder.manifest import is_sealed
from pellucid.folder.whole_file import making
from pellucid.interop.bart_family import read_foreign
from pellucid.interop.foreign import is_foreign, open_foreign
from pellucid.interop.loading import describe
from pellucid.interop.parity import Parity, against_transformers


@dataclass(frozen=True)
class Conversion:
    """What was converted, where it went, and how both compare (None: they were not compared)."""

    found: str
    out: Path
    parity: Parity | None

    def __str__(self) -> str:
        return "\n".join([f"{self.found}.", *([str(self.parity)] if self.parity else [])])


def import_model(
    path: str | Path, out: str | Path, check: bool = True, source_language: str | None = None
) -> Conversion:
    """Write the MarianMT, M2M100 or NLLB model in the folder `path` as a model folder of ours.

    source_language: of M2M100 or NLLB, the language to translate from (default: what its tokenizer names).
    check: compare both models (needs transformers); a difference is an error, and nothing is written.
    """
    path, out = Path(path), Path(out)
    _refuse_others(path)
    refuse_used(out)
    foreign = open_foreign(path)
    if source_language is not None:
        if foreign.config["model_type"] == "marian":
            raise UsageError(
                f"{path}: this model has one source language, so {source_language!r} cannot be chosen. Leave "
                "it out: only M2M100 and NLLB have several."
            )
        foreign.source_language = source_language
    loaded = read_foreign(foreign)
    parity = against_transformers(path, loaded) if check else None
    if parity:
        parity.check(path)
    with making(out):
        save_model(out, loaded.model, loaded.vocabulary, loaded.config, loaded.manifest["provenance"])
    return Conversion(describe(foreign, loaded), out, parity)


def _refuse_others(path: Path) -> None:
    """Raise for a folder of ours, and for one that is no model at all."""
    if is_foreign(path):
        return
    if is_sealed(path):
        raise PellucidError(f"{path}: this is a model of Pellucid already. Use it as it is.")
    raise PellucidError(
        f"{path}: there is no config.json, so this is no model of transformers. Name the folder that "
        "holds config.json, the weights and the vocabulary."
    )


def refuse_used(out: Path) -> None:
    """Raise if something lies where a model is to be written."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out}: something is there already. Name a new folder.")
