"""One's own matrices in the page: JavaScript computes and judges as Python does; and the form in use."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from opened_page import Opened, OpenPage, opened_page
from slip_cases import HARDLY_CLAIMED, SLIPS, written

from pellucid import attention
from pellucid.errors import UsageError
from pellucid.page.own_form import as_form, own_payload
from pellucid.seeing.viewed import lines
from pellucid.show.worked_text import first_wrong
from pellucid.worked.examples import Example, example, names, read_example

pytestmark = pytest.mark.browser
NAMES = names()
PARTS = [name for name in NAMES if example(name).is_part]


@pytest.fixture(scope="module")
def script(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A page whose functions are called from Python: script.evaluate."""
    path = tmp_path_factory.mktemp("own") / "page.html"
    example("001-bank-river").to_html(path)
    with opened_page(browser, path) as opened:
        yield opened.page


# JavaScript = Python

WORKED = """(forms) => forms.map((form) => {
  try {
    const table = tableOfForm(formFromAddress(formIntoAddress(form)));
    const worked = workedExample(table);
    const report = checkClaims(worked, table.claims, table.decimals ?? null);
    const plain = (stages) => Object.fromEntries(Object.entries(stages).map(([name, heads]) =>
      [name, heads.map((head) => [...Array(head.rows).keys()].map((row) => [...head.row(row)]))]));
    return {steps: plain(report.steps), starts: plain(report.starts), cells: report.cells,
            sentence: firstWrong(report)};
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return {error: error.message};
  }
})"""
CELL = ("name", "head", "row", "column", "written", "verdict")


def typed(start: str, given: dict[str, Any], claims: dict[str, Any] | None = None) -> dict[str, str]:
    """A form that somebody fills in, whether it can be worked out or not."""
    named = given | {f"claims.{stage}": matrix for stage, matrix in (claims or {}).items()}
    texts = {name: "\n".join(" ".join(map(str, row)) for row in matrix) for name, matrix in named.items()}
    return {"start": start, **texts}


def worked(script: Any, form: dict[str, str]) -> Any:
    """What the page makes of one form."""
    (seen,) = script.evaluate(WORKED, [form])
    return seen


def assert_same(seen: dict[str, Any], of: Example) -> None:
    """The page judges a table as Python does: numbers, verdicts, the first wrong stage, and what was done."""
    report = of.report()
    assert "error" not in seen, (of.name, seen)
    for part, stages in (("steps", report.steps), ("starts", report.starts)):
        assert list(seen[part]) == list(stages)
        for name, numbers in stages.items():
            np.testing.assert_allclose(
                seen[part][name], numbers.numpy(), rtol=1e-12, atol=1e-12, err_msg=f"{of.name}: {name}"
            )
    theirs = [[getattr(cell, key) for key in CELL] for cell in report.cells]
    assert [[cell[key] for key in CELL] for cell in seen["cells"]] == theirs, of.name
    for ours, cell in zip(seen["cells"], report.cells, strict=True):
        slip = (cell.rule or "").split("; ")[0]
        assert (ours["why"] if "gives this" in ours["why"] else "") == (slip if "gives this" in slip else "")
    # The same first wrong cell with the same numbers; Python says more often why.
    ours, theirs = (
        text.partition(": ")[0].removesuffix(".") for text in (seen["sentence"], first_wrong(report))
    )
    assert ours == theirs, of.name


