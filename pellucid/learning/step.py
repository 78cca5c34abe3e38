"""What a training run reports at each step: the step, its update of the weights, and its validation if there
was one."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pellucid.config.schema import TrainingConfig
from pellucid.translate.evaluate import Scores


@dataclass(frozen=True)
class Update:
    """One update of the weights. Both losses are means over the target tokens. `loss` is what is minimised;
    `plain_loss` has no label smoothing, and nothing but the cross-entropy."""

    loss: float
    plain_loss: float
    tokens: int
    rate: float  # the learning rate
    gradient_norm: float
    skipped: bool
    split: int = 0  # number of parts, if the batches did not fit into memory


@dataclass(frozen=True)
class Cost:
    """What a step took, and how well the device was used."""

    tokens_a_second: float = 0.0  # real target tokens
    ranks: tuple[float, ...] = ()  # of these, what each process computes
    padding: float = 0.0  # the share of all positions
    used: float = 0.0  # the operations that the tokens need, as a share of what the devices do in products
    memory: int = 0  # MB, the most that a process has held so far


@dataclass(frozen=True)
class Sample:
    """A sentence of the validation data: its source, its reference, and the model's translation."""

    source: str
    reference: str
    translation: str


@dataclass(frozen=True)
class Validation:
    """The quality of a model on the validation pairs: its loss per token without label smoothing, and the
    scores of its translations."""

    loss: float
    scores: Scores
    samples: tuple[Sample, ...] = field(default=(), repr=False)
    corpora: Mapping[str, "Validation"] = field(default_factory=dict)  # of several

    @property
    def perplexity(self) -> float:
        """Return the perplexity: e to the power of the loss, with the loss limited to 100."""
        return math.exp(min(self.loss, 100.0))

    def figures(self) -> dict[str, Any]:
        """Return the loss, the perplexity and all scores by name, of each corpus too, without the samples."""
        each = {name: validation.figures() for name, validation in self.corpora.items()}
        figures = {"loss": self.loss, "perplexity": self.perplexity, **vars(self.scores)}
        return figures | ({"corpora": each} if each else {})

    def __str__(self) -> str:
        scores = self.scores
        return (
            f"loss {self.loss:.3f}, perplexity {self.perplexity:.2f}, BLEU {scores.bleu:.2f}, "
            f"chrF {scores.chrf:.2f}, exact {scores.exact:.2f}"
        )

    def score(self, metric: str) -> float:
        """Return the value of a metric, such as "bleu". Larger is always better: the loss becomes -loss."""
        if metric == "loss":
            return -self.loss if math.isfinite(self.loss) else -math.inf
        return float(getattr(self.scores, metric))


@dataclass(frozen=True)
class Step:
    """One step of a training run, as a `for` loop over `training` receives it."""

    number: int
    epoch: int
    update: Update
    seconds: float  # training time so far
    validation: Validation | None = None
    best: bool = False  # whether this validation is the best so far
    cost: Cost = Cost()


def share_done(training: TrainingConfig, step: int, seconds: float) -> float:
    """Return the fraction of a training run that is done (0 to 1), by steps or by time, whichever is
    larger."""
    limits = (step, training.steps), (seconds, 60 * (training.minutes or math.inf))
    return max(1.0 if so_far >= limit else so_far / limit for so_far, limit in limits)


def average_name(steps: Sequence[int]) -> str:
    """Return the name of the average of these steps' models, such as "average of steps 1500, 1747"."""
    return f"average of step{'s' * (len(steps) > 1)} {', '.join(map(str, steps))}"
