"""Sentences of every kind that come to a session, are cancelled, and leave, in a random order."""

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace

from pellucid.decoding.room import cells_of
from pellucid.search.lane import Result
from pellucid.search.options import Options
from pellucid.search.request import Request, SpecialIds
from pellucid.search.session import Decoding, Session

RULES = [
    Options(1),
    Options(1, no_repeat_ngram_size=2, min_length=3),
    Options(1, repetition_penalty=0.7),
    Options(2, repetition_penalty=1.3, forced_end=True),
    Options(3, length_penalty=0.0),
    Options(4, early_stopping=False, length_penalty=1.5),
    Options(sample=True, n_best=2, temperature=0.7),
    Options(sample=True, top_k=3),
]


def random_requests(chance: random.Random, count: int, vocabulary: int, targets: int) -> list[Request]:
    """Many lengths; some have a prefix, which may begin with a language."""
    requests = []
    for number in range(count):
        source = chance.choices(range(3, vocabulary), k=chance.choice([0, 3, 9, 40]))
        prefix = chance.choices(range(4, targets), k=chance.choice([0, 0, 1, 3]))
        options = replace(chance.choice(RULES), seed=number)
        limit, tags = chance.randrange(4, 14), len(prefix) // 3
        requests.append(Request(number, limit, prefix, [*source, 3], tags, options))
    return requests


def to_the_end(session: Session, requests: Iterable[Request] = ()) -> dict[int, Result]:
    """The results of these sentences and of those that are open, by place."""
    results = dict[int, Result]()
    for request in requests:
        session.add(request)
    while not session.is_idle:
        results |= session.step().ended
    return results


def come_and_go(
    decoding: Decoding, special: SpecialIds, requests: Sequence[Request], chance: random.Random
) -> dict[int, Result]:
    """The results by number, of all but the cancelled; a check that places and memory are given back."""
    asked, results, cancelled, left = dict[int, int](), dict[int, Result](), set[int](), list(requests)
    with Session(decoding, special) as session:
        while left or not session.is_idle:
            action = chance.random()
            if left and action < 0.4:
                request = left.pop()
                asked[session.add(request)] = request.number
            elif asked and action < 0.45:
                place = chance.choice([*asked])
                session.cancel(place)
                cancelled |= {asked[place]} - results.keys()
            else:
                results |= {asked[place]: result for place, result in session.step().ended.items()}
                assert len(session) <= session.rows <= decoding.rows
                for lane in session._lanes:  # which keeps nothing of those that have left
                    assert lane._finished.keys() <= lane.requests.keys()
                    assert lane.hypotheses.log_probabilities.shape[2] == lane.hypotheses.lengths.max()
        together = decoding.rows // max(request.options.width for request in requests)
        largest = sorted(requests, key=cells_of)[-together:]
        again = [session.add(request) for request in largest]
        assert len(session.step().ended) + len(session) == len(largest)
        for place in again:
            session.cancel(place)
        assert session.is_idle and not session.step().open
    assert results.keys() == {request.number for request in requests} - cancelled
    return results
