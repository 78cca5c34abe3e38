"""Known slips: what a claimed line would be if one step had been done otherwise.

A verdict says that a number is wrong; a slip says what was done instead. Each is computed from the lines
before as claimed, so that only the step itself is judged, and counts only where it gives every claimed cell
of the stage, and two of them at least lie more than a unit of the last digit from what is right: a single one
may be a typing error. Two slips that give the same numbers are both named; more would say nothing.
"""

import math
from collections.abc import Callable, Iterator, Mapping

import torch
from torch import Tensor

from pellucid.worked.claims import EXACT, Claim
from pellucid.worked.stages import Given, split

ENOUGH = 4  # claimed cells that convince where a slip shows in a single one
Slip = tuple[str, Tensor]  # what was done, and what it gives, H × rows × columns
Lines = Mapping[str, Tensor]  # the stages before as claimed, or as computed where nothing is claimed


def slip(given: Given, name: str, claim: Claim, lines: Lines, right: Tensor) -> str | None:
    """The known slip that gives every claimed cell of a stage: "dividing by d_k gives this"; None for more
    than two, or where so few cells are claimed that much could give them."""
    made = _SLIPS.get(name)
    if made is None or name in given.matrices:
        return None
    found = [told for told, numbers in made(given, lines) if _gives(numbers, claim, right)]
    return f"{' or '.join(found)} gives this" if 0 < len(found) <= 2 else None


def _gives(numbers: Tensor, claim: Claim, right: Tensor) -> bool:
    if numbers.shape != claim.numbers.shape:
        return False
    known = ~claim.numbers.isnan()
    is_claimed = (numbers == claim.numbers) | ((numbers - claim.numbers).abs() <= claim.halves + EXACT)
    halves = torch.where(known, claim.halves, claim.halves.max())
    is_off = (numbers != right) & ~((numbers - right).abs() <= 2 * halves + EXACT)
    off = int(is_off[known].sum())
    is_only_one = off == 1 == int(is_off.sum()) and int(known.sum()) >= ENOUGH
    return bool(is_claimed[known].all()) and (off > 1 or is_only_one)


def _of_projection(name: str) -> Callable[[Given, Lines], Iterator[Slip]]:
    def slips(given: Given, lines: Lines) -> Iterator[Slip]:
        made = given.projections.get(name)
        if made is None or made.weights is None:
            return
        matrix, weights = made.matrix, made.weights
        if weights.shape[-1] == weights.shape[-2]:
            yield f"{made.source} times {made.weight} transposed", _split(matrix @ weights.mT, given)
        if weights.shape[-1] == len(matrix) and matrix.shape[-1] % given.heads == 0:
            yield f"{made.weight} times {made.source}, the other way round,", _split(weights @ matrix, given)
        if matrix.shape[-1] == weights.shape[-1] * (given.heads if weights.dim() == 3 else 1):
            yield f"{made.source} itself, without {made.weight},", split(matrix, given.heads)
        for other, instead in given.projections.items():
            if other == name or instead.weights is None or instead.weights.shape != weights.shape:
                continue
            yield f"{instead.weight} instead of {made.weight}", _split(matrix @ instead.weights, given)
        if given.heads > 1 and weights.dim() == 2:
            product = matrix @ weights
            in_turn = product.unflatten(-1, (-1, given.heads)).permute(2, 0, 1)
            yield "giving the columns to the heads in turn, not in blocks,", in_turn
            untransposed = product.reshape(given.heads, len(product), -1)
            yield "reshaping to heads × rows × d_k, without the transpose,", untransposed

    return slips


def _split(product: Tensor, given: Given) -> Tensor:
    return product if product.dim() == 3 else split(product, given.heads)


def _of_scores(given: Given, lines: Lines) -> Iterator[Slip]:
    queries, keys = lines["queries"], lines["keys"]
    scores = queries @ keys.mT
    if queries.shape == keys.shape:
        yield "K Qᵀ, the transpose of Q Kᵀ,", scores.mT
    if queries.shape[-1] == keys.shape[-2]:
        yield "Q K, without the transpose,", queries @ keys
    yield from _divided(given, lines, scores, done="dividing by {} already here")
    if given.heads > 1:
        yield "all heads together, not each its own columns,", scores.sum(0, keepdim=True).expand_as(scores)


def _of_scaled_scores(given: Given, lines: Lines) -> Iterator[Slip]:
    scores = lines["scores"]
    if given.divisor is not None and given.divisor != 1:
        yield "not dividing", scores
        yield f"multiplying by {given.divisor:.6g}", scores * given.divisor
    yield from _divided(given, lines, scores, done="dividing by {}")


def _divided(given: Given, lines: Lines, scores: Tensor, done: str) -> Iterator[Slip]:
    """By d_k and its root, and by the model's width and its root, but not by what is right."""
    queries = lines.get("queries")
    if queries is None:
        if given.divisor is not None:
            yield done.format(f"{given.divisor**2:.6g}, without the root"), scores / given.divisor**2
        return
    width, heads = queries.shape[-1], len(queries)
    named = {
        "√d_k": math.sqrt(width),
        "d_k": float(width),
        "√d_model": math.sqrt(width * heads),
        "d_model": float(width * heads),
    }
    right = given.divisor if "already" not in done else None
    for text, divisor in named.items():
        if divisor != 1 and (right is None or not math.isclose(divisor, right)):
            yield done.format(text), scores / divisor


