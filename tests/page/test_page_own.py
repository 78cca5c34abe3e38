"""One's own matrices in the page: JavaScript computes and judges as Python does, number by number and word
for word; and the form, as somebody uses it."""

import json
import math
import tomllib
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import test_attention
import test_check
import test_examples
from opened_page import CONTRAST
from test_slips import HARDLY_CLAIMED, ONLY_ONE_CELL, ONLY_ONE_CLAIMS, SLIPS, written

from pellucid.errors import UsageError
from pellucid.page.own_payload import as_table, examples_payload
from pellucid.worked.attention import attention
from pellucid.worked.check import FROM_THE_START
from pellucid.worked.example_text import example_text
from pellucid.worked.examples import Example, example, names, read_example
from pellucid.worked.reporting import first_wrong, summary
from pellucid.worked.stages import ENTRIES

pytestmark = pytest.mark.browser
Open = Callable[..., Any]


@pytest.fixture(scope="module")
def script(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A page whose functions are called from Python: script.evaluate."""
    path = tmp_path_factory.mktemp("own") / "page.html"
    example("001-bank-river").to_html(path)
    page = browser.new_page()
    page.goto(path.as_uri())
    return page


# JavaScript = Python

WORKED = """(cases) => cases.map(({asked, claims, decimals}) => {
  try {
    const worked = workedExample(asked);
    const report = checkClaims(worked, claims, decimals);
    const {cells, steps, starts} = report;
    return {stages: worked.stages, shapes: worked.shapes, cells, steps, starts,
            sentences: [firstWrong(report), verdictSummary(report)]};
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return {error: error.message};
  }
})"""
CELL = ("name", "head", "row", "column", "written", "verdict", "rule", "remark")


def by_python(of: Example) -> dict[str, Any]:
    """The same as JavaScript gives, with NumPy arrays."""
    try:
        worked = of.worked()
        report = worked.check(of.claims, of.decimals)
    except UsageError as error:
        return {"error": str(error)}
    stages = {name: record.tensor.numpy() for name, record in worked.items()}
    return {
        "stages": {name: numbers[0] if numbers.ndim == 4 else numbers for name, numbers in stages.items()},
        "shapes": worked.shapes,
        "cells": [vars(cell) for cell in report.cells],
        "steps": {name: tensor.numpy() for name, tensor in report.steps.items()},
        "starts": {name: tensor.numpy() for name, tensor in report.starts.items()},
        "sentences": [first_wrong(report), summary(report)],
    }


def assert_same(seen: dict[str, Any], expected: dict[str, Any], what: str) -> None:
    assert seen.get("error") == expected.get("error"), what
    if "error" in expected:
        return
    assert seen["shapes"] == expected["shapes"] and seen["sentences"] == expected["sentences"], what
    for part in ("stages", "steps", "starts"):
        assert list(seen[part]) == list(expected[part]), what
        for name, numbers in expected[part].items():
            np.testing.assert_allclose(
                seen[part][name], numbers, rtol=1e-12, atol=1e-12, err_msg=f"{what}: {name}"
            )
    assert len(seen["cells"]) == len(expected["cells"])
    for ours, theirs in zip(seen["cells"], expected["cells"], strict=True):
        assert [ours[key] for key in CELL] == [theirs[key] for key in CELL], what
        assert ours["wholeColumn"] == theirs["whole_column"], what
        for key in ("claimed", "step", "start"):
            assert (ours[key] is None) == (theirs[key] is None)
            assert theirs[key] is None or ours[key] == pytest.approx(theirs[key], rel=1e-12, abs=1e-12)


def test_all_examples(script: Any) -> None:
    tables = examples_payload()
    assert [table["name"] for table in tables] == names() and len(json.dumps(tables)) < 60_000
    read = script.evaluate(
        "(tables) => tables.map((table) => { const {asked, claims, decimals} = exampleOf(table, table.name);"
        "return {asked, claims, decimals}; })",
        tables,
    )
    for name, seen in zip(names(), script.evaluate(WORKED, read), strict=True):
        assert_same(seen, by_python(example(name)), name)


def random_example(seed: int) -> Example:
    """Any entry, some heads, any mask and scale, something unknown; claims rounded, some with errors."""
    random = np.random.default_rng(seed)
    heads, rows, columns, width = (int(random.integers(1, most)) for most in (4, 5, 5, 4))
    draw = lambda *shape: random.normal(size=shape).round(int(random.integers(1, 4)))  # noqa: E731
    given: dict[str, Any] = {}
    entry = random.choice(
        ["inputs", "memory", "queries", "scores", "scaled_scores", "masked_scores", "weights"]
    )
    if entry in ("inputs", "memory"):
        given["inputs"] = draw(rows, 3)
        if entry == "memory":
            given["memory"] = draw(columns, 3)
        columns = columns if entry == "memory" else rows
        for name in ("w_query", "w_key", "w_value"):
            given[name] = draw(heads, 3, width) if random.random() < 0.5 else draw(3, heads * width)
    elif entry == "queries":
        given |= {"queries": draw(heads, rows, width), "keys": draw(heads, columns, width)}
    else:
        given[str(entry)] = (
            np.abs(draw(heads, rows, columns)) if entry == "weights" else draw(heads, rows, columns)
        )
    if entry not in ("inputs", "memory") and random.random() < 0.7:
        given["values"] = draw(heads, columns, 2)
    if random.random() < 0.3:
        next(iter(given.values())).flat[0] = math.nan
    if "values" in given or "w_value" in given:
        wide = heads * (2 if "values" in given else width)
        if random.random() < 0.5:
            given["w_output"] = draw(wide, 3)
    settings: dict[str, Any] = {"heads": heads}
    if entry not in ("masked_scores", "weights"):
        hidden = np.where(random.random((rows, columns)) < 0.3, -math.inf, 0.0)
        settings["mask"] = [None, "causal", hidden.tolist(), (hidden == 0).tolist()][int(random.integers(4))]
    scales = [None, "sqrt_dk", 2.5, 3] if entry not in ENTRIES[1:] else [None, "sqrt_dk"]
    settings["scale"] = scales[int(random.integers(len(scales)))]
    if random.random() < 0.1:
        settings["heads"] = heads + 1  # an error
    arguments = {name: matrix.tolist() for name, matrix in given.items()} | settings
    arguments = {name: value for name, value in arguments.items() if value is not None or name == "scale"}
    return Example(f"random-{seed}", arguments, claims=random_claims(arguments, random))


def random_claims(arguments: dict[str, Any], random: np.random.Generator) -> dict[str, Any]:
    try:
        worked = attention(**arguments)
        if "queries" in arguments and random.random() < 0.5:  # an error whose consequences are right
            worked = attention(**arguments | {"queries": (np.array(arguments["queries"]) + 0.5).tolist()})
    except UsageError:
        return {}
    claims = {}
    for name, record in worked.items():
        if random.random() < 0.5:
            continue
        digits = int(random.integers(1, 4))
        numbers = record.tensor[0].numpy() if "H" in record.axes else record.tensor.numpy()
        wrong = numbers + (random.random(numbers.shape) < 0.1) * random.normal(size=numbers.shape)
        wrong = np.where(np.isnan(wrong) & (random.random(wrong.shape) < 0.5), 0.5, wrong)
        cells = [["…" if math.isnan(x) or random.random() < 0.05 else f"{x:.{digits}f}" for x in row]
                 for row in wrong.reshape(-1, wrong.shape[-1])]  # fmt: skip
        claims[name] = np.array(cells, dtype=object).reshape(wrong.shape).tolist()
        if random.random() < 0.05:
            claims[name] = [[[*row[:-1], "0.5", "0.5"] for row in matrix] for matrix in claims[name]]
    return claims


def test_random_examples(script: Any) -> None:
    drawn = [random_example(seed) for seed in range(80)]
    cases = [{"asked": each.arguments, "claims": each.claims, "decimals": None} for each in drawn]
    outcomes = [by_python(each) for each in drawn]
    for each, seen, expected in zip(drawn, script.evaluate(WORKED, cases), outcomes, strict=True):
        assert_same(seen, expected, f"{each.name}: {each.arguments}")
    verdicts = [cell["verdict"] for outcome in outcomes for cell in outcome.get("cells", [])]
    assert {"right", "follows", "wrong", "not derivable"} == set(verdicts) and sum(
        "error" in o for o in outcomes
    )
    rules = {cell["rule"] for outcome in outcomes for cell in outcome.get("cells", [])}
    for rule in ("sums to 1", "never has a smaller", "exactly 0", "range of its values", "shapes multiply"):
        assert any(rule in each for each in rules if each), rule


def test_known_slips(script: Any) -> None:
    def plain(value: Any) -> Any:
        return value.tolist() if isinstance(value, np.ndarray) else value

    drawn = []
    claimed = [(arguments, {stage: written(line)}, told) for arguments, stage, line, told in SLIPS]
    claimed += [(*hardly, "hardly claimed") for hardly in HARDLY_CLAIMED]
    claimed.append((ONLY_ONE_CELL, ONLY_ONE_CLAIMS, "only one cell"))
    for arguments, claims, _ in claimed:
        asked = {name: plain(value) for name, value in arguments.items()}
        drawn.append(Example("slip", asked, claims=claims))
    cases = [{"asked": each.arguments, "claims": each.claims, "decimals": None} for each in drawn]
    for each, seen, (*_, told) in zip(drawn, script.evaluate(WORKED, cases), claimed, strict=True):
        assert_same(seen, by_python(each), told)


def test_sentences_of_whole_claims_minus_signs_and_rounding(script: Any) -> None:
    """What random examples seldom have: a whole Q, a mask's errors, rounding alone, tokens, ties."""
    asked: dict[str, Any] = {
        "inputs": [[1.0, 0.5, -2.0], [0.3, 0.2, 0.1]], "w_query": W_WHOLE, "w_key": W_WHOLE,
        "w_value": W_WHOLE, "heads": 2, "mask": "causal", "tokens": ["ich", "dich"],
    }  # fmt: skip
    lines = {name: record.tensor[0].numpy() for name, record in attention(**asked).items()}
    whole = np.array(asked["inputs"]) @ np.array(W_WHOLE)
    whole[1, 3] += 1
    powers = np.exp(1.7 * lines["masked_scores"])
    others = powers / powers.sum(-1, keepdims=True)
    cases = [
        {"queries": written(whole, 2)},
        {"queries": [["0.5", "0.5"]] * 2},
        {"masked_scores": written(np.where(lines["mask"] == 0, lines["scaled_scores"], -1e9))},
        {"masked_scores": written(np.where(lines["mask"] == 0, lines["scaled_scores"] + 0.1, -np.inf))},
        {"scaled_scores": written(lines["scaled_scores"]),
         "masked_scores": written(np.where(lines["mask"] == 0, lines["scaled_scores"] + 0.1, -np.inf))},
        {"scaled_scores": written(lines["scaled_scores"] + 0.3, 1), "weights": written(lines["weights"], 1),
         "context": written(lines["context"], 2)},
        {"weights": [[["1.0", "0.0"], ["1.0", "0.0"]]] * 2},
        {"weights": written(others, 1), "context": written(others @ lines["values"], 3)},
        {"weights": [[["1.0", "0.0"]] * 2] * 2, "context": written(lines["context"] + 0.07, 1)},
    ]  # fmt: skip
    drawn = [Example("case", asked, claims=claims) for claims in cases]
    below = {"weights": [["-1.0", "0.0"]], "context": [["0.5"]]}
    drawn.append(Example("below 0", {"scores": [[1.0, 2.0]], "values": [[-0.3], [-0.1]]}, claims=below))
    drawn.append(Example("infinite", {"scores": [[1.0, 2.0]]}, claims={"scores": [["inf", "2.0"]],
                 "weights": [["0.3", "0.4"]]}))  # fmt: skip
    drawn.append(Example("wrong before", test_check.WRONG_BEFORE, claims=test_check.WRONG_CLAIMS))
    asks = [{"asked": each.arguments, "claims": each.claims, "decimals": None} for each in drawn]
    outcomes = [by_python(each) for each in drawn]
    for seen, expected in zip(script.evaluate(WORKED, asks), outcomes, strict=True):
        assert_same(seen, expected, str(expected.get("sentences")))
    told = " ".join(
        outcome["sentences"][0] if "sentences" in outcome else outcome["error"] for outcome in outcomes
    )
    for part in ("Row 1 (dich), column 3 claims", "or the whole one, of 4 columns", "a masked score is −∞",
                 "a score that may be looked at stays as it is",
                 "an open cell has a weight above 0"):  # fmt: skip
        assert part in told, told
    remarks = {cell["remark"] for outcome in outcomes for cell in outcome.get("cells", [])}
    assert {"may be rounding, as the line before shows 1 decimal", FROM_THE_START} <= remarks


W_WHOLE = [[0.1, 0.7, -0.3, 0.4], [0.5, -0.2, 0.9, 0.6], [0.3, 0.8, -0.1, 0.2]]


def test_four_decimals_as_python_writes_them(script: Any) -> None:
    numbers = [-0.65 * 0.125, 0.03125, 0.09375, 1.00005, 0.00005, 2.5 / 32, 0.08125, 1e-9, -3.99995]
    assert script.evaluate("(numbers) => numbers.map(fourDecimals)", numbers) == [
        f"{x:z.4f}" for x in numbers
    ]


def refused(test: Any) -> list[Any]:
    """The cases of another test of what is refused: arguments and messages."""
    marks = [mark for mark in test.pytestmark if mark.name == "parametrize"]
    return list(marks[0].args[1])


def test_errors_are_pythons_word_for_word(script: Any) -> None:
    def plain(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return value.tolist()
        return [plain(part) for part in value] if isinstance(value, list) else value

    known = [
        (arguments, message) for arguments, message in refused(test_attention.test_what_is_refused) if message
    ]
    cases = [
        {"asked": {name: plain(value) for name, value in arguments.items()}, "claims": {}, "decimals": None}
        for arguments, _ in known
    ]
    for seen, (_, message) in zip(script.evaluate(WORKED, cases), known, strict=True):
        assert seen.get("error") == message
    claimed = refused(test_check.test_what_is_refused)
    cases = [
        {"asked": {"scores": [[1.0, 0.8]]}, "claims": claims, "decimals": decimals}
        for claims, decimals, _ in claimed
    ]
    for seen, (_, _, message) in zip(script.evaluate(WORKED, cases), claimed, strict=True):
        assert seen.get("error") == message


READ = """(text) => {
  try {
    return exampleOf(withBase(readToml(text), page.header.examples, "file"), "file");
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return error.message;
  }
}"""


def test_files_are_read_as_python_reads_them(script: Any) -> None:
    folder = resources.files("pellucid.worked.examples")
    for name in names():
        text = (folder / f"{name}.toml").read_text(encoding="utf-8")
        seen, of = script.evaluate(READ, text), example(name)
        asked = {key: seen[key] for key in ("asked", "claims", "decimals")}
        assert_same(script.evaluate(WORKED, [asked])[0], by_python(of), name)
        for key in ("about", "note", "lines", "at", "called"):
            assert seen[key] == getattr(of, key)
        assert len(seen["products"]) == len(of.products)
    for text, message in refused(test_examples.test_what_a_file_must_be):
        assert script.evaluate(READ, text) == f"file: {message}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[given", "not TOML: write name = value, or [given], or a comment after # (line 1). Mend it there."),
        ("about = 'a'\nabout = 'b'", "not TOML: about is there twice (line 2). Mend it there."),
        ("[given]\nscores = [[1.0], [2.0]", "not TOML: a [ is not closed (line 2). Mend it there."),
        ("[given]\nscores = [[1.0 2.0]]", "not TOML: a comma is missing between two values, or a ] (line 2). "
         "Mend it there."),
        ("mask = causal", 'not TOML: "causal" is no value: texts stand in quotes (line 1). Mend it there.'),
        ("tokens = ['a'] x", "not TOML: the line should end here (line 1). Mend it there."),
        ('like = "004-selv"\n[given]', 'file: no example is called "004-selv". Nearest: 004-self, '
         "004-masked-3, 004-self-unmasked."),
    ],
)  # fmt: skip
def test_what_is_no_file(script: Any, text: str, message: str) -> None:
    assert script.evaluate(READ, text) == message


