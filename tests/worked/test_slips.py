"""Known slips, each made with plain NumPy: the verdict says what was done instead."""

import math
from typing import Any

import numpy as np
import pytest

from pellucid import attention

RANDOM = np.random.default_rng(4)
X, MEMORY = RANDOM.normal(size=(3, 4)).round(2), RANDOM.normal(size=(4, 4)).round(2)
WQ, WK, WV, WO = (RANDOM.normal(size=(4, 4)).round(2) for _ in range(4))
TWO_HEADS: dict[str, Any] = {
    "inputs": X, "w_query": WQ, "w_key": WK, "w_value": WV, "w_output": WO, "heads": 2, "mask": "causal",
}  # fmt: skip
ONE_HEAD = {name: value for name, value in TWO_HEADS.items() if name != "heads"}
CROSS = {**{name: value for name, value in ONE_HEAD.items() if name != "mask"}, "memory": MEMORY}
SQUARE: dict[str, Any] = {"queries": X[:, :3], "keys": MEMORY[:3, :3], "values": WV[:3, :3]}
LATER = np.triu(np.ones((3, 3), dtype=bool), 1)


def heads(matrix: Any) -> Any:
    return np.stack([matrix[:, :2], matrix[:, 2:]])


Q, K, V = heads(X @ WQ), heads(X @ WK), heads(X @ WV)
SCORES = Q @ K.transpose(0, 2, 1)
SCALED = SCORES / math.sqrt(2)
MASKED = np.where(LATER, -math.inf, SCALED)


def softmax(scores: Any) -> Any:
    powers = np.exp(scores)
    return powers / powers.sum(-1, keepdims=True)


WEIGHTS = softmax(MASKED)
CONTEXT = WEIGHTS @ V
JOINED = np.concatenate(list(CONTEXT), axis=1)
ONE = {
    name: attention(**ONE_HEAD)[name].tensor[0].numpy() for name in ("scores", "weights", "values", "keys")
}
THREE = {name: record.tensor[0].numpy() for name, record in attention(**SQUARE).items()}

SLIPS: list[tuple[dict[str, Any], str, Any, str]] = [
    (TWO_HEADS, "queries", heads(X @ WQ.T), "inputs times w_query transposed"),
    (TWO_HEADS, "keys", heads(X), "inputs itself, without w_key,"),
    (TWO_HEADS, "queries", heads(X @ WK), "w_key instead of w_query"),
    (TWO_HEADS, "values", np.stack([(X @ WV)[:, 0::2], (X @ WV)[:, 1::2]]),
     "giving the columns to the heads in turn, not in blocks,"),
    (TWO_HEADS, "values", (X @ WV).reshape(2, 3, 2),
     "reshaping to heads × rows × d_k, without the transpose,"),
    ({**CROSS, "w_key": MEMORY.T}, "keys", MEMORY.T @ MEMORY, "w_key times memory, the other way round,"),
    (TWO_HEADS, "scores", K @ Q.transpose(0, 2, 1), "K Qᵀ, the transpose of Q Kᵀ,"),
    (SQUARE, "scores", X[:, :3] @ MEMORY[:3, :3], "Q K, without the transpose,"),
    (TWO_HEADS, "scores", SCALED, "dividing by √d_k already here"),
    (TWO_HEADS, "scores", np.stack([X @ WQ @ (X @ WK).T] * 2),
     "all heads together, not each its own columns,"),
    (TWO_HEADS, "scaled_scores", SCORES, "not dividing"),
    (TWO_HEADS, "scaled_scores", SCORES / 2, "dividing by d_k or dividing by √d_model"),
    (ONE_HEAD, "scaled_scores", ONE["scores"] / 4, "dividing by d_k or dividing by d_model"),
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
    (SQUARE, "masked_scores", np.where(LATER, -math.inf, THREE["scaled_scores"][0]),
     "a causal mask where none is asked for"),
    (SQUARE, "weights", softmax(THREE["scaled_scores"][0].T).T,
     "softmax over the queries, down each column,"),
    (TWO_HEADS, "weights", np.exp(MASKED), "exp without dividing by the sum"),
    (SQUARE, "weights", THREE["scaled_scores"][0] / THREE["scaled_scores"][0].sum(-1, keepdims=True),
     "dividing the scores by their sum, without exp,"),
    (SQUARE, "weights", np.exp(THREE["scaled_scores"][0]) / np.exp(THREE["scaled_scores"][0]).sum(),
     "one softmax over the whole matrix"),
    (TWO_HEADS, "weights", softmax(np.where(LATER, 0.0, SCALED)), "0 instead of −∞ for what is masked"),
    (TWO_HEADS, "weights", softmax(SCALED), "softmax without the mask"),
    (TWO_HEADS, "weights", np.where(LATER, 0.0, softmax(SCALED)), "masking after the softmax"),
    (TWO_HEADS, "weights", softmax(np.where(LATER, -math.inf, SCORES)),
     "softmax of scores that are not scaled"),
    (TWO_HEADS, "context", WEIGHTS.transpose(0, 2, 1) @ V, "the weights transposed, times V,"),
    (SQUARE, "context", WV[:3, :3] @ THREE["weights"][0], "V times the weights, the other way round,"),
    (TWO_HEADS, "context", WEIGHTS @ K, "the weights times K instead of V"),
    (SQUARE, "context", THREE["scaled_scores"][0] @ WV[:3, :3], "scores times V, without softmax,"),
    (TWO_HEADS, "context", np.stack([np.tile(each.mean(0), (3, 1)) for each in V]),
     "the plain mean of V, without the weights,"),
    (TWO_HEADS, "context", WEIGHTS @ V[::-1], "each head with the values of the next"),
    (TWO_HEADS, "concatenated", np.stack(list(CONTEXT), axis=-1).reshape(3, 4),
     "the columns of the heads taken in turn"),
    (TWO_HEADS, "concatenated", np.concatenate([CONTEXT[1], CONTEXT[0]], axis=1),
     "the heads in the opposite order"),
    (TWO_HEADS, "concatenated", CONTEXT.reshape(3, 4), "flattening head by head, without the transpose,"),
    (TWO_HEADS, "output", JOINED, "leaving W^O out"),
    (TWO_HEADS, "output", JOINED @ WO.T, "W^O transposed"),
    ({"weights": np.eye(4), "values": MEMORY, "w_output": WO}, "output", WO @ MEMORY, "W^O on the left"),
]  # fmt: skip


