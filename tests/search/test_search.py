"""Search against plain loops: the same hypotheses, in the same order, whatever the batch."""

import math
import sys
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from tables import END, FORBIDDEN, SPECIAL, START, UNKNOWN, Table, TableDecoding, random_table, ruled
from torch import Tensor

from pellucid.errors import PellucidError
from pellucid.search.hypotheses import Found
from pellucid.search.lane import Result, raise_if_failed
from pellucid.search.next_tokens import best_of_each
from pellucid.search.request import Request
from pellucid.search.session import Session


def run(table: Table, requests: Sequence[Request], together: int = sys.maxsize) -> list[list[Found]]:
    """What a search finds for each request, and a check that nothing is done twice."""
    results: dict[int, Result] = {}
    rows = together * max(request.options.width for request in requests)
    with Session(TableDecoding(table, rows), SPECIAL) as session:
        places = [session.add(request) for request in requests]
        while not session.is_idle:
            step = session.step()
            assert not results.keys() & step.ended.keys()
            results |= step.ended
    return [raise_if_failed(results[place]) for place in places]


def plain_beam_search(table: Table, request: Request) -> list[Found]:
    """DESIGN's conventions for one sentence, with lists and one hypothesis at a time."""
    options = request.options
    beam, penalty = options.beam, options.length_penalty
    live: list[tuple[tuple[int, ...], list[float], Tensor]] = [((), [], torch.tensor(0.0))]
    finished: list[Found] = []
    for step in range(request.max_length):
        candidates = []
        for said, log_probabilities, total in live:
            log_p = plain_log_probabilities(table(request.number, said), said, request)
            for token in range(len(log_p)):
                if log_p[token] > -math.inf:
                    grown = [*log_probabilities, float(log_p[token])]
                    candidates.append(((*said, token), grown, total + log_p[token]))
        candidates.sort(key=lambda candidate: -float(candidate[2]))  # stable: ties to the lower beam, then id
        candidates = candidates[: 2 * beam]
        live = []
        for rank, (said, log_probabilities, total) in enumerate(candidates):
            if said[-1] != END:
                live.append((said, log_probabilities, total))
            elif rank < beam:
                score = float(total) / len(said) ** penalty
                finished.append(Found(list(said), log_probabilities, score, True))
        live = live[:beam]
        best = sorted(finished, key=lambda found: -found.score)[:beam]
        hopeless = options.early_stopping or beam == 1 or not live
        if len(best) == beam and (hopeless or best[-1].score >= float(live[0][2]) / (step + 1) ** penalty):
            break
        if not live:
            break
    if len(finished) < beam:
        for said, log_probabilities, total in live:
            score = float(total) / len(said) ** penalty
            finished.append(Found(list(said), log_probabilities, score, False))
    return sorted(finished, key=lambda found: (not found.finished, -found.score))


def plain_log_probabilities(logits: Tensor, said: tuple[int, ...], request: Request) -> Tensor:
    """The log-probability of each next token, -inf where it is not allowed, 0 where it was given."""
    options, step = request.options, len(said)
    size = options.no_repeat_ngram_size
    log_p, before = logits.log_softmax(-1), [START, *said]
    if step < len(request.prefix) or (options.forced_end and step + 1 == request.max_length):
        only = request.prefix[step] if step < len(request.prefix) else END
        given = step < request.tags or step >= len(request.prefix)
        return torch.full_like(log_p, -math.inf).index_fill(
            0, torch.tensor(only), 0.0 if given else log_p[only]
        )
    changed = logits if options.beam == 1 else log_p
    for token in {*before}:
        changed[token] *= options.repetition_penalty if changed[token] < 0 else 1 / options.repetition_penalty
    log_p = changed.log_softmax(-1) if options.repetition_penalty != 1 and options.beam == 1 else log_p
    sequences = [before[place : place + size] for place in range(len(before) - size + 1)] if size else []
    for token in range(len(log_p)):
        too_early = token == END and step < options.min_length
        if token in FORBIDDEN or too_early or [*before, token][-size:] in sequences:
            log_p[token] = -math.inf
    return log_p


def assert_same(ours: list[Found], theirs: list[Found]) -> None:
    assert [found.token_ids for found in ours] == [found.token_ids for found in theirs]
    assert [found.finished for found in ours] == [found.finished for found in theirs]
    assert [found.score for found in ours] == pytest.approx([found.score for found in theirs], abs=1e-5)
    for our, their in zip(ours, theirs, strict=True):
        assert our.log_probabilities == pytest.approx(their.log_probabilities, abs=1e-5)


RULES: list[dict[str, Any]] = [
    dict(no_repeat_ngram_size=1),
    dict(no_repeat_ngram_size=2, min_length=3),
    dict(no_repeat_ngram_size=3, repetition_penalty=1.5),
    dict(repetition_penalty=0.6),
    dict(early_stopping=False),
    dict(early_stopping=False, length_penalty=0.0),
    dict(early_stopping=False, length_penalty=3.0, no_repeat_ngram_size=2),
]


