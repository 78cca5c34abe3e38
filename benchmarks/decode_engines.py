"""The engines that benchmarks/decode.py compares: each takes source ids and a beam, with the same weights.

The weights are random, of transformer-base's shape. Sinusoids are interleaved here and lie in halves in
Marian's model, so that a permutation of the width turns one into the other; and there the padding is the last
id, so that an id of ours is one less.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from pellucid.config.schema import PRESETS, ModelConfig
from pellucid.decoding.decoder import Decoder as AnyDecoder
from pellucid.decoding.engine import Engine
from pellucid.decoding.library import CHOICE
from pellucid.decoding.pytorch import TransformerDecoder
from pellucid.decoding.threads import decode
from pellucid.model import DecoderLayer, Transformer
from pellucid.search.options import Options
from pellucid.search.request import Request, SpecialIds

VOCABULARY, LENGTH = 32_000, 25  # target tokens of every sentence, the last included
PAD, UNKNOWN, START, END = range(4)
Sources = Sequence[Sequence[int]]
Decoder = Callable[[Sources, int], list[list[int]]]  # (sources, beam) -> the ids of each translation


def our_model(size: str = "base") -> Transformer:
    """Return the model that all engines compare, with the shape of a preset."""
    torch.manual_seed(0)
    model = Transformer(ModelConfig(vocabulary=VOCABULARY, output_bias=True, **PRESETS[size])).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias") and "norm" not in name:
                parameter.normal_(0, 0.02)
        # Otherwise a tied model with random weights says its last token again and again.
        cast(DecoderLayer, model.decoder.layers[-1]).residual_3.norm.weight.normal_()
    return model


def pellucid(model: Transformer, precision: str, threads: int, kernels: str | None = None) -> Decoder:
    """Ours, by the functions that `translate` calls."""
    served: AnyDecoder = TransformerDecoder(model)
    if kernels != "none":
        with environment(CHOICE, kernels):
            served = Engine(model, precision)
    return ours(served, threads)


def ours(served: AnyDecoder, threads: int) -> Decoder:
    """Pellucid's search, with what computes its steps."""

    def run(sources: Sources, beam: int) -> list[list[int]]:
        torch.set_num_threads(threads)
        options = Options(beam, min_length=LENGTH - 1)
        each = enumerate(sources)
        requests = [Request(number, LENGTH, source=ids, options=options) for number, ids in each]
        found = decode(served, requests, SpecialIds(START, END, (PAD, UNKNOWN, START)))
        return [each[0].token_ids for each in found]

    return run


def marian(model: Transformer) -> Any:
    """Return transformers' MarianMTModel with our weights."""
    from transformers import MarianConfig, MarianMTModel

    config = model.config
    theirs = MarianMTModel(
        MarianConfig(
            vocab_size=VOCABULARY,
            d_model=config.width,
            encoder_layers=config.encoder_layers,
            decoder_layers=config.decoder_layers,
            encoder_ffn_dim=config.hidden,
            decoder_ffn_dim=config.hidden,
            encoder_attention_heads=config.heads,
            decoder_attention_heads=config.heads,
            activation_function="relu",
            max_position_embeddings=512,
            scale_embedding=True,
            pad_token_id=theirs_of(PAD),
            eos_token_id=theirs_of(END),
            decoder_start_token_id=theirs_of(START),
            forced_eos_token_id=None,
        )
    ).eval()
    theirs.load_state_dict(dict(marian_weights(model)), strict=False)
    return theirs


