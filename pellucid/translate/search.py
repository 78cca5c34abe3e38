"""Search: build hypotheses token by token from the probabilities that a model gives. This module knows
nothing about Transformers."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from pellucid.engine.next_tokens import NextTokens
from pellucid.errors import SentenceError
from pellucid.translate.hypotheses import Array, Candidates, Found, Hypotheses, collect, penalise
from pellucid.translate.options import Options
from pellucid.translate.repetition import penalise_repeated, repeating

FREE = -1  # in place of a token's id: any token may come next
NONE = -math.inf


class Decoding(Protocol):
    """The interface of a model that decodes sentences of a call. Each hypothesis is a row; those of one
    sentence are neighbours."""

    def join(self, places: Sequence[int]) -> None:
        """Encode the sentences with these indices in the call. Their rows come after the present rows."""

    def step(self, tokens: Array, required: Array | None) -> Tensor | NextTokens:
        """Decode one step, given the last token of each row (at first the start token). Return the logits of
        the next token, rows x V, or the log-probabilities of the likeliest tokens.

        required: the id that must come next in each row, or FREE; None: any token may come in all rows.
        """

    def select(self, rows: Array, sentences: Array | None) -> None:
        """Continue with the rows at these indices, in this order. `sentences` are the indices of the
        sentences that continue; None: all do."""


@dataclass(frozen=True)
class Request:
    """A sentence for the search to decode, with its limit and its prefix."""

    number: int  # in the caller's list
    max_length: int  # the end token included
    prefix: Sequence[int] = ()  # what its translation must begin with
    source: Sequence[int] = ()
    tags: int = 0  # tokens of the prefix that name the language, and do not count in the score


@dataclass(frozen=True)
class Rules:
    """The rules for all hypotheses: which ids are allowed, and how finished hypotheses are compared."""

    start_id: int
    end_id: int
    forbidden: Sequence[int] = ()  # ids that are never produced; leaving them out does not renormalise
    options: Options = Options()  # noqa: RUF009 - they are frozen


@dataclass(frozen=True)
class SearchStep:
    """The result of a step: the open hypotheses, and a list of hypotheses for each sentence that is finished
    now, by its index."""

    open: Hypotheses
    done: dict[int, list[Found]]


Choose = Callable[[NextTokens, Hypotheses], Candidates]
"""(log-probabilities, hypotheses S W) -> candidates, best first; only the first `width` may end."""
Take = Callable[[Sequence[int]], Sequence[int]]
"""The places of the sentences that are being decoded -> those of further ones that join them now."""


def search(
    decoding: Decoding, requests: Sequence[Request], rules: Rules, choose: Choose, take: Take
) -> Iterator[SearchStep]:
    """Decode sentences step by step: yield the result of each step, which adds one token to each hypothesis.
    A sentence is finished when enough of its hypotheses have ended, or at its limit; then `take` chooses
    others to decode in its place."""
    width, length_penalty = rules.options.width, rules.options.length_penalty
    hypotheses = _begin([], requests, rules)
    collected = defaultdict[int, list[Found]](list)
    joining = take([])
    while joining or len(hypotheses.places):
        if joining:
            decoding.join(joining)
            hypotheses = hypotheses.joined_by(_begin(joining, requests, rules))
        candidates = _continue(decoding, hypotheses, requests, rules, choose)
        hypotheses = candidates.first(width)
        ended = candidates.tokens[:, :, -1] == rules.end_id
        if ended.any():
            ended &= ~candidates.empty
            counted = ended[:, :width]
            collect(candidates, counted, length_penalty, collected, finished=True)
            candidates = candidates._replace(finished=candidates.finished + counted.sum(1))
            open_first = ended.argsort(axis=1, kind="stable")[:, :width]
            hypotheses = candidates.without(ended).keep(open_first)

        enough = _has_enough(hypotheses, collected, rules.options)
        done = enough | (hypotheses.limits <= hypotheses.lengths) | hypotheses.empty.all(1)
        closed, left = {}, None
        if done.any():
            too_few = (done & (hypotheses.finished < width))[:, None] & ~hypotheses.empty
            collect(hypotheses, too_few, length_penalty, collected, finished=False)
            gone = zip(hypotheses.places[done].tolist(), hypotheses.lengths[done].tolist(), strict=True)
            closed = {n: _rank(collected.pop(n, []), requests[n], length) for n, length in gone}
            left = (~done).nonzero()[0]
            hypotheses = hypotheses.of(left)
        if closed or width > 1:
            decoding.select(hypotheses.rows.ravel(), left)
        yield SearchStep(hypotheses, closed)
        joining = take(hypotheses.places.tolist()) if closed else []


def _has_enough(hypotheses: Hypotheses, collected: dict[int, list[Found]], options: Options) -> Array:
    """Return, for each sentence, whether `width` hypotheses are finished and, without early stopping, no open
    one has a better score at its present length than the worst of the best `width`."""
    enough = hypotheses.finished >= options.width
    if options.early_stopping or options.width == 1:  # one hypothesis is greedy
        return enough
    for sentence in enough.nonzero()[0]:
        scores = sorted(found.score for found in collected[int(hypotheses.places[sentence])])
        total, length = hypotheses.totals[sentence, 0], int(hypotheses.lengths[sentence])
        enough[sentence] = penalise(total, length, options.length_penalty) <= scores[-options.width]
    return enough


def _begin(places: Sequence[int], requests: Sequence[Request], rules: Rules) -> Hypotheses:
    """Return the first hypotheses of the sentences with these indices: the start token alone."""
    some = [requests[place] for place in places]
    limits, given = [each.max_length for each in some], [len(each.prefix) for each in some]
    return Hypotheses.at_start(places, limits, given, rules.start_id)


def _continue(
    decoding: Decoding, hypotheses: Hypotheses, requests: Sequence[Request], rules: Rules, choose: Choose
) -> Hypotheses:
    """Compute a step, and return the continued hypotheses. They are chosen from the likeliest tokens if these
    are enough to decide, otherwise from all tokens."""
    required = _require(hypotheses, requests, rules)
    likely = log_probabilities(decoding.step(hypotheses.tokens[:, :, -1].ravel(), required))
    while True:
        _check(likely, hypotheses, requests)
        least = None if likely.all is None else likely.log_p.min(-1)
        _keep_to_rules(likely, hypotheses, required, requests, rules)
        chosen = choose(likely, hypotheses)
        if likely.all is None or least is None or _is_decided(least, chosen, hypotheses, required):
            return hypotheses.extend(chosen)
        likely = likely.all()


def _require(hypotheses: Hypotheses, requests: Sequence[Request], rules: Rules) -> Array | None:
    """Return the token that must come next in each row: the next token of its prefix, or the end token at its
    limit if `forced_end`; FREE if any token may come. Return None if all rows are free."""
    lengths, last = hypotheses.lengths, hypotheses.lengths + 1 == hypotheses.limits
    if not (lengths < hypotheses.given).any() and not (rules.options.forced_end and last.any()):
        return None
    required = []
    for place, length in zip(hypotheses.places.tolist(), lengths.tolist(), strict=True):
        request = requests[place]
        at_limit = rules.options.forced_end and length + 1 == request.max_length
        free = rules.end_id if at_limit else FREE
        required.append(request.prefix[length] if length < len(request.prefix) else free)
    return np.repeat(required, hypotheses.totals.shape[1])


def log_probabilities(likely: Tensor | NextTokens) -> NextTokens:
    """Return the log-probabilities of a step; logits are converted by log softmax."""
    if isinstance(likely, NextTokens):
        return likely
    logits = likely
    with torch.no_grad():
        return NextTokens(logits.float().log_softmax(-1), logits=lambda: logits.float())


def _is_decided(least_R: Array, chosen: Candidates, hypotheses: Hypotheses, required: Array | None) -> bool:
    """Return whether the likeliest tokens were enough: no other token could have been chosen, or have the
    same sum as a chosen one.

    least_R: the lowest log-probability among each row's likeliest tokens; -inf if they are all tokens. In a
    row with a required token, the other tokens do not matter.
    """
    if required is not None:
        least_R = np.where(required == FREE, least_R, NONE)
    left_out = (least_R.reshape(hypotheses.totals.shape) + hypotheses.totals).max(1)
    close = left_out >= chosen.totals[:, -1]
    return not (close.any() and (left_out[close] > -math.inf).any())


def _check(likely: NextTokens, hypotheses: Hypotheses, requests: Sequence[Request]) -> None:
    """Raise an error if the highest log-probability of an open hypothesis is NaN or infinite, because the
    search could then run without end."""
    highest = likely.log_p.max(-1) if likely.ids is not None else likely.log_p.amax(-1).cpu().numpy()
    if math.isfinite(highest.sum()):
        return
    wrong = ~(np.isfinite(highest).reshape(hypotheses.totals.shape) | hypotheses.empty).all(1)
    if wrong.any():
        places, lengths = (each[wrong].tolist() for each in (hypotheses.places, hypotheses.lengths))
        numbers = (requests[place].number for place in places)
        number, length = min(zip(numbers, lengths, strict=True))
        raise SentenceError(
            number,
            length + 1,
            "the next token's probabilities are not numbers, because logits are NaN or infinite. "
            "Use weights from an earlier checkpoint or, below fp32, a higher precision.",
        )


def _keep_to_rules(
    likely: NextTokens,
    hypotheses: Hypotheses,
    required: Array | None,
    requests: Sequence[Request],
    rules: Rules,
) -> None:
    """Exclude the tokens that the rules or the prefix do not allow at this step: set their log-probabilities
    to -inf, in place."""
    log_p, ids, options = likely.log_p, likely.ids, rules.options
    if required is not None:
        forced = (required != FREE).nonzero()[0]
        kept = log_p[forced, required[forced]] if ids is None else likely.required[forced]
    if options.repetition_penalty != 1:
        by_logits = options.sample or options.beam == 1
        penalise_repeated(likely, hypotheses, options.repetition_penalty, by_logits)
    if ids is None:  # otherwise they are not forbidden
        log_p[:, list(rules.forbidden)] = NONE
    if options.min_length:
        short = np.repeat(hypotheses.lengths < options.min_length, hypotheses.totals.shape[1])
        _exclude(likely, short.nonzero()[0], rules.end_id)
    if options.no_repeat_ngram_size:
        _exclude(likely, *repeating(hypotheses, options.no_repeat_ngram_size))
    if required is not None:
        log_p[forced] = NONE
        kept[_is_given(hypotheses, requests, rules)[forced]] = 0
        if ids is None:
            log_p[forced, required[forced]] = kept
        else:
            ids[forced, 0], log_p[forced, 0] = required[forced], kept


def _is_given(hypotheses: Hypotheses, requests: Sequence[Request], rules: Rules) -> Array:
    """Return, for each row, whether its next token is not the model's choice, so that it does not count: the
    language that its targets begin with, or the end token at the limit."""
    tags = np.array([requests[place].tags for place in hypotheses.places])
    at_limit = rules.options.forced_end & (hypotheses.lengths + 1 == hypotheses.limits)
    return np.repeat((hypotheses.lengths < tags) | at_limit, hypotheses.totals.shape[1])


def _exclude(likely: NextTokens, rows: Array, tokens: Array | int) -> None:
    """Set the log-probabilities of these tokens, one for each of these rows, to -inf, in place."""
    if likely.ids is None:
        likely.log_p[rows, tokens] = NONE
    else:
        named, places = (likely.ids[rows] == np.reshape(tokens, (-1, 1))).nonzero()
        likely.log_p[rows[named], places] = NONE


def _rank(collected: list[Found], request: Request, length: int) -> list[Found]:
    """Return finished hypotheses by score, then unfinished ones by score; raise an error if there are
    none."""
    if not collected:
        raise SentenceError(
            request.number,
            length,
            "no allowed next token has a probability above zero. Ask for another prefix, a smaller "
            "min_length or a larger no_repeat_ngram_size, or use weights from an earlier checkpoint.",
        )
    return sorted(collected, key=lambda hypothesis: (not hypothesis.finished, -hypothesis.score))
