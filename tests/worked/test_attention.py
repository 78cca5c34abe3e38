"""Worked examples: the equations again by plain loops in float64, and what is refused, word for word."""

import math
import re
from typing import Any

import numpy as np
import pytest
import torch
from small_models import small_model

from pellucid import attention
from pellucid.errors import UsageError
from pellucid.seeing.trace import trace
from pellucid.seeing.viewed import page
from pellucid.worked import stages

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(3)
X, MEMORY = RANDOM.normal(size=(3, 6)), RANDOM.normal(size=(4, 6))
W_QUERY, W_KEY, W_VALUE = (RANDOM.normal(size=shape) for shape in ((6, 4), (6, 4), (6, 10)))
W_OUTPUT = RANDOM.normal(size=(10, 5))
W = {"w_query": W_QUERY, "w_key": W_KEY, "w_value": W_VALUE}
NAMES = list(stages.STAGES)


def by_hand(q: Array, k: Array, v: Array, divisor: float, mask: Array | None = None) -> dict[str, Array]:
    """One head; the softmax and the weighted sum a row at a time."""
    scores = np.array([[sum(query * key) for key in k] for query in q])
    masked = scores / divisor + (0 if mask is None else mask)
    powers = [[math.exp(score) for score in row] for row in masked]
    weights = np.array([[power / sum(row) for power in row] for row in powers])
    context = np.array([sum(w * row for w, row in zip(each, v, strict=True)) for each in weights])
    names = ("scores", "scaled_scores", "masked_scores", "weights", "context")
    return dict(zip(names, (scores, scores / divisor, masked, weights, context), strict=True))


def causal(rows: int, columns: int) -> Array:
    return np.triu(np.full((rows, columns), -np.inf), 1)


@pytest.mark.parametrize(
    ("scale", "divisor"), [("sqrt_dk", 2.0), ("sqrt_dmodel", 6**0.5), (None, 1.0), (3.5, 3.5), (2, 2.0)]
)
@pytest.mark.parametrize("mask", [None, "causal", "array", "bools"])
def test_every_scale_and_mask_from_inputs(scale: Any, divisor: float, mask: str | None) -> None:
    memory = X if mask == "causal" else MEMORY  # a causal mask has as many columns as rows
    hidden = {None: None, "causal": causal(3, 3)}.get(mask, np.array([[0, -np.inf, 0, 0]] * 3))
    given = {"array": hidden, "bools": hidden == 0}.get(str(mask), mask)
    seen = attention(inputs=X, memory=memory, **W, scale=scale, mask=given)
    expected = by_hand(X @ W_QUERY, memory @ W_KEY, memory @ W_VALUE, divisor, hidden)
    for name, numbers in expected.items():
        record = seen[name]
        assert record.axes == stages.STAGES[name] and record.tensor.dtype == torch.float64
        np.testing.assert_allclose(record.tensor.numpy()[0, 0], numbers, rtol=0, atol=1e-12, err_msg=name)
    assert list(seen) == NAMES[:-1], "without W^O there is no output"
    np.testing.assert_array_equal(seen["mask"].tensor[0, 0], np.zeros((3, 4)) if hidden is None else hidden)


@pytest.mark.parametrize("entry", ["scores", "scaled_scores", "masked_scores", "weights"])
def test_entry_at_a_later_stage(entry: str) -> None:
    whole = attention(queries=X, keys=MEMORY, values=MEMORY, scale=2.0)
    start = whole[entry].tensor[0, 0]
    scale = {"scale": 2.0} if entry == "scores" else {}
    seen = attention(**{entry: start}, values=MEMORY, **scale)
    assert list(seen) == ["values", *NAMES[NAMES.index(entry) : -1]]
    for name, record in seen.items():
        torch.testing.assert_close(record.tensor, whole[name].tensor, rtol=0, atol=0)
    without_values = attention(**{entry: start.tolist()}, **scale)
    assert list(without_values) == NAMES[NAMES.index(entry) : NAMES.index("weights") + 1]


