"""A lane: the open sentences that follow the same rules, and one step of their search."""

import functools
import math
import time
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from pellucid.errors import SentenceError
from pellucid.search.beam import best
from pellucid.search.hypotheses import Array, Candidates, Found, Hypotheses, collect, penalise
from pellucid.search.next_tokens import NextTokens
from pellucid.search.options import Options
from pellucid.search.repetition import penalise_repeated, repeating
from pellucid.search.request import Request, SpecialIds
from pellucid.search.sample import Chance, draw

FREE = -1  # in place of a token's id: any token may come next
Result = list[Found] | SentenceError
"""The hypotheses of a sentence, best first, or why there are none."""


class Lane:
    """Sentences that are decoded by the same rules. Each has `width` rows, which are its hypotheses."""

    def __init__(self, options: Options, special: SpecialIds) -> None:
        self.options, self.width, self._special = options, options.width, special
        self.requests: dict[int, Request] = {}  # by ticket
        self.hypotheses = Hypotheses.at_start([], [], [], special.start, self.width)
        self.considered = self.hypotheses  # in the last step, with those that were dropped
        self.numbers = np.zeros(0, int)  # of its sentences, in the order of the decoding
        self.rows = np.zeros(0, int)  # of its hypotheses, in the decoding
        self._finished = defaultdict[int, list[Found]](list)
        self._timed = False  # whether a sentence has a deadline
        chance = Chance(self.requests, options)
        self._choose = functools.partial(best, beam=options.beam)
        if options.sample:
            self._choose = functools.partial(draw, options=options, chance=chance)

    def join(self, joined: dict[int, Request], numbers: Sequence[int]) -> None:
        """Begin these sentences, given by their tickets, with these numbers in the decoding."""
        each = joined.values()
        limits, given = [one.max_length for one in each], [len(one.prefix) for one in each]
        begun = Hypotheses.at_start([*joined], limits, given, self._special.start, self.width)
        self.requests |= joined
        self._timed |= any(one.deadline < math.inf for one in each)
        self.numbers = np.append(self.numbers, numbers)
        self.hypotheses = self.hypotheses.joined_by(begun)

    def drop(self, ticket: int) -> Array:
        """Forget a sentence, between two steps. Return the rows of the others."""
        left = (self.hypotheses.tickets != ticket).nonzero()[0]
        self.requests.pop(ticket, None)
        self._finished.pop(ticket, None)
        self._go_on(left)
        return self.rows.reshape(-1, self.width)[left].ravel()

    @property
    def last(self) -> Array:
        """The newest token of each row."""
        return self.hypotheses.tokens[:, :, -1].ravel()

    @property
    def continued(self) -> Array:
        """The row that each row continues, as the rows were at the last step."""
        return self.rows[self.hypotheses.rows.ravel()]

    def required(self) -> Array | None:
        """Return the token that must come next in each row: the next token of its prefix, or the end token at
        its limit if `forced_end`; FREE if any token may come. Return None if all rows are free."""
        hypotheses, forced_end = self.hypotheses, self.options.forced_end
        lengths, last = hypotheses.lengths, hypotheses.lengths + 1 == hypotheses.limits
        if not (lengths < hypotheses.given).any() and not (forced_end and last.any()):
            return None
        required = []
        for ticket, length in zip(hypotheses.tickets.tolist(), lengths.tolist(), strict=True):
            request = self.requests[ticket]
            free = self._special.end if forced_end and length + 1 == request.max_length else FREE
            required.append(request.prefix[length] if length < len(request.prefix) else free)
        return np.repeat(required, self.width)

    def step(self, likely: NextTokens, required: Array | None) -> dict[int, Result]:
        """Continue the hypotheses by one token. Return the results of the sentences that end, by ticket."""
        likely = likely if self.options.candidates else likely.all
        wrong = _not_numbers(likely, self.hypotheses)
        candidates = self.considered = self._continue(likely, required)
        hypotheses = candidates.first(self.width)
        ended = candidates.tokens[:, :, -1] == self._special.end
        if ended.any():
            ended &= ~candidates.empty
            counted = ended[:, : self.width]
            collect(candidates, counted, self.options.length_penalty, self._finished, finished=True)
            candidates = candidates._replace(finished=candidates.finished + counted.sum(1))
            open_first = ended.argsort(axis=1, kind="stable")[:, : self.width]
            still_open = np.where(ended, np.float32(-math.inf), candidates.totals)
            hypotheses = candidates._replace(totals=still_open).keep(open_first)
        done = self._has_enough(hypotheses) | (hypotheses.limits <= hypotheses.lengths)
        done = done | hypotheses.empty.all(1) | wrong | self._expired()
        self.hypotheses = hypotheses
        return self._close(done, wrong) if done.any() else {}

    def _expired(self) -> Array | bool:
        """Return a mask of the sentences whose deadline has passed."""
        if not self._timed:
            return False
        deadlines = [self.requests[ticket].deadline for ticket in self.hypotheses.tickets.tolist()]
        return np.array(deadlines) <= time.monotonic()

    def _close(self, done: Array, wrong: Array | bool) -> dict[int, Result]:
        """Return the results of these sentences, and go on with the others."""
        hypotheses = self.hypotheses
        too_few = (done & (hypotheses.finished < self.width))[:, None] & ~hypotheses.empty
        collect(hypotheses, too_few, self.options.length_penalty, self._finished, finished=False)
        failed = np.broadcast_to(wrong, done.shape)[done].tolist()
        gone = [each[done].tolist() for each in (hypotheses.tickets, hypotheses.lengths)]
        results = {
            ticket: self._result(ticket, length, bad)
            for ticket, length, bad in zip(*gone, failed, strict=True)
        }
        self._go_on((~done).nonzero()[0])
        return results

    def _go_on(self, left: Array) -> None:
        self.hypotheses, self.numbers = self.hypotheses.of(left), self.numbers[left]

    def _result(self, ticket: int, length: int, wrong: bool) -> Result:
        """Return finished hypotheses by score, then unfinished ones by score, or an error. Forget them."""
        request, hypotheses = self.requests.pop(ticket), self._finished.pop(ticket, [])
        if wrong:
            reason = (
                "the next token's probabilities are not numbers, because logits are NaN or infinite. "
                "Use weights from an earlier checkpoint or, below fp32, a higher precision."
            )
        elif not hypotheses:
            reason = (
                "no allowed next token has a probability above zero. Ask for another prefix, a smaller "
                "min_length or a larger no_repeat_ngram_size, or use weights from an earlier checkpoint."
            )
        else:
            return sorted(hypotheses, key=lambda each: (not each.finished, -each.score))
        return SentenceError(request.number, length, reason)

    def _has_enough(self, hypotheses: Hypotheses) -> Array:
        """Return, for each sentence, whether `width` hypotheses are finished and, without early stopping, no
        open one has a better score at its present length than the worst of the best `width`."""
        options, enough = self.options, hypotheses.finished >= self.width
        if options.early_stopping or self.width == 1:  # one hypothesis is greedy
            return enough
        for sentence in enough.nonzero()[0]:
            scores = sorted(each.score for each in self._finished[int(hypotheses.tickets[sentence])])
            total, length = hypotheses.totals[sentence, 0], int(hypotheses.lengths[sentence])
            enough[sentence] = penalise(total, length, options.length_penalty) <= scores[-self.width]
        return enough

    def _continue(self, likely: NextTokens, required: Array | None) -> Hypotheses:
        """Return the continued hypotheses, chosen from the likeliest tokens if these decide, or from all."""
        left_out = likely.left_out()  # before the rules exclude some of the likeliest
        self._keep_to_rules(likely, required)
        chosen = self._choose(likely, self.hypotheses)
        if not _is_decided(left_out, chosen, self.hypotheses, required):
            likely = likely.all
            self._keep_to_rules(likely, required)
            chosen = self._choose(likely, self.hypotheses)
        return self.hypotheses.extend(chosen)

    def _keep_to_rules(self, likely: NextTokens, required: Array | None) -> None:
        """Exclude the tokens that the rules or the prefix do not allow at this step, in place."""
        options, hypotheses = self.options, self.hypotheses
        if required is not None:
            forced = (required != FREE).nonzero()[0]
            kept = likely.required(forced, required[forced])
        if options.repetition_penalty != 1:
            penalise_repeated(likely.all, hypotheses, options)
        likely.forbid(self._special.forbidden)
        if options.min_length:
            short = np.repeat(hypotheses.lengths < options.min_length, self.width)
            likely.exclude(short.nonzero()[0], self._special.end)
        if options.no_repeat_ngram_size:
            likely.exclude(*repeating(hypotheses, options.no_repeat_ngram_size))
        if required is not None:
            kept[self._is_given()[forced]] = 0
            likely.force(forced, required[forced], kept)

    def _is_given(self) -> Array:
        """Return, for each row, whether its next token is not the model's choice, so that it does not count:
        the language that its targets begin with, or the end token at the limit."""
        hypotheses = self.hypotheses
        tags = np.array([self.requests[ticket].tags for ticket in hypotheses.tickets])
        at_limit = self.options.forced_end & (hypotheses.lengths + 1 == hypotheses.limits)
        return np.repeat((hypotheses.lengths < tags) | at_limit, self.width)


