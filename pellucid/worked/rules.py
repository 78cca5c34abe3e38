"""Rules that correct numbers always obey, such as "a row of weights sums to 1". A broken rule tells why a
claim cannot be right.

A rule counts as broken only if rounding, half a unit of each claimed number, cannot explain it.
"""

import math
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from pellucid.worked.claims import EXACT, Claim, is_near
from pellucid.worked.stages import Start

Place = tuple[int, int, int]  # head, row, column
Stages = Mapping[str, Tensor]  # H × rows × columns
# Which cells break it, its words, and a matrix for each number among them.
Rule = tuple[Tensor, str, *tuple[Tensor, ...]]


def find_broken_rules(name: str, claim: Claim, used: Stages, halves: Stages) -> dict[Place, list[str]]:
    """Return the rules that a claimed stage breaks, by cell. A claim of a wrong shape breaks no rule here.

    used: the earlier stages. halves: the largest rounding errors of their numbers.
    """
    rules = {"weights": _of_weights, "context": _of_context}.get(name)
    found: dict[Place, list[str]] = {}
    if rules is None or (name in used and claim.numbers.shape != used[name].shape):
        return found
    for is_broken, rule, *numbers in rules(claim, used, halves):
        for head, row, column in is_broken.nonzero().tolist():
            place = head, row, column
            told = [f"{float(each[place]):.6g}".replace("-", "−") for each in numbers]
            found.setdefault(place, []).append(rule.format(*told))
    return found


def carry_rounding(start: Start, claims: Mapping[str, Claim], used: Stages) -> dict[str, Tensor]:
    """Return the largest rounding error of each number, from the queries to the masked scores: half a unit
    for a claimed number, and for a computed number what it gets from the numbers before."""
    halves: dict[str, Tensor] = {}
    for name in list(used)[: list(used).index("weights")]:
        claim, open_to = claims.get(name), torch.zeros_like(used[name])
        if name == "scores" and name not in start.arrays:
            keys, of_keys = used["keys"].mT, halves["keys"].mT
            open_to = halves["queries"] @ (keys.abs() + of_keys) + used["queries"].abs() @ of_keys
        elif name == "scaled_scores" and name not in start.arrays:
            open_to = halves["scores"] / (start.divisor or 1.0)
        elif name == "masked_scores" and name not in start.arrays:
            open_to = halves["scaled_scores"]
        if claim is not None and claim.numbers.shape == open_to.shape:
            open_to = torch.where(claim.numbers.isnan(), open_to, claim.halves)
        halves[name] = open_to
    return halves


def _span(scores: Tensor, halves: Tensor) -> Tensor:
    """Return how far a weight can move in the softmax if each score is off by at most its entry in
    `halves`."""
    apart = (scores[..., None, :] - scores[..., :, None]).nan_to_num(-math.inf, math.inf, -math.inf)
    off = _of_pairs(halves, halves) * (1 - torch.eye(scores.shape[-1], dtype=scores.dtype))
    lowest, highest = (1 / each.exp().sum(-1) for each in (apart + off, apart - off))
    return (highest - lowest).masked_fill(scores == -math.inf, 0.0)


def _of_weights(claim: Claim, used: Stages, earlier: Stages) -> Iterator[Rule]:
    numbers, halves = claim.numbers, claim.halves
    total = numbers.sum(-1, keepdim=True).expand_as(numbers)
    is_off = (total - 1).abs() > halves.sum(-1, keepdim=True) + EXACT
    yield is_off, "a row of weights sums to 1, this one to {}", total
    if "masked_scores" not in earlier:
        return
    scores, moved = used["masked_scores"], earlier["masked_scores"]
    hidden = scores == -math.inf
    # Of each two keys of a row: is the score of the first surely larger, and its weight surely smaller?
    larger = _of_pairs(scores, -scores) > _of_pairs(moved, moved) + EXACT
    smaller = _of_pairs(-numbers, numbers) > _of_pairs(halves, halves) + EXACT
    pairs = larger & smaller & ~hidden[..., None, :]
    yield hidden & (numbers != 0), "masked weights are exactly 0"
    yield pairs.any(-1) | pairs.any(-2), "a larger score never has a smaller weight"
    yield _unlike_rows(claim, scores, moved), "equal score differences give equal rows"


def _unlike_rows(claim: Claim, scores: Tensor, moved: Tensor) -> Tensor:
    """Mark weights that differ between two rows whose scores differ only by a constant."""
    from_largest = scores - scores.amax(-1, keepdim=True)
    one, other = from_largest[:, :, None], from_largest[:, None]
    is_same = is_near(one, other, torch.zeros(())).all(-1)  # head, row, other row
    span = _span(scores, moved)
    slack = claim.halves[:, :, None] + claim.halves[:, None] + EXACT
    slack += torch.maximum(span[:, :, None], span[:, None])
    apart = (claim.numbers[:, :, None] - claim.numbers[:, None]).abs()
    return ((apart > slack) & is_same[..., None]).any(2)


def _of_context(claim: Claim, used: Stages, earlier: Stages) -> Iterator[Rule]:
    if "values" not in used:
        return
    numbers, values, moved = claim.numbers, used["values"][:, None], earlier["values"][:, None]
    scores = used.get("masked_scores", used["weights"])
    seen = (scores != -math.inf)[..., None]  # head, row, key, 1
    low = torch.where(seen, values, math.inf).amin(2)
    high = torch.where(seen, values, -math.inf).amax(2)
    slack = claim.halves + torch.where(seen, moved, 0.0).amax(2) + EXACT
    is_outside = ((numbers < low - slack) | (numbers > high + slack)) & seen.any(2)
    if seen.shape[2] > 1:
        sees_first = seen[:, :1, 0] & (seen[:, :1].sum(2) == 1)  # the first row, and nothing else
        yield is_outside[:, :1] & sees_first, "the first row of a causal context is the first value row"
    yield is_outside, "a context lies within the range of its values, here {} to {}", low, high


def _of_pairs(rows: Tensor, columns: Tensor) -> Tensor:
    """Return rows[..., i] + columns[..., j] for every i and j, as a matrix for each row."""
    return rows[..., :, None] + columns[..., None, :]
