"""Models that are tables: search cannot tell them from a Transformer."""

import functools
import random
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from pellucid.translate.hypotheses import Array
from pellucid.translate.options import Options
from pellucid.translate.search import Rules, Take

PAD, UNKNOWN, START, END = 0, 1, 2, 3
FORBIDDEN = (PAD, UNKNOWN, START)

Table = Callable[[int, tuple[int, ...]], Tensor]  # (sentence, what was said) -> logits of the next token


def all_at_once(count: int) -> Take:
    """What takes all sentences at the first step."""
    everything = iter([range(count)])
    return lambda open_places: next(everything, ())


class TableDecoding:
    """A model that is a table: its logits follow from the sentence and from all that was said."""

    device = torch.device("cpu")

    def __init__(self, table: Table) -> None:
        self.table = table
        self.said: list[tuple[int, ...]] = []
        self.sentences: list[int] = []
        self.rows_of_steps: list[int] = []

    def join(self, places: Sequence[int]) -> None:
        width = len(self.said) // len(self.sentences) if self.said else 1
        self.said += [()] * len(places) * width
        self.sentences += places

    def step(self, tokens: Array, required: Array | None) -> Tensor:
        self.rows_of_steps.append(len(self.said))
        self.said = [(*said, token) for said, token in zip(self.said, tokens.tolist(), strict=True)]
        width = len(self.said) // len(self.sentences)
        return torch.stack(
            [self.table(self.sentences[row // width], said[1:]) for row, said in enumerate(self.said)]
        )

    def select(self, rows: Array, sentences: Array | None) -> None:
        self.said = [self.said[row] for row in rows.tolist()]
        if sentences is not None:
            self.sentences = [self.sentences[place] for place in sentences.tolist()]


def random_table(seed: int, size: int, end: float = 0.0, whole: bool = False) -> Table:
    """Logits that are anything for every beginning; `whole` ones have many ties."""

    @functools.cache
    def logits(sentence: int, said: tuple[int, ...]) -> Tensor:
        generator = torch.Generator().manual_seed(random.Random(repr((seed, sentence, said))).getrandbits(60))
        values = torch.randn(size, generator=generator)
        values = values.round() if whole else values * 2
        values[END] += end
        return values

    return lambda sentence, said: logits(sentence, said).clone()


def rules(width: int, **others: object) -> Rules:
    return Rules(START, END, FORBIDDEN, options=Options(width, **others))  # type: ignore[arg-type]
