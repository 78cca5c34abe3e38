"""Known slips: the verdict says what was done instead."""

import math
from typing import Any

import pytest
from slip_cases import HARDLY_CLAIMED, SCALED, SCORES, SLIPS, TWO_HEADS, WEIGHTS, written

from pellucid import attention
from pellucid.worked.slips import parse, slip_table


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


@pytest.mark.parametrize(("arguments", "claims"), HARDLY_CLAIMED)
def test_one_wrong_cell_may_be_a_typing_error(arguments: dict[str, Any], claims: dict[str, Any]) -> None:
    report = attention(**arguments).check(claims)
    wrong = [cell for cell in report.cells if cell.verdict == "wrong"]
    assert len(wrong) == 1 and "gives this" not in (wrong[0].rule or "")


def test_one_wrong_cell_is_a_slip_where_no_other_can_be_wrong() -> None:
    example = attention(scaled_scores=[[1.0, 2.0], [3.0, 4.0]], mask="causal")
    report = example.check({"masked_scores": [["1.0", "2.0"], ["3.0", "4.0"]]})
    (rule,) = [cell.rule or "" for cell in report.cells if cell.verdict == "wrong"]
    assert rule.startswith("leaving the mask out or a mask that leaves the next token open gives this")


def test_what_is_not_known_and_what_rounding_alone_tells_apart_give_no_slip() -> None:
    unknown = attention(scores=[[math.nan, 1.0], [2.0, 3.0]], mask="causal", scale=2)
    report = unknown.check({"weights": [["0.500", "0.500"], ["0.9", "0.2"]]})
    assert all("gives this" not in (cell.rule or "") for cell in report.cells)
    # 0.9 / 2 is 0.45 and the softmax 0.4502: "0.4" does not tell which of the two it was.
    known = attention(scores=[[1.0, 0.8], [0.9, 1.1]], mask="causal")
    report = known.check({"weights": [["1.0", "0.0"], ["0.4", "0.6"]]})
    assert [cell.rule for cell in report.cells if cell.verdict == "wrong"] == [None, None]


def test_formulas_are_names_numbers_and_known_functions() -> None:
    assert parse("T(weights) @ values / 2") == ["/", ["@", ["T", "weights"], "values"], 2]
    for formula in ("__import__('os')", "weights.data", "open(values)", "values[0]"):
        with pytest.raises(ValueError, match="a formula has names, numbers"):
            parse(formula)
    made = {told for *_, told in SLIPS}
    listed = {done for rows in slip_table().values() for done, _ in rows if "{" not in done}
    untested = [done for done in listed if not any(done in told for told in made)]
    assert untested == [done for done in untested if done.startswith(("dividing by", "w_"))], (
        "every formula is tried, but for variants of the divisor and of W"
    )