OWN = [*map(example, names()), *(random_example(seed) for seed in range(40))]


def test_the_form_and_its_file_are_the_example_again(script: Any, tmp_path: Path) -> None:
    """A table into the form's texts, into a table, into TOML, which Python reads."""
    kept = [each for each in OWN if "error" not in by_python(each)]
    written = script.evaluate(
        "(tables) => tables.map((table) => writeToml(tableOfForm(formFromAddress("
        "formIntoAddress(formOfTable(table)) || btoa('{}')))))",
        [as_table(each) for each in kept if len(json.dumps(as_table(each))) < 3000],
    )
    kept = [each for each in kept if len(json.dumps(as_table(each))) < 3000]
    assert len(kept) > 40
    for each, text in zip(kept, written, strict=True):
        (tmp_path / "own.toml").write_text(text, encoding="utf-8")
        again = read_example(tmp_path / "own.toml")
        seen, expected = by_python(again), by_python(each)
        for part in ("stages", "steps", "starts"):
            for name, numbers in expected[part].items():
                np.testing.assert_array_equal(seen[part][name], numbers, err_msg=f"{each.name}: {name}")
        assert seen["cells"] == expected["cells"], each.name
        assert (again.about, again.at, again.called) == (each.about, each.at, each.called)
        assert list(map(str, again.products)) == list(map(str, each.products))
        assert tomllib.loads(text)


