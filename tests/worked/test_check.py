"""Claims judged cell by cell: verdicts, digits as written, rules and their slack, and what is refused."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from pellucid.worked.reporting import first_wrong

from pellucid.errors import UsageError
from pellucid.worked.attention import attention
from pellucid.worked.check import FROM_THE_START, MORE_DIGITS, Report

LARGER = "a larger score never has a smaller weight"


def verdicts(report: Report, name: str) -> list[str]:
    return [cell.verdict for cell in report.cells if cell.name == name]


def rules(report: Report) -> list[str | None]:
    return [cell.rule for cell in report.cells]


def test_right_follows_and_wrong() -> None:
    example = attention(queries=[[1.0, 2.0]], keys=[[1.0, 0.0], [0.0, 1.0]], scale=None)
    report = example.check({"scores": [["1.0", "1.0"]], "weights": [["0.50", "0.55"]]})
    right, wrong, follows, neither = report.cells
    assert (right.verdict, right.step, right.start, right.rule) == ("right", 1.0, 1.0, None)
    assert (wrong.verdict, wrong.claimed, wrong.written) == ("wrong", 1.0, "1.0")
    assert (
        follows.verdict == "follows"
        and follows.step == 0.5
        and follows.start == pytest.approx(1 / (1 + math.e))
    )
    assert neither.verdict == "wrong" and neither.rule == "a row of weights sums to 1, this one to 1.05"
    assert (neither.name, neither.head, neither.row, neither.column) == ("weights", 0, 0, 1)


def test_right_though_the_line_before_shows_too_few_digits() -> None:
    example = attention(queries=[[1.449]], keys=[[1.0], [0.0]], scale=None)
    exact = 1 / (1 + math.exp(-1.449))
    report = example.check({"scores": [["1.4", "0.0"]], "weights": [[f"{exact:.3f}", f"{1 - exact:.3f}"]]})
    assert [(cell.verdict, cell.remark) for cell in report.cells if cell.name == "weights"] == [
        ("right", MORE_DIGITS)
    ] * 2


WRONG_BEFORE: dict[str, Any] = {
    "queries": [[1.0, 2.0], [3.0, 1.0]], "keys": [[1.0, 0.0], [0.0, 1.0]], "values": [[1.0, 2.0], [3.0, 4.0]],
    "mask": "causal",
}  # fmt: skip
WRONG_CLAIMS = {"scores": [["3.0", "2.0"]] * 2, "weights": [["1.0", "0.0"], ["0.80", "0.20"]]}


def test_right_though_the_line_before_is_wrong() -> None:
    """Scores of 3 and 2 give 0.67 and 0.33, however they were rounded: no digits explain 0.80."""
    report = attention(**WRONG_BEFORE).check(WRONG_CLAIMS)
    assert verdicts(report, "scores") == ["wrong", "right", "right", "wrong"]
    weights = [(cell.verdict, cell.remark) for cell in report.cells if cell.name == "weights"]
    assert weights == [("right", None)] * 2 + [("right", FROM_THE_START)] * 2


@pytest.mark.parametrize(
    ("claimed", "decimals", "holds"),
    [
        ("0.40", None, False),  # 0.40501 is more than 0.005 away
        ("0.4", None, True),
        ("0.41", None, True),
        ("0.400", None, False),
        (0.4, None, True),
        (np.float32(0.4), None, True),
        (0.4, 3, False),
        ("4e-1", None, True),
        ("4.0e-1", None, False),
        ("0", 0, True),
        (0, 0, True),
        (0, 1, False),
    ],
)
def test_a_claim_has_the_digits_that_it_is_written_with(
    claimed: Any, decimals: int | None, holds: bool
) -> None:
    report = attention(scores=[[0.40501, 1.0]], scale=None).check({"scores": [[claimed, "…"]]}, decimals)
    assert [cell.verdict for cell in report.cells] == ["right" if holds else "wrong"]


def test_half_a_unit_of_the_last_digit_is_still_right() -> None:
    report = attention(scores=[[0.25, 0.35, 0.3501]]).check({"scores": [["0.2", "0.3", "0.3"]]})
    assert [cell.verdict for cell in report.cells] == ["right", "right", "wrong"]


@pytest.mark.parametrize("infinite", ["-inf", "−∞", "-∞", -math.inf])
def test_minus_infinity_equals_only_itself(infinite: Any) -> None:
    example = attention(scores=[[1.0, 0.8], [0.9, 1.1]], mask="causal")
    report = example.check({"masked_scores": [["1.0", infinite], [infinite, "1.1"]]})
    assert verdicts(report, "masked_scores") == ["right", "right", "wrong", "right"]
    assert (
        verdicts(example.check({"masked_scores": [["1.0", "-9.9"], ["0.9", "1.1"]]}), "masked_scores")[1]
        == "wrong"
    )


def test_what_is_elided_is_not_derivable_and_what_follows_starts_there() -> None:
    unknown = [[0.4, math.nan], [0.5, math.nan]]
    example = attention(queries=unknown, keys=unknown, values=unknown, scale=2.0)
    claims = {"scores": [["2.0", "0.0"], ["0.0", "2.0"]], "weights": [["0.73", "0.27"], ["0.30", "0.70"]]}
    report = example.check(claims | {"context": [["0.43", "…"], ["0.9", "0.1"]], "output": [["0.1"]]})
    assert verdicts(report, "scores") == ["not derivable"] * 4
    assert verdicts(report, "weights") == ["right", "right", "wrong", "wrong"]
    assert verdicts(report, "context") == ["right", "wrong", "not derivable"]
    assert verdicts(report, "output") == ["not derivable"], "the example has no W^O"
    assert report.cells[0].step is None and report.cells[0].start is None


def test_a_row_of_weights_sums_to_one_within_half_a_unit_a_cell() -> None:
    unknown = attention(scores=[[math.nan] * 3])
    assert rules(unknown.check({"weights": [["0.4", "0.4", "0.3"]]})) == [None] * 3, (
        "1.1 may be 1 before rounding"
    )
    assert (
        rules(unknown.check({"weights": [["0.4", "0.4", "0.4"]]}))
        == ["a row of weights sums to 1, this one to 1.2"] * 3
    ), "rules apply to what is not derivable too"


def test_a_larger_score_never_has_a_smaller_weight() -> None:
    example = attention(scores=[[1.0, 2.0, 0.5]], scale=None)
    report = example.check({"weights": [["0.5", "0.3", "0.2"]]})
    assert rules(report) == [LARGER, LARGER, None] and verdicts(report, "weights")[2] == "wrong"
    assert rules(example.check({"weights": [["0.45", "0.4", "0.2"]]}))[:2] == [None, None], "within rounding"
    rounded = example.check({"scores": [["1.0", "1.1", "0.5"]], "weights": [["0.5", "0.3", "0.2"]]})
    assert LARGER not in rules(rounded), "scores that differ by a unit may be equal before rounding"


def test_equal_score_differences_give_equal_rows() -> None:
    example = attention(scores=[[1.0, 2.0], [3.0, 4.0], [3.0, 5.0]], scale=None)
    claimed = [["0.27", "0.73"], ["0.29", "0.71"], ["0.12", "0.88"]]
    equal = "equal score differences give equal rows"
    assert rules(example.check({"weights": claimed})) == [None, None, equal, equal, None, None]
    scores = {"scores": [["1.0", "2.0"], ["3.0", "4.0"], ["3.0", "5.0"]]}
    assert equal not in rules(example.check(scores | {"weights": claimed})), "rounded scores leave that much"


def test_masked_weights_are_exactly_zero() -> None:
    example = attention(scores=[[1.0, 0.8], [0.9, 1.1]], mask="causal")
    report = example.check({"weights": [["0.99", "0.01"], ["0.45", "0.55"]]})
    assert rules(report) == [None, "masked weights are exactly 0", None, None]


def test_a_context_lies_within_the_range_of_its_values() -> None:
    example = attention(scores=[[1.0, 2.0], [1.0, 2.0]], values=[[0.1, 1.0], [0.3, 1.0]])
    report = example.check({"context": [["0.34", "1.0"], ["0.5", "0.8"]]})
    assert verdicts(report, "context") == ["wrong", "right", "wrong", "wrong"]
    within = "a context lies within the range of its values, here"
    assert rules(report) == [f"{within} 0.1 to 0.3", None, f"{within} 0.1 to 0.3", f"{within} 1 to 1"]
    assert rules(example.check({"context": [["0.3", "1.0"], ["0.3", "1.0"]]})) == [None] * 4
    side_by_side = attention(scores=[[[0.0]], [[0.0]]], values=[[[1.0]], [[2.0]]])
    assert rules(side_by_side.check({"concatenated": [["1.0", "2.5"]]})) == [None, f"{within} 2 to 2"]


def test_the_first_row_of_a_causal_context_is_the_first_value_row() -> None:
    example = attention(scores=[[1.0, 2.0], [1.0, 2.0]], values=[[0.1], [0.3]], mask="causal")
    report = example.check({"context": [["0.2"], ["0.25"]]})
    assert verdicts(report, "context") == ["wrong", "right"]
    first = report.cells[0].rule
    assert first is not None and first.startswith(
        "the first row of a causal context is the first value row; "
    )


def test_shapes_multiply() -> None:
    example = attention(queries=np.ones((2, 4)), keys=np.ones((3, 4)))
    report = example.check({"scores": [["4.0", "4.0"], ["4.0", "4.0"]], "weights": [["0.33"] * 3] * 2})
    assert rules(report)[:4] == ["shapes multiply: (2×4)·(4×3) = (2×3), not (2×2)"] * 4
    assert set(verdicts(report, "scores")) == {"wrong"} and set(verdicts(report, "weights")) == {"right"}


def test_each_head_has_its_matrix() -> None:
    example = attention(scores=[[[1.0, 1.0]], [[0.0, 0.0]]], mask=[[[True, True]], [[True, False]]])
    report = example.check({"weights": [[["0.5", "0.5"]], [["1.0", "0.1"]]]})
    assert [(cell.head, cell.verdict) for cell in report.cells] == [(0, "right")] * 2 + [
        (1, "right"),
        (1, "wrong"),
    ]
    assert "head  row  column" in str(report)
    assert first_wrong(example.check({"weights": [[["0.5", "0.5"]], [["0.8", "0.2"]]]})) == (
        "The first stage that goes wrong is weights, where 2 cells are wrong. Head 1, row 0, column 1 claims "
        "0.2, and 0.0000 is computed: masked weights are exactly 0."
    )
    again = attention(scores=[[[0.0]], [[0.0]]], values=[[[1.0]], [[2.0]]])
    assert first_wrong(again.check({"scores": [[["0.0"]], [["0.1"]]]})) == (
        "The first stage that goes wrong is scores, where one cell is wrong. Head 1, row 0, column 0 claims "
        "0.1, and 0.0000 is computed."
    )


def test_claims_as_arrays_and_tensors() -> None:
    example = attention(scores=[[0.0, 0.0]])
    for claimed in ([[0.5, 0.5]], np.array([[0.5, 0.5]]), torch.tensor([[0.5, 0.5]], dtype=torch.float64)):
        assert verdicts(example.check({"weights": claimed}), "weights") == ["right", "right"]


def test_the_report_is_a_table() -> None:
    example = attention(scores=[[1.0, 0.8], [0.9, 1.1]], mask="causal")
    report = example.check(
        {"masked_scores": [["1.0", "−∞"], ["0.9", "1.1"]], "weights": [["1.0", "0.0"], ["0.4", "0.6"]]}
    )
    assert (
        str(report)
        == """\