@pytest.mark.parametrize("wanted", RULES, ids=str)
@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("whole", [False, True], ids=["distinct", "ties"])
def test_every_rule_is_that_of_the_plain_loop(wanted: dict[str, Any], beam: int, whole: bool) -> None:
    """Also where sentences begin later, have a prefix or a language, and must end at their limit."""
    table = random_table(seed=beam, size=9, end=1.0, whole=whole)
    begun = [((5, 6, 5), 0), ((), 0), ((7, 5), 1), ((UNKNOWN,), 1)]
    requests = [Request(n, 4 + n % 7, *begun[n % 4][:1], (), begun[n % 4][1]) for n in range(20)]
    for forced_end in (False, True):
        asked = ruled(requests, beam, forced_end=forced_end, **wanted)
        for request, found in zip(asked, run(table, asked, together=6), strict=True):
            assert_same(found, plain_beam_search(table, request))


@pytest.mark.parametrize("beam", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("whole", [False, True], ids=["distinct", "ties"])
@pytest.mark.parametrize(
    ("penalty", "size", "end"), [(0.0, 9, 0.5), (0.6, 9, 0.5), (1.0, 9, 0.5), (1.0, 500, 5.0)]
)
def test_beam_search_is_the_plain_loop(beam: int, whole: bool, penalty: float, size: int, end: float) -> None:
    table = random_table(seed=beam, size=size, end=end, whole=whole)
    limits = [7, 1, 4, 9, 2, 9, 9] if size == 9 else [5] * 3
    requests = ruled([Request(n, limit) for n, limit in enumerate(limits)], beam, length_penalty=penalty)
    for request, found in zip(requests, run(table, requests), strict=True):
        assert_same(found, plain_beam_search(table, request))


EDGES: dict[str, tuple[Table, list[Request]]] = {
    "never ends": (random_table(5, 8, end=-1e9), ruled([Request(0, 3), Request(1, 6)], 2)),
    "ends at once": (random_table(6, 8, end=20.0), ruled([Request(0, 9)], 3)),
    "may not end at once": (random_table(6, 8, end=20.0), ruled([Request(0, 9)], 3, min_length=4)),
    "fewer continuations than places": (random_table(8, 5), ruled([Request(0, 2)], 5)),
    "special tokens only": (random_table(8, 4), ruled([Request(0, 5)], 3)),
}


@pytest.mark.parametrize("name", EDGES)
def test_at_its_edges_it_is_the_plain_loop_too(name: str) -> None:
    table, requests = EDGES[name]
    for request, found in zip(requests, run(table, requests), strict=True):
        assert_same(found, plain_beam_search(table, request))
        for each in found:
            assert math.isfinite(each.score)
            assert each.finished == (each.token_ids[-1] == END)
            assert name != "never ends" or not each.finished
            assert len(each.token_ids) > request.options.min_length


def test_rounding_makes_ties_too() -> None:
    """Next to -1e7 a difference of 0.1 is lost in float32: the lower ids are chosen, not the likelier."""
    log_p = torch.tensor([[-5.3, -5.2, -5.1, -5.0, -400.0]])
    assert best_of_each(log_p, torch.tensor([-1e7]), 2).tolist() == [[0, 1]]
    assert best_of_each(log_p, torch.tensor([0.0]), 2).tolist() == [[2, 3]]


def test_a_sentence_is_done_as_soon_as_beam_hypotheses_are_finished() -> None:
    decoding = TableDecoding(random_table(seed=3, size=8, end=2.0))
    rows, session = [], Session(decoding, SPECIAL)
    for request in ruled([Request(n, 30) for n in range(6)], 3):
        session.add(request)
    while not session.is_idle:
        step = session.step()
        rows.append(len(session) * 3)
        assert all(
            sum(each.finished for each in raise_if_failed(ended)) >= 3 for ended in step.ended.values()
        )
        assert step.open[0].hypotheses.tokens.shape[1] == 3
    assert decoding.rows_of_steps == [18, *rows[:-1]] and rows[-1] == 0  # finished sentences leave the batch
    assert len(set(rows)) > 3


def test_no_possible_token_is_an_error() -> None:
    def table(sentence: int, said: tuple[int, ...]) -> Tensor:
        return torch.tensor([0.0, 0.0, 0.0, -math.inf, -math.inf])

    with pytest.raises(PellucidError) as error:
        run(table, ruled([Request(4, 6)], 2))
    assert str(error.value).startswith(
        "sentence 5, step 1: no allowed next token has a probability above zero. "
    )


def test_what_the_model_says_where_no_hypothesis_is_does_not_matter() -> None:
    """Impossible continuations fill the beam; that the model knows nothing after them is no error."""

    def table(sentence: int, said: tuple[int, ...]) -> Tensor:
        if any(token != 4 for token in said):
            return torch.full((7,), math.nan)
        return torch.tensor([0.0, 0, 0, 0.5, 1, -math.inf, -math.inf])

    (said,) = run(table, ruled([Request(0, 3)], 4))
    assert sorted(each.token_ids for each in said) == [[3], [4, 3], [4, 4, 3], [4, 4, 4]]
