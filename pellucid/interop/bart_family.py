"""Read a model of the transformers library as a Pellucid model: MarianMT (the OPUS-MT translators), Pegasus,
M2M100 and NLLB."""

from collections.abc import Mapping
from typing import Any

import torch

from pellucid.config.schema import Config, DataConfig, ModelConfig, VocabularyConfig
from pellucid.folder.load import Loaded, without_weights
from pellucid.interop.card import read_licence
from pellucid.interop.foreign import CONFIG, TOKENIZER, Foreign
from pellucid.interop.generation import translation_config
from pellucid.interop.kinds import FAMILIES, TOKENIZERS
from pellucid.interop.many_languages import read_languages
from pellucid.interop.marian_vocabulary import read_vocabulary
from pellucid.interop.tensors import BIAS, EMBEDDINGS, HEAD, SHARED, order, places, take
from pellucid.model import sinusoids
from pellucid.text.vocabulary import Vocabulary

# Our settings of a model by their names; a decoder has as many heads and hidden units as the encoder.
SETTINGS = {
    "vocabulary": "vocab_size",
    "width": "d_model",
    "heads": "encoder_attention_heads",
    "hidden": "encoder_ffn_dim",
    "encoder_layers": "encoder_layers",
    "decoder_layers": "decoder_layers",
    "tied": "tie_word_embeddings",
    "scale_embeddings": "scale_embedding",
}
DROPOUTS = ("dropout", "attention_dropout", "activation_dropout")
ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "silu": "silu", "swish": "silu"}  # theirs, and ours
POSITIONS = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")
HALF_PRECISION = 2e-3  # how far positions may be off that were stored in 16 bits


def read_foreign(foreign: Foreign, dtype: torch.dtype = torch.float32) -> Loaded:
    """Return the model in an opened folder, with its weights converted to Pellucid's order and to this data
    type. Raise an error for the first thing that is wrong with the folder."""
    family = FAMILIES[str(foreign.config["model_type"])]
    settings = {**family.defaults, **foreign.config, **family.fixed}
    _check_sharing(foreign, settings)
    settings |= foreign.corrected
    tokenizer = str(foreign.tokenizer.get("tokenizer_class", family.tokenizer))
    if tokenizer not in TOKENIZERS:
        raise foreign.fault(
            f"{TOKENIZER}: tokenizer_class = {tokenizer!r:.60} is not one of {', '.join(TOKENIZERS)}."
        )
    read = read_vocabulary if tokenizer == "MarianTokenizer" else read_languages
    vocabulary = read(foreign, settings)
    model = _model_config(foreign, settings, vocabulary.ids())
    config = _config(foreign, settings, vocabulary, model)
    transformer = without_weights(model)
    shapes = {name: each.shape for name, each in transformer.state_dict().items()}
    found = _find_tensors(foreign, model, shapes)
    _check_ties(foreign, model)
    _check_positions(foreign, model)
    weights = {name: take(foreign.tensor(theirs, dtype), axis) for name, (theirs, axis) in found.items()}
    weights = {name: each.reshape(shapes[name]) for name, each in weights.items()}
    transformer.load_state_dict(weights, assign=True)
    about = {"imported from": foreign.config["model_type"], "folder": foreign.folder.name}
    if licence := read_licence(foreign):
        about["licence"] = licence
    return Loaded(transformer.eval(), vocabulary, config, {"files": {}, "provenance": about})


def _config(
    foreign: Foreign, settings: Mapping[str, Any], vocabulary: Vocabulary, model: ModelConfig
) -> Config:
    translation = translation_config(foreign, model)
    # Whatever cuts the text was made elsewhere, and the page says so.
    files = ("vocabulary.model",) if vocabulary.joint else ("source.spm", "target.spm")
    words = VocabularyConfig(model.vocabulary, vocabulary.kind, vocabulary.joint, model=files)
    longest = settings["max_position_embeddings"]
    with foreign.blaming(f"{CONFIG}: max_position_embeddings = {longest}"):
        data = DataConfig(languages=vocabulary.languages, max_length=longest)
    return Config(data, words, model, translation=translation)


def _check_sharing(foreign: Foreign, settings: Mapping[str, Any]) -> None:
    """Correct a configuration that says that the embeddings are shared where the weights have two different
    ones, as in many opus-mt-tc-big folders."""
    both = foreign.config["model_type"] == "marian" and all(name in foreign.shapes for name in EMBEDDINGS)
    if both and settings["share_encoder_decoder_embeddings"] and not foreign.equal(*EMBEDDINGS):
        foreign.corrected["share_encoder_decoder_embeddings"] = False