masked_scores  (2×2) + (2×2) = (2×2)
  row  column  claimed  from the line before  from the start  verdict
    0       0      1.0                1.0000          1.0000  right
    0       1       −∞                    −∞              −∞  right
    1       0      0.9                0.9000          0.9000  right
    1       1      1.1                1.1000          1.1000  right

weights  softmax of each row of (2×2) = (2×2)
  row  column  claimed  from the line before  from the start  verdict
    0       0      1.0                1.0000          1.0000  right
    0       1      0.0                0.0000          0.0000  right
    1       0      0.4                0.4502          0.4502  wrong
      may be rounding, as the line before shows 1 decimal
    1       1      0.6                0.5498          0.5498  wrong
      may be rounding, as the line before shows 1 decimal

The first stage that goes wrong is weights, where 2 cells are wrong. Row 1, column 0 claims 0.4, and 0.4502 \
is computed: may be rounding, as the line before shows 1 decimal.
8 cells: 6 right, 2 wrong"""
    )
    assert report.first_wrong == first_wrong(report) and report.first_wrong in str(report)


@pytest.mark.parametrize(
    ("claims", "decimals", "message"),
    [
        ({"wieghts": [["0.5", "0.5"]]}, None, "no stage is called 'wieghts'. Nearest: weights."),
        (
            {"weights": [[1, 0]]},
            None,
            "weights: the whole number 1 does not say to how many digits it was rounded. "
            'Write "1.0", or give decimals=0.',
        ),
        (
            {"weights": [["1", "0"]]},
            None,
            "weights: the whole number 1 does not say to how many digits it was "
            'rounded. Write "1.0", or give decimals=0.',
        ),
        (
            {"weights": [["half", "0.5"]]},
            None,
            'weights: "half" is not a number. Write 0.25, -inf, or … for one left out.',
        ),
        (
            {"weights": [[True, False]]},
            None,
            'weights: "True" is not a number. Write 0.25, -inf, or … for one left out.',
        ),
        ({"weights": 0.5}, None, 'weights: the claim is not a matrix. Write rows, [["0.4", "0.6"], …].'),
        (
            {"weights": [["0.5", "0.5"], ["1.0"]]},
            None,
            "weights: the claimed rows differ in length. Write … for what is left out.",
        ),
        (
            {"weights": [["15.", "0.5"]]},
            None,
            "weights: the whole number 15. does not say to how many digits it was rounded. "
            'Write "15.0", or give decimals=0.',
        ),
        (
            {"weights": [["NaN123", "0.5"]]},
            None,
            'weights: "NaN123" is not a number. Write 0.25, -inf, or … for one left out.',
        ),
        (
            {"weights": [["sNaN", "0.5"]]},
            None,
            'weights: "sNaN" is not a number. Write 0.25, -inf, or … for one left out.',
        ),
        *(
            (
                {"weights": [[written, "0.5"]]},
                None,
                f'weights: "{written}" is too large or too small for float64. Write a number between 1e-300 '
                "and 1e300.",
            )
            for written in ("1e400", "0e999999", "-1.5e-301", "1e999999", "1000e298")
        ),
        (
            {"weights": [[["0.5", "0.5"]], [["0.5", "0.5"]]]},
            None,
            "weights: 2 matrices are claimed, and there is one head. Give 1.",
        ),
        (
            {"output": [[["0.5", "0.5"]], [["0.5", "0.5"]]]},
            None,
            "output: 2 matrices are claimed, and there is one for all heads. Give 1.",
        ),
        ({"weights": [["0.5", "0.5"]]}, -1, "decimals = -1 must be a whole number, 0 or more."),
    ],
)
def test_what_is_refused(claims: Any, decimals: int | None, message: str) -> None:
    with pytest.raises(UsageError) as error:
        attention(scores=[[1.0, 0.8]]).check(claims, decimals)
    assert str(error.value) == message


def test_claims_are_a_table() -> None:
    example = attention(scores=[[1.0, 0.8]])
    for claims in (None, [["0.5", "0.5"]], "weights"):
        with pytest.raises(UsageError) as error:
            example.check(claims)  # type: ignore[arg-type]
        assert str(error.value) == (
            'claims are matrices by the names of stages: {"weights": [["0.4", "0.6"]]}.'
        )


def test_a_claimed_tensor_has_numbers_to_read() -> None:
    example = attention(scores=[[1.0, 0.8]])
    claimed = torch.tensor([[0.5, 0.5]], dtype=torch.float64)
    for tensor, message in (
        (claimed.to_sparse(), "is a sparse or nested tensor. Give a dense one, as of to_dense()."),
        (claimed.to("meta"), "is a meta tensor, a shape without numbers. Give one on a real device."),
    ):
        with pytest.raises(UsageError) as error:
            example.check({"weights": tensor})
        assert str(error.value) == f"the claim on weights {message}"


def test_numbers_at_the_ends_of_what_can_be_written() -> None:
    report = attention(scores=[[1e300, -9e-300]], scale=None).check({"scores": [["1e300", "-9.0e-300"]]})
    assert [cell.verdict for cell in report.cells] == ["right", "right"]
    assert attention(scores=[[1.0]]).check({"scores": [[1.0]]}, decimals=10**6).count("right") == 1


GIVEN: dict[str, Any] = {"queries": [[1.0, -1.0], [0.5, 2.0]], "keys": [[0.5, 1.0], [1.0, 0.3]]}
STAYS, MASKED = "a score that may be looked at stays as it is", "a masked score is −∞"


def test_the_first_wrong_cell_with_its_tokens_numbers_and_reason() -> None:
    example = attention(**GIVEN, tokens=["ich", "dich"], mask="causal")
    report = example.check({"scaled_scores": [["-0.25", "0.35"], ["1.13", "0.55"]]})
    assert report.first_wrong == (
        "The first stage that goes wrong is scaled_scores, where 4 cells are wrong. Row 0 (ich), column 0 "
        "(ich) claims −0.25, and −0.3536 is computed: dividing by d_k or dividing by d_model gives this."
    )
    assert example.check({"scaled_scores": [["-0.35", "0.49"], ["1.59", "0.78"]]}).first_wrong == ""


def test_one_minus_sign_whichever_was_typed() -> None:
    for minus in "-−–":
        report = attention(scores=[[-0.7, -0.0007]]).check(
            {"scores": [[f"{minus}0.50", f"{minus}7.0e{minus}4"]]}
        )
        assert [cell.written for cell in report.cells] == ["−0.50", "−7.0e−4"]
        assert report.cells[1].verdict == "right" and "-" not in str(report)


def test_a_rule_has_the_same_minus_sign() -> None:
    report = attention(scores=[[1.0, 2.0]], values=[[-0.3], [-0.1]]).check(
        {"weights": [["-1.0", "0.0"]], "context": [["0.5"]]}
    )
    told = [rule or "" for rule in rules(report)]
    assert "this one to −1" in told[0] and told[2].endswith("here −0.3 to −0.1")


def test_what_a_mask_does_to_a_score() -> None:
    example = attention(**GIVEN, mask="causal")
    plain = [["-0.35", "0.49"], ["1.59", "0.78"]]
    claimed = [["-0.35", "-1e9"], ["−∞", "0.80"]]
    alone = rules(example.check({"masked_scores": claimed}))
    assert alone == [None, MASKED, STAYS, None], "0.80 may be a score computed wrongly: none is written"
    elided = [["-0.35", "0.49"], ["1.59", "…"]]
    assert rules(example.check({"scaled_scores": elided, "masked_scores": claimed}))[3:] == alone
    beside = example.check({"scaled_scores": plain, "masked_scores": claimed})
    assert rules(beside)[4:] == [None, MASKED, STAYS, STAYS]
    given = attention(scaled_scores=[[1.0, 2.0], [3.0, 4.0]], mask="causal")
    assert rules(given.check({"masked_scores": [["1.5", "−∞"], ["3.0", "4.0"]]})) == [STAYS, None, None, None]
    right = example.check({"scaled_scores": plain, "masked_scores": [["-0.4", "-inf"], ["1.6", "0.8"]]})
    assert {cell.verdict for cell in right.cells} == {"right"} and set(rules(right)) == {None}
    off = example.check(
        {"scores": [["-0.5", "0.7"], ["2.3", "1.1"]], "masked_scores": [["-0.35", "−∞"], ["1.63", "…"]]}
    )
    assert rules(off)[4:] == [None] * 3, "2.2 to 2.3, divided by √2, may be 1.63"


def test_an_open_cell_has_a_weight_above_zero() -> None:
    example = attention(scores=[[1.0, 2.0], [1.0, 2.0]], scale=None, mask="causal")
    report = example.check({"weights": [["1.0", "0.0"], ["1.0", "0.0"]]})
    assert rules(report) == [None, None, None, "an open cell has a weight above 0"], "not the softmax's fault"
    assert report.first_wrong.endswith(
        "Row 1, column 1 claims 0.0, and 0.7311 is computed: an open cell has a weight above 0."
    )
    far = attention(scores=[[1.0, 9.0]], scale=None).check({"weights": [["0.00", "1.00"]]})
    assert {cell.verdict for cell in far.cells} == {"right"}


def worked_out(divisor: float, digits: int, stages: tuple[str, ...]) -> dict[str, Any]:
    """Somebody's lines, divided by another number, computed with all digits and written with few."""
    random = np.random.default_rng(3)
    queries, keys, values = (random.normal(size=(4, 3)) for _ in range(3))
    numbers: dict[str, Any] = {"scores": queries @ keys.T}
    numbers["scaled_scores"] = numbers["scores"] / divisor
    numbers["weights"] = np.exp(numbers["scaled_scores"])
    numbers["weights"] /= numbers["weights"].sum(-1, keepdims=True)
    numbers["context"] = numbers["weights"] @ values
    numbers["output"] = numbers["context"] @ np.eye(3)[::-1] * 3
    claims = {name: [[f"{cell:.{digits}f}" for cell in row] for row in numbers[name]] for name in stages}
    example = attention(queries=queries, keys=keys, values=values, w_output=np.eye(3)[::-1] * 3)
    return {"example": example, "claims": claims}


