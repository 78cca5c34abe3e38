"""The search again, with what it weighed at each step: the surviving path, and what that beat.

Searching itself stays as fast as it was: here it is run once more, and the function that chooses is watched.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pellucid.engine.next_tokens import NextTokens
from pellucid.errors import PellucidError
from pellucid.reading.reading import Reading
from pellucid.seeing.viewed import Viewed
from pellucid.translate.base import BaseTranslator
from pellucid.translate.beam import best
from pellucid.translate.decoding import decoding_of, evaluating
from pellucid.translate.hypotheses import Candidates, Found, Hypotheses
from pellucid.translate.search import Rules, search
from pellucid.translate.sentences import TOKENS, read_source

GOES_ON = ("kept", "finished", "cut off")
FATES = {
    "kept": "followed further",
    "finished": "it ended inside the beam: a hypothesis",
    "dropped": "others were more probable",
    "cut off": "at its limit the search took it as it was: a hypothesis, not finished",
    "left open": "the search ended before it did",
}


@dataclass(frozen=True)
class Candidate:
    """A continuation that a step of the search weighed."""

    tokens: list[str]  # all that it says, the last of them just now
    token_ids: list[int]
    log_probability: float  # of its last token
    total: float  # the sum of all its log-probabilities, by which candidates are ranked
    fate: str  # one of FATES


@dataclass(frozen=True)
class BeamStep:
    """What a step weighed, best first, and which of these is the path that is followed here."""

    candidates: list[Candidate]
    place: int | None  # in `candidates`; None: it is not among them

    @property
    def survivor(self) -> Candidate | None:
        """The candidate on the path."""
        return None if self.place is None else self.candidates[self.place]

    @property
    def dropped(self) -> list[Candidate]:
        """The candidates that went no further, best first."""
        return [each for each in self.candidates if each.fate == "dropped"]


@dataclass(frozen=True)
class Ending:
    """A hypothesis that came out of the search."""

    text: str
    token_ids: list[int]
    score: float
    finished: bool


@dataclass(frozen=True)
class BeamPath(Viewed):
    """A search with `beam` hypotheses, and one path through it: the winner's, or a given target's."""

    beam: int
    steps: list[BeamStep]
    endings: list[Ending]  # best first
    target: list[str]  # the path that is followed

    @property
    def lost_at(self) -> int | None:
        """The number of the step, from 0, at which the search lost the path; None: it came out."""
        for number, step in enumerate(self.steps[: len(self.target)]):
            if step.survivor is None or step.survivor.fate in ("dropped", "left open"):
                return number
        return None if len(self.target) <= len(self.steps) else len(self.steps)

    @property
    def verdict(self) -> str:
        """What became of the path, as a sentence."""
        lost = self.lost_at
        if lost is None:
            risky = [n for n, step in enumerate(self.steps, 1) if step.place is not None and step.place > 0]
            ranks = ", ".join(str(number) for number in risky)
            first = "It was the first at every step: beam 1 would have found it too."
            return f"It was not the first at step {ranks}: a narrower beam may lose it." if ranks else first
        if lost == len(self.steps):
            return f"The search was over after {lost} steps, before it."
        step, token = self.steps[lost], self.target[lost]
        if step.survivor is None:
            return (
                f"The search left it at step {lost + 1}: {token!r} was not among the {len(step.candidates)} "
                f"best candidates."
            )
        rank = f"number {(step.place or 0) + 1} of {len(step.candidates)}"
        why = FATES[step.survivor.fate]
        return f"The search left it at step {lost + 1}: with {token!r} it was {rank}; {why}."


def beam_path(translator: BaseTranslator, reading: Reading) -> BeamPath:
    """The search of an explanation's sentence once more, and its target's way through it."""
    vocabulary = reading.vocabulary
    sentence = read_source(reading.translation.source, reading.to, vocabulary, TOKENS)
    requests, rules, options = translator._requests([sentence], {})
    model, weighed = translator._decoders[0], _Watched(options.beam)
    decoding = decoding_of(model, [sentence.ids], requests, rules, kept=2 * options.beam)
    steps: list[list[Candidate]] = []
    found: list[Found] = []
    with evaluating(translator.serving):
        for step in search(decoding, requests, rules, weighed.choose):
            found = step.done.get(0, [])
            steps.append(_candidates(weighed, step.open, found, rules, reading))
    _check(reading, found)
    target = reading.target_ids
    followed = [BeamStep(step, _place(step, target[: n + 1])) for n, step in enumerate(steps)]
    endings = [
        Ending(
            vocabulary.decode_target(each.token_ids, sentence.to), each.token_ids, each.score, each.finished
        )
        for each in found
    ]
    return BeamPath(options.beam, followed, endings, vocabulary.target_tokens(target))


class _Watched:
    """The choice that beam search makes, and the last one that was made."""

    def __init__(self, beam: int) -> None:
        self._beam = beam
        self.ids: list[list[int]] = []
        self.log_probabilities: list[float] = []
        self.totals: list[float] = []

    def choose(self, said: NextTokens, hypotheses: Hypotheses) -> Candidates:
        chosen = best(said, hypotheses, self._beam)
        parents, tokens = chosen.parents[0].tolist(), chosen.tokens[0].tolist()
        before = hypotheses.tokens[0, :, 1:].tolist()
        self.totals = chosen.totals[0].tolist()
        self.ids = [[*before[parent], token] for parent, token in zip(parents, tokens, strict=True)]
        self.log_probabilities = chosen.log_probabilities[0].tolist()
        return chosen


def _candidates(
    weighed: _Watched,
    still_open: Hypotheses,
    found: Sequence[Found],
    rules: Rules,
    reading: Reading,
) -> list[Candidate]:
    going_on = [row.tolist()[1:] for sentence in still_open.tokens for row in sentence]
    each = zip(weighed.ids, weighed.log_probabilities, weighed.totals, strict=True)
    candidates = []
    for rank, (ids, log_p, total) in enumerate(each):
        if total == float("-inf"):
            break  # fewer continuations than places: the rest are none
        fate = "kept" if ids in going_on else "left open" if found else "dropped"
        if ids[-1] == rules.end_id:
            fate = "finished" if rank < rules.width else "dropped"
        elif any(each.token_ids == ids for each in found):
            fate = "cut off"
        candidates.append(Candidate(reading.vocabulary.target_tokens(ids), ids, log_p, total, fate))
    return candidates


def _place(candidates: Sequence[Candidate], ids: Sequence[int]) -> int | None:
    return next((place for place, each in enumerate(candidates) if each.token_ids == list(ids)), None)


def _check(reading: Reading, found: Sequence[Found]) -> None:
    if not reading.forced and found[0].token_ids != reading.target_ids:
        raise PellucidError(
            "the search, run again, ended in another translation than before: the model or its settings "
            "changed in between. Explain the sentence anew."
        )