THOUSANDS = (
    'w_key: "%s" may be a number whose thousands are set apart, or more than one. Write %s for one, and '
    "decimals after a point."
)
TYPED = [
    ("0.1 0.2\n0.3 0.4", [["0.1", "0.2"], ["0.3", "0.4"]]),
    ("0.40\t0.20\n0.3\t", [["0.40", "0.20"], ["0.3", "…"]]),
    ("0,1\t0,2", [["0.1", "0.2"]]),
    ("0,1; 0,2\n0,3; 1", [["0.1", "0.2"], ["0.3", "1"]]),
    ("0,1, 0,2", [["0.1", "0.2"]]),
    ("0.1, 0.2,\n0.3,0.4,", [["0.1", "0.2"], ["0.3", "0.4"]]),
    ("1,2,3", [["1", "2", "3"]]),
    ("[[0.1, 0.2], [0.3, 0.4]]", [["0.1", "0.2"], ["0.3", "0.4"]]),
    ("[[[1,2],[3,4]],[[5,6],[7,8]]]", [[["1", "2"], ["3", "4"]], [["5", "6"], ["7", "8"]]]),
    ('[["0.40", "−∞"],\n ["…", "1e-3"],]', [["0.40", "−∞"], ["…", "1e-3"]]),
    ("0.1 & 0.2 \\\\\n0.3 & 0.4 \\\\", [["0.1", "0.2"], ["0.3", "0.4"]]),
    ("| 0.1 | 0.2 |\n|---|---|\n| 0.3 | 0.4 |", [["0.1", "0.2"], ["0.3", "0.4"]]),
    ("1 2\n\n3 4\n", [[["1", "2"]], [["3", "4"]]]),
    ("… 8×4", "… 8×4"),
    ("", None),
    ("[1, 2; 3, 4]", [["1", "2"], ["3", "4"]]),
    ("1,5\t-2,25\n3\t0,125", [["1.5", "-2.25"], ["3", "0.125"]]),
    ("0,100\t0,200", [["0.100", "0.200"]]),
    ("1,000\t2,000\n3\t4", THOUSANDS % ("1,000", "1000")),
    ("1,000 2,000", THOUSANDS % ("1,000", "1000")),
    ("1.234,5\t2,5", THOUSANDS % ("1.234,5", "1234.5")),
    ("1,234.5\t2", THOUSANDS % ("1,234.5", "1234.5")),
    ("1,234,567 2", THOUSANDS % ("1,234,567", "1234567")),
    ("1,5\t2.5", 'w_key: "1,5" may be one number or two. Write 1.5 for one, 1 5 for two.'),
    ("1,2, 3\n4,5, 6", 'w_key: "1,2" may be one number or two. Write 1.2 for one, 1 2 for two.'),
    ("0,5", 'w_key: "0,5" may be one number or two. Write 0.5 for one, 0 5 for two.'),
    ("1 2\n3", "w_key: row 2 has 1 number, row 1 has 2. Write … for one that is not known."),
    ("1 x", 'w_key: row 1, column 2: "x" is not a number. Write 0.25, -inf, or … for one left out.'),
    ("1 2\n\n3 4\n5", "w_key: matrix 2, row 2 has 1 number, row 1 has 2. Write … for one that is not known."),
    (
        "0.5 " * 10_001,
        "w_key: 10001 numbers are more than the 10000 that a form takes. Put them into a file, for pellucid "
        "example --file.",
    ),
    ("[[1, 2]", "w_key: a bracket is not closed, or is one too many. Or write rows without any."),
]