def test_what_rounding_alone_may_have_done_says_so_and_comes_last() -> None:
    stages = ("scaled_scores", "weights", "context", "output")
    case = worked_out(2.0, 1, stages)
    report = case["example"].check(case["claims"])
    later = [cell for cell in report.cells if cell.verdict == "wrong" and cell.name != "scaled_scores"]
    assert len(later) > 3, "the digits of the lines before leave that much"
    assert {cell.remark for cell in later} == {"may be rounding, as the line before shows 1 decimal"}
    assert {cell.rule for cell in later} == {None}
    assert report.first_wrong.startswith("The first stage that goes wrong is scaled_scores, where ")
    open_row = attention(scores=[[1.0, 0.8], [0.9, 1.1]], values=[[1.0], [2.0]], mask="causal")
    lines = {"masked_scores": [["1.0", "−∞"], ["0.9", "1.1"]], "weights": [["1.0", "0.0"], ["0.4", "0.6"]]}
    assert "is weights, where" in open_row.check(lines).first_wrong, "where nothing else is wrong"
    first = open_row.check({**lines, "context": [["1.0"], ["3.0"]]}).first_wrong
    assert first.startswith("The first stage that goes wrong is context, where one cell is wrong.")


@pytest.mark.parametrize("seed", range(9))
def test_who_goes_on_with_all_digits_is_never_surely_wrong_again(seed: int) -> None:
    """One mistake, the divisor; every later line is computed with all digits, and claimed with few."""
    random = np.random.default_rng(seed)
    given: dict[str, Any] = {name: random.normal(size=(4, 4)) for name in ("w_query", "w_key", "w_value")}
    given |= {"inputs": random.normal(size=(4, 4)), "w_output": random.normal(size=(4, 3))}
    given |= {"heads": 1 + seed % 2, "mask": "causal" if seed % 3 else None}

    def written(part: Any) -> Any:
        if isinstance(part, list):
            return [written(each) for each in part]
        return f"{part:.{1 + seed % 3}f}"

    theirs = attention(**given, scale=1.7)
    claims = {
        name: written((record.tensor[0] if "H" in record.axes else record.tensor).tolist())
        for name, record in theirs.items()
        if name != "mask" and (name == "scaled_scores" or random.random() < 0.7)
    }
    cells = [cell for cell in attention(**given).check(claims).cells if cell.verdict == "wrong"]
    assert cells[0].name == "scaled_scores"
    assert all(cell.remark and cell.rule is None for cell in cells if cell.name != "scaled_scores")