def random_example(seed: int) -> Example:
    """Any entry, some heads, any mask, something unknown; claims rounded, some left out, one in ten wrong."""
    random = np.random.default_rng(seed)
    heads, rows, columns = (int(random.integers(1, 4)) for _ in range(3))
    draw = lambda *shape: random.normal(size=shape).round(2)  # noqa: E731
    values = {"values": draw(heads, columns, 2), "w_output": draw(heads * 2, 3)}
    projected = {"inputs": draw(rows, 3), "memory": draw(columns, 3), "w_value": draw(3, heads * 2)}
    hidden = np.where(random.random((rows, columns)) < 0.3, -math.inf, 0.0)
    given: dict[str, Any] = (
        projected | {"w_query": draw(3, heads * 2), "w_key": draw(heads, 3, 2)},
        values | {"queries": draw(heads, rows, 3), "keys": draw(heads, columns, 3)},
        values | {"scores": draw(heads, rows, columns), "scale": 2.5},
        {"weights": np.abs(draw(heads, rows, columns))},
    )[seed % 4]
    if seed % 4 < 3:
        # A causal mask is for self-attention, where queries and keys share their positions.
        given["mask"] = ("causal" if rows == columns else hidden, hidden, hidden == 0)[seed % 3]
    if seed % 5 == 0:
        next(iter(given.values())).flat[0] = math.nan
    claims = {}
    for name, record in attention(**given, heads=heads).items():
        numbers = (record.tensor[0] if "H" in record.axes else record.tensor).numpy()
        claimed = np.where(random.random(numbers.shape) < 0.1, 0.5, numbers)
        left_out = np.isnan(claimed) | (random.random(numbers.shape) < 0.1)
        claims[name] = np.where(left_out, "…", np.array(written(claimed, 1 + seed % 3))).tolist()
    return Example(f"random-{seed}", {**given, "heads": heads}, claims=claims)


def test_the_page_judges_as_python_does(script: Any) -> None:
    slips = [Example("slip", given, claims={stage: written(line)}) for given, stage, line, _ in SLIPS]
    hardly = [Example("hardly claimed", given, claims=claims) for given, claims in HARDLY_CLAIMED]
    attentions = [example(name) for name in NAMES if name not in PARTS]
    drawn = [*attentions, *slips, *hardly, *map(random_example, range(60))]
    for of, seen in zip(drawn, script.evaluate(WORKED, [as_form(each) for each in drawn]), strict=True):
        assert_same(seen, of)
    verdicts = {cell.verdict for each in drawn for cell in each.report().cells}
    assert verdicts == {"right", "follows", "wrong", "not derivable"}
    whole = Example("whole", {"scores": [[2.0, 4.0]]}, claims={"scores": [["2", "3"]]})
    seen = worked(script, as_form(whole))
    assert [cell["verdict"] for cell in seen["cells"]] == ["right", "wrong"]


def test_the_page_refuses_what_python_refuses(script: Any) -> None:
    for given, heads in (
        ({"queries": [[1.0, 2.0]], "keys": [[1.0]]}, None),
        ({"inputs": [[1.0, 2.0]], "w_query": [[1.0], [2.0], [3.0]]}, None),
        ({"queries": [[1.0, 2.0, 3.0]], "keys": [[1.0, 2.0, 3.0]]}, 2),
    ):
        with pytest.raises(UsageError) as error:
            attention(**given, heads=heads)
        seen = worked(script, typed("anything", given) | ({"heads": str(heads)} if heads else {}))
        assert seen["error"].split(":")[0] == str(error.value).split(":")[0]
    crossed = {"queries": [[1.0]], "keys": [[1.0], [2.0]]}
    with pytest.raises(UsageError) as error:
        attention(**crossed, mask="causal")
    seen = worked(script, typed("queries", crossed) | {"masking": "causal"})
    assert seen["error"] == str(error.value)


@pytest.mark.parametrize("name", PARTS)
def test_the_parts_around_an_attention_are_worked_out_as_python_does(script: Any, name: str) -> None:
    expected = {
        stage: np.atleast_2d(record.tensor.squeeze(0).numpy().T if record.axes == "BL" else record.tensor)
        for stage, record in example(name).worked().items()
        if not stage.startswith("one_hot")
    }
    seen = worked(script, as_form(example(name)))
    assert list(seen["starts"]) == list(expected)
    for stage, numbers in expected.items():
        (found,) = np.array(seen["starts"][stage])
        np.testing.assert_allclose(found, numbers.reshape(np.shape(found)), rtol=1e-12, atol=1e-12)
    # Claims to four digits hold, all of them; one that is off is named.
    claims = {
        stage: written(numbers.reshape(np.shape(seen["starts"][stage][0])), 4)
        for stage, numbers in expected.items()
    }
    form = as_form(example(name))
    seen = worked(script, form | typed(form["start"], {}, claims))
    assert {cell["verdict"] for cell in seen["cells"]} == {"right"}, seen["sentence"]
    stage, claimed = next((each, claims[each]) for each in reversed(claims))
    claimed[1][2] = "9.0000"
    seen = worked(script, form | typed(form["start"], {}, claims))
    first = f"The first stage that goes wrong is {stage}, where one cell is wrong. Row 1 ("
    assert seen["sentence"].startswith(first)
    assert " column 2 claims 9.0000, and " in seen["sentence"]