def test_matrices_as_people_type_and_paste_them(script: Any) -> None:
    read = """(texts) => texts.map((text) => {
      try { return typedMatrix(text, "w_key"); } catch (error) { return error.message; }
    })"""
    for (text, expected), seen in zip(TYPED, script.evaluate(read, [text for text, _ in TYPED]), strict=True):
        assert seen == expected, text
    assert script.evaluate("writtenNumber('०.२५').number") == 0.25


# The form, as somebody uses it.


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Open]:
    """Opens the page of an example, offline; what it complains of fails the test."""
    complaints: list[str] = []
    contexts = []

    def open_page(of: Example, width: int = 1440, scheme: str = "light", hash: str = "") -> Any:
        of.to_html(tmp_path / f"{of.name}.html")
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            offline=True,
            reduced_motion="reduce",
        )
        contexts.append(context)
        context.set_default_timeout(5000)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto((tmp_path / f"{of.name}.html").as_uri() + hash)
        page.wait_for_selector(".own-plates .plate, .own-status.is-wrong")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def fill(page: Any, field: str, text: str) -> None:
    page.fill(f'[data-place="{field}"]', text)


def banner(page: Any, words: str) -> Any:
    place = page.locator(".verdict-banner", has_text=words)
    place.wait_for()
    return place