def test_shares_that_sum_to_one_cannot_all_be_rounded_up() -> None:
    """0.5 is not 0.39 by rounding: what one weight gains, the others lose."""
    example = attention(weights=[[0.4, 0.3, 0.3]], values=[[0.3], [0.4], [0.5]])
    (cell,) = example.check({"weights": [["0.4", "0.3", "0.3"]], "context": [["0.5"]]}).cells[3:]
    assert (cell.verdict, cell.remark) == ("wrong", None)
    (cell,) = example.check({"weights": [["0.4", "0.3", "0.3"]], "context": [["0.395"]]}).cells[3:]
    assert (cell.verdict, cell.remark) == ("wrong", "may be rounding, as the line before shows 1 decimal")


def test_queries_may_be_claimed_whole_for_all_heads() -> None:
    inputs, weights = np.eye(3), np.arange(12.0).reshape(3, 4)
    given: dict[str, Any] = {name: weights for name in ("w_query", "w_key", "w_value")}
    example = attention(inputs=inputs, **given, heads=2, tokens=["a", "b", "c"])
    whole = [[f"{cell:.1f}" for cell in row] for row in weights]
    report = example.check({"queries": whole, "values": [whole]})
    assert {cell.verdict for cell in report.cells} == {"right"} and len(report.cells) == 24
    whole[1][2] = "5.0"
    report = example.check({"queries": whole})
    assert report.first_wrong == (
        "The first stage that goes wrong is queries, where one cell is wrong. Row 1 (b), column 2 claims "
        "5.0, and 6.0000 is computed."
    )
    places = [line.split()[:3] for line in str(report).splitlines() if line.startswith("    ")]
    assert places == [[str(row), str(column), whole[row][column]] for row in range(3) for column in range(4)]
    with pytest.raises(UsageError) as error:
        example.check({"queries": [["0.0", "1.0"]] * 3})
    assert str(error.value) == (
        "queries: 2 heads have a matrix each, and one is claimed. Give 2, or the whole one, of 4 columns."
    )


def test_two_heads_need_two_claimed_matrices() -> None:
    with pytest.raises(
        UsageError, match=r"weights: 2 heads have a matrix each, and one is claimed\. Give 2\."
    ):
        attention(scores=[[[1.0]], [[1.0]]]).check({"weights": [["1.0"]]})


@pytest.mark.parametrize("digits", [1, 2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_true_numbers_rounded_are_right_and_break_no_rule(digits: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    queries, keys, values = (random.normal(size=shape).round(1) for shape in ((4, 3), (4, 3), (4, 2)))
    true = attention(queries=queries, keys=keys, values=values, mask="causal")
    claims = {
        name: [[f"{cell:.{digits}f}" for cell in row] for row in record.tensor[0, 0].tolist()]
        for name, record in true.items()
        if name not in ("mask", "concatenated")
    }
    report = true.check(claims)
    assert {cell.verdict for cell in report.cells} == {"right"}
    unknown = attention(queries=queries * math.nan, keys=keys, values=values, mask="causal")
    from_scores = unknown.check({name: claims[name] for name in ("scores", "weights", "context")})
    assert {cell.rule for cell in from_scores.cells} == {None}, (
        "not even where the scores are known as rounded only"
    )
