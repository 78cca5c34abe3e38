"""Claims judged cell by cell: verdicts, digits as written, rules and their slack, and what is refused."""

import math
import re
from typing import Any

import numpy as np
import pytest
from slip_cases import HARDLY_CLAIMED, SCALED, SCORES, SLIPS, TWO_HEADS, WEIGHTS, written

from pellucid import attention
from pellucid.errors import UsageError
from pellucid.show.worked_text import first_wrong
from pellucid.worked.check import FROM_THE_START, Report
from pellucid.worked.slips import parse, slip_table


def verdicts(report: Report, name: str) -> list[str]:
    return [cell.verdict for cell in report.cells if cell.name == name]


def test_right_follows_and_wrong() -> None:
    example = attention(queries=[[1.0, 2.0]], keys=[[1.0, 0.0], [0.0, 1.0]], scale=None)
    report = example.check({"scores": [["1.0", "1.0"]], "weights": [["0.50", "0.55"]]})
    right, wrong, follows, neither = report.cells
    assert (right.verdict, right.step, right.start, right.rule) == ("right", 1.0, 1.0, None)
    assert (wrong.verdict, wrong.claimed, wrong.written) == ("wrong", 1.0, "1.0")
    assert (follows.verdict, follows.step) == ("follows", 0.5)
    assert follows.start == pytest.approx(1 / (1 + math.e))
    assert neither.verdict == "wrong" and neither.rule == "a row of weights sums to 1, this one to 1.05"
    assert (neither.name, neither.head, neither.row, neither.column) == ("weights", 0, 0, 1)


def test_right_though_the_line_before_is_wrong() -> None:
    """Scores of 3 and 2 give 0.67 and 0.33, however they were rounded: no digits explain 0.80."""
    example = attention(queries=[[1.0, 2.0], [3.0, 1.0]], keys=[[1.0, 0.0], [0.0, 1.0]], mask="causal")
    claims = {"scores": [["3.0", "2.0"]] * 2, "weights": [["1.0", "0.0"], ["0.80", "0.20"]]}
    report = example.check(claims)
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


@pytest.mark.parametrize("infinite", ["-inf", "−∞", "-∞", -math.inf])
def test_minus_infinity_equals_only_itself(infinite: Any) -> None:
    example = attention(scores=[[1.0, 0.8], [0.9, 1.1]], mask="causal")
    report = example.check({"masked_scores": [["1.0", infinite], [infinite, "1.1"]]})
    assert verdicts(report, "masked_scores") == ["right", "right", "wrong", "right"]
    finite = example.check({"masked_scores": [["1.0", "-9.9"], ["0.9", "1.1"]]})
    assert verdicts(finite, "masked_scores")[1] == "wrong"


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


LARGER = "a larger score never has a smaller weight"
SUM, WITHIN = "a row of weights sums to 1, this one to", "a context lies within the range of its values, here"
FIRST = "the first row of a causal context is the first value row"
ZERO, SHAPES = "masked weights are exactly 0", "shapes multiply: (2×4)·(4×3) = (2×3), not (2×2)"
UNKNOWN, THREE = {"scores": [[math.nan] * 3]}, {"scores": [[1.0, 2.0, 0.5]], "scale": None}
CLOSE = {"queries": [[1.0, 1.0]], "keys": [[math.nan] * 2] * 2, "scale": None}
CAUSAL = {"scores": [[1.0, 0.8], [0.9, 1.1]], "mask": "causal"}
VALUES = {"scores": [[1.0, 2.0], [1.0, 2.0]], "values": [[0.1, 1.0], [0.3, 1.0]]}
ALONE = {"scores": [[math.nan] * 2], "values": [[0.1], [0.26]]}
FOUR = {"queries": np.ones((2, 4)), "keys": np.ones((3, 4))}