def test_claims_typed_in_are_judged_at_once(opened: Open) -> None:
    page = opened(Example("homework", {"queries": [[1.0, 0.0]], "keys": [[1.0, 0.0], [0.0, 1.0]]}))
    page.get_by_role("button", name="Empty the form").click()
    page.get_by_role("button", name="scores", exact=True).first.click()
    fill(page, "scores", "2,0\t1,0\n1,0\t3,0")
    fill(page, "values", "0.1 0.2\n0.5 0.6")
    page.get_by_role("button", name="causal").click()
    claimed = page.get_by_role("group", name="stages with claims")
    claimed.get_by_role("button", name="weights", exact=True).click()
    fill(page, "claims.weights", "1.0 0.0\n0.12 0.88")
    right = banner(page, "All 4 numbers are right.")
    assert right.get_attribute("data-verdict") == "right" and "✓" in right.inner_text()
    fill(page, "claims.weights", "1.0 0.0\n0.88 0.12")
    wrong = banner(
        page,
        "The first stage that goes wrong is weights, where 2 cells are wrong. Row 1, column 0 claims 0.88, "
        "and 0.1192 is computed: a larger score never has a smaller weight.",
    )
    assert "✗" in wrong.inner_text() and "4 cells: 2 right, 2 wrong." in wrong.inner_text()
    table = page.locator("table.verdicts[data-stage=weights]")
    lines = table.locator("tbody").nth(1).locator("tr")
    texts = [lines.nth(line).inner_text().split() for line in range(5)]
    assert texts[1][-2:] == ["0.88", "0.12"]
    assert texts[2][-2:] == texts[3][-2:] == ["0.1192", "0.8808"]
    assert texts[4][-2:] == ["✗", "wrong"]
    assert page.locator(".own-claims .rules").inner_text() == "✗ 1: a larger score never has a smaller weight"
    claimed.get_by_role("button", name="context", exact=True).click()
    fill(page, "claims.context", "0.1 0.2\n0.15 0.25")
    banner(page, "The first stage that goes wrong is weights")
    page.locator('[data-plate="context"]', has_text="↳ 2 follow").wait_for()


