"""Known slips, made with plain NumPy: arguments, the claimed stage, what somebody wrote, what they did."""

import math
from typing import Any

import numpy as np

RANDOM = np.random.default_rng(4)
X, MEMORY = RANDOM.normal(size=(3, 4)).round(2), RANDOM.normal(size=(4, 4)).round(2)
WQ, WK, WV, WO = (RANDOM.normal(size=(4, 4)).round(2) for _ in range(4))
TWO_HEADS: dict[str, Any] = {
    "inputs": X, "w_query": WQ, "w_key": WK, "w_value": WV, "w_output": WO, "heads": 2, "mask": "causal",
}  # fmt: skip
ONE_HEAD = {**TWO_HEADS, "heads": 1}
CROSS = {**ONE_HEAD, "mask": None, "memory": MEMORY, "w_key": MEMORY.T}
SQUARE: dict[str, Any] = {"queries": X[:, :3], "keys": MEMORY[:3, :3], "values": WV[:3, :3]}
LATER = np.triu(np.ones((3, 3), dtype=bool), 1)


def heads(matrix: Any) -> Any:
    return np.stack([matrix[:, :2], matrix[:, 2:]])


def written(matrix: Any, digits: int = 3) -> Any:
    """Rounded and as text, as somebody copies it."""
    if np.ndim(matrix) == 0:
        return "−∞" if math.isinf(matrix) else f"{matrix:.{digits}f}"
    return [written(part, digits) for part in matrix]


def softmax(scores: Any) -> Any:
    powers = np.exp(scores)
    return powers / powers.sum(-1, keepdims=True)


Q, K, V = heads(X @ WQ), heads(X @ WK), heads(X @ WV)
SCORES = Q @ K.transpose(0, 2, 1)
SCALED = SCORES / math.sqrt(2)
MASKED = np.where(LATER, -math.inf, SCALED)
WEIGHTS = softmax(MASKED)
CONTEXT = WEIGHTS @ V
JOINED = np.concatenate(list(CONTEXT), axis=1)
OTHER_SCORES, OTHER_VALUES = RANDOM.normal(size=(3, 2, 4)).round(2), RANDOM.normal(size=(3, 4, 2)).round(2)
THREE_HEADS = {"scores": OTHER_SCORES, "values": OTHER_VALUES, "scale": None}
PLAIN = X[:, :3] @ MEMORY[:3, :3].T / math.sqrt(3)  # the scaled scores of SQUARE, which has no mask

