"""Marian's own folders, as OPUS-MT publishes them: a .npz that says its settings too, and vocabularies.

Its positions have other frequencies than the paper and MarianMT of transformers. It has no start token: the
first embedding of a target is zero. So a token is added whose embedding is zero, and which is never said.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from pellucid.interop.families.bart import DEFAULTS, Family
from pellucid.interop.families.marian_yaml import START, read_search, read_vocabulary, read_yaml
from pellucid.interop.families.tensors import ATTENTION, BIAS, EMBEDDINGS, HEAD, SHARED
from pellucid.interop.foreign import MARIAN, Foreign
from pellucid.interop.tensor_files import check_kinds, open_npz

SETTINGS = "special:model.yml"
NEVER = -40.0  # the logit of the added token
WHOLE = {"d_model": "dim-emb", "encoder_layers": "enc-depth", "decoder_layers": "dec-depth"}
WHOLE |= dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim"), "transformer-dim-ffn")
WHOLE |= dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), "transformer-heads")
RATES = {"dropout": "transformer-dropout", "attention_dropout": "transformer-dropout-attention"}
RATES |= {"activation_dropout": "transformer-dropout-ffn"}
USUAL: dict[str, tuple[Any, ...]] = {"type": ("transformer",), "lemma-dim-emb": ("0",)}
USUAL |= {"transformer-decoder-autoreg": ("self-attention",), "transformer-ffn-depth": ("2",)}
USUAL |= {"transformer-tied-layers": ([],), "transformer-ffn-activation": ("swish", "relu")}
OFF = ("train-positions", "disable-position-embeddings", "no-projection", "pool")
USUAL |= {f"transformer-{each}": ("false",) for each in OFF}
# Only the norm last: with "n" in preprocess, Marian 1.12 translates otherwise than it trains (keys of earlier
# tokens are not normalised).
USUAL |= {"transformer-preprocess": ("", "d"), "transformer-postprocess": ("dan", "an")}
USUAL |= {"transformer-postprocess-emb": ("d", ""), "transformer-postprocess-top": ("",)}
PLACES = {"Wemb": SHARED, "decoder_ff_logit_out_Wt": HEAD, "decoder_ff_logit_out_b": BIAS}
PLACES |= dict(zip(("encoder_Wemb", "decoder_Wemb"), EMBEDDINGS, strict=True))
ENDS = {"W": "weight", "b": "bias", "scale": "weight", "bias": "bias"}
LAYER = {f"ffn_{end}{n}": f"fc{n}.{ENDS[end]}" for n in (1, 2) for end in "Wb"}
for ours, theirs in (("self", "self_attn"), ("context", "encoder_attn")):
    for letter, (name, _) in zip("qkvo", ATTENTION.values(), strict=True):
        LAYER |= {f"{ours}_{end}{letter}": f"{theirs}.{name}.{ENDS[end]}" for end in "Wb"}
for ours, theirs in (("self_Wo", "self_attn"), ("context_Wo", "encoder_attn"), ("ffn_ffn", "final")):
    LAYER |= {f"{ours}_ln_{end}": f"{theirs}_layer_norm.{ENDS[end]}" for end in ("scale", "bias")}


def open_marian(foreign: Foreign) -> None:
    """Read the settings and the weights of a folder."""
    name = foreign.find(MARIAN)
    foreign.settings_in = f"{name}: {SETTINGS}"
    with foreign.blaming(name):
        arrays = open_npz(foreign.folder / name)
        content = arrays.pop(SETTINGS, None)
        check_kinds(arrays)
    if content is None:
        raise foreign.fault(f"{name}: there is no {SETTINGS}, so Marian did not write it.")
    said = read_yaml(foreign, foreign.settings_in, content.numpy().tobytes().rstrip(b"\0"))
    for setting, usual in USUAL.items():
        if (value := said.get(setting, usual[0])) not in usual:
            raise foreign.wrong(f"{setting} = {value!r:.60} is another architecture than {usual[0]!r}.")
    foreign.tokenizer = {"pad_token": START}
    foreign.tensors = dict(_renamed(arrays))
    tables = [each for each in (SHARED, *EMBEDDINGS, HEAD) if each in foreign.tensors]
    rows = max((len(foreign.tensors[each]) for each in tables), default=0)
    for each in tables:
        foreign.tensors[each] = pad(foreign.tensors[each], (0, 0, 0, rows + 1 - len(foreign.tensors[each])))
    bias = foreign.tensors.get(BIAS, torch.zeros(1, rows))
    foreign.tensors[BIAS] = pad(bias, (0, rows + 1 - bias.shape[-1]), value=NEVER)
    foreign.config = _settings(foreign, said) | dict.fromkeys(("vocab_size", "decoder_vocab_size"), rows + 1)
    foreign.config |= dict.fromkeys(("pad_token_id", "decoder_start_token_id"), rows)


def _settings(foreign: Foreign, said: Mapping[str, Any]) -> dict[str, Any]:
    tied = {each: said.get(f"tied-embeddings{each}") == "true" for each in ("", "-all", "-src")}
    search = read_search(foreign)
    try:
        foreign.generation = {
            "num_beams": int(search.get("beam-size", 6)),
            "length_penalty": float(search.get("normalize", 1)),
        }
        config: dict[str, Any] = {name: int(said[theirs]) for name, theirs in WHOLE.items()}
        return config | {
            **{name: float(said.get(theirs, 0)) for name, theirs in RATES.items()},
            "share_encoder_decoder_embeddings": tied["-all"] or tied["-src"],
            "tie_word_embeddings": tied["-all"] or tied[""],
            "scale_embedding": True,
            "activation_function": said.get("transformer-ffn-activation", "swish"),
        }
    except (KeyError, TypeError, ValueError) as error:
        raise foreign.wrong(f"a number is missing or is none: {error}.") from None


def _renamed(arrays: Mapping[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
    """Yield the arrays by the names of transformers, whose matrices are (out, in)."""
    for name, tensor in arrays.items():
        found = re.fullmatch(r"(encoder|decoder)_l(\d{1,3})_(.+)", name)
        if found and found[3] in LAYER:
            theirs = f"model.{found[1]}.layers.{int(found[2]) - 1}.{LAYER[found[3]]}"
            matrix = theirs.endswith(("proj.weight", "fc1.weight", "fc2.weight")) and tensor.dim() == 2
            yield theirs, tensor.T if matrix else tensor.flatten()
        elif name == "decoder_ff_logit_out_W":  # as old versions stored it
            yield HEAD, tensor.T
        else:
            yield PLACES.get(name, name), tensor


FAMILY = Family(
    model_type="marian.npz",
    name="Marian",
    defaults=DEFAULTS,
    tokenizer="Marian",
    tokenizers={"Marian": read_vocabulary},
    ours={"positions": "marian"},
)