@pytest.mark.parametrize(
    ("arguments", "claims", "broken"),
    [
        (UNKNOWN, {"weights": [["0.4", "0.4", "0.3"]]}, [None] * 3),  # 1.1 may be 1 before rounding
        (UNKNOWN, {"weights": [["0.4", "0.4", "0.4"]]}, [f"{SUM} 1.2"] * 3),  # also where nothing is known
        (THREE, {"weights": [["0.5", "0.3", "0.2"]]}, [LARGER, LARGER, None]),
        (THREE, {"weights": [["0.45", "0.4", "0.2"]]}, [None] * 3),  # within rounding
        # Scores that differ by a unit may be equal before rounding, and so may sums of rounded keys.
        (THREE, {"scores": [["1.0", "1.1", "0.5"]], "weights": [["0.5", "0.3", "0.2"]]}, [None] * 3),
        (CLOSE, {"keys": [["1.0", "1.0"], ["1.1", "1.0"]], "weights": [["0.505", "0.495"]]}, [None] * 2),
        (CAUSAL, {"weights": [["0.99", "0.01"], ["0.45", "0.55"]]}, [None, ZERO, None, None]),
        (CAUSAL, {"weights": [["0.40", "0.60"], ["0.45", "0.55"]]}, [None, ZERO, None, None]),
        (CAUSAL, {"scaled_scores": [["1.0", "3.0"], ["0.9", "1.1"]],
                  "weights": [["0.8", "0.0"], ["0.45", "0.55"]]}, [f"{SUM} 0.8", None, None, None]),
        (VALUES, {"context": [["0.34", "1.0"], ["0.5", "0.8"]]},
         [f"{WITHIN} 0.1 to 0.3", None, f"{WITHIN} 0.1 to 0.3", f"{WITHIN} 1 to 1"]),
        (VALUES, {"context": [["0.3", "1.0"], ["0.3", "1.0"]]}, [None] * 4),
        (ALONE, {"context": [["0.3"]]}, [None]),  # may be 0.26
        (VALUES | {"mask": "causal"}, {"context": [["0.2", "1.0"], ["0.25", "1.0"]]},
         [f"{FIRST}; {WITHIN} 0.1 to 0.1", None, None, None]),
        (FOUR, {"scores": [["4.0", "4.0"], ["4.0", "4.0"]]}, [SHAPES] * 4),
        (FOUR, {"scores": [["4.0", "4.0"], ["4.0", "4.0"]], "weights": [["0.33"] * 3] * 2}, [None] * 6),
    ],
)  # fmt: skip
def test_the_rules_that_correct_numbers_obey(
    arguments: dict[str, Any], claims: dict[str, Any], broken: list[str | None]
) -> None:
    """By the last stage that is claimed; a cell that breaks a rule is wrong."""
    cells = attention(**arguments).check(claims).cells
    last = [cell for cell in cells if cell.name == list(claims)[-1]]
    assert [cell.rule for cell in last] == broken
    assert not any(cell.rule and cell.verdict in ("right", "follows") for cell in cells)


def test_each_head_has_its_matrix() -> None:
    example = attention(scores=[[[1.0, 1.0]], [[0.0, 0.0]]], mask=[[[True, True]], [[True, False]]])
    report = example.check({"weights": [[["0.5", "0.5"]], [["1.0", "0.2"]]]})
    assert [(cell.head, cell.verdict) for cell in report.cells] == [
        (0, "right"), (0, "right"), (1, "right"), (1, "wrong")
    ]  # fmt: skip
    assert "head  row  column" in str(report)
    assert "one cell is wrong. Head 1, row 0, column 1 claims 0.2, and 0 is computed: " in first_wrong(report)
    assert report.cells[3].rule == f"{SUM} 1.2; {ZERO}"


def test_the_report_is_a_table() -> None:
    example = attention(scores=[[1.0, 0.8], [0.9, 1.1]], mask="causal")
    claims = {"masked_scores": [["1.0", "−∞"], ["0.9", "1.1"]], "weights": [["1.0", "0.0"], ["0.4", "0.6"]]}
    report = example.check(claims)
    shown = [line.split("  ") for line in str(report).splitlines() if "0.4502" in line]
    assert [cell.strip() for cell in shown[0] if cell] == ["1", "0", "0.4", "0.4502", "0.4502", "wrong"]
    assert str(report).endswith("\n8 cells: 6 right, 2 wrong")
    assert first_wrong(report) in report._repr_html_() and "is weights, where" in first_wrong(report)
    later = attention(scores=[[1.0, 0.8], [0.9, 1.1]], values=[[1.0], [2.0]], mask="causal")
    first = first_wrong(later.check({**claims, "context": [["1.0"], ["3.0"]]}))
    assert "is weights, where 2 cells are wrong. Row 1, column 0 claims 0.4" in first, "the first, in order"