def test_claims_about_a_part_follow_are_wrong_or_cannot_be_derived(script: Any) -> None:
    given = {"inputs": [[1.0, 3.0], [2.0, 2.0]], "sublayer": [[1.0, 1.0], ["…", 0.0]]}
    claims = {
        "residual.sum": [["2", "5"], ["2.5", "2"]],  # 4 is right; the row below has an unknown number
        "residual.norm.mean": [["3.5"], ["2.25"]],
        "residual.norm.variance": [["1.0"], ["0.0625"]],
        "residual.norm.output": [["-0.5", "1.0"], ["…", "…"]],
    }
    seen = worked(script, typed("norm", given, claims))
    verdicts = [cell["verdict"] for cell in seen["cells"]]
    assert verdicts == [
        *("right", "wrong", "not derivable", "right"),
        *("follows", "right"),  # what cannot be derived is what the lines after it start from
        *("right", "right"),
        *("wrong", "right"),
    ]
    whole = "residual.sum, where one cell is wrong. Row 0, column 1 claims 5, and 4.0000 is computed."
    assert seen["sentence"] == f"The first stage that goes wrong is {whole}"
    x = {"inputs": given["inputs"]}
    ids = {"ids": [[7]], "w_embedding": [[1.0, 2.0]]}
    hidden = {"inputs": [[1.0]], "w_1": [[1.0], [2.0]], "w_2": [[1.0]]}
    for start, misfit, fault in (
        ("norm", x | {"sublayer": [[1.0]]}, "sublayer is 1×1 and must be 2×2, to fit what it meets."),
        ("embedding", ids, "ids: 7 is no row of W_E: it has 1, from 0."),
        ("feed_forward", hidden, "feed_forward.hidden: inputs · w_1 is (1×1)"),
    ):
        seen = worked(script, typed(start, misfit))
        assert seen["error"].startswith(fault), seen["error"]


COMMA = 'w_key: "%s" has a comma. Decimals come after a point; write numbers apart by spaces.'
TYPED = [
    ("0.1 0.2\n0.3 0.4", [["0.1", "0.2"], ["0.3", "0.4"]]),
    ("0.40\t0.20\n0.3\t", [["0.40", "0.20"], ["0.3", "…"]]),
    ("0.1, 0.2,\n0.3, 0.4,", [["0.1", "0.2"], ["0.3", "0.4"]]),
    ("[[0.1, 0.2], [0.3, 0.4]]", [["0.1", "0.2"], ["0.3", "0.4"]]),
    ("[[[1,2],[3,4]],[[5,6],[7,8]]]", [[["1", "2"], ["3", "4"]], [["5", "6"], ["7", "8"]]]),
    ("[1 2; 3 4]", [["1", "2"], ["3", "4"]]),  # MATLAB
    ('[["0.40", "−∞"],\n ["…", "1e-3"],]', [["0.40", "−∞"], ["…", "1e-3"]]),
    ("0.1 & 0.2 \\\\\n0.3 & 0.4 \\\\", [["0.1", "0.2"], ["0.3", "0.4"]]),
    ("| 0.1 | 0.2 |\n|---|---|\n| 0.3 | 0.4 |", [["0.1", "0.2"], ["0.3", "0.4"]]),
    ("1 2\n\n3 4\n", [[["1", "2"]], [["3", "4"]]]),
    ("… 2×1", [["…"], ["…"]]),
    ("", None),
    ("0,5 1", COMMA % "0,5"),
    ("1,000\t2", COMMA % "1,000"),
    ("1 2\n3", "w_key: row 1 has 1 and row 0 has 2 numbers. Write … for one that is not known."),
    (
        "1 x",
        'w_key: row 0, column 1: "x" is not a number. Write 0.25, -inf, or … for a number that is left out.',
    ),
    ("[[1, 2]", "w_key: a bracket is not closed, or is one too many. Or write rows without any."),
]


