"""Export a model as a folder that AutoModelForSeq2SeqLM and AutoTokenizer of transformers open: MarianMT, or
Pegasus if the norm comes first, with MarianMT's tokenizer."""

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import Tensor

from pellucid.config.schema import ModelConfig
from pellucid.errors import PellucidError
from pellucid.folder.load import Loaded
from pellucid.interop.families.bart import ACTIVATIONS, DROPOUTS, SETTINGS
from pellucid.interop.families.marian import TABLE, TARGET_TABLE
from pellucid.interop.families.tensors import BIAS, POSITIONS, give, places
from pellucid.interop.foreign import CONFIG, GENERATION, SAFE, TOKENIZER
from pellucid.interop.generation import generation_of
from pellucid.interop.pieces import count_positions, tokens_of, write_sides
from pellucid.model import sinusoids
from pellucid.text.renumbered import Pieces, Renumbered
from pellucid.text.vocabulary import Vocabulary
from pellucid.translate.sentences import TOKENS

CLASSES = {"last": ("marian", "MarianMTModel"), "first": ("pegasus", "PegasusForConditionalGeneration")}
OUR_ACTIVATIONS = {ours: theirs for theirs, ours in ACTIVATIONS.items()}


def write_marian(loaded: Loaded, folder: Path) -> None:
    """Write the files into a folder; raise an error if transformers cannot express the model."""
    reasons = list(obstacles(loaded))
    if reasons:
        raise PellucidError(
            f"no class of transformers can express this model: {'; '.join(reasons)}. Export it to "
            "ctranslate2 or onnx instead."
        )
    tables = {TABLE: ids_of(loaded.vocabulary.source), TARGET_TABLE: ids_of(loaded.vocabulary.target)}
    separate = tables[TABLE] != tables[TARGET_TABLE]
    files: dict[str, Any] = tables if separate else {TABLE: tables[TABLE]}
    files |= {CONFIG: _config(loaded), GENERATION: _special(loaded) | generation_of(loaded)}
    files[TOKENIZER] = _tokenizer(loaded.vocabulary, separate)
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content, ensure_ascii=False, indent=1), "utf-8")
    write_sides(loaded.vocabulary, folder)
    safetensors.torch.save_file(dict(_weights(loaded)), folder / SAFE, {"format": "pt"})
    shutil.copymode(folder / CONFIG, folder / SAFE)  # safetensors lets only its user read it


def obstacles(loaded: Loaded) -> Iterator[str]:
    """Yield why transformers has no class for the model: each property that MarianMT and Pegasus do not
    support."""
    model = loaded.config.model
    if model.norm == "first" and not (model.tied and model.target_vocabulary is None):
        yield (
            'its norm comes first ([model] norm = "first"), and Pegasus, which has that too, is tied and has '
            "one vocabulary for both sides ([model] tied, [vocabulary] joint)"
        )
    if model.positions != "paper":
        yield f'its positions are [model] positions = "{model.positions}"'
    if loaded.vocabulary.preparation != "none":
        yield (
            f'its text is prepared with "{loaded.vocabulary.preparation}" ([data] preparation), which no '
            "tokenizer there does"
        )


def ids_of(model: Pieces) -> dict[str, int]:
    """Return a dictionary from each token of the vocabulary to its id."""
    tokens = model.tokens if isinstance(model, Renumbered) else tokens_of(model)
    return {token: place for place, token in enumerate(tokens) if token is not None}


def _config(loaded: Loaded) -> dict[str, Any]:
    model = loaded.config.model
    kind, name = CLASSES[model.norm]
    table: dict[str, Any] = {name: getattr(model, ours) for ours, name in SETTINGS.items()}
    table |= {name: getattr(model, name) for name in DROPOUTS} | _special(loaded)
    return table | {
        "architectures": [name],
        "model_type": kind,
        "decoder_vocab_size": model.target_size,
        "decoder_attention_heads": model.heads,
        "decoder_ffn_dim": model.hidden,
        "activation_function": OUR_ACTIVATIONS[model.activation],
        "share_encoder_decoder_embeddings": model.tied and model.target_vocabulary is None,
        "max_position_embeddings": count_positions(loaded.config),
        "is_encoder_decoder": True,
        "bos_token_id": None,
        "dtype": "float32",
    }


def _special(loaded: Loaded) -> dict[str, Any]:
    model = loaded.config.model
    return {
        "pad_token_id": model.pad_id,
        "eos_token_id": model.end_id,
        "decoder_start_token_id": model.start_id,
        "forced_eos_token_id": model.end_id if loaded.config.translation.forced_end else None,
    }


def _tokenizer(vocabulary: Vocabulary, separate: bool) -> dict[str, Any]:
    tokens = {"unk_token": vocabulary.unknown_id, "eos_token": vocabulary.end_id}
    tokens |= {"pad_token": vocabulary.pad_id}
    languages = vocabulary.languages[0] if len(vocabulary.languages) == 1 else (None, None)
    return {
        "tokenizer_class": "MarianTokenizer",
        "separate_vocabs": separate,
        "source_lang": languages[0],
        "target_lang": languages[1],
        "model_max_length": TOKENS,
        **{name: vocabulary.target.id_to_piece(token) for name, token in tokens.items()},
    }


def _weights(loaded: Loaded) -> Iterator[tuple[str, Tensor]]:
    model: ModelConfig = loaded.config.model
    state: Mapping[str, Tensor] = loaded.model.state_dict()
    for name, place in places(model).items():
        yield place.names[-1], give(state[name].cpu(), place.axis).contiguous()
    if model.norm == "first":  # Pegasus calls positions missing that are not stored
        table = sinusoids(count_positions(loaded.config), model.width, torch.float32, torch.device("cpu"))
        yield from ((name, give(table, 1)) for name in POSITIONS)
    bias = state.get("decoder.projection.bias", torch.zeros(model.target_size))
    yield BIAS, bias.cpu()[None].contiguous()