@pytest.mark.parametrize(
    ("claims", "decimals", "message"),
    [
        ({"wieghts": [["0.5", "0.5"]]}, None, "no stage is called 'wieghts'. Did you mean \"weights\"?"),
        ({"weights": [[1, 0]]}, None, "the whole number 1 does not say to how many digits it was rounded."),
        ({"weights": [["half", "0.5"]]}, None, 'weights: "half" is not a number. Write 0.25, -inf, or …'),
        ({"weights": [["0,5", "0.5"]]}, None, '"0,5" is not a number. Decimals come after a point, not'),
        ({"weights": 0.5}, None, 'weights: the claim is not a matrix. Write rows, [["0.4", "0.6"], …].'),
        ({"weights": [["0.5", "0.5"], ["1.0"]]}, None, "rows have different lengths. Write "),
        (
            {"weights": [[["0.5", "0.5"]], [["0.5", "0.5"]]]},
            None,
            "2 matrices are claimed, but 1 are needed",
        ),
        ({"weights": [["0.5", "0.5"]]}, -1, "decimals = -1 must be a whole number, 0 or more."),
    ],
)
def test_what_is_refused(claims: Any, decimals: int | None, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        attention(scores=[[1.0, 0.8]]).check(claims, decimals)


def test_a_whole_number_is_accepted_where_the_computed_number_is_whole() -> None:
    example = attention(queries=[[1.0, 2.0]], keys=[[3.0, 0.0], [0.0, 4.0]], scale=None, mask=[[True, False]])
    report = example.check({"scores": [["3", 9]], "weights": [["1", "0"]]})
    assert [cell.verdict for cell in report.cells] == ["right", "wrong", "right", "right"]
    line = attention(queries=[[1.2]], keys=[[2.0]], scale=None)  # 2.4; of the claimed query 1.0 it would be 2
    for claimed in ("2", "2.0"):
        report = line.check({"queries": [["1.0"]], "scores": [[claimed]]})
        assert [cell.verdict for cell in report.cells] == ["wrong", "follows"]
    with pytest.raises(UsageError, match="weights: the whole number 0 does not say"):
        attention(scores=[[1.0, 0.8]]).check({"weights": [["0.5", "0"]]})


GIVEN: dict[str, Any] = {"queries": [[1.0, -1.0], [0.5, 2.0]], "keys": [[0.5, 1.0], [1.0, 0.3]]}


def test_the_first_wrong_cell_with_its_tokens_numbers_and_reason() -> None:
    example = attention(**GIVEN, tokens=["ich", "dich"], mask="causal")
    report = example.check({"scaled_scores": [["-0.25", "0.35"], ["1.13", "0.55"]]})
    assert first_wrong(report) == (
        "The first stage that goes wrong is scaled_scores, where 4 cells are wrong. Row 0 (ich), column 0 "
        "(ich) claims −0.25, and −0.3536 is computed: dividing by d_k or dividing by d_model gives this."
    )
    assert example.check({"scaled_scores": [["-0.35", "0.49"], ["1.59", "0.78"]]}).first_wrong is None


def test_one_minus_sign_whichever_was_typed() -> None:
    for minus in "-−–":
        report = attention(scores=[[-0.7, -0.0007]]).check(
            {"scores": [[f"{minus}0.50", f"{minus}7.0e{minus}4"]]}
        )
        assert [cell.written for cell in report.cells] == ["−0.50", "−7.0e−4"]
        assert report.cells[1].verdict == "right" and "-" not in str(report)


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
    assert {cell.rule for cell in from_scores.cells} == {None}, "nor where scores are known as rounded only"


# Known slips: the verdict says what was done instead


@pytest.mark.parametrize(("arguments", "stage", "numbers", "told"), SLIPS, ids=[each[3] for each in SLIPS])
def test_a_wrong_line_says_what_was_done_instead(
    arguments: dict[str, Any], stage: str, numbers: Any, told: str
) -> None:
    report = attention(**arguments).check({stage: written(numbers)})
    wrong = [cell for cell in report.cells if cell.verdict == "wrong"]
    assert wrong and all((cell.rule or "").split("; ")[0] == f"{told} gives this" for cell in wrong)


def reasons(arguments: dict[str, Any], claims: dict[str, Any]) -> list[str | None]:
    """The reasons of the wrong cells of the last claimed stage."""
    cells = attention(**arguments).check(claims).cells
    return [cell.rule for cell in cells if cell.verdict == "wrong" and cell.name == list(claims)[-1]]


def test_a_right_line_has_no_reasons() -> None:
    assert reasons(TWO_HEADS, {"scaled_scores": written(SCALED), "weights": written(WEIGHTS)}) == []


def test_a_slip_is_judged_from_the_lines_as_claimed() -> None:
    """Scores of one's own, divided by d_k: the division is the error, whatever the scores are."""
    claims = {"scores": written(SCORES + 1.0), "scaled_scores": written((SCORES + 1.0) / 2)}
    assert set(reasons(TWO_HEADS, claims)) == {"dividing by d_k or dividing by √d_model gives this"}


@pytest.mark.parametrize(("arguments", "claims"), HARDLY_CLAIMED)
def test_what_more_than_one_mistake_explains_is_no_slip(
    arguments: dict[str, Any], claims: dict[str, Any]
) -> None:
    found = reasons(arguments, claims)
    assert found and all("gives this" not in (reason or "") for reason in found)


def test_one_wrong_cell_is_a_slip_where_no_other_can_be_wrong() -> None:
    given = {"scaled_scores": [[1.0, 2.0], [3.0, 4.0]], "mask": "causal"}
    (rule,) = reasons(given, {"masked_scores": [["1.0", "2.0"], ["3.0", "4.0"]]})
    assert rule and rule.startswith(
        "leaving the mask out or a mask that leaves the next token open gives this"
    )


def test_formulas_are_names_numbers_and_known_functions() -> None:
    assert parse("T(weights) @ values / 2") == ["/", ["@", ["T", "weights"], "values"], 2]
    for formula in ("__import__('os')", "weights.data", "open(values)", "values[0]"):
        with pytest.raises(ValueError, match="a formula cannot have "):
            parse(formula)
    made = {told for *_, told in SLIPS}
    listed = {done for rows in slip_table().values() for done, _ in rows if "{" not in done}
    untested = [done for done in listed if not any(done in told for told in made)]
    assert untested == [done for done in untested if done.startswith(("dividing by", "w_"))], (
        "every formula is tried, but for variants of the divisor and of W"
    )