@pytest.mark.parametrize("as_list", [True, False])
def test_heads_by_one_matrix_or_by_one_for_each(as_list: bool) -> None:
    parts = {name: np.split(matrix, 2, axis=1) for name, matrix in W.items()}
    given: dict[str, Any] = {**W, "w_output": W_OUTPUT}
    if as_list:
        given = {**parts, "w_output": np.split(W_OUTPUT, 2)}
    hidden = np.stack([causal(3, 3), np.zeros((3, 3))])
    seen = attention(inputs=X, **given, heads=2, mask=hidden)
    contexts = []
    for head in range(2):
        q, k, v = (X @ parts[name][head] for name in W)
        expected = by_hand(q, k, v, 2**0.5, hidden[head])
        for name, numbers in expected.items():
            np.testing.assert_allclose(seen[name].tensor.numpy()[0, head], numbers, rtol=0, atol=1e-12)
        contexts.append(expected["context"])
    output = np.concatenate(contexts, axis=1) @ W_OUTPUT
    np.testing.assert_allclose(seen["output"].tensor.numpy()[0], output, rtol=0, atol=1e-12)


def test_without_w_the_inputs_themselves() -> None:
    bare, given = attention(inputs=X, memory=MEMORY), attention(queries=X, keys=MEMORY, values=MEMORY)
    assert torch.equal(bare["context"].tensor, given["context"].tensor)
    three = attention(queries=X, keys=MEMORY, values=MEMORY, heads=3)
    q, k = (each.reshape(-1, 3, 2).swapaxes(0, 1) for each in (X, MEMORY))
    as_given = attention(queries=q, keys=k, values=k)
    assert torch.equal(three["concatenated"].tensor, as_given["concatenated"].tensor)


