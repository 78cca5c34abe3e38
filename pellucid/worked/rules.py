"""Rules that correct numbers always obey, such as "a row of weights sums to 1". A broken rule tells why a
claim cannot be right.

A rule counts as broken only if rounding, half a unit of each claimed number, cannot explain it.
"""

import math
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from pellucid.worked.claims import EXACT, Claim

Place = tuple[int, int, int]  # head, row, column
SCORES = ("masked_scores", "scaled_scores", "scores")  # all in the same order
Stages = Mapping[str, Tensor]  # H × rows × columns
# Which cells break it, its words, and a matrix for each number among them.
Rule = tuple[Tensor, str, *tuple[Tensor, ...]]


def find_broken_rules(name: str, claims: Mapping[str, Claim], used: Stages) -> dict[Place, list[str]]:
    """Return the rules that a claimed stage breaks, by cell. A claim of a wrong shape breaks no rule here.

    used: the earlier stages.
    """
    rules = {"weights": _of_weights, "context": _of_context}.get(name)
    found: dict[Place, list[str]] = {}
    if rules is None or (name in used and claims[name].numbers.shape != used[name].shape):
        return found
    for is_broken, rule, *numbers in rules(claims, used):
        for head, row, column in is_broken.nonzero().tolist():
            place = head, row, column
            told = [f"{float(each[place]):.6g}".replace("-", "−") for each in numbers]
            found.setdefault(place, []).append(rule.format(*told))
    return found


def _of_weights(claims: Mapping[str, Claim], used: Stages) -> Iterator[Rule]:
    numbers, halves = claims["weights"].numbers, claims["weights"].halves
    total = numbers.sum(-1, keepdim=True).expand_as(numbers)
    is_off = (total - 1).abs() > halves.sum(-1, keepdim=True) + EXACT
    yield is_off, "a row of weights sums to 1, this one to {}", total
    if "masked_scores" not in used:
        return
    hidden = used["masked_scores"] == -math.inf
    yield hidden & (numbers != 0), "masked weights are exactly 0"
    claimed = [name for name in SCORES if name in claims and name in used]
    # Scores that nobody wrote down, from claimed queries or keys, are sums of rounded products.
    if claimed or claims.keys().isdisjoint(("queries", "keys")):
        # Of each two keys of a row: is the score of the first surely larger, and its weight surely smaller?
        name = [*claimed, *SCORES][0]
        scores, rounded = used[name], _halves_of(name, claims, used[name])
        larger = _of_pairs(scores, -scores) > _of_pairs(rounded, rounded) + EXACT
        smaller = _of_pairs(-numbers, numbers) > _of_pairs(halves, halves) + EXACT
        pairs = larger & smaller & ~(hidden[..., None, :] | hidden[..., :, None])
        yield pairs.any(-1) | pairs.any(-2), "a larger score never has a smaller weight"


def _of_context(claims: Mapping[str, Claim], used: Stages) -> Iterator[Rule]:
    if "values" not in used:
        return
    numbers, values = claims["context"].numbers, used["values"][:, None]
    rounded = _halves_of("values", claims, used["values"])[:, None]
    scores = used.get("masked_scores", used["weights"])
    seen = (scores != -math.inf)[..., None]  # head, row, key, 1
    low = torch.where(seen, values, math.inf).amin(2)
    high = torch.where(seen, values, -math.inf).amax(2)
    slack = claims["context"].halves + torch.where(seen, rounded, 0.0).amax(2) + EXACT
    is_outside = ((numbers < low - slack) | (numbers > high + slack)) & seen.any(2)
    if seen.shape[2] > 1:
        sees_first = seen[:, :1, 0] & (seen[:, :1].sum(2) == 1)  # the first row, and nothing else
        yield is_outside[:, :1] & sees_first, "the first row of a causal context is the first value row"
    yield is_outside, "a context lies within the range of its values, here {} to {}", low, high


def _halves_of(name: str, claims: Mapping[str, Claim], numbers: Tensor) -> Tensor:
    """Return the rounding errors of a stage as it is claimed; 0 if it is not."""
    halves = claims[name].halves if name in claims else numbers
    return halves if name in claims and halves.shape == numbers.shape else torch.zeros_like(numbers)


def _of_pairs(rows: Tensor, columns: Tensor) -> Tensor:
    """Return rows[..., i] + columns[..., j] for every i and j, as a matrix for each row."""
    return rows[..., :, None] + columns[..., None, :]
