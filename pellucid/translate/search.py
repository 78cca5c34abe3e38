"""Search: from the probabilities of each next token to whole hypotheses. It knows no Transformer."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from pellucid.errors import PellucidError
from pellucid.translate.hypotheses import Candidates, Found, Hypotheses, extract


class Decoding(Protocol):
    """A model that has encoded a batch of sentences; the hypotheses of a sentence are neighbouring rows."""

    @property
    def device(self) -> torch.device:
        """The device that computes."""

    def step(self, tokens: Tensor) -> Tensor:
        """The last token of each row, at first the start token -> the logits of the next token, rows x V."""

    def select(self, rows: Tensor, sentences: Tensor | None) -> None:
        """Continue with these rows, in order; they belong to these sentences (None: to all, as before)."""


@dataclass(frozen=True)
class Request:
    """A sentence to decode: its number in the caller's list, its limit, and the ids that begin its target."""

    number: int
    max_length: int  # the end token included
    prefix: Sequence[int] = ()


@dataclass(frozen=True)
class Rules:
    """The rules for all hypotheses, and for the comparison of the finished ones."""

    start_id: int
    end_id: int
    forbidden: Sequence[int] = ()  # ids that are never produced; the other probabilities stay as they are
    width: int = 1  # hypotheses of a sentence
    length_penalty: float = 1.0
    min_length: int = 0  # the end token not included
    forced_end: bool = False  # at its limit a hypothesis ends


@dataclass(frozen=True)
class SearchStep:
    """The result of a step: the open hypotheses, and those of sentences now done, by place in the batch."""

    open: Hypotheses
    done: dict[int, list[Found]]


Choose = Callable[[Tensor, Hypotheses], Candidates]
"""(log-probabilities S W V, hypotheses S W) -> candidates, best first; only the first `width` may end."""


@torch.no_grad()
def search(
    decoding: Decoding, requests: Sequence[Request], rules: Rules, choose: Choose
) -> Iterator[SearchStep]:
    """Decode a batch, a token a step; a sentence is done when `width` hypotheses ended, or at its limit."""
    hypotheses = Hypotheses.at_start(len(requests), rules.start_id, decoding.device)
    limits = torch.tensor([request.max_length for request in requests], device=decoding.device)
    ended_so_far = torch.zeros_like(limits)
    collected: list[list[Found]] = [[] for _ in requests]
    length = 0
    while len(hypotheses.places):
        logits = decoding.step(hypotheses.tokens[:, :, -1].flatten())
        log_p = logits.float().log_softmax(-1).unflatten(0, hypotheses.totals.shape)
        _check(log_p, hypotheses, requests)
        _keep_to_rules(log_p, hypotheses, requests, rules)
        candidates = hypotheses.extend(choose(log_p, hypotheses), log_p)
        length += 1

        ended = (candidates.tokens[:, :, -1] == rules.end_id) & ~candidates.empty
        counted = ended[:, : rules.width]
        _collect(collected, extract(candidates, counted, rules.length_penalty, finished=True))
        ended_so_far += counted.sum(1)
        open_first = ended.to(torch.uint8).argsort(dim=1, stable=True)[:, : rules.width]
        hypotheses = candidates.without(ended).keep(open_first)

        done = (ended_so_far >= rules.width) | hypotheses.empty.all(1) | (limits <= length)
        too_few = (done & (ended_so_far < rules.width))[:, None] & ~hypotheses.empty
        _collect(collected, extract(hypotheses, too_few, rules.length_penalty, finished=False))
        closed = {
            place: _ranked(collected[place], requests[place], length)
            for place in hypotheses.places[done].tolist()
        }
        left = None
        if closed:
            left = (~done).nonzero()[:, 0]
            hypotheses, limits, ended_so_far = hypotheses.of(left), limits[left], ended_so_far[left]
        if len(hypotheses.places) and (closed or rules.width > 1):
            decoding.select(hypotheses.rows.flatten(), left)
        yield SearchStep(hypotheses, closed)


def _check(log_p_SWV: Tensor, hypotheses: Hypotheses, requests: Sequence[Request]) -> None:
    """Raise for probabilities that are not numbers: nothing sensible can follow, and perhaps no end."""
    wrong = ~(log_p_SWV.amax(-1).isfinite() | hypotheses.empty).all(1)
    if wrong.any():
        request = requests[int(hypotheses.places[wrong][0])]
        raise PellucidError(
            f"sentence {request.number + 1}, step {hypotheses.tokens.shape[-1]}: "
            "the next token's probabilities are not numbers, because logits are NaN or infinite. "
            'Use precision="fp32", or weights from an earlier checkpoint.'
        )


def _keep_to_rules(
    log_p_SWV: Tensor, hypotheses: Hypotheses, requests: Sequence[Request], rules: Rules
) -> None:
    """Set the tokens to -inf, in place, that the rules and the prefixes exclude at this step."""
    length = hypotheses.tokens.shape[-1] - 1
    forced = [
        (row, requests[place].prefix[length])
        for row, place in enumerate(hypotheses.places.tolist())
        if len(requests[place].prefix) > length
    ]
    if rules.forced_end:
        places = enumerate(hypotheses.places.tolist())
        forced += [(row, rules.end_id) for row, place in places if requests[place].max_length == length + 1]
    rows, ids = torch.tensor(forced, dtype=torch.long, device=log_p_SWV.device).view(-1, 2).unbind(1)
    forced_log_p = log_p_SWV[rows, :, ids]
    log_p_SWV[:, :, list(rules.forbidden)] = -math.inf
    if length < rules.min_length:
        log_p_SWV[:, :, rules.end_id] = -math.inf
    if forced:
        log_p_SWV[rows] = -math.inf
        log_p_SWV[rows, :, ids] = forced_log_p


def _collect(collected: list[list[Found]], arrived: list[tuple[int, Found]]) -> None:
    for place, hypothesis in arrived:
        collected[place].append(hypothesis)


def _ranked(collected: list[Found], request: Request, length: int) -> list[Found]:
    """Sort the finished hypotheses first, and each kind by its score; equal ones stay in order."""
    if not collected:
        raise PellucidError(
            f"sentence {request.number + 1}, step {length}: no token that may come next has a probability. "
            "Ask for another prefix or a smaller min_length, or use weights from an earlier checkpoint."
        )
    return sorted(collected, key=lambda hypothesis: (not hypothesis.finished, -hypothesis.score))
