"""What comes of translating a sentence."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Hypothesis:
    """One way to translate a sentence; without the start token, and with the end token if it is finished."""

    text: str
    tokens: list[str]
    token_ids: list[int]
    score: float  # the sum of the log-probabilities / length ** length_penalty
    log_probabilities: list[float]
    finished: bool


@dataclass(frozen=True)
class Translation:
    """A source and its hypotheses, best first; text, score and tokens are the best one's."""

    source: str
    hypotheses: list[Hypothesis]
    truncated: bool = False  # the source was too long, and only its beginning was translated

    @property
    def text(self) -> str:
        """The best hypothesis as text."""
        return self.hypotheses[0].text

    @property
    def score(self) -> float:
        """The best hypothesis's score."""
        return self.hypotheses[0].score

    @property
    def tokens(self) -> list[str]:
        """The best hypothesis's tokens."""
        return self.hypotheses[0].tokens
