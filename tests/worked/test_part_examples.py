"""Worked examples of embeddings, a feed-forward and Add & Norm: each stage again by plain NumPy."""

import json
import math
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import Command

from pellucid.errors import UsageError
from pellucid.seeing.viewed import lines
from pellucid.worked.examples import example, names, read_example

Array = np.ndarray[Any, Any]


def seen(name: str) -> dict[str, Array]:
    records = example(name).worked()
    return {
        stage: record.tensor.numpy()[0] if record.axes.startswith("B") else record.tensor.numpy()
        for stage, record in records.items()
    }


def given(name: str) -> dict[str, Array]:
    arguments = {key: value for key, value in example(name).arguments.items() if key != "tokens"}
    return {key: np.array(value) for key, value in arguments.items() if isinstance(value, list)}


PARTS = [name for name in names() if example(name).is_part]


@pytest.mark.parametrize(("name", "factor"), [("002-embedding", 1.0), ("002-embedding-scaled", 2.0)])
def test_looked_up_is_one_hot_times_the_matrix(name: str, factor: float) -> None:
    stages, start = seen(name), given("002-embedding")
    ids, matrix = start["ids"].astype(int), start["w_embedding"]
    one_hot = np.array([[float(column == index) for column in range(len(matrix))] for index in ids])
    np.testing.assert_array_equal(stages["one_hot"], one_hot)
    np.testing.assert_allclose(stages["one_hot · W_E"], matrix[ids], rtol=0, atol=1e-15)
    np.testing.assert_allclose(stages["decoder.token_embeddings"], factor * matrix[ids], rtol=0, atol=1e-15)
    positions = [
        [
            math.sin(i / 10000 ** (j / 4)) if j % 2 == 0 else math.cos(i / 10000 ** ((j - 1) / 4))
            for j in range(4)
        ]
        for i in range(3)
    ]
    np.testing.assert_allclose(stages["decoder.positions"], positions, rtol=0, atol=1e-15)
    embedded = factor * matrix[ids] + positions
    np.testing.assert_allclose(stages["decoder.embedded"], embedded, rtol=0, atol=1e-15)


@pytest.mark.parametrize("name", ["002-add-norm", "002-feed-forward"])
def test_add_and_norm(name: str) -> None:
    stages, start = seen(name), given(name)
    added = start.get("sublayer")
    if added is None:
        hidden = start["inputs"] @ start["w_1"] + start["b_1"]
        added = np.maximum(0, hidden) @ start["w_2"] + start["b_2"]
        np.testing.assert_allclose(stages["feed_forward.hidden"], hidden, rtol=0, atol=1e-12)
        np.testing.assert_allclose(stages["feed_forward.output"], added, rtol=0, atol=1e-12)
        assert (hidden < 0).any() and (hidden > 0).any(), "there is something for ReLU to do"
    total = start["inputs"] + added
    centred = total - total.mean(axis=1, keepdims=True)
    standardized = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5)
    output = standardized * start["norm_weight"] + start["norm_bias"]
    np.testing.assert_allclose(stages["residual.sum"], total, rtol=0, atol=1e-12)
    np.testing.assert_allclose(stages["residual.output"], output, rtol=0, atol=1e-12)
    steps = np.diff(start["inputs"], n=2, axis=1)
    assert (np.abs(steps) > 1e-9).all(), "no row is an arithmetic progression"
    assert not np.allclose(stages["residual.norm.standardized"][0], stages["residual.norm.standardized"][1])


def test_token_ids_pick_their_rows() -> None:
    worked = example("004-token-ids").worked()
    assert worked.shapes["decoder.token_embeddings"] == "rows 101, 200, 300 of W_E (512×4)"
    np.testing.assert_array_equal(
        seen("004-token-ids")["decoder.token_embeddings"], given("004-token-ids")["w_embedding"]
    )
    assert "one_hot" not in worked, "the other rows are not known"


@pytest.mark.parametrize("name", PARTS)
def test_without_scripts_the_page_says_what_the_terminal_says(
    name: str, pellucid: Command, tmp_path: Path
) -> None:
    path = tmp_path / "page.html"
    assert pellucid("example", name, "--html", path) == pellucid("example", name), "it prints the same"
    page = path.read_text(encoding="utf-8")
    assert escape("\n".join(lines(example(name), 100))) in page


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"inputs": [[1.0]], "sublayer": [[1.0, 2.0]]}, "sublayer is 1×2 and must be 1×1, as the inputs are"),
        ({"inputs": [[1.0]], "w_1": [[1.0], [2.0]], "w_2": [[1.0]]}, "the matrices do not fit together"),
        ({"ids": [[3]], "w_embedding": [[1.0, 2.0]]}, "the matrices do not fit together"),
    ],
)
def test_matrices_of_a_file_that_do_not_fit_are_refused(
    given: dict[str, Any], fault: str, tmp_path: Path
) -> None:
    (tmp_path / "own.json").write_text(json.dumps({"given": given}), encoding="utf-8")
    with pytest.raises(UsageError, match=fault):
        read_example(tmp_path / "own.json").worked()


def test_a_file_may_leave_out_what_is_zero_or_one(tmp_path: Path) -> None:
    """A feed-forward without biases and norm; Add & Norm with neither weight nor bias."""
    x, w = [[1.0, -2.0]], [[1.0, 0.0], [0.0, 1.0]]
    (tmp_path / "own.json").write_text(json.dumps({"given": {"inputs": x, "w_1": w, "w_2": w}}))
    worked = read_example(tmp_path / "own.json").worked()
    assert [*worked] == [f"feed_forward.{each}" for each in ("hidden", "activated", "output")]
    assert worked["feed_forward.output"].tensor.tolist() == [[[1.0, 0.0]]]
    (tmp_path / "own.json").write_text(json.dumps({"given": {"inputs": x, "sublayer": [[1.0, 6.0]]}}))
    output = read_example(tmp_path / "own.json").worked()["residual.output"].tensor
    assert output.flatten().tolist() == pytest.approx([-1.0, 1.0], abs=1e-5)