def marian_weights(model: Transformer) -> Iterator[tuple[str, Tensor]]:
    """Our weights by Marian's names; the width's even places come first there."""
    order = torch.cat((torch.arange(0, model.config.width, 2), torch.arange(1, model.config.width, 2)))
    ours = {name: tensor.detach() for name, tensor in model.state_dict().items()}
    embedding = ours["embedding.weight"][:, order].roll(-1, 0)
    for name in ("model.shared", "model.encoder.embed_tokens", "model.decoder.embed_tokens", "lm_head"):
        yield f"{name}.weight", embedding
    yield "final_logits_bias", ours["decoder.projection.bias"].roll(-1)[None]
    parts = {"self_attention": "self_attn", "cross_attention": "encoder_attn"}
    names = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj"}
    for stack in ("encoder", "decoder"):
        norms = ["self_attn_layer_norm", "final_layer_norm"]
        if stack == "decoder":
            norms.insert(1, "encoder_attn_layer_norm")
        for name, tensor in ours.items():
            if not name.startswith(f"{stack}.layers."):
                continue
            _, _, layer, part, *rest = name.split(".")
            prefix, kind = f"model.{stack}.layers.{layer}", rest[-1]
            if part.startswith("residual"):
                yield f"{prefix}.{norms[int(part[-1]) - 1]}.{kind}", tensor[order]
            elif part == "feed_forward":
                moved = tensor[order] if rest[0] == "outer" else tensor
                moved = moved[:, order] if rest == ["inner", "weight"] else moved
                yield f"{prefix}.{'fc1' if rest[0] == 'inner' else 'fc2'}.{kind}", moved
            else:
                moved = tensor[order] if rest[0] == "output" else tensor
                moved = moved[:, order] if kind == "weight" and rest[0] != "output" else moved
                yield f"{prefix}.{parts[part]}.{names[rest[0]]}.{kind}", moved


def theirs_of(token: int) -> int:
    """Return the id of our token in Marian's model."""
    return (token - 1) % VOCABULARY


def generate(theirs: Any, threads: int) -> Decoder:
    """Return an engine that uses transformers' `generate`."""

    def run(sources: Sources, beam: int) -> list[list[int]]:
        torch.set_num_threads(threads)
        ids = (torch.tensor(sources, device=theirs.device) - 1) % VOCABULARY
        with torch.inference_mode():
            out = theirs.generate(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                num_beams=beam,
                min_new_tokens=LENGTH,
                max_new_tokens=LENGTH,
                do_sample=False,
                bad_words_ids=[[theirs_of(each)] for each in (PAD, UNKNOWN, START)],
                decoder_start_token_id=theirs_of(START),
                eos_token_id=theirs_of(END),
                pad_token_id=theirs_of(PAD),
            )
        return ((out[:, 1 : LENGTH + 1] + 1) % VOCABULARY).tolist()

    return run


def convert(theirs: Any, folder: Path) -> dict[str, Path]:
    """CTranslate2's forms of the model, in fp32 and int8."""
    from ctranslate2.converters.transformers import MarianMTLoader

    tokens = ["<unk>", "<s>", "</s>", *(f"t{number}" for number in range(4, VOCABULARY))]
    folders = {}
    for precision, quantization in (("fp32", None), ("int8", "int8")):
        spec = MarianMTLoader().get_model_spec(theirs)
        spec.register_source_vocabulary(tokens)
        spec.register_target_vocabulary(tokens)
        config = spec.config
        config.eos_token, config.unk_token, config.bos_token = "</s>", "<unk>", "<s>"
        config.decoder_start_token, config.add_source_eos = "<s>", False
        spec.validate()
        spec.optimize(quantization=quantization)
        folders[precision] = folder / precision
        shutil.rmtree(folders[precision], ignore_errors=True)
        folders[precision].mkdir(parents=True)
        spec.save(str(folders[precision]))
    return folders


def ctranslate2(folder: Path, precision: str, workers: int, threads: int) -> Decoder:
    """CTranslate2 with so many workers of so many threads."""
    import ctranslate2 as library

    kind = {"fp32": "float32", "int8": "int8"}[precision]
    translator = library.Translator(
        str(folder), device="cpu", inter_threads=workers, intra_threads=threads, compute_type=kind
    )

    def run(sources: Sources, beam: int) -> list[list[int]]:
        texts = [[f"t{token}" if token > END else "</s>" for token in ids] for ids in sources]
        results = translator.translate_batch(
            texts,
            beam_size=beam,
            max_batch_size=max(1, min(32, len(texts) // workers)),
            min_decoding_length=LENGTH,
            max_decoding_length=LENGTH,
            suppress_sequences=[["<unk>"], ["<s>"]],
        )
        ids = {"</s>": END}
        return [[ids.get(each) or int(each[1:]) for each in one.hypotheses[0]] for one in results]

    return run


@contextmanager
def environment(name: str, value: str | None) -> Iterator[None]:
    """With a variable of the environment."""
    before = os.environ.pop(name, None)
    if value is not None:
        os.environ[name] = value
    try:
        yield
    finally:
        os.environ.pop(name, None)
        if before is not None:
            os.environ[name] = before
