"""Read a model of the transformers library as a Pellucid model: MarianMT (the OPUS-MT translators), M2M100
and NLLB."""

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from pellucid.config.schema import Config, DataConfig, ModelConfig, TranslationConfig, VocabularyConfig
from pellucid.errors import UsageError
from pellucid.folder.load import Loaded, without_weights
from pellucid.interop.foreign import Foreign
from pellucid.interop.kinds import FAMILIES
from pellucid.interop.many_languages import read_languages
from pellucid.interop.marian_vocabulary import read_vocabulary
from pellucid.interop.tensors import NOT_AT_ALL, Place, order, places, take
from pellucid.model import sinusoids

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
# Settings of `generate` that change which translation comes out, with the values that change nothing.
WITHOUT_EFFECT: dict[str, tuple[Any, ...]] = {
    "no_repeat_ngram_size": (None, 0),
    "repetition_penalty": (None, 1.0),
    "num_beam_groups": (None, 1),
    "do_sample": (None, False),
    "early_stopping": (None, True, False),
    "begin_suppress_tokens": (None, []),
    "min_length": (None, 0),
}
BIAS = "final_logits_bias"
POSITIONS = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")
HALF_PRECISION = 2e-3  # how far positions may be off that were stored in 16 bits


def read_foreign(foreign: Foreign, dtype: torch.dtype = torch.float32) -> Loaded:
    """Return the model in an opened folder, with its weights converted to Pellucid's order and to this data
    type. If the folder has problems, raise one error that lists them all."""
    kind = str(foreign.config.get("model_type"))
    settings = FAMILIES[kind] | dict(foreign.config)
    if kind == "marian":
        vocabulary = read_vocabulary(foreign, settings)
    else:
        vocabulary = read_languages(foreign, settings)
        settings |= {"share_encoder_decoder_embeddings": True, "decoder_vocab_size": None}
    model = _model_config(foreign, settings, vocabulary.ids() if vocabulary else {})
    if model is not None and foreign.shapes:
        _check_tensors(foreign, model)
        _check_ties(foreign, model)
        _check_positions(foreign, model)
    foreign.check()
    assert model is not None and vocabulary is not None
    data = DataConfig(languages=vocabulary.languages, max_length=settings["max_position_embeddings"])
    # Whatever cuts the text was made elsewhere, and the page says so.
    files = ("vocabulary.model",) if vocabulary.joint else ("source.spm", "target.spm")
    words = VocabularyConfig(model.vocabulary, vocabulary.kind, vocabulary.joint, model=files)
    config = Config(data, words, model, translation=translation_config(foreign.generation, model))
    transformer = without_weights(model)
    transformer.load_state_dict(dict(_weights(foreign, model, dtype)), assign=True)
    about = {"imported from": kind, "folder": foreign.folder.name}
    return Loaded(transformer.eval(), vocabulary, config, {"files": {}, "provenance": about})


def _model_config(
    foreign: Foreign, settings: Mapping[str, Any], ids: Mapping[str, Any]
) -> ModelConfig | None:
    """Convert the configuration to Pellucid's form. If something is wrong with it, note the problems and
    return None."""
    faults = []
    for name in ("ffn_dim", "attention_heads"):
        encoder, decoder = settings[f"encoder_{name}"], settings[f"decoder_{name}"]
        if encoder != decoder:
            faults.append(f"config.json: encoder_{name} = {encoder} and decoder_{name} = {decoder} differ.")
    if settings["activation_function"] not in ACTIVATIONS:
        known = ", ".join(ACTIVATIONS)
        faults.append(
            f"config.json: activation_function = {settings['activation_function']!r} is not one of {known}."
        )
    shared, size = settings["share_encoder_decoder_embeddings"], settings["vocab_size"]
    target = settings["decoder_vocab_size"] or size
    if shared and target != size:
        faults.append(
            f"config.json: decoder_vocab_size = {target} is not vocab_size = {size}, but both share."
        )
    foreign.faults += faults
    if faults:
        return None
    own_target = target if target != size or (settings["tie_word_embeddings"] and not shared) else None
    given = {ours: settings[name] for ours, name in SETTINGS.items()}
    given |= {name: settings[name] for name in ("norm", "positions") if name in settings}
    given["activation"] = ACTIVATIONS[settings["activation_function"]]
    try:
        given |= {name: float(settings[name]) for name in DROPOUTS}
        return ModelConfig(
            **given, **ids, target_vocabulary=own_target, output_bias=_has_bias(foreign, target)
        )
    except (UsageError, TypeError, ValueError) as error:
        foreign.faults.append(f"config.json: {error}")
        return None


def _has_bias(foreign: Foreign, size: int) -> bool:
    """Return whether the logits have a bias that is not zero. A bias of a wrong shape counts too, so that
    `_check_tensors` finds it."""
    shape = foreign.shapes.get(BIAS)
    return shape is not None and (shape != (1, size) or bool(foreign.tensor(BIAS).any()))


def translation_config(generation: Mapping[str, Any], model: ModelConfig) -> TranslationConfig:
    """Convert the defaults of transformers' `generate` to Pellucid's settings; `left_out` names those that
    Pellucid does not have."""
    words = generation.get("bad_words_ids") or []
    suppressed = {word[0] for word in words if len(word) == 1} | {*(generation.get("suppress_tokens") or [])}
    suppressed -= {model.pad_id, model.unknown_id, model.start_id}  # which we never say anyway
    forced = generation.get("forced_eos_token_id")
    return TranslationConfig(
        beam=generation.get("num_beams") or 1,
        length_penalty=float(generation.get("length_penalty", 1.0)),
        max_length=max((generation.get("max_length") or 513) - 1, 1),  # theirs counts the start token
        suppressed=tuple(sorted(token for token in suppressed if 0 <= token < model.target_size)),
        forced_end=forced in (model.end_id, [model.end_id]),
    )


def left_out(generation: Mapping[str, Any]) -> Iterator[str]:
    """Yield the settings of transformers' `generate` that would change a translation and that Pellucid does
    not have."""
    for name, harmless in WITHOUT_EFFECT.items():
        if generation.get(name) not in harmless:
            yield f"{name} = {generation[name]}"
    if any(len(word) > 1 for word in generation.get("bad_words_ids") or []):
        yield "bad_words_ids of several tokens"


def _check_tensors(foreign: Foreign, model: ModelConfig) -> None:
    """Note as problems all tensors that are missing, have a wrong shape, or are not expected."""
    expected = {name: tuple(each.shape) for name, each in without_weights(model).state_dict().items()}
    known = {BIAS, "lm_head.weight", "model.shared.weight", *POSITIONS, *(f"{name}s" for name in POSITIONS)}
    known |= {f"model.{stack}.embed_tokens.weight" for stack in ("encoder", "decoder")}
    for name, place in _places(model).items():
        known |= {*place.names}
        found = next((each for each in place.names if each in foreign.shapes), None)
        if found is None:
            foreign.faults.append(f"the weights have no {' or '.join(place.names)}.")
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
    names = ["model.decoder.embed_tokens.weight", "lm_head.weight"]
    names += ["model.shared.weight", "model.encoder.embed_tokens.weight"] if shared else []
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