def test_what_is_wrong_is_said_beside_the_field_and_nothing_is_lost(opened: Open) -> None:
    page = opened(example("004-cross-4"))
    field, error = page.locator('[data-place="keys"]'), page.locator("#own-keys-error")
    assert error.inner_text() == "" and field.get_attribute("aria-invalid") is None
    before = page.locator(".own-plates").inner_text()
    fill(page, "keys", "0.1 0.2 0.3\n0.5 0.6 0.7")
    page.locator("#own-keys-error:not(:empty)").wait_for()
    assert error.inner_text() == (
        "scores: queries · keys^T is (2×4)·(3×2), which does not multiply: the left has 4 columns, the "
        "right 3 rows."
    )
    assert field.get_attribute("aria-invalid") == "true" and "own-keys-error" in field.get_attribute(
        "aria-describedby"
    )
    assert "which does not multiply" in page.locator(".own-status").inner_text()
    assert "which does not multiply" in page.locator("#said").inner_text()
    assert (
        page.locator(".own-plates").inner_text() == before
        and field.input_value() == "0.1 0.2 0.3\n0.5 0.6 0.7"
    )
    fill(page, "keys", "0.1 0.2 0.3 o.4")
    page.locator("#own-keys-error", has_text='row 1, column 4: "o.4" is not a number').wait_for()
    page.get_by_role("button", name="weights", exact=True).first.click()
    page.get_by_role("button", name="Q, K, V").click()
    assert field.input_value() == "0.1 0.2 0.3 o.4", "another way to begin keeps what was typed"
    fill(page, "keys", "0.1 0.2 0.3 0.4\n0.5 0.6 0.7 0.8\n0.9 1.0 1.1 1.2")
    page.locator("#own-keys-error:empty").wait_for(state="attached")
    assert field.get_attribute("aria-invalid") is None
    fill(page, "tokens", "Me")
    page.locator("#own-tokens-error", has_text="tokens: 1 words for 2 rows. Give one for each.").wait_for()


