"""Search: from what a model says of each next token to whole hypotheses. It knows no Transformer."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from pellucid.engine.decoding import NextTokens
from pellucid.errors import PellucidError
from pellucid.translate.hypotheses import Candidates, Found, Hypotheses, found


class Decoding(Protocol):
    """A model that has read a batch of sentences; the hypotheses of a sentence are neighbouring rows."""

    @property
    def device(self) -> torch.device:
        """Where it computes."""

    def step(self, tokens: Tensor) -> Tensor | NextTokens:
        """The last token of each row, at first the start token -> the logits of its next token, rows x V, or
        only the likeliest ones' log-probabilities."""

    def select(self, rows: Tensor, sentences: Tensor | None) -> None:
        """Go on with these rows, in this order, which belong to these sentences (None: to all, as before)."""


@dataclass(frozen=True)
class Request:
    """A sentence to decode: its number in the caller's list, its limit, and what it must begin with."""

    number: int
    max_length: int  # the end token included
    prefix: Sequence[int] = ()


@dataclass(frozen=True)
class Rules:
    """What all hypotheses must keep to, and how the finished ones are compared."""

    start_id: int
    end_id: int
    forbidden: Sequence[int] = ()  # ids that are never produced; leaving them out does not renormalise
    width: int = 1  # hypotheses a sentence
    length_penalty: float = 1.0
    min_length: int = 0  # the end token not included


@dataclass(frozen=True)
class SearchStep:
    """What a step left: the open hypotheses, and by place in the batch what was found for those now done."""

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
        candidates = _continuations(decoding, hypotheses, requests, rules, choose)
        length += 1

        ended = (candidates.tokens[:, :, -1] == rules.end_id) & ~candidates.empty
        counted = ended[:, : rules.width]
        _collect(collected, found(candidates, counted, rules.length_penalty, finished=True))
        ended_so_far += counted.sum(1)
        open_first = ended.to(torch.uint8).argsort(dim=1, stable=True)[:, : rules.width]
        hypotheses = candidates.without(ended).keep(open_first)

        done = (ended_so_far >= rules.width) | hypotheses.empty.all(1) | (limits <= length)
        too_few = (done & (ended_so_far < rules.width))[:, None] & ~hypotheses.empty
        _collect(collected, found(hypotheses, too_few, rules.length_penalty, finished=False))
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


def _continuations(
    decoding: Decoding, hypotheses: Hypotheses, requests: Sequence[Request], rules: Rules, choose: Choose
) -> Hypotheses:
    """The candidates of a step as hypotheses, chosen from the likeliest tokens if these decide."""
    said = log_probabilities(decoding.step(hypotheses.tokens[:, :, -1].flatten()))
    while True:
        shape = hypotheses.totals.shape
        log_p, ids = (
            said.log_p.unflatten(0, shape),
            None if said.ids is None else said.ids.unflatten(0, shape),
        )
        _check(log_p, hypotheses, requests)
        least = None if said.all is None else log_p.amin(-1)
        _keep_to_rules(log_p, ids, hypotheses, requests, rules)
        chosen = choose(log_p, hypotheses)
        if said.all is None or least is None or not _undecided(least, chosen, hypotheses):
            return hypotheses.extend(chosen, log_p, ids)
        said = said.all()


def log_probabilities(said: Tensor | NextTokens) -> NextTokens:
    """What a step says as log-probabilities."""
    return said if isinstance(said, NextTokens) else NextTokens(said.float().log_softmax(-1))


def _undecided(least_SW: Tensor, chosen: Candidates, hypotheses: Hypotheses) -> bool:
    """Whether a token that a row left out could be among the chosen, or tie with one of them.

    A row that holds -inf left nothing out.
    """
    left_out = (least_SW + hypotheses.totals).masked_fill(least_SW == -math.inf, -math.inf).amax(1)
    return bool(((left_out >= chosen.totals[:, -1]) & (left_out > -math.inf)).any())


def _check(log_p_SWV: Tensor, hypotheses: Hypotheses, requests: Sequence[Request]) -> None:
    """Probabilities that are not numbers end the search: nothing sensible can follow, and perhaps no end."""
    wrong = ~(log_p_SWV.amax(-1).isfinite() | hypotheses.empty).all(1)
    if wrong.any():
        request = requests[int(hypotheses.places[wrong][0])]
        raise PellucidError(
            f"sentence {request.number + 1}, step {hypotheses.tokens.shape[-1]}: "
            "the next token's probabilities are not numbers, because logits are NaN or infinite. "
            'Use precision="fp32", or weights from an earlier checkpoint.'
        )


def _keep_to_rules(
    log_p_SWV: Tensor,
    ids_SWV: Tensor | None,
    hypotheses: Hypotheses,
    requests: Sequence[Request],
    rules: Rules,
) -> None:
    """Set to -inf, in place, what may not be said at this step."""
    said = hypotheses.tokens.shape[-1] - 1
    if ids_SWV is not None:  # of likely tokens, none is forbidden, and none is said before a prefix ends
        if said < rules.min_length:
            log_p_SWV.masked_fill_(ids_SWV == rules.end_id, -math.inf)
        return
    forced = [
        (row, requests[place].prefix[said])
        for row, place in enumerate(hypotheses.places.tolist())
        if len(requests[place].prefix) > said
    ]
    rows, ids = torch.tensor(forced, dtype=torch.long, device=log_p_SWV.device).view(-1, 2).unbind(1)
    forced_log_p = log_p_SWV[rows, :, ids]
    log_p_SWV[:, :, list(rules.forbidden)] = -math.inf
    if said < rules.min_length:
        log_p_SWV[:, :, rules.end_id] = -math.inf
    if forced:
        log_p_SWV[rows] = -math.inf
        log_p_SWV[rows, :, ids] = forced_log_p


def _collect(collected: list[list[Found]], arrived: list[tuple[int, Found]]) -> None:
    for place, hypothesis in arrived:
        collected[place].append(hypothesis)


def _ranked(collected: list[Found], request: Request, length: int) -> list[Found]:
    """The finished ones first, and each kind by its score; equal ones as they came."""
    if not collected:
        raise PellucidError(
            f"sentence {request.number + 1}, step {length}: no token that may come next has a probability. "
            "Ask for another prefix or a smaller min_length, or use weights from an earlier checkpoint."
        )
    return sorted(collected, key=lambda hypothesis: (not hypothesis.finished, -hypothesis.score))