def test_it_is_the_models_own_attention(monkeypatch: pytest.MonkeyPatch) -> None:
    def other(*arguments: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(stages, "attend", other)
    with pytest.raises(ZeroDivisionError):
        attention(queries=X, keys=X)


def test_inside_a_trace_of_a_model() -> None:
    model, ids = small_model(width=6), torch.tensor([[4, 3]])
    with torch.no_grad(), trace(model) as seen:
        model(ids, None, ids)
        assert attention(queries=X, keys=X)["weights"].tensor.shape == (1, 1, 3, 3)
    assert not [name for name in seen if name in NAMES]


def test_what_is_not_known_stays_unknown_and_a_row_that_may_look_at_nothing_is_zero() -> None:
    elided = [[0.1, math.nan, 0.3], [0.2, math.nan, 0.4]]
    seen = attention(queries=elided, keys=elided, values=elided, mask="causal")
    assert seen["scores"].tensor.isnan().all()
    assert seen["masked_scores"].tensor[0, 0, 0, 1] == -math.inf
    seen = attention(scores=[[1.0, 2.0]], values=elided)
    assert seen["context"].tensor.isnan().tolist() == [[[[False, True, False]]]]
    empty = attention(queries=X, keys=X, values=X, mask=[[False] * 3, [True] * 3, [True] * 3])
    assert not empty["weights"].tensor[0, 0, 0].any() and not empty["context"].tensor[0, 0, 0].any()


def test_shapes_are_told_as_products() -> None:
    assert attention(inputs=X, memory=MEMORY, **W, w_output=W_OUTPUT, heads=2).shapes == {
        "queries": "(3×6)·(6×4) = (3×4), 2 heads of (3×2)",
        "keys": "(4×6)·(6×4) = (4×4), 2 heads of (4×2)",
        "values": "(4×6)·(6×10) = (4×10), 2 heads of (4×5)",
        "scores": "(3×2)·(2×4) = (3×4)",
        "scaled_scores": "(3×4) ÷ 1.41421 = (3×4)",
        "mask": "(3×4)",
        "masked_scores": "(3×4) + (3×4) = (3×4)",
        "weights": "softmax of each row of (3×4) = (3×4)",
        "context": "(3×4)·(4×5) = (3×5)",
        "concatenated": "2 heads of (3×5) side by side = (3×10)",
        "output": "(3×10)·(10×5) = (3×5)",
    }


def test_labels_and_names() -> None:
    seen = attention(inputs=X, tokens=["a", "b", "c"], mask="causal")
    for name, axis in (("weights", "L"), ("weights", "M"), ("keys", "M")):
        assert seen[name].labels(axis) == ["a", "b", "c"]
    crossed = attention(inputs=X, memory=MEMORY, tokens=["a", "b", "c"])
    assert crossed["weights"].labels("M") == ["0", "1", "2", "3"]
    with pytest.raises(KeyError, match=r'no tensor is called "weigths". Nearest: weights'):
        seen["weigths"]


Q, K = X[:, :4], MEMORY[:, :5]
IDLE = "{} has no effect beside {}: nothing is computed from it."


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(queries=Q, keys=K), "scores: queries · keys^T is (3×4)·(5×4), which does not multiply: the"),
        (dict(inputs=Q, w_query=np.ones((3, 4))), "3 rows. Its transpose would: w_query is written in ×"),
        (dict(queries=X), "there are no keys. Give keys=, or inputs= (and w_key=)."),
        (dict(queries=X, keys=X, heads=4), "queries: 6 columns are not a multiple of heads = 4."),
        (
            dict(inputs=X, w_query=[W_QUERY] * 2, heads=3),
            "different numbers of heads are given: heads 3, w_query 2.",
        ),
        (dict(scores=Q, weights=Q), IDLE.format("weights", "scores")),
        (dict(scores=Q, w_output=Q), IDLE.format("w_output", "scores")),
        (dict(weights=Q, mask="causal"), IDLE.format("mask", "weights")),
        (dict(scaled_scores=Q, scale=2.0), IDLE.format("scale", "scaled_scores")),
        (dict(queries=X, keys=X, w_key=X), IDLE.format("w_key", "queries, keys")),
        (dict(queries=[[1e200] * 2], keys=[[1e200, -1e200]]), "scores: it overflows float64 (1.8e308)."),
        (dict(queries=X, keys=X, mask="casual"), 'mask = "casual" is not known. Give None, "causal", or an'),
        (dict(queries=X, keys=X, mask=[[0, 1, 1], [0, 0, 1], [0, 0, 0]]), "mask: 1 is not 0 or below: a"),
        (dict(queries=X, keys=X, mask=[[True, False]]), "mask is 1×2, but must be 3×3 like the scores."),
        (dict(queries=X, keys=X, scale=0), 'scale = 0 is not known. Give "sqrt_dk", "sqrt_dmodel", None,'),
        (dict(queries=[[math.inf]], keys=[[1.0]]), "queries: it overflows float64 (1.8e308). Give smaller"),
        (dict(scores=[1.0, 2.0]), "scores has the shape (2,). Give a matrix, [[1.0, 2.0], …]"),
        (dict(scores=[[1.0, 2.0], [1.0]]), "scores is not a matrix of numbers. Give rows of the same length"),
        (dict(inputs=X, tokens=["a"]), "tokens: 1 words for 3 rows. Give 3."),
        (dict(scores=Q, mask="causal"), 'mask = "causal": the scores are 3×4.'),
    ],
)
def test_what_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        attention(**arguments)


def test_numbers_of_a_model_in_training_are_numbers() -> None:
    inputs = torch.tensor(X[:, :2], dtype=torch.bfloat16, requires_grad=True)
    worked = attention(inputs=inputs, w_query=torch.eye(2), mask=torch.zeros(3, 3, requires_grad=True))
    assert "inputs  (3×2)" in page(worked, name="page", claims={}, decimals=None)