def test_a_form_too_large_for_an_address_says_so(opened: Open) -> None:
    page = opened(example("004-self"))
    page.get_by_role("button", name="scores", exact=True).first.click()
    page.get_by_role("button", name="Empty the form").click()
    rows = lambda size: "\n".join([" ".join(["0.125"] * size)] * size)  # noqa: E731
    fill(page, "scores", rows(40))
    warning = page.locator(".own-about", has_text="Too large for the address of this page")
    page.wait_for_timeout(400)  # the pause after typing, and the address
    assert page.evaluate("location.hash.length") > 6000
    assert warning.count() == 0
    fill(page, "scores", rows(80))
    warning.wait_for()
    assert page.evaluate("location.hash") == "", "half a form is none"
    assert (
        opened(example("004-self"), hash="#?form=eyJfX3Byb3RvX18iOiB7ImEiOiAxfX0").locator(".own").count()
        == 1
    )


def test_examples_and_back_and_the_address(opened: Open) -> None:
    page = opened(example("004-self"))
    assert page.evaluate("location.hash") == "", "nothing was changed"
    page.select_option("#own-example", "000-masked")
    page.locator('[data-plate="output"]').wait_for()
    assert page.locator(".own-about").inner_text().startswith("000-masked masked attention on six words")
    assert page.locator('[data-place="tokens"]').input_value() == "START The cat sat on mat"
    page.get_by_role("button", name="Back to what I had").click()
    banner(page, "weights, where 2 cells are wrong")
    fill(page, "claims.weights", "1.0 0.0\n0.45 0.55")
    banner(page, "The first stage that goes wrong is context")
    assert page.locator(".own-about").inner_text() == "Changed: no longer 004-self."
    address = page.evaluate("location.hash")
    assert address.startswith("#?form=")
    again = opened(example("001-masked"), hash=address)
    assert again.locator('[data-place="claims.weights"]').input_value() == "1.0 0.0\n0.45 0.55"
    banner(again, "The first stage that goes wrong is context")
    broken = opened(example("001-masked"), hash="#?form=%%%")
    assert broken.locator('[data-place="tokens"]').input_value() == "river bank", (
        "an address that holds no form"
    )


def test_as_a_file_and_from_a_file(opened: Open, tmp_path: Path) -> None:
    page = opened(example("004-cross-4"))
    page.get_by_text("As a file").click()
    text = page.locator("#own-toml").input_value()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    download.value.save_as(tmp_path / "example.toml")
    assert (tmp_path / "example.toml").read_text(encoding="utf-8") == text
    ours, theirs = read_example(tmp_path / "example.toml").report(), example("004-cross-4").report()
    assert [vars(cell) for cell in ours.cells] == [vars(cell) for cell in theirs.cells]
    page.get_by_text("From a file").click()
    page.fill("#own-toml-in", "[given]\nscores = [[1.0, 2.0]")
    page.get_by_role("button", name="Use it").click()
    assert "a [ is not closed (line 2)" in page.locator("#own-toml-error").inner_text()
    assert page.locator("#own-toml-in").input_value() == "[given]\nscores = [[1.0, 2.0]"
    page.fill("#own-toml-in", '[given]\nscores = [[1.0, 2.0]]\n[claims]\nweights = [["0.27", "0.73"]]\n')
    page.get_by_role("button", name="Use it").click()
    banner(page, "All 2 numbers are right.")


