"""Read a model of the transformers library as a Pellucid model: MarianMT (the OPUS-MT translators), Pegasus,
M2M100 and NLLB."""

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from pellucid.config.schema import Config, DataConfig, ModelConfig, VocabularyConfig
from pellucid.folder.load import Loaded, without_weights
from pellucid.interop.card import read_licence
from pellucid.interop.foreign import CONFIG, TOKENIZER, Foreign
from pellucid.interop.generation import translation_config
from pellucid.interop.kinds import FAMILIES, TOKENIZERS
from pellucid.interop.many_languages import read_languages
from pellucid.interop.marian_vocabulary import read_vocabulary
from pellucid.interop.tensors import HEAD, NOT_AT_ALL, SHARED, Place, order, places, take
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
BIAS = "final_logits_bias"
POSITIONS = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")
HALF_PRECISION = 2e-3  # how far positions may be off that were stored in 16 bits


def read_foreign(foreign: Foreign, dtype: torch.dtype = torch.float32) -> Loaded:
    """Return the model in an opened folder, with its weights converted to Pellucid's order and to this data
    type. If the folder has problems, raise one error that lists them all."""
    family = FAMILIES[str(foreign.config["model_type"])]
    settings = {**family.defaults, **foreign.config, **family.fixed}
    _check_sharing(foreign, settings)
    settings |= foreign.corrected
    tokenizer = str(foreign.tokenizer.get("tokenizer_class", family.tokenizer))
    if tokenizer not in TOKENIZERS:
        foreign.faults.append(
            f"{TOKENIZER}: tokenizer_class = {tokenizer!r:.60} is not one of {', '.join(TOKENIZERS)}."
        )
    read = read_vocabulary if tokenizer == "MarianTokenizer" else read_languages
    vocabulary = read(foreign, settings)
    model = _model_config(foreign, settings, vocabulary.ids() if vocabulary else {})
    if model is not None and foreign.shapes:
        _check_tensors(foreign, model)
        _check_ties(foreign, model)
        _check_positions(foreign, model)
    config = _config(foreign, settings, vocabulary, model) if vocabulary and model else None
    licence = read_licence(foreign)
    foreign.check()
    assert vocabulary is not None and config is not None
    transformer = without_weights(config.model)
    transformer.load_state_dict(dict(_weights(foreign, config.model, dtype)), assign=True)
    about = {"imported from": foreign.config["model_type"], "folder": foreign.folder.name}
    about |= {"licence": licence} if licence else {}
    return Loaded(transformer.eval(), vocabulary, config, {"files": {}, "provenance": about})


def _config(
    foreign: Foreign, settings: Mapping[str, Any], vocabulary: Vocabulary, model: ModelConfig
) -> Config | None:
    translation = translation_config(foreign, model)
    # Whatever cuts the text was made elsewhere, and the page says so.
    files = ("vocabulary.model",) if vocabulary.joint else ("source.spm", "target.spm")
    words = VocabularyConfig(model.vocabulary, vocabulary.kind, vocabulary.joint, model=files)
    longest = settings["max_position_embeddings"]
    with foreign.noting(f"{CONFIG}: max_position_embeddings = {longest}: "):
        data = DataConfig(languages=vocabulary.languages, max_length=longest)
        return Config(data, words, model, translation=translation)
    return None


def _check_sharing(foreign: Foreign, settings: Mapping[str, Any]) -> None:
    """Correct a configuration that says that the embeddings are shared where the weights have two different
    ones, as in many opus-mt-tc-big folders."""
    names = [f"model.{stack}.embed_tokens.weight" for stack in ("encoder", "decoder")]
    both = foreign.config["model_type"] == "marian" and all(name in foreign.shapes for name in names)
    if both and settings["share_encoder_decoder_embeddings"] and not foreign.equal(*names):
        foreign.corrected["share_encoder_decoder_embeddings"] = False


