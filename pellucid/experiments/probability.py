"""How probable a translation is: in a pass, or with edits in effect."""

from collections.abc import Mapping

import torch

from pellucid.explanation import Explanation
from pellucid.reading.steps import log_probabilities
from pellucid.seeing.trace import Edit, Trace


def probability(explanation: Explanation, edits: Mapping[str, Edit] | None = None) -> float:
    """Return the probability of the whole translation with `edits` in effect."""
    return probability_in(explanation.again(edits, only="decoder.logits"), explanation)


def probability_in(seen: Trace, explanation: Explanation) -> float:
    """Return the probability of the whole translation in a pass."""
    log_p = torch.tensor(log_probabilities(seen, explanation.target_ids), dtype=torch.float64)
    return float(log_p.sum().exp())
