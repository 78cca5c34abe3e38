"""The steps of a target: at each position the input, the expected token and the most probable tokens."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from pellucid.seeing.trace import Trace
from pellucid.text.vocabulary import Vocabulary

ALTERNATIVES = 5


@dataclass(frozen=True)
class Step:
    """One position of the target."""

    input: str  # the token that the decoder reads: the target shifted right
    expected: str
    predicted: str  # the most probable token
    probability: float  # of the expected token
    loss: float  # its negative logarithm
    alternatives: list[tuple[str, float]]  # the most probable tokens with their probabilities, best first


def steps_of(seen: Trace, vocabulary: Vocabulary, target_ids: Sequence[int]) -> list[Step]:
    """Return the steps of a target, from a watched pass over it."""
    log_p, record = log_probabilities(seen, target_ids), seen["decoder.probabilities"]
    inputs, expected = record.labels("L"), vocabulary.target_tokens(target_ids)
    steps = []
    for place, probabilities in enumerate(record.tensor[0]):
        shares, ids = probabilities.sort(descending=True, stable=True)  # of equal ones, the lower id first
        tokens = vocabulary.target_tokens(ids[:ALTERNATIVES].tolist())
        best = list(zip(tokens, shares[:ALTERNATIVES].tolist(), strict=True))
        probability = probabilities[target_ids[place]].item()
        steps.append(Step(inputs[place], expected[place], tokens[0], probability, -log_p[place], best))
    return steps


def log_probabilities(seen: Trace, target_ids: Sequence[int], sentence: int = 0) -> list[float]:
    """Return the log-probability of each expected token of one sentence, given the trace of a pass."""
    log_p_LV = seen["decoder.logits"].tensor[sentence, : len(target_ids)].log_softmax(-1)
    return log_p_LV.gather(1, torch.tensor(target_ids)[:, None])[:, 0].tolist()