def _model_config(
    foreign: Foreign, settings: Mapping[str, Any], ids: Mapping[str, Any]
) -> ModelConfig | None:
    """Convert the configuration to Pellucid's form. If something is wrong with it, note the problems and
    return None."""
    before = len(foreign.faults)
    for name in ("ffn_dim", "attention_heads"):
        encoder, decoder = settings[f"encoder_{name}"], settings[f"decoder_{name}"]
        if encoder != decoder:
            foreign.faults.append(
                f"{CONFIG}: encoder_{name} = {encoder} and decoder_{name} = {decoder} differ."
            )
    activation = settings["activation_function"]
    if activation not in ACTIVATIONS:
        foreign.faults.append(
            f"{CONFIG}: activation_function = {activation!r} is not one of {', '.join(ACTIVATIONS)}."
        )
    shared, size = settings["share_encoder_decoder_embeddings"], settings["vocab_size"]
    target = settings["decoder_vocab_size"] or size
    if shared and target != size:
        foreign.faults.append(
            f"{CONFIG}: decoder_vocab_size = {target} is not vocab_size = {size}, but both share."
        )
    if len(foreign.faults) > before:
        return None
    own_target = target if target != size or (settings["tie_word_embeddings"] and not shared) else None
    given = {ours: settings[name] for ours, name in SETTINGS.items()}
    given |= {name: settings[name] for name in ("norm", "positions") if name in settings}
    given |= {name: float(settings[name]) for name in DROPOUTS}
    given |= {"activation": ACTIVATIONS[activation], "target_vocabulary": own_target}
    with foreign.noting(f"{CONFIG}: "):
        return ModelConfig(**given, **ids, output_bias=_has_bias(foreign, target))
    return None


def _has_bias(foreign: Foreign, size: int) -> bool:
    """Return whether the logits have a bias that is not zero. A bias of a wrong shape counts too, so that
    `_check_tensors` finds it."""
    shape = foreign.shapes.get(BIAS)
    return shape is not None and (shape != (1, size) or bool(foreign.tensor(BIAS).any()))


def _check_tensors(foreign: Foreign, model: ModelConfig) -> None:
    """Note as problems all tensors that are missing, have a wrong shape, or are not expected."""
    expected = {name: tuple(each.shape) for name, each in without_weights(model).state_dict().items()}
    known = {BIAS, HEAD, SHARED, *POSITIONS, *(f"{name}s" for name in POSITIONS)}
    known |= {f"model.{stack}.embed_tokens.weight" for stack in ("encoder", "decoder")}
    for name, place in _places(model).items():
        known |= {*place.names}
        found = next((each for each in place.names if each in foreign.shapes), None)
        if found is None:
            foreign.faults.append(f"the weights have no {' or '.join(dict.fromkeys(place.names))}.")
        elif foreign.shapes[found] != _theirs(name, expected[name]):
            shape, there = _theirs(name, expected[name]), foreign.shapes[found]
            foreign.faults.append(f"{found} is {list(there)} where config.json needs {list(shape)}.")
    # fairseq left its version in some folders.
    strange = [name for name in foreign.shapes if name not in known and not name.endswith(".version")]
    foreign.faults += [f"{name} is unknown to this architecture." for name in strange]


def _check_ties(foreign: Foreign, model: ModelConfig) -> None:
    """Note a problem if the file stores tied matrices separately, with different values."""
    if not model.tied or foreign.faults:
        return
    shared = model.target_vocabulary is None
    names = ["model.decoder.embed_tokens.weight", HEAD]
    names += [SHARED, "model.encoder.embed_tokens.weight"] if shared else []
    there = [name for name in names if name in foreign.shapes]
    for name in there[1:]:
        if not foreign.equal(there[0], name):
            foreign.faults.append(f"{name} differs from {there[0]}, but config.json ties the two.")


def _check_positions(foreign: Foreign, model: ModelConfig) -> None:
    """Note a problem if stored position embeddings are not the sinusoids: the model may have learned them."""
    for name in POSITIONS:
        if foreign.shapes.get(name, ())[1:] == (model.width,):
            stored = foreign.tensor(name)
            table = sinusoids(len(stored), model.width, torch.float32, stored.device)
            if not torch.allclose(stored[:, order(model.width)], table, atol=HALF_PRECISION):
                foreign.faults.append(f"{name} does not hold sinusoids: these positions were learned.")


def _weights(foreign: Foreign, model: ModelConfig, dtype: torch.dtype) -> Iterator[tuple[str, Tensor]]:
    for name, place in _places(model).items():
        found = next(each for each in place.names if each in foreign.shapes)
        tensor = take(foreign.tensor(found, dtype), place.axis)
        yield name, tensor.flatten() if name.endswith("projection.bias") else tensor


def _places(model: ModelConfig) -> dict[str, Place]:
    bias = {"decoder.projection.bias": Place((BIAS,), NOT_AT_ALL)} if model.output_bias else {}
    return places(model) | bias


def _theirs(name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    return (1, *shape) if name.endswith("projection.bias") else shape