def test_matrices_as_people_type_and_paste_them(script: Any) -> None:
    read = """(texts) => texts.map((text) => {
      try { return typedMatrix(text, "w_key"); } catch (error) { return error.message; }
    })"""
    for (text, expected), seen in zip(TYPED, script.evaluate(read, [text for text, _ in TYPED]), strict=True):
        assert seen == expected, text
    tokens = script.evaluate("['New York, is big', 'is big'].map((t) => wordsTyped({tokens: t}, 'tokens'))")
    assert tokens == [["New York", "is big"], ["is", "big"]]
    for words in (["New York", "is, big"], ["is", "big"]):
        form = as_form(Example("words", {"scores": [[1.0, 2.0]] * 2, "tokens": words}))
        assert script.evaluate("(form) => wordsTyped(form, 'tokens')", form) == words


# The form, as somebody uses it.


def claim(opened: Opened, stage: str, text: str) -> None:
    """Unfold the field of a stage and type what is claimed about it."""
    opened.click(f'.own-claim:not([open]):has([name="claims.{stage}"]) > summary')
    fill(opened, f"claims.{stage}", text)


def fill(opened: Opened, field: str, text: str) -> None:
    opened.page.fill(f'[name="{field}"]', text)


def select(opened: Opened, field: str, label: str) -> None:
    opened.page.select_option(f"#own-{field}", label=label)


def banner(opened: Opened, words: str) -> Any:
    """Wait until the verdict has these words."""
    place = opened.page.locator(".own-verdict", has_text=words)
    place.wait_for(timeout=5000)
    return place


def saved(opened: Opened, path: Path) -> Example:
    """The example that the button saves."""
    with opened.page.expect_download() as download:
        opened.page.get_by_text("As a file").click()
    download.value.save_as(path)
    return read_example(path)


def test_claims_typed_in_are_judged_at_once(open_page: OpenPage) -> None:
    homework = Example("homework", {"queries": [[1.0, 0.0]], "keys": [[1.0, 0.0], [0.0, 1.0]]})
    opened = open_page(of=homework)
    opened.page.get_by_role("button", name="Empty the form").click()
    select(opened, "start", "scores")
    fill(opened, "scores", "2.0\t1.0\n1.0\t3.0")
    fill(opened, "values", "0.1 0.2\n0.5 0.6")
    select(opened, "masking", "causal")
    claim(opened, "weights", "1 0\n0.12 0.88")
    right = banner(opened, "All 4 numbers are right.")
    assert right.get_attribute("data-verdict") == "right" and "✓" in right.inner_text()
    fill(opened, "claims.weights", "0.73 0.27\n0.12 0.88")
    wrong = banner(
        opened,
        "The first stage that goes wrong is weights, where 2 cells are wrong. Row 0, column 0 claims 0.73, "
        "and 1.0000 is computed: softmax without the mask gives this.",
    )
    assert "✗" in wrong.inner_text() and opened.is_seen(".verdict-legend")
    stage = ".claimed-stage[data-stage=weights]"
    assert opened.texts(f"{stage} .verdict-count") == ["✓ 2 right", "✗ 2 wrong"]
    assert [cell.split() for cell in opened.texts(f"{stage} td[class]")] == [
        ["0.73", "✗", "wrong", "computed", "1.0000"],
        ["0.27", "✗", "wrong", "computed", "0"],
        ["0.12", "✓", "right"],
        ["0.88", "✓", "right"],
    ]
    assert opened.text(f"{stage} .rules") == "✗ 0: softmax without the mask gives this"
    claim(opened, "context", "0.208 0.308\n0.452 0.552")
    opened.page.locator('[data-key="stage-context"]', has_text="↳ 2 follow").wait_for()