def _model_config(foreign: Foreign, settings: Mapping[str, Any], ids: Mapping[str, Any]) -> ModelConfig:
    """Convert the configuration to Pellucid's form."""
    for name in ("ffn_dim", "attention_heads"):
        encoder, decoder = settings[f"encoder_{name}"], settings[f"decoder_{name}"]
        if encoder != decoder:
            raise foreign.fault(
                f"{CONFIG}: encoder_{name} = {encoder} and decoder_{name} = {decoder} differ."
            )
    activation = settings["activation_function"]
    if activation not in ACTIVATIONS:
        raise foreign.fault(
            f"{CONFIG}: activation_function = {activation!r} is not one of {', '.join(ACTIVATIONS)}."
        )
    shared, size = settings["share_encoder_decoder_embeddings"], settings["vocab_size"]
    target = settings["decoder_vocab_size"] or size
    if shared and target != size:
        raise foreign.fault(
            f"{CONFIG}: decoder_vocab_size = {target} is not vocab_size = {size}, but both share."
        )
    own_target = target if target != size or (settings["tie_word_embeddings"] and not shared) else None
    given = {ours: settings[name] for ours, name in SETTINGS.items()}
    given |= {name: settings[name] for name in ("norm", "positions") if name in settings}
    given |= {name: float(settings[name]) for name in DROPOUTS}
    given |= {"activation": ACTIVATIONS[activation], "target_vocabulary": own_target}
    # A bias of zeros is none. One of a wrong shape counts, so that `_find_tensors` meets it.
    shape = foreign.shapes.get(BIAS)
    bias = shape is not None and (shape != (1, target) or bool(foreign.tensor(BIAS).any()))
    with foreign.blaming(CONFIG):
        config = ModelConfig(**given, **ids, output_bias=bias)
    return config


def _find_tensors(
    foreign: Foreign, model: ModelConfig, shapes: Mapping[str, tuple[int, ...]]
) -> dict[str, tuple[str, int | None]]:
    """Return the name of each of our tensors in the weights, and the axis to reorder. Raise an error for a
    tensor that is missing, has a wrong shape, or is not expected."""
    found = {}
    known = {BIAS, HEAD, SHARED, *EMBEDDINGS, *POSITIONS, *(f"{name}s" for name in POSITIONS)}
    for name, (names, axis) in places(model).items():
        known |= {*names}
        there = [each for each in names if each in foreign.shapes]
        if not there:
            raise foreign.fault(f"the weights have no {' or '.join(dict.fromkeys(names))}.")
        shape = [1, *shapes[name]] if there[0] == BIAS else [*shapes[name]]
        if [*foreign.shapes[there[0]]] != shape:
            has = [*foreign.shapes[there[0]]]
            raise foreign.fault(f"{there[0]} is {has} where config.json needs {shape}.")
        found[name] = there[0], axis
    for name in foreign.shapes:
        if name not in known and not name.endswith(".version"):  # fairseq left its version in some folders
            raise foreign.fault(f"{name} is unknown to this architecture.")
    return found


def _check_ties(foreign: Foreign, model: ModelConfig) -> None:
    """Raise an error if the file stores tied matrices separately, with different values."""
    encoder, decoder = EMBEDDINGS
    names = [decoder, HEAD, *([SHARED, encoder] if model.target_vocabulary is None else [])]
    first, *others = [name for name in names if model.tied and name in foreign.shapes] or [""]
    for name in others:
        if not foreign.equal(first, name):
            raise foreign.fault(f"{name} differs from {first}, but config.json ties the two.")


def _check_positions(foreign: Foreign, model: ModelConfig) -> None:
    """Raise an error if stored position embeddings are not the sinusoids: the model may have learned them."""
    for name in POSITIONS:
        if foreign.shapes.get(name, ())[1:] == (model.width,):
            stored = foreign.tensor(name)
            table = sinusoids(len(stored), model.width, torch.float32, stored.device)
            if not torch.allclose(stored[:, order(model.width)], table, atol=HALF_PRECISION):
                raise foreign.fault(f"{name} does not hold sinusoids: these positions were learned.")
