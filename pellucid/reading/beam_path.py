"""Run the search again with the candidates of each step: the path of one hypothesis, and the candidates that
were dropped.

The search that serves translations records nothing. Here it runs again, and its choices are recorded.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pellucid.decoding.decoder import open_session
from pellucid.errors import PellucidError
from pellucid.reading.reading import Reading
from pellucid.reading.words import TOKENS, visible
from pellucid.search.hypotheses import Found
from pellucid.search.lane import Lane, raise_if_failed
from pellucid.seeing.viewed import Viewed
from pellucid.translate.sentences import read_source
from pellucid.translate.text_translator import TextTranslator
from pellucid.translate.translation import Hypothesis, translations_of

LOST = {"dropped": "others were more probable", "left open": "the search ended before it did"}


@dataclass(frozen=True)
class Candidate:
    """A continuation that a step of the search considered."""

    tokens: list[str]  # all its tokens, the new one last
    token_ids: list[int]
    log_probability: float  # of the new token
    total: float  # the sum of all its log-probabilities, which ranks the candidates
    # "kept", "finished" (inside the beam: a hypothesis), "cut off" (at the limit: a hypothesis as it was), or
    # one of LOST.
    fate: str


@dataclass(frozen=True)
class BeamStep:
    """The candidates of a step, best first, and the index of the candidate on the path."""

    candidates: list[Candidate]
    place: int | None  # None: the path is not among them

    @property
    def survivor(self) -> Candidate | None:
        """Return the candidate on the path, or None if the path is not among the candidates."""
        return None if self.place is None else self.candidates[self.place]


@dataclass(frozen=True)
class BeamPath(Viewed):
    """A search with `beam` hypotheses, and one path through it: the winner's, or a chosen target's."""

    beam: int
    steps: list[BeamStep]
    endings: list[Hypothesis]  # that the search returned, best first
    target: list[str]  # the tokens of the path

    @property
    def lost_at(self) -> int | None:
        """Return the step, from 0, at which the search dropped the path or ended before it; None if the path
        reached the end."""
        for number, step in enumerate(self.steps[: len(self.target)]):
            if step.survivor is None or step.survivor.fate in LOST:
                return number
        return None if len(self.target) <= len(self.steps) else len(self.steps)

    @property
    def verdict(self) -> str:
        """Say whether the search kept the path to the end, or at which step it was dropped and why."""
        lost, ended = self.lost_at, [each.tokens for each in self.endings]
        if self.target in ended[1:]:
            rank = ended.index(self.target) + 1
            return f"It was finished, as number {rank} of {len(ended)}: the score of another is better."
        if lost is None:
            ranks = ", ".join(str(number) for number, step in enumerate(self.steps, 1) if step.place)
            if ranks:
                return f"It was not the first at step {ranks}: a narrower beam may lose it."
            return "It was the first at every step: beam 1 would have found it too."
        if lost == len(self.steps):
            return f"The search was over after {lost} steps, before it."
        step, token = self.steps[lost], self.target[lost]
        left, count = f"The search left it at step {lost + 1}:", len(step.candidates)
        if step.survivor is None:
            return f"{left} {token!r} was not among the {count} best candidates."
        return (
            f"{left} with {token!r} it was number {(step.place or 0) + 1} of {count}; "
            f"{LOST[step.survivor.fate]}."
        )


def follow_search(translator: TextTranslator, reading: Reading) -> BeamPath:
    """Run the search again; return the candidates of each step, and the path of the reading's target among
    them. Raise an error if the search now finds another translation than before."""
    vocabulary, target = reading.vocabulary, reading.target_ids
    sentence = read_source(reading.translation.source, reading.to, vocabulary, TOKENS)
    call = translator.call([sentence], {"n_best": translator.config.translation.beam})
    (request,), beam = call.requests, call.requests[0].options.beam
    steps, endings = list[BeamStep](), list[Found]()
    with open_session(translator.decoder(call), [request], call.special) as session:
        while not session.is_idle:
            step = session.step()
            endings = raise_if_failed(step.ended[0]) if step.ended else []
            candidates = _candidates(step.open[0], endings, call.special.end, reading)
            ids = target[: len(steps) + 1]
            place = next((n for n, each in enumerate(candidates) if each.token_ids == ids), None)
            steps.append(BeamStep(candidates, place))
    if not reading.forced and endings[0].token_ids != target:
        raise PellucidError(
            "the search now finds another translation than before, because the model or its settings "
            "changed in between. Explain the sentence again."
        )
    (said,) = translations_of(call, [endings], vocabulary)
    return BeamPath(beam, steps, said.hypotheses, vocabulary.target_tokens(target))


def search_verdict(translator: TextTranslator, reading: Reading) -> str:
    """Run the search again; say whether it keeps the reading's target, or why there is no search."""
    try:
        verdict = follow_search(translator, reading).verdict
    except PellucidError as error:  # the model computes NaN
        verdict = f"No search: {error}"
    return f"{visible(reading.translation.text)!r}: {verdict}"


def _candidates(lane: Lane, endings: Sequence[Found], end_id: int, reading: Reading) -> list[Candidate]:
    """Return the candidates of a step, each with its fate: kept, finished, cut off, dropped or left open."""
    open_ids = [row.tolist()[1:] for sentence in lane.hypotheses.tokens for row in sentence]
    last, candidates = lane.considered, []
    arrays = last.tokens[0, :, 1:], last.log_probabilities[0, :, -1], last.totals[0]
    for rank, (ids, log_p, total) in enumerate(zip(*(each.tolist() for each in arrays), strict=True)):
        if total == float("-inf"):
            break  # the step had fewer continuations than places
        fate = "kept" if ids in open_ids else "left open" if endings else "dropped"
        if ids[-1] == end_id:
            fate = "finished" if rank < lane.width else "dropped"
        elif any(ending.token_ids == ids for ending in endings):
            fate = "cut off"
        candidates.append(Candidate(reading.vocabulary.target_tokens(ids), ids, log_p, total, fate))
    return candidates
