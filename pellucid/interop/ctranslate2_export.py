"""Export a model to CTranslate2, an inference engine in C++: its weights, vocabularies and SentencePiece
models."""

import math
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from pellucid.errors import PellucidError
from pellucid.folder.load import Loaded
from pellucid.interop.foreign import import_extra
from pellucid.interop.parity import NEAR, Parity, compare
from pellucid.interop.pieces import count_positions, tokens_of, write_sides
from pellucid.model import Attention, DecoderLayer, Norm, Transformer, sinusoids

# How far a token's log-probability may be off. Fewer bits are another function: the report says how near.
NEAR_IN = {"float32": NEAR, "int8": math.inf, "int8_float32": math.inf, "int16": math.inf}

ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "silu": "SWISH"}


def write_ctranslate2(loaded: Loaded, folder: Path, quantization: str = "float32") -> None:
    """Write model.bin, config.json, the vocabularies, and the SentencePiece models.

    CTranslate2 reads and writes pieces, not text: `source.spm` and `target.spm` split and join the text.
    """
    specs = import_extra("ctranslate2.specs")
    model, shape = loaded.model, loaded.config.model
    layers = (shape.encoder_layers, shape.decoder_layers)
    activation = specs.Activation[ACTIVATIONS[shape.activation]]
    spec = specs.TransformerSpec.from_config(
        layers, shape.heads, pre_norm=shape.norm == "first", activation=activation
    )
    _fill_stacks(spec, model, count_positions(loaded.config))
    spec.decoder.projection.weight = _values(model.projection_weight)
    if model.decoder.projection.bias is not None:
        spec.decoder.projection.bias = _values(model.decoder.projection.bias)
    vocabulary = loaded.vocabulary
    spec.register_source_vocabulary(tokens_of(vocabulary.source))
    spec.register_target_vocabulary(tokens_of(vocabulary.target))
    special = {"unk_token": vocabulary.unknown_id, "eos_token": vocabulary.end_id}
    special |= {"bos_token": vocabulary.start_id, "decoder_start_token": vocabulary.start_id}
    for name, token in special.items():
        setattr(spec.config, name, vocabulary.target.id_to_piece(token))
    spec.config.add_source_eos = False  # our sources end in their end token as they are
    spec.validate()
    spec.optimize(quantization=None if quantization == "float32" else quantization)
    spec.save(str(folder))
    write_sides(vocabulary, folder)


def _fill_stacks(spec: Any, model: Transformer, length: int) -> None:
    for name, stack in (("encoder", model.encoder), ("decoder", model.decoder)):
        part, embedding = getattr(spec, name), model.embedding or stack.embedding
        assert embedding is not None
        embeddings = part.embeddings[0] if name == "encoder" else part.embeddings
        embeddings.weight = _values(embedding.weight)
        # CTranslate2 takes the factor from here; its own positions start at 1 and are in halves.
        part.scale_embeddings = stack.scale
        width = embedding.weight.shape[1]
        table = sinusoids(length, width, torch.float32, torch.device("cpu"), stack.positions)
        part.position_encodings.encodings = table.numpy()
        if stack.norm is not None:
            _fill_norm(part.layer_norm, stack.norm)
        for layer_spec, layer in zip(part.layer, stack.layers, strict=True):
            _fill_layer(layer_spec, layer)


def _fill_layer(spec: Any, layer: Any) -> None:
    _fill_attention(spec.self_attention, layer.self_attention, fused=3)
    _fill_norm(spec.self_attention.layer_norm, layer.residual_1.norm)
    last = layer.residual_2
    if isinstance(layer, DecoderLayer):
        _fill_attention(spec.attention, layer.cross_attention, fused=1)
        _fill_norm(spec.attention.layer_norm, layer.residual_2.norm)
        last = layer.residual_3
    _fill_linear(spec.ffn.linear_0, layer.feed_forward.inner)
    _fill_linear(spec.ffn.linear_1, layer.feed_forward.outer)
    _fill_norm(spec.ffn.layer_norm, last.norm)


def _fill_attention(spec: Any, attention: Attention, fused: int) -> None:
    """Concatenate the first `fused` of the query, key and value matrices, and then the others. `fused` is 3
    for self-attention, and 1 for cross-attention (query alone, key and value together)."""
    parts = [attention.query, attention.key, attention.value]
    for place, group in enumerate(filter(None, (parts[:fused], parts[fused:]))):
        _fill_linear(spec.linear[place], *group)
    _fill_linear(spec.linear[-1], attention.output)


def _fill_linear(spec: Any, *linears: nn.Linear) -> None:
    spec.weight = _values(torch.cat([each.weight for each in linears]))
    spec.bias = _values(torch.cat([each.bias for each in linears]))


def _fill_norm(spec: Any, norm: Norm) -> None:
    spec.gamma, spec.beta = _values(norm.weight), _values(norm.bias)


def _values(tensor: Tensor) -> Any:
    # A copy: CTranslate2 quantises in place, and these are the model's own weights.
    return tensor.detach().float().cpu().numpy().copy()


def against_ctranslate2(folder: Path, loaded: Loaded, quantization: str = "float32") -> Parity:
    """Compare the log-probabilities of a model with those that CTranslate2 computes from a folder."""
    ctranslate2 = import_extra("ctranslate2")
    ours, theirs = (tokens_of(side) for side in (loaded.vocabulary.source, loaded.vocabulary.target))

    def scores(source: Tensor, target: Tensor) -> Tensor:
        read, written = [ours[token] for token in source[0]], [theirs[token] for token in target[0, 1:]]
        return torch.tensor([each.log_probs for each in engine.score_batch([read], [written])])

    name = f"ctranslate2 {ctranslate2.__version__} ({quantization})"
    try:
        engine = ctranslate2.Translator(str(folder), device="cpu", compute_type="default")
        return compare(scores, loaded, name, NEAR_IN[quantization])
    except (RuntimeError, ValueError) as error:
        raise PellucidError(f"{folder}: CTranslate2 cannot score our tokens with it: {error}.") from None
