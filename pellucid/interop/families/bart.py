"""What all families are: models of Bart's kind, whose settings and tensors have the same names."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from pellucid.config.schema import ModelConfig
from pellucid.interop.families.tensors import BIAS, EMBEDDINGS, HEAD, POSITIONS, SHARED, order, places, take
from pellucid.interop.foreign import Foreign
from pellucid.model import sinusoids
from pellucid.text.vocabulary import Vocabulary

# What transformers takes for what config.json leaves out, unless a family says otherwise.
DEFAULTS: dict[str, Any] = dict(
    d_model=1024, vocab_size=58101, decoder_vocab_size=0, encoder_layers=12, decoder_layers=12,
    encoder_ffn_dim=4096, decoder_ffn_dim=4096, encoder_attention_heads=16, decoder_attention_heads=16,
    dropout=0.1, attention_dropout=0.0, activation_dropout=0.0, activation_function="gelu",
    scale_embedding=False, share_encoder_decoder_embeddings=True, tie_word_embeddings=True,
    pad_token_id=58100, decoder_start_token_id=58100, eos_token_id=0, max_position_embeddings=1024,
)  # fmt: skip
ONE_VOCABULARY = {"share_encoder_decoder_embeddings": True, "decoder_vocab_size": 0}  # 0: as vocab_size
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
AT_MOST = 10_000_000  # tokens: lists of this length are made
HALF_PRECISION = 2e-3  # how far positions may be off that were stored in 16 bits

Reader = Callable[[Foreign, Mapping[str, Any]], Vocabulary]  # of a vocabulary, by the model's settings


class Family(NamedTuple):
    """A class of models in transformers."""

    model_type: str  # in config.json
    name: str  # as users know it
    defaults: Mapping[str, Any]
    tokenizer: str  # which a model has if its folder does not say
    tokenizers: Mapping[str, Reader] = {}  # which this family brings with it
    fixed: Mapping[str, Any] = {}  # the class does not read these from config.json
    ours: Mapping[str, Any] = {}  # settings of ours that hold for all its models

    def settings(self, foreign: Foreign) -> dict[str, Any]:
        """Return the settings of a model. If config.json says that its embeddings are shared, but the weights
        have two different ones, as in many opus-mt-tc-big folders, they are not."""
        settings = {**self.defaults, **foreign.config, **self.fixed}
        for name in ("vocab_size", "decoder_vocab_size"):
            if settings[name] > AT_MOST:
                raise foreign.wrong(f"{name} = {settings[name]!r:.60} is more than {AT_MOST:,}.")
        shared = "share_encoder_decoder_embeddings"
        both = shared not in self.fixed and all(name in foreign.tensors for name in EMBEDDINGS)
        if both and settings[shared] and not foreign.equal(*EMBEDDINGS):
            foreign.corrected[shared] = settings[shared] = False
        return settings

    def model_config(
        self, foreign: Foreign, settings: Mapping[str, Any], ids: Mapping[str, Any]
    ) -> ModelConfig:
        """Convert the settings to Pellucid's form."""
        for name in ("ffn_dim", "attention_heads"):
            encoder, decoder = settings[f"encoder_{name}"], settings[f"decoder_{name}"]
            if encoder != decoder:
                raise foreign.wrong(f"encoder_{name} = {encoder} and decoder_{name} = {decoder} differ.")
        activation = settings["activation_function"]
        if activation not in ACTIVATIONS:
            known = ", ".join(ACTIVATIONS)
            raise foreign.wrong(f"activation_function = {activation!r} is not one of {known}.")
        shared, size = settings["share_encoder_decoder_embeddings"], settings["vocab_size"]
        target = settings["decoder_vocab_size"] or size
        if shared and target != size:
            raise foreign.wrong(f"decoder_vocab_size = {target} is not vocab_size = {size}, but both share.")
        own_target = target if target != size or (settings["tie_word_embeddings"] and not shared) else None
        given = {ours: settings[name] for ours, name in SETTINGS.items()}
        given |= {**self.ours, **foreign.ours, **ids}
        if given.get("positions") == "learned":
            given["longest"] = settings["max_position_embeddings"]
        given |= {name: float(settings[name]) for name in DROPOUTS}
        given |= {"activation": ACTIVATIONS[activation], "target_vocabulary": own_target}
        # A bias of zeros is none. One of a wrong shape counts, so that `read_weights` meets it.
        stored = foreign.tensors.get(BIAS)
        bias = stored is not None and (stored.shape != (1, target) or bool(stored.any()))
        with foreign.blaming(foreign.settings_in):
            config = ModelConfig(**given, output_bias=bias)
        return config


def read_weights(
    foreign: Foreign, model: ModelConfig, shapes: Mapping[str, tuple[int, ...]], dtype: torch.dtype
) -> Iterator[tuple[str, Tensor]]:
    """Yield the model's tensors in Pellucid's order and in this data type. Raise an error if one is missing,
    has a wrong shape, or is not expected."""
    expected = places(model)
    known = {BIAS, HEAD, SHARED, *EMBEDDINGS, *POSITIONS, *(f"{name}s" for name in POSITIONS)}
    known |= {name for place in expected.values() for name in place.names}
    _check_ties(foreign, model)
    if model.positions == "learned":  # fairseq's first two rows are never read
        foreign.tensors |= {name: foreign.tensors[name][2:] for name in POSITIONS if name in foreign.tensors}
    else:
        _check_positions(foreign, model)
    for name, (names, axis) in expected.items():
        there = next((each for each in names if each in foreign.tensors), None)
        if there is None:
            raise foreign.fault(f"the weights have no {' or '.join(dict.fromkeys(names))}.")
        has = [*foreign.tensors[there].shape]
        shape = [1, *shapes[name]] if there == BIAS else [*shapes[name]]
        if has != shape:
            raise foreign.fault(f"{there} is {has} where {foreign.settings_in} needs {shape}.")
        copied = foreign.tensors[there].to(dtype, copy=True)  # or the model would keep the file mapped
        yield name, take(copied, axis).reshape(shapes[name])
    for name in foreign.tensors:
        if name not in known and not name.endswith(".version"):  # fairseq left its version in some folders
            raise foreign.fault(f"{name} is unknown to this architecture.")


def _check_ties(foreign: Foreign, model: ModelConfig) -> None:
    """Raise an error if the file stores tied matrices separately, with different values."""
    encoder, decoder = EMBEDDINGS
    names = [decoder, HEAD, *([SHARED, encoder] if model.target_vocabulary is None else [])]
    first, *others = [name for name in names if model.tied and name in foreign.tensors] or [""]
    for name in others:
        if not foreign.equal(first, name):
            raise foreign.fault(f"{name} differs from {first}, but {foreign.settings_in} ties the two.")


def _check_positions(foreign: Foreign, model: ModelConfig) -> None:
    """Raise an error if stored position embeddings are not the sinusoids: the model may have learned them."""
    for name in POSITIONS:
        if name in foreign.tensors and foreign.tensors[name].shape[1:] == (model.width,):
            stored = foreign.tensors[name].float()
            table = sinusoids(len(stored), model.width, torch.float32, stored.device)
            if not torch.allclose(stored[:, order(model.width)], table, atol=HALF_PRECISION):
                raise foreign.fault(f"{name} does not hold sinusoids: these positions were learned.")
