"""Small models of every shape that the engine takes, with random weights, and steps of a search on them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from enlarged import enlarged
from hypothesis import strategies as st

from pellucid.config.schema import ModelConfig
from pellucid.engine.room import Room, Rows, StepOutput
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
    lengths = np.array([len(ids) for ids in sources])
    return Room(lengths, np.full_like(lengths, count), width, candidates, FORBIDDEN)


def steps(config: ModelConfig, room: Room, numbers: np.random.Generator) -> list[tuple[list[int], Rows]]:
    """(the places of the sentences that begin, rows) as a search would give them: not all sentences begin at
    once, hypotheses are continued or left, and the sentences that reach their limit leave."""
    count, width = room.longest, room.width
    begins = numbers.integers(0, 3, len(room.limits))
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
            first = int(room.cells[place]) + position * width
            chosen = [list(hypotheses[n]) for n in numbers.integers(0, width, width)]
            for column, cells in enumerate(chosen):
                beyond = [0] * (count - position)
                token, required = numbers.integers(0, config.target_size), numbers.integers(-1, 3)
                rows.append((token, position, place, first + column, [*cells, *beyond], required))
                cells.append(first + column)
            past[place] = chosen
        if rows:
            given.append((joining, Rows(*(np.array(each, np.int32) for each in zip(*rows, strict=True)))))
    return given


def step_of(session: Any, rows: Rows, whole: bool) -> StepOutput:
    """What a session says of these rows."""
    count = len(rows.token)
    for there, here in zip(session.rows, rows, strict=True):
        there[:count] = here
    said: StepOutput = session.step(count, whole)
    return said


def run(
    session: Any, sources: Sequence[Sequence[int]], given: Sequence[tuple[list[int], Rows]]
) -> list[dict[str, Any]]:
    """What a session says at each step, copied; of what was asked for, where it was. At every other step all
    logits are wanted, which lie elsewhere."""
    said = list[dict[str, Any]]()
    for joining, rows in given:
        if joining:
            session.read(joining, [sources[place] for place in joining])
        found = step_of(session, rows, whole=len(said) % 2 == 0)._asdict()
        found["asked"] = np.where(rows.required < 0, 0, found["asked"])
        said.append({name: np.array(each) for name, each in found.items() if each is not None})
    return said
