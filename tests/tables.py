"""Models that are tables: search cannot tell them from a Transformer."""

import functools
import itertools
import math
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from pellucid.search.hypotheses import Array
from pellucid.search.next_tokens import AllTokens, LikeliestTokens, NextTokens
from pellucid.search.options import Options
from pellucid.search.request import Request, SpecialIds

PAD, UNKNOWN, START, END = 0, 1, 2, 3
FORBIDDEN = (PAD, UNKNOWN, START)
SPECIAL = SpecialIds(START, END, FORBIDDEN)

Table = Callable[[int, tuple[int, ...]], Tensor]  # (sentence, what was said) -> logits of the next token


class TableDecoding:
    """A model that is a table: its logits follow from the sentence's number and from all that was said.
    `fitting`: how many sentences it has memory for at a time, of those that join."""

    def __init__(self, table: Table, rows: int = sys.maxsize, fitting: int = sys.maxsize) -> None:
        self.table, self.rows, self.fitting = table, rows, fitting
        self.said: list[tuple[int, ...]] = []
        self.requests: list[Request] = []
        self.rows_of_steps: list[int] = []
        self.is_open = True

    def join(self, requests: Sequence[Request]) -> int:
        widths = [request.options.width for request in requests]
        rows = [*itertools.accumulate(widths, initial=len(self.said))][1:]
        assert self.is_open and all(each <= self.rows for each in rows[1:])
        requests = requests[: min(self.fitting, sum(each <= self.rows for each in rows))]
        self.said += [()] * sum(request.options.width for request in requests)
        self.requests += requests
        return len(requests)

    def step(self, tokens: Array, required: Array | None, candidates: int) -> NextTokens:
        self.rows_of_steps.append(len(self.said))
        self.said = [(*said, token) for said, token in zip(self.said, tokens.tolist(), strict=True)]
        sentences = [each.number for each in self.requests for _ in range(each.options.width)]
        logits = [self.table(n, said[1:]) for n, said in zip(sentences, self.said, strict=True)]
        every = AllTokens.of_logits(torch.stack(logits))
        return few(every, required, candidates) if 0 < candidates < len(logits[0]) else every

    def select(self, rows: Array, sentences: Array | None) -> None:
        self.said = [self.said[row] for row in rows.tolist()]
        if sentences is not None:
            self.requests = [self.requests[place] for place in sentences.tolist()]
        assert len(self.said) == sum(request.options.width for request in self.requests)

    def close(self) -> None:
        self.is_open = False


def few(every: AllTokens, required: Array | None, candidates: int) -> LikeliestTokens:
    """The likeliest tokens, as an engine gives them."""
    allowed = every.log_p.clone()
    allowed[:, list(FORBIDDEN)] = -math.inf
    log_p, ids = allowed.topk(candidates)
    ids, order = ids.sort(1)
    one_each = np.zeros(len(log_p), int) if required is None else required
    asked = every.log_p[range(len(log_p)), one_each]
    return LikeliestTokens(log_p.gather(1, order).numpy(), ids.numpy(), asked.numpy(), lambda: every)


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


def ruled(requests: Sequence[Request], width: int, **others: object) -> list[Request]:
    """These requests with the rules of a search of this width."""
    options = Options(width, **others)  # type: ignore[arg-type]
    return [replace(request, options=options) for request in requests]
