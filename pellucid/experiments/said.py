"""A sentence and what the model said of it: the pair over which an experiment runs its passes."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from pellucid.errors import PellucidError
from pellucid.explanation import Explanation, explain
from pellucid.model import Transformer
from pellucid.reading.passes import as_read, in_float32, watch
from pellucid.reading.steps import log_probabilities
from pellucid.seeing.records import attentions
from pellucid.seeing.trace import Edit, Trace

if TYPE_CHECKING:
    from pellucid.translator import Translator


@dataclass(frozen=True)
class Said:
    """A sentence, its translation, and the model in float32 that passes run in."""

    explanation: Explanation
    model: Transformer

    @property
    def trace(self) -> Trace:
        """Every tensor of the pass in which nothing was changed."""
        return self.explanation.trace

    @property
    def title(self) -> str:
        """The sentence and its translation."""
        translation = self.explanation.translation
        return f"{translation.source}  →  {translation.text}"

    @cached_property
    def expected_tokens(self) -> list[str]:
        """The target's words with its end, one for each row of L."""
        return [step.expected for step in self.explanation.steps]

    @property
    def source(self) -> Tensor:
        """The source's ids, 1 M."""
        return self._as_read[0]

    @property
    def target(self) -> Tensor:
        """What the decoder reads, 1 L: the start token and the target, shifted right by one."""
        return self._as_read[1]

    @cached_property
    def _as_read(self) -> tuple[Tensor, Tensor]:
        return as_read(self.model, self.explanation.source_ids, self.explanation.target_ids)

    @property
    def attentions(self) -> list[str]:
        """The paths of all attentions, the encoder's first."""
        return attentions(self.trace)

    def log_probabilities(self, seen: Trace) -> list[float]:
        """Of each expected token, in this pass."""
        return log_probabilities(seen, self.explanation.target_ids)

    def probability(self, edits: Mapping[str, Edit] | None = None) -> float:
        """Of the whole translation, its words multiplied, with `edits` in effect."""
        seen = watch(self.model, self.source, self.target, only="decoder.logits", edits=edits)
        return self.probability_in(seen)

    def probability_in(self, seen: Trace) -> float:
        """Of the whole translation, in this pass."""
        return float(torch.tensor(self.log_probabilities(seen), dtype=torch.float64).sum().exp())


def said(translator: "Translator", text: str, to: str | None = None, target: str | None = None) -> Said:
    """What the model says of `text`, or the `target` that it is made to say."""
    explanation = explain(translator, text, to, target)
    if any(math.isnan(step.loss) for step in explanation.steps):
        raise PellucidError(
            "what the model says of this sentence is no number (NaN), so there is nothing to measure. "
            "pellucid.find_nonfinite(model) names the first tensor that is none."
        )
    return Said(explanation, in_float32(translator.model))
