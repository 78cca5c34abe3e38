"""Small models of every shape that the engine takes, with random weights, and steps of a search on them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from enlarged import enlarged
from hypothesis import strategies as st

from pellucid.config.schema import ModelConfig
from pellucid.decoding.room import Array, Room, Rows, StepOutput
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
        positions=draw(st.sampled_from(["paper", "fairseq", "marian"])) if width >= 4 else "paper",
    )


def random_model(config: ModelConfig, seed: int, size: float = 1.5) -> Transformer:
    """Weights that differ, biases and gains too, so that no term can be left out unnoticed."""
    torch.manual_seed(seed)
    model = enlarged(Transformer(config))
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


def room_for(sources: Sequence[Sequence[int]], width: int, count: int, candidates: int) -> Room:
    """Room for all of them at once, with `count` tokens each."""
    lengths, rows = [len(ids) for ids in sources], width * len(sources)
    cells = sum(lengths) + rows * count
    return Room(len(sources), rows, width, cells, max(lengths), count, candidates, FORBIDDEN)


def starts(sources: Sequence[Sequence[int]], room: Room) -> Array:
    """Of each place, the first cell of its source and that of its hypotheses. The last place has the first
    cells."""
    lengths = np.array([len(ids) for ids in sources])
    ends = np.cumsum((lengths + room.width * room.longest)[::-1])[::-1]
    hypotheses = ends - room.width * room.longest
    return np.stack((hypotheses - lengths, hypotheses), 1).astype(np.int32)


Given = tuple[list[int], Array, Rows, int]  # the places that begin, their first cells, rows, candidates


def steps(
    config: ModelConfig, sources: Sequence[Sequence[int]], room: Room, numbers: np.random.Generator
) -> list[Given]:
    """What a search would give: not all sentences begin at once, hypotheses are continued or left, the
    sentences that reach their limit leave, and each step needs some of the candidates."""
    count, width, cells_of = room.longest, room.width, starts(sources, room)
    begins = numbers.integers(0, 3, room.places)
    begins[0] = 0
    past: dict[int, list[list[int]]] = {}  # the cells of each hypothesis of each place
    given = []
    for step in range(count + 2):
        joining = np.flatnonzero(begins == step).tolist()
        past = {place: each for place, each in past.items() if len(each[0]) < count}
        past |= {place: [[] for _ in range(width)] for place in joining}
        rows = []
        for place, hypotheses in past.items():
            position = len(hypotheses[0])
            first = int(cells_of[place, 1]) + position * width
            chosen = [list(hypotheses[n]) for n in numbers.integers(0, width, width)]
            for column, cells in enumerate(chosen):
                beyond = [0] * (count - position)
                token, required = numbers.integers(0, config.target_size), numbers.integers(-1, 3)
                rows.append((token, position, place, first + column, [*cells, *beyond], required))
                cells.append(first + column)
            past[place] = chosen
        if rows:
            arrays = Rows(*(np.array(each, np.int32) for each in zip(*rows, strict=True)))
            few = int(numbers.integers(1, room.candidates + 1))
            given.append((joining, cells_of[joining, 0], arrays, few))
    return given


def step_of(session: Any, rows: Rows, candidates: int) -> StepOutput:
    """What a session says of these rows; without candidates, all logits."""
    count = len(rows.token)
    for there, here in zip(session.rows, rows, strict=True):
        there[:count] = here
    said: StepOutput = session.step(count, candidates)
    return said


def run(session: Any, sources: Sequence[Sequence[int]], given: Sequence[Given]) -> list[dict[str, Any]]:
    """What a session says at each step, copied; of what was asked for, where it was."""
    said = []
    for joining, cells, rows, candidates in given:
        if joining:
            session.encode(joining, cells, [sources[place] for place in joining])
        for few in (candidates, 0):
            found = step_of(session, rows, few)._asdict()
            found["asked"] = np.where(rows.required < 0, 0, found["asked"])
            said.append({name: np.array(each) for name, each in found.items() if each is not None})
    return said