def _of_masked_scores(given: Given, lines: Lines) -> Iterator[Slip]:
    scores, mask = lines["scaled_scores"], lines["mask"]
    if not bool((mask == -math.inf).any()):
        if mask.shape[-1] == mask.shape[-2]:
            yield "a causal mask where none is asked for", _masked(scores, _later(mask, 0))
        return
    yield "leaving the mask out", scores
    if mask.shape[-1] == mask.shape[-2]:
        yield "the mask transposed", _masked(scores, mask.mT == -math.inf)
    if given.causal:
        yield "masking a token from itself too", _masked(scores, _later(mask, -1))
        yield "a mask that leaves the next token open", _masked(scores, _later(mask, 1))
    closed = mask == -math.inf
    yield "masking what may be looked at, and not the rest,", _masked(scores, ~closed)
    yield "0 instead of −∞ for what is masked", scores.masked_fill(closed, 0.0)
    if "scores" in lines:
        yield "masking scores that are not scaled", _masked(lines["scores"], closed)


def _later(mask: Tensor, first: int) -> Tensor:
    """True where the key comes more than `first` places after the query."""
    return torch.ones_like(mask, dtype=torch.bool).triu(first + 1)


def _masked(scores: Tensor, closed: Tensor) -> Tensor:
    return scores.masked_fill(closed, -math.inf)


def _of_weights(given: Given, lines: Lines) -> Iterator[Slip]:
    scores = lines["masked_scores"]
    closed = scores == -math.inf
    powers, open_scores = scores.exp(), scores.masked_fill(closed, 0.0)
    yield "softmax over the queries, down each column,", _softmax(scores.mT).mT
    yield "exp without dividing by the sum", powers
    yield "dividing the scores by their sum, without exp,", open_scores / open_scores.sum(-1, keepdim=True)
    yield "one softmax over the whole matrix", powers / powers.sum((-1, -2), keepdim=True)
    yield "0 instead of −∞ for what is masked", _softmax(open_scores)
    if "scaled_scores" in lines:
        unmasked = _softmax(lines["scaled_scores"])
        yield "softmax without the mask", unmasked
        yield "masking after the softmax", unmasked.masked_fill(closed, 0.0)
    if "scores" in lines:
        yield "softmax of scores that are not scaled", _softmax(_masked(lines["scores"], closed))


def _softmax(scores: Tensor) -> Tensor:
    """Of each row; one without any allowed key gets weights of zero."""
    return scores.softmax(-1).masked_fill((scores == -math.inf).all(-1, keepdim=True), 0.0)


def _of_context(given: Given, lines: Lines) -> Iterator[Slip]:
    weights, values = lines["weights"], lines["values"]
    if weights.shape[-1] == weights.shape[-2]:
        yield "the weights transposed, times V,", weights.mT @ values
    if values.shape[-2] == values.shape[-1] == weights.shape[-2]:
        yield "V times the weights, the other way round,", values @ weights
    if "queries" in lines and lines["keys"].shape == values.shape:
        yield "the weights times K instead of V", weights @ lines["keys"]
    if "masked_scores" in lines and bool(lines["masked_scores"].isfinite().all()):
        yield "scores times V, without softmax,", lines["masked_scores"] @ values
    yield (
        "the plain mean of V, without the weights,",
        values.mean(-2, keepdim=True).expand(-1, weights.shape[-2], -1),
    )
    if given.heads > 1:
        yield "each head with the values of the next", weights @ values.roll(-1, 0)


def _of_concatenated(given: Given, lines: Lines) -> Iterator[Slip]:
    context = lines["context"]
    if given.heads > 1:
        yield "the columns of the heads taken in turn", context.permute(1, 2, 0).flatten(1)[None]
        yield "the heads in the opposite order", context.flip(0).transpose(0, 1).flatten(1)[None]
        yield "flattening head by head, without the transpose,", context.reshape(1, context.shape[1], -1)
        summed = context.sum(0, keepdim=True)
        yield "the sum of the heads, not side by side,", summed
        yield "the mean of the heads, not side by side,", summed / given.heads


def _of_output(given: Given, lines: Lines) -> Iterator[Slip]:
    joined, w = lines["concatenated"], given.w_output
    if w is None:
        return
    yield "leaving W^O out", joined
    if w.shape[0] == w.shape[1]:
        yield "W^O transposed", joined @ w.mT
    if w.shape[1] == joined.shape[-2]:
        yield "W^O on the left", w @ joined


_SLIPS: Mapping[str, Callable[[Given, Lines], Iterator[Slip]]] = {
    "queries": _of_projection("queries"),
    "keys": _of_projection("keys"),
    "values": _of_projection("values"),
    "scores": _of_scores,
    "scaled_scores": _of_scaled_scores,
    "masked_scores": _of_masked_scores,
    "weights": _of_weights,
    "context": _of_context,
    "concatenated": _of_concatenated,
    "output": _of_output,
}