def raise_if_failed(result: Result) -> list[Found]:
    """Return the hypotheses of a result, best first; raise an error if there are none."""
    if isinstance(result, SentenceError):
        raise result
    return result


def _is_decided(
    left_out_R: Array, chosen: Candidates, hypotheses: Hypotheses, required: Array | None
) -> bool:
    """Return whether the likeliest tokens were enough: no other token could have been chosen, or have the
    same sum as a chosen one.

    left_out_R: an upper bound of the log-probabilities of the other tokens of each row. In a row with a
    required token, the other tokens do not matter.
    """
    if required is not None:
        left_out_R = np.where(required == FREE, left_out_R, -math.inf)
    others = (left_out_R.reshape(hypotheses.totals.shape) + hypotheses.totals).max(1)
    close = others >= chosen.totals[:, -1]
    return not (close.any() and (others[close] > -math.inf).any())


def _not_numbers(likely: NextTokens, hypotheses: Hypotheses) -> Array | bool:
    """Return a mask of the sentences with an open hypothesis whose highest log-probability is NaN or
    infinite, because their search could run without end; False if there are none."""
    highest = likely.highest()
    if math.isfinite(highest.sum()):
        return False
    finite = np.isfinite(highest).reshape(hypotheses.totals.shape)
    return np.asarray(~(finite | hypotheses.empty).all(1))