SLIPS: list[tuple[dict[str, Any], str, Any, str]] = [
    (TWO_HEADS, "queries", heads(X @ WQ.T), "inputs times w_query transposed"),
    (TWO_HEADS, "keys", heads(X), "inputs itself, without w_key,"),
    (TWO_HEADS, "queries", heads(X @ WK), "w_key instead of w_query"),
    (TWO_HEADS, "values", np.stack([(X @ WV)[:, 0::2], (X @ WV)[:, 1::2]]),
     "giving the columns to the heads in turn, not in blocks,"),
    (TWO_HEADS, "values", (X @ WV).reshape(2, 3, 2),
     "reshaping to heads × rows × d_k, without the transpose,"),
    (CROSS, "keys", MEMORY.T @ MEMORY, "w_key times memory, the other way round,"),
    (TWO_HEADS, "scores", K @ Q.transpose(0, 2, 1), "K Qᵀ, the transpose of Q Kᵀ,"),
    (SQUARE, "scores", X[:, :3] @ MEMORY[:3, :3], "Q K, without the transpose,"),
    (TWO_HEADS, "scores", SCALED, "dividing by √d_k already here"),
    (TWO_HEADS, "scores", np.stack([X @ WQ @ (X @ WK).T] * 2),
     "all heads together, not each its own columns,"),
    (TWO_HEADS, "scaled_scores", SCORES, "not dividing"),
    (TWO_HEADS, "scaled_scores", SCORES / 2, "dividing by d_k or dividing by √d_model"),
    (ONE_HEAD, "scaled_scores", X @ WQ @ (X @ WK).T / 4, "dividing by d_k or dividing by d_model"),
    (TWO_HEADS, "scaled_scores", SCORES * math.sqrt(2), "multiplying by 1.41421"),
    ({"scores": X[:, :3], "scale": 8}, "scaled_scores", X[:, :3] / 64, "dividing by 64, without the root"),
    (TWO_HEADS, "masked_scores", SCALED, "leaving the mask out"),
    (TWO_HEADS, "masked_scores", np.where(LATER.T, -math.inf, SCALED), "the mask transposed"),
    (TWO_HEADS, "masked_scores", np.where(~LATER.T, -math.inf, SCALED), "masking a token from itself too"),
    (TWO_HEADS, "masked_scores", np.where(np.triu(LATER, 2), -math.inf, SCALED),
     "a mask that leaves the next token open"),
    (TWO_HEADS, "masked_scores", np.where(LATER, SCALED, -math.inf),
     "masking what may be looked at, and not the rest,"),
    (TWO_HEADS, "masked_scores", np.where(LATER, 0.0, SCALED), "0 instead of −∞ for what is masked"),
    (TWO_HEADS, "masked_scores", np.where(LATER, -math.inf, SCORES), "masking scores that are not scaled"),
    (SQUARE, "masked_scores", np.where(LATER, -math.inf, PLAIN), "a causal mask, which is not asked for,"),
    (SQUARE, "weights", softmax(PLAIN.T).T, "softmax over the queries, down each column,"),
    (TWO_HEADS, "weights", np.exp(MASKED), "exp without dividing by the sum"),
    (SQUARE, "weights", PLAIN / PLAIN.sum(-1, keepdims=True),
     "dividing the scores by their sum, without exp,"),
    (SQUARE, "weights", np.exp(PLAIN) / np.exp(PLAIN).sum(), "one softmax over the whole matrix"),
    (TWO_HEADS, "weights", softmax(np.where(LATER, 0.0, SCALED)), "0 instead of −∞ for what is masked"),
    (TWO_HEADS, "weights", softmax(SCALED), "softmax without the mask"),
    (TWO_HEADS, "weights", np.where(LATER, 0.0, softmax(SCALED)), "masking after the softmax"),
    (TWO_HEADS, "weights", softmax(np.where(LATER, -math.inf, SCORES)),
     "softmax of scores that are not scaled"),
    (TWO_HEADS, "context", WEIGHTS.transpose(0, 2, 1) @ V, "the weights transposed, times V,"),
    (SQUARE, "context", WV[:3, :3] @ softmax(PLAIN), "V times the weights, the other way round,"),
    (TWO_HEADS, "context", WEIGHTS @ K, "the weights times K instead of V"),
    (SQUARE, "context", PLAIN @ WV[:3, :3], "scores times V, without softmax,"),
    (TWO_HEADS, "context", np.stack([np.tile(each.mean(0), (3, 1)) for each in V]),
     "the plain mean of V, without the weights,"),
    (THREE_HEADS, "context", softmax(OTHER_SCORES) @ OTHER_VALUES[[1, 2, 0]],
     "each head with the values of the next"),
    (TWO_HEADS, "concatenated", np.stack(list(CONTEXT), axis=-1).reshape(3, 4),
     "the columns of the heads taken in turn"),
    (TWO_HEADS, "concatenated", np.concatenate([CONTEXT[1], CONTEXT[0]], axis=1),
     "the heads in the opposite order"),
    (TWO_HEADS, "concatenated", CONTEXT.reshape(3, 4), "flattening head by head, without the transpose,"),
    (TWO_HEADS, "output", JOINED, "leaving W^O out"),
    (TWO_HEADS, "output", JOINED @ WO.T, "W^O transposed"),
    ({"weights": np.eye(4), "values": MEMORY, "w_output": WO}, "output", WO @ MEMORY, "W^O on the left"),
]  # fmt: skip

# One wrong cell may be a typing error, and so may two that would fit either way.
HARDLY_CLAIMED: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (  # K Qᵀ has −1.0 there, but so has somebody who mistyped 1.0
        {"queries": [[1.0, 0.0], [0.0, 1.0], [0.0, -1.0]], "keys": [[2.0, -1.0], [0.0, 3.0], [-1.0, 0.0]]},
        {"scores": [["…", "…", "…"], ["…", "3.0", "…"], ["-1.0", "…", "…"]]},
    ),
    (  # the same among four cells, of which three would fit either way
        {"queries": np.eye(4), "keys": np.eye(4) + np.eye(4)[[1, 2, 3, 0]]},
        {"scores": [["1.0", "1.0", "…", "…"], ["…", "1.0", "…", "…"], ["…", "…", "1.0", "…"], ["…"] * 4]},
    ),
    (  # only one cell could show it, and there are three
        {"scaled_scores": [[1.0, 2.0], [3.0, 4.0]], "mask": "causal"},
        {"masked_scores": [["1.0", "2.0"], ["3.0", "…"]]},
    ),
    (TWO_HEADS, {"scaled_scores": written(np.where(np.arange(18).reshape(2, 3, 3) == 15, 7.0, SCALED))}),
    (  # not every score is known
        {"scores": [[math.nan, 1.0], [2.0, 3.0]], "mask": "causal", "scale": 2},
        {"weights": [["0.500", "0.500"], ["0.9", "0.2"]]},
    ),
    (  # 0.9 / 2 is 0.45 and the softmax 0.4502: "0.4" does not tell which of the two it was
        {"scores": [[1.0, 0.8], [0.9, 1.1]], "mask": "causal"},
        {"weights": [["1.0", "0.0"], ["0.4", "0.6"]]},
    ),
]
