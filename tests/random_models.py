"""Small models of every shape that the engine takes, with random weights, and steps of a search on them."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st
from numpy.typing import NDArray

from pellucid.config.schema import ModelConfig
from pellucid.model import Transformer

FORBIDDEN = [0, 1, 2]


@st.composite
def configurations(draw: st.DrawFn, least: int = 1) -> ModelConfig:
    """Widths and heads that are no multiple of a block, and every option that changes the arithmetic."""
    heads, each = draw(st.integers(1, 5)), draw(st.integers(least, 40))
    width = heads * each * (1 + heads * each % 2)
    target = draw(st.none() | st.integers(8, 1200))
    return ModelConfig(
        vocabulary=draw(st.integers(8, 2100)),
        target_vocabulary=target,
        width=width,
        heads=heads,
        hidden=draw(st.integers(1, 200)),
        encoder_layers=draw(st.integers(1, 3)),
        decoder_layers=draw(st.integers(1, 3)),
        norm=draw(st.sampled_from(["first", "last"])),
        activation=draw(st.sampled_from(["relu", "gelu", "silu"])),
        tied=draw(st.booleans()),
        output_bias=draw(st.booleans()),
        scale_embeddings=draw(st.booleans()),
        positions=draw(st.sampled_from(["paper", "fairseq"])) if width >= 4 else "paper",
    )


def random_model(config: ModelConfig, seed: int, size: float = 1.5) -> Transformer:
    """Weights that differ, biases and gains too, so that no term can be left out unnoticed."""
    torch.manual_seed(seed)
    model = Transformer(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1:
                parameter.mul_(size)
            else:
                parameter.normal_(1.0 if "norm.weight" in name else 0.0, 0.2)
    return model


def random_sources(config: ModelConfig, numbers: np.random.Generator) -> list[list[int]]:
    """Up to five sources of 1 to 40 ids."""
    lengths = numbers.integers(1, 41, numbers.integers(1, 6))
    return [numbers.integers(3, config.vocabulary, length).tolist() for length in lengths]


def steps(
    config: ModelConfig, sentences: int, width: int, count: int, numbers: np.random.Generator
) -> Iterator[tuple[NDArray[Any], ...]]:
    """(tokens, positions, sentences, ancestors) as a search with `width` hypotheses would give them; after
    some steps a sentence leaves."""
    sentence = np.arange(sentences, dtype=np.int32)
    ancestors = np.zeros((sentences * width, count), np.int32)
    for step in range(count):
        rows = len(sentence)
        tokens = numbers.integers(0, config.target_size, rows)
        yield tokens, np.full(rows, step, np.int32), sentence, ancestors
        ancestors[:rows, step] = np.arange(rows)
        kept = sorted(set(sentence.tolist()))
        if step == count // 2 and len(kept) > 1:
            kept.pop(int(numbers.integers(len(kept))))
        chosen = np.array(
            [row for one in kept for row in numbers.choice(np.flatnonzero(sentence == one), width)]
        )
        ancestors[: len(chosen), : step + 1] = ancestors[chosen, : step + 1]
        sentence = sentence[chosen]


def run(session: Any, given: Sequence[tuple[NDArray[Any], ...]], whole: bool = True) -> list[Any]:
    """What a session says at each step, copied."""
    said = []
    for tokens, positions, sentence, ancestors in given:
        found = session.step(tokens, positions, sentence, ancestors, whole)
        said.append([None if each is None else np.array(each) for each in found])
    return said


def frozen(given: Iterator[tuple[NDArray[Any], ...]]) -> list[tuple[NDArray[Any], ...]]:
    """Steps that later ones do not change."""
    return [tuple(np.ascontiguousarray(np.array(each)) for each in step) for step in given]
