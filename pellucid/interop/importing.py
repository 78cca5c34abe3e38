"""Load a model folder of Pellucid or of another program; convert the latter to Pellucid, and compare the
result with the original."""

import logging
from dataclasses import dataclass
from pathlib import Path

import torch

from pellucid.config.schema import Config, DataConfig, VocabularyConfig
from pellucid.errors import PellucidError, UsageError
from pellucid.folder.checkpoint import save_model
from pellucid.folder.load import Loaded, load_model, without_weights
from pellucid.folder.manifest import is_sealed
from pellucid.folder.whole_file import making
from pellucid.interop.card import read_licence
from pellucid.interop.families import family_of, open_other, tokenizer_of
from pellucid.interop.families.bart import read_weights
from pellucid.interop.foreign import CONFIG, GENERATION, TOKENIZER, Foreign, is_foreign, weight_files
from pellucid.interop.generation import SEARCH, left_out, translation_config
from pellucid.interop.parity import Parity, against_transformers
from pellucid.interop.tensor_files import open_tensors

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
        return load_model(folder, device)
    foreign = open_foreign(folder)
    loaded = read_foreign(foreign, dtype)
    loaded.model.to(device)
    LOG.info("%s.", describe(foreign, loaded))
    return loaded


def config_of(folder: Path) -> Config:
    """Return the configuration of a model; see `load_folder`."""
    return load_folder(folder).config


def open_foreign(folder: str | Path) -> Foreign:
    """Open the model folder of another program: read its settings and map its tensors. Raise an error if
    Pellucid does not support its architecture."""
    foreign = Foreign(Path(folder))
    other = not (foreign.folder / CONFIG).exists() and open_other(foreign)
    if not other:
        foreign.config = foreign.settings(CONFIG, SEARCH | {"model_type": str}, optional=False)
    types = {name: type(value) for name, value in family_of(foreign).defaults.items()}
    foreign.check(foreign.settings_in, foreign.config, types)
    if other:
        return foreign
    foreign.generation = foreign.settings(GENERATION, SEARCH) or foreign.config
    foreign.tokenizer = foreign.settings(TOKENIZER, {"tokenizer_class": str})
    for name in weight_files(foreign):
        with foreign.blaming(name):
            foreign.tensors |= open_tensors(foreign.folder / name)
    return foreign


def read_foreign(foreign: Foreign, dtype: torch.dtype = torch.float32) -> Loaded:
    """Return the model in an opened folder, with its weights converted to Pellucid's order and to this data
    type. Raise an error for the first thing that is wrong with the folder."""
    family = family_of(foreign)
    settings = family.settings(foreign)
    vocabulary = tokenizer_of(foreign)(foreign, settings)
    model = family.model_config(foreign, settings, vocabulary.ids())
    # Whatever cuts the text was made elsewhere, and the page says so.
    files = ("vocabulary.model",) if vocabulary.joint else ("source.spm", "target.spm")
    words = VocabularyConfig(model.vocabulary, vocabulary.kind, vocabulary.joint, model=files)
    translation, longest = translation_config(foreign, model), settings["max_position_embeddings"]
    with foreign.blaming(f"{foreign.settings_in}: max_position_embeddings = {longest}"):
        data = DataConfig(languages=vocabulary.languages, max_length=longest)
    transformer = without_weights(model)
    shapes = {name: each.shape for name, each in transformer.state_dict().items()}
    transformer.load_state_dict(dict(read_weights(foreign, model, shapes, dtype)), assign=True)
    about = {"imported from": family.model_type, "folder": foreign.folder.name}
    if licence := read_licence(foreign):
        about["licence"] = licence
    config = Config(data, words, model, translation=translation)
    return Loaded(transformer.eval(), vocabulary, config, {"files": {}, "provenance": about})


def describe(foreign: Foreign, loaded: Loaded) -> str:
    """Describe the model of another program, and name those of its settings that Pellucid does not have."""
    config = loaded.model.config
    sizes = " and ".join(f"{size:,}" for size in dict.fromkeys((config.vocabulary, config.target_size)))
    layers = f"{config.encoder_layers}+{config.decoder_layers} layers, width {config.width}"
    settings = ", ".join(left_out(foreign, config.end_id))
    missing = f"; without {settings}, which Pellucid does not have" if settings else ""
    both = "; with both embeddings of its weights, although config.json says that they are one"
    shared = both if foreign.corrected else ""
    apart = "; a text is its tokens with spaces between them" if loaded.vocabulary.kind == "word" else ""
    return f"{foreign.folder}: {family_of(foreign).name}, {layers}, {sizes} tokens{apart}{shared}{missing}"


def import_model(
    path: str | Path, out: str | Path, check: bool = True, source_language: str | None = None
) -> Conversion:
    """Write the model of another program in the folder `path` as a Pellucid model folder.

    source_language: the language that an M2M100 or NLLB model translates from (default: the one that its
    tokenizer names).
    check: compare both models (needs transformers); if they differ, raise an error and write nothing.
    """
    path, out = Path(path), Path(out)
    if is_sealed(path):
        raise PellucidError(f"{path}: this is already a Pellucid model. Use it directly.")
    if not is_foreign(path):
        raise PellucidError(
            f"{path}: there is no config.json, .npz or .pt, so this is no model of transformers, Marian or "
            "fairseq. Name the folder that holds the weights and the vocabulary."
        )
    refuse_used(out)
    foreign = open_foreign(path)
    foreign.source_language = source_language
    loaded = read_foreign(foreign)
    parity = against_transformers(path, loaded, foreign.corrected) if check else None
    if parity:
        parity.check(path)
    with making(out):
        save_model(out, loaded.model, loaded.vocabulary, loaded.config, loaded.manifest["provenance"])
    return Conversion(describe(foreign, loaded), out, parity)


def refuse_used(out: Path) -> None:
    """Raise an error if `out` exists, unless it is an empty folder."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out}: it already exists. Name a new folder.")