def written(matrix: Any, digits: int = 3) -> Any:
    """Rounded and as text, as somebody copies it."""
    if np.ndim(matrix) == 0:
        return "−∞" if math.isinf(matrix) else f"{matrix:.{digits}f}"
    return [written(part, digits) for part in matrix]


@pytest.mark.parametrize(("arguments", "stage", "numbers", "told"), SLIPS, ids=[each[3] for each in SLIPS])
def test_a_wrong_line_says_what_was_done_instead(
    arguments: dict[str, Any], stage: str, numbers: Any, told: str
) -> None:
    report = attention(**arguments).check({stage: written(numbers)})
    wrong = [cell for cell in report.cells if cell.verdict == "wrong"]
    assert wrong and all((cell.rule or "").split("; ")[0] == f"{told} gives this" for cell in wrong)


def test_a_right_line_and_a_typing_error_are_no_slips() -> None:
    example = attention(**TWO_HEADS)
    right = {"scaled_scores": written(SCALED), "weights": written(WEIGHTS)}
    assert all(cell.rule is None for cell in example.check(right).cells)
    mistyped = written(SCALED)
    mistyped[1][2][0] = "7.000"
    report = example.check({"scaled_scores": mistyped})
    assert [cell.rule for cell in report.cells if cell.verdict == "wrong"] == [None]


def test_a_slip_is_judged_from_the_lines_as_claimed() -> None:
    """Scores of one's own, divided by d_k: the division is the error, whatever the scores are."""
    claims = {"scores": written(SCORES + 1.0), "scaled_scores": written((SCORES + 1.0) / 2)}
    wrong = [cell for cell in attention(**TWO_HEADS).check(claims).cells if cell.name == "scaled_scores"]
    assert {cell.rule for cell in wrong} == {"dividing by d_k or dividing by √d_model gives this"}


def test_one_number_alone_says_nothing() -> None:
    report = attention(scores=[[4.0, 8.0]], scale=2).check({"scaled_scores": [["1.0", "…"]]})
    assert [cell.rule for cell in report.cells] == [None]


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
]


@pytest.mark.parametrize(("arguments", "claims"), HARDLY_CLAIMED)
def test_one_wrong_cell_may_be_a_typing_error(arguments: dict[str, Any], claims: dict[str, Any]) -> None:
    report = attention(**arguments).check(claims)
    wrong = [cell for cell in report.cells if cell.verdict == "wrong"]
    assert len(wrong) == 1 and "gives this" not in (wrong[0].rule or "")


ONLY_ONE_CELL: dict[str, Any] = {"scaled_scores": [[1.0, 2.0], [3.0, 4.0]], "mask": "causal"}
ONLY_ONE_CLAIMS = {"masked_scores": [["1.0", "2.0"], ["3.0", "4.0"]]}


def test_one_wrong_cell_is_a_slip_where_no_other_can_be_wrong() -> None:
    report = attention(**ONLY_ONE_CELL).check(ONLY_ONE_CLAIMS)
    (rule,) = [cell.rule or "" for cell in report.cells if cell.verdict == "wrong"]
    assert rule.startswith("leaving the mask out or a mask that leaves the next token open gives this")


def test_what_is_not_known_gives_no_slip() -> None:
    scores = [[math.nan, 1.0], [2.0, 3.0]]
    report = attention(scores=scores, mask="causal", scale=2).check(
        {"weights": [["0.500", "0.500"], ["0.9", "0.2"]]}
    )
    assert all("gives this" not in (cell.rule or "") for cell in report.cells)


def test_a_slip_that_rounding_alone_tells_apart_is_none() -> None:
    """0.9 / 2 is 0.45 and the softmax 0.4502: "0.4" is no proof of the one rather than the other."""
    report = attention(scores=[[1.0, 0.8], [0.9, 1.1]], mask="causal").check(
        {"weights": [["1.0", "0.0"], ["0.4", "0.6"]]}
    )
    assert [cell.rule for cell in report.cells if cell.verdict == "wrong"] == [None, None]
