"""Search: from what a model says of each next token to whole hypotheses. It knows no Transformer."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from pellucid.engine.next_tokens import NextTokens
from pellucid.errors import PellucidError
from pellucid.translate.hypotheses import Array, Candidates, Found, Hypotheses, extract


class Decoding(Protocol):
    """A model that has encoded a batch of sentences; the hypotheses of a sentence are neighbouring rows."""

    def step(self, tokens: Array) -> Tensor | NextTokens:
        """The last token of each row, at first the start token -> the logits of the next token, rows x V, or
        log-probabilities of the likeliest."""

    def select(self, rows: Array, sentences: Array | None) -> None:
        """Continue with these rows, in order; they belong to these sentences (None: to all, as before)."""


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
    forced_end: bool = False  # at its limit a hypothesis ends


@dataclass(frozen=True)
class SearchStep:
    """What a step left: the open hypotheses, and by place in the batch what was found for those now done."""

    open: Hypotheses
    done: dict[int, list[Found]]


Choose = Callable[[NextTokens, Hypotheses], Candidates]
"""(log-probabilities, hypotheses S W) -> candidates, best first; only the first `width` may end."""


def search(
    decoding: Decoding, requests: Sequence[Request], rules: Rules, choose: Choose
) -> Iterator[SearchStep]:
    """Decode a batch, a token a step; a sentence is done when `width` hypotheses ended, or at its limit."""
    hypotheses = Hypotheses.at_start(len(requests), rules.start_id)
    limits = np.array([request.max_length for request in requests])
    ended_so_far = np.zeros_like(limits)
    collected: list[list[Found]] = [[] for _ in requests]
    length = 0
    while len(hypotheses.places):
        candidates = _continue(decoding, hypotheses, requests, rules, choose)
        length += 1

        hypotheses = candidates.first(rules.width)
        ended = (candidates.tokens[:, :, -1] == rules.end_id) & ~candidates.empty
        if ended.any():
            counted = ended[:, : rules.width]
            _collect(collected, extract(candidates, counted, rules.length_penalty, finished=True))
            ended_so_far += counted.sum(1)
            open_first = ended.argsort(axis=1, kind="stable")[:, : rules.width]
            hypotheses = candidates.without(ended).keep(open_first)

        done = (ended_so_far >= rules.width) | (limits <= length) | hypotheses.empty.all(1)
        closed, left = {}, None
        if done.any():
            too_few = (done & (ended_so_far < rules.width))[:, None] & ~hypotheses.empty
            _collect(collected, extract(hypotheses, too_few, rules.length_penalty, finished=False))
            closed = {
                place: _ranked(collected[place], requests[place], length)
                for place in hypotheses.places[done].tolist()
            }
            left = (~done).nonzero()[0]
            hypotheses, limits, ended_so_far = hypotheses.of(left), limits[left], ended_so_far[left]
        if len(hypotheses.places) and (closed or rules.width > 1):
            decoding.select(hypotheses.rows.ravel(), left)
        yield SearchStep(hypotheses, closed)


def _continue(
    decoding: Decoding, hypotheses: Hypotheses, requests: Sequence[Request], rules: Rules, choose: Choose
) -> Hypotheses:
    """Return the candidates of a step, chosen from the likeliest tokens if these decide, or from all."""
    said = log_probabilities(decoding.step(hypotheses.tokens[:, :, -1].ravel()))
    if rules.forced_end and said.all is not None:  # the end token may not be among the likeliest
        length = hypotheses.tokens.shape[-1]
        if any(requests[place].max_length == length for place in hypotheses.places.tolist()):
            said = said.all()
    while True:
        _check(said, hypotheses, requests)
        least = None if said.all is None else said.log_p.min(-1)
        _keep_to_rules(said, hypotheses, requests, rules)
        chosen = choose(said, hypotheses)
        if said.all is None or least is None or _decided(least, chosen, hypotheses):
            return hypotheses.extend(chosen)
        said = said.all()


def log_probabilities(said: Tensor | NextTokens) -> NextTokens:
    """Return what a step says, logits or log-probabilities, as log-probabilities."""
    if isinstance(said, NextTokens):
        return said
    with torch.no_grad():
        return NextTokens(said.float().log_softmax(-1))


def _decided(least_R: Array, chosen: Candidates, hypotheses: Hypotheses) -> bool:
    """Return whether no token that a row left out can be among the chosen, or tie with one of them.

    A row that holds -inf left no token out.
    """
    left_out = (least_R.reshape(hypotheses.totals.shape) + hypotheses.totals).max(1)
    close = left_out >= chosen.totals[:, -1]
    return not (close.any() and (left_out[close] > -math.inf).any())


def _check(said: NextTokens, hypotheses: Hypotheses, requests: Sequence[Request]) -> None:
    """Raise for probabilities that are not numbers: nothing sensible can follow, and perhaps no end."""
    highest = said.log_p.max(-1) if said.ids is not None else said.log_p.amax(-1).cpu().numpy()
    finite = np.isfinite(highest)
    if finite.all():
        return
    wrong = ~(finite.reshape(hypotheses.totals.shape) | hypotheses.empty).all(1)
    if wrong.any():
        request = requests[int(hypotheses.places[wrong][0])]
        raise PellucidError(
            f"sentence {request.number + 1}, step {hypotheses.tokens.shape[-1]}: "
            "the next token's probabilities are not numbers, because logits are NaN or infinite. "
            'Use precision="fp32", or weights from an earlier checkpoint.'
        )


def _keep_to_rules(
    said: NextTokens, hypotheses: Hypotheses, requests: Sequence[Request], rules: Rules
) -> None:
    """Set the tokens to -inf, in place, that the rules and the prefixes exclude at this step."""
    length = hypotheses.tokens.shape[-1] - 1
    if said.ids is not None:  # the likeliest tokens that are not forbidden; no prefix goes on at this step
        if length < rules.min_length:
            said.log_p[said.ids == rules.end_id] = -math.inf
        return
    log_p_SWV = said.log_p.unflatten(0, hypotheses.totals.shape)
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
    """The finished ones first, and each kind by its score; equal ones as they came."""
    if not collected:
        raise PellucidError(
            f"sentence {request.number + 1}, step {length}: no token that may come next has a probability. "
            "Ask for another prefix or a smaller min_length, or use weights from an earlier checkpoint."
        )
    return sorted(collected, key=lambda hypothesis: (not hypothesis.finished, -hypothesis.score))