def test_what_is_wrong_is_said_beside_the_field_and_nothing_is_lost(open_page: OpenPage) -> None:
    opened = open_page(of=example("004-cross-4"))
    page, field = opened.page, opened.page.locator('[name="keys"]')
    assert opened.text("#own-keys-error") == "" and field.get_attribute("aria-invalid") is None
    before = opened.text(".own-plates")
    fill(opened, "keys", "0.1 0.2 0.3\n0.5 0.6 0.7")
    told = "scores: queries · keys^T is (2×4)·(3×2), which does not multiply"
    page.locator("#own-keys-error", has_text=told).wait_for()
    assert field.get_attribute("aria-invalid") == "true"
    assert "own-keys-error" in field.get_attribute("aria-describedby")
    assert told in page.get_by_role("status").filter(has_text="scores").inner_text()
    assert opened.text(".own-plates") == before
    fill(opened, "keys", "0.1 0.2 0.3 o.4")
    page.locator("#own-keys-error", has_text='row 0, column 3: "o.4" is not a number').wait_for()
    select(opened, "start", "weights")
    select(opened, "start", "Q, K, V")
    assert field.input_value() == "0.1 0.2 0.3 o.4", "another way to begin keeps what was typed"
    fill(opened, "keys", "0.1 0.2 0.3 0.4\n0.5 0.6 0.7 0.8\n0.9 1.0 1.1 1.2")
    page.locator("#own-keys-error:empty").wait_for(state="attached")
    fill(opened, "claims.weights", "1 0 0\n0 1 0")
    page.locator("#own-claims-weights-error", has_text="does not say to how many digits").wait_for()


def test_a_part_around_an_attention_in_the_form(open_page: OpenPage, tmp_path: Path) -> None:
    opened = open_page(of=example("004-self"))
    for start, stage in (
        ("Embedding and positions", "decoder.embedded"),
        ("Add & Norm", "residual.norm.variance"),
        ("Feed-forward", "feed_forward.hidden"),
    ):
        select(opened, "start", start)
        worked = example(opened.page.input_value("#own-example")).worked()
        right = worked[stage].tensor.numpy().squeeze()
        rows = written(right.reshape(3, -1), 3)
        claim(opened, stage, "\n".join(map(" ".join, rows)))
        banner(opened, f"All {right.size} numbers are right.")
        ours = saved(opened, tmp_path / "example.json").worked()
        for each, record in worked.items():
            np.testing.assert_array_equal(ours[each].tensor.numpy(), record.tensor.numpy(), err_msg=each)
        rows[0][0] = "7.500"
        fill(opened, f"claims.{stage}", "\n".join(map(" ".join, rows)))
        banner(opened, f"The first stage that goes wrong is {stage}, where one cell is wrong. Row 0 (START)")
        opened.page.get_by_role("button", name="Back to what I had").click()
        banner(opened, "weights, where 2 cells are wrong")


def test_examples_and_back_and_the_address_and_the_file(open_page: OpenPage, tmp_path: Path) -> None:
    opened = open_page(of=example("004-self"))
    assert opened.address == "", "nothing was changed"
    opened.page.select_option("#own-example", "000-masked")
    opened.page.locator('[data-key="stage-output"]').wait_for()
    assert opened.page.input_value('[name="tokens"]') == "START The cat sat on mat"
    opened.page.get_by_role("button", name="Back to what I had").click()
    banner(opened, "weights, where 2 cells are wrong")
    assert saved(opened, tmp_path / "example.json").report().cells == example("004-self").report().cells
    fill(opened, "claims.weights", "1.0 0.0\n0.45 0.55")
    banner(opened, "The first stage that goes wrong is context")
    assert opened.text("#own-example option:checked") == "your own numbers"
    address = opened.address
    assert address.startswith("#?form=")
    opened = open_page(address, of=example("001-masked"))
    assert opened.page.input_value('[name="claims.weights"]') == "1.0 0.0\n0.45 0.55"
    banner(opened, "The first stage that goes wrong is context")
    for broken in ("%%%", "eyJfX3Byb3RvX18iOiB7ImEiOiAxfX0"):  # no form, and one of __proto__
        assert open_page(f"#?form={broken}", of=example("001-masked")).is_seen(".own")


OTHER = "formIntoAddress(page.header.own.examples.find(({ name }) => name === '001-bank-river').form)"
NAME = "document.querySelector('#own-example').value"


@pytest.mark.parametrize("is_alone", [False, True], ids=["of a translation", "of an example"])
def test_another_address_brings_another_form(open_page: OpenPage, is_alone: bool) -> None:
    opened = open_page(of=example("004-self")) if is_alone else open_page("#?open=own")
    before, form = opened.page.evaluate(NAME), quote(opened.page.evaluate(OTHER))
    opened.go(f"#?{'' if is_alone else 'open=own&'}form={form}")
    opened.until(f"{NAME} === '001-bank-river'")
    opened.page.get_by_role("button", name="Back to what I had").click()
    opened.until(f"{NAME} === {before!r}")
    opened.settle()