def test_the_page_of_an_example_from_python(opened: Open, tmp_path: Path) -> None:
    worked = attention(
        queries=np.eye(2), keys=[[1.0, 2.0], [3.0, 4.0]], values=np.ones((2, 3)), scale=None, mask="causal"
    )
    worked.to_html(tmp_path / "own.html", {"scores": np.array([[1.0, 3.0], [2.0, 4.0]])}, decimals=1)
    text = (tmp_path / "own.html").read_text(encoding="utf-8")
    assert '"claims":{"scores":[[{"unquoted":"1.0"}' in text and "All 4" not in text
    page = opened(
        Example("own", worked.arguments, claims={"scores": np.array([[1.0, 3.0], [2.0, 4.0]])}, decimals=1)
    )
    banner(page, "All 4 numbers are right.")
    assert page.locator('[data-place="queries"]').input_value() == "1  0\n0  1"
    hostile = Example("</script><b>", worked.arguments, about="<img src=x onerror=alert(1)>")
    page = opened(Example("x", hostile.arguments, about=hostile.about))
    assert page.locator("img").count() == 0 and "<img src=x" in page.locator(".lead").inner_text()


def test_without_a_script_the_numbers_are_there(browser: Any, tmp_path: Path) -> None:
    example("004-self").to_html(tmp_path / "page.html")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    shown = page.locator("noscript pre").inner_text()
    assert shown.rstrip() == "\n".join(example_text(example("004-self"), 100)).rstrip()
    context.close()


def test_every_example_is_drawn(opened: Open) -> None:
    page = opened(example("004-self"))
    for name in names():
        page.select_option("#own-example", name)
        stages = list(example(name).worked())
        page.wait_for_function(
            "(stages) => [...document.querySelectorAll('.own-stages [data-stage]')]"
            ".map((e) => e.dataset.stage).join() === stages",
            arg=",".join(stages),
        )
        page.evaluate("document.querySelector('.own-stages').open = true")
        for stage in stages:
            assert page.locator(f'.own-plates [data-plate^="{stage}"]').count(), (name, stage)
        shapes = page.locator(".own-stages .stage-shape").all_inner_texts()
        assert shapes == list(example(name).worked().shapes.values())
        assert page.locator(".own-products li").count() == len(example(name).products)
        assert page.locator(".own-status").inner_text() == ""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_it_fits_and_can_be_read_and_touched(opened: Open, width: int, scheme: str) -> None:
    for name in ("004-cross-4", "004-two-heads"):
        page = opened(example(name), width, scheme)
        page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
        assert page.evaluate("document.documentElement.scrollWidth") == width
        ratios = page.evaluate(CONTRAST)
        assert len(ratios) > 10 and min(ratios)[0] >= 4.5, min(ratios)
        small = page.evaluate(
            "[...document.querySelectorAll('.own :is(button, select, input, textarea, summary)')]"
            ".filter((e) => e.offsetParent && e.getBoundingClientRect().height < 44).map((e) => e.outerHTML)"
        )
        assert small == []
        unnamed = page.evaluate(
            "[...document.querySelectorAll('.own :is(input, textarea, select)')]"
            ".filter((e) => !e.labels.length).map((e) => e.outerHTML)"
        )
        assert unnamed == []


def test_by_keyboard_alone(opened: Open) -> None:
    page = opened(example("004-self"))
    page.locator('[data-key="own-clear"]').focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.dataset.key") == "own-clear"
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.dataset.place") == "inputs":
            break
    page.keyboard.type("1.0 2.0")
    page.locator(".own-size", has_text="1 × 2").wait_for()
    assert page.evaluate("document.activeElement.dataset.place") == "inputs", (
        "the focus stays where one types"
    )