def test_keys_act_on_the_form_and_not_on_the_model_that_it_hides(open_page: OpenPage) -> None:
    opened = open_page("#decoder.layers.0.self_attention.scores?cell=1,0&open=own")
    before = opened.page.evaluate("[state.row, state.head, state.block, state.tensor]")
    select(opened, "example", opened.text("#own-example option[value='004-two-heads']"))
    opened.until_there(".own-plates .head")
    press_keys_of_form(opened)
    assert opened.page.evaluate("[state.row, state.head, state.block, state.tensor]") == before
    press_keys_of_form(open_page(of=example("004-two-heads")))


def press_keys_of_form(opened: Opened) -> None:
    """Brackets change the head of the form, and Escape unpins its cell."""
    opened.page.locator(".own-plates :is(td[role=gridcell], .field)").last.click()
    opened.until_there(".own .unpin")
    for key, head in (("]", 1), ("]", 0), ("[", 1)):
        opened.press(key)
        opened.until(f"document.querySelectorAll('.own .head')[{head}].ariaPressed === 'true'")
    opened.press(".", "Space", "Escape")
    opened.until("!document.querySelector('.own .unpin')")


def test_the_page_of_an_example_from_python(open_page: OpenPage, tmp_path: Path) -> None:
    worked = attention(queries=np.eye(2), keys=[[1.0, 2.0], [3.0, 4.0]], scale=None, mask="causal")
    claims = {"scores": np.array([[1.0, 3.0], [2.0, 4.0]])}
    worked.to_html(tmp_path / "own.html", claims, decimals=1)
    banner(open_page(of=tmp_path / "own.html"), "All 4 numbers are right.")
    opened = open_page(of=Example("x", worked.arguments, about="<img src=x onerror=alert(1)></script>"))
    assert opened.page.locator("img").count() == 0 and "<img src=x" in opened.text(".lead")


def test_without_a_script_the_numbers_are_there(browser: Any, tmp_path: Path) -> None:
    example("004-self").to_html(tmp_path / "page.html")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((tmp_path / "page.html").as_uri())
    shown = page.locator("noscript pre").inner_text()
    assert shown.rstrip() == "\n".join(lines(example("004-self"), 100)).rstrip()
    context.close()


def test_every_example_is_drawn(open_page: OpenPage) -> None:
    opened = open_page(of=example("004-self"))
    assert [table["name"] for table in own_payload()["examples"]] == NAMES
    for name in NAMES:
        opened.page.select_option("#own-example", name)
        for stage in example(name).worked():
            if stage != "mask" and not stage.startswith("one_hot"):
                opened.until_there(f"[data-key='stage-{stage}']")
        assert opened.page.locator(".own-verdict.is-fault").count() == 0


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (390, "dark")])
def test_it_fits_and_can_be_read_and_touched(open_page: OpenPage, width: int, scheme: str) -> None:
    for name in ("004-cross-4", "004-two-heads"):
        opened = open_page(of=example(name), width=width, color_scheme=scheme)
        opened.page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
        opened.assert_fits(width)
        fields = "[...document.querySelectorAll('.own :is(input, textarea, select)')]"
        nameless = f"{fields}.filter((field) => field.offsetParent && !field.labels.length)"
        assert opened.page.evaluate(f"{nameless}.map((field) => field.outerHTML)") == []


def test_by_keyboard_alone(open_page: OpenPage) -> None:
    opened = open_page(of=example("004-self"))
    opened.page.locator('[data-key="own-clear"]').focus()
    opened.press("Enter")
    assert opened.page.evaluate("document.activeElement.dataset.key") == "own-clear"
    focused = "document.activeElement.name"
    for _ in range(12):
        opened.press("Tab")
        if opened.page.evaluate(focused) == "inputs":
            break
    opened.page.keyboard.type("1.0 2.0")
    banner(opened, "Computed.")
    assert opened.page.evaluate(focused) == "inputs", "the focus stays"
