"""The notes' worked examples: their verdicts, what each is there to show, the command, files of one's own."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import Command

from pellucid.errors import UsageError
from pellucid.seeing.viewed import lines
from pellucid.show.code_lines import code_line
from pellucid.show.worked_text import verdict_table
from pellucid.worked.examples import example, names, read_example

DOCS = Path(__file__).parents[2] / "docs"
Array = np.ndarray[Any, Any]


def test_the_committed_table_is_what_is_computed() -> None:
    """139 verdicts, each checked against NumPy when the table was written: the judge may not change one."""
    text = (DOCS / "notes-004-verdicts.md").read_text(encoding="utf-8")
    chosen = [each for each in map(example, names()) if each.note == "004" and each.claims]
    assert [line for line in text.splitlines() if line.startswith("|")] == verdict_table(chosen)
    counted = re.search(r"(\d+) cells: (\d+) right, (\d+) follow, (\d+) wrong, (\d+) not derivable", text)
    assert counted is not None
    found = [cell.verdict for each in chosen for cell in each.report().cells]
    kinds = ("right", "follows", "wrong", "not derivable")
    assert [int(each) for each in counted.groups()] == [len(found), *map(found.count, kinds)]


def test_products_on_the_wrong_side() -> None:
    products = {product.written: str(product) for name in names() for product in example(name).products}
    assert products["W_Q · D"] == "(4×4)·(2×4) does not multiply: 4 columns, 2 rows"
    assert products["D · W_Q"] == "(2×4)·(4×4) = (2×4)"
    assert products["W_O · Concat"] == "(8×8)·(2×8) does not multiply: 8 columns, 2 rows"
    assert products["Concat · W_O"] == "(2×8)·(8×8) = (2×8)"
    assert products["Token Indices · W_E"] == "(1×3)·(7×4) does not multiply: 3 columns, 7 rows"


def test_what_the_variants_are_there_to_show() -> None:
    seen = {name: example(name).worked() for name in names()}

    def numbers(name: str, stage: str) -> Array:
        return seen[name][stage].tensor[0].numpy()

    assert np.isinf(numbers("000-masked", "mask")).sum() == 15 and numbers("000-masked", "mask").size == 36
    assert np.array_equal(numbers("000-masked", "weights"), numbers("000-large-negative", "weights"))
    assert np.allclose(
        numbers("000-masked", "scores"), numbers("000-masked-scaled", "scaled_scores") * 3**0.5
    )
    assert (numbers("000-unmasked", "weights") > 0).all()
    river, money = (numbers(f"001-bank-{word}", "queries")[0, 1] for word in ("river", "money"))
    assert np.array_equal(river, money), "the word's own vector is the same"
    assert not np.allclose(*(numbers(f"001-bank-{word}", "context")[0, 1] for word in ("river", "money")))
    for stage in ("keys", "values"):
        assert np.array_equal(numbers("003-step-1", stage), numbers("003-step-2", stage))
    assert np.array_equal(numbers("003-step-1", "context")[0, 0], numbers("003-step-2", "context")[0, 0])
    both, lifted = numbers("004-mask-per-head", "context"), numbers("004-mask-lifted", "context")
    assert np.array_equal(both[0], lifted[0]) and not np.allclose(both[1, 0], lifted[1, 0])
    assert np.array_equal(both[1, 3], lifted[1, 3]), "the last word saw all before"
    shapes = seen["002-masked"].shapes
    assert shapes["queries"] == "(3×4)·(4×3) = (3×3)" and shapes["values"] == "(3×4)·(4×4) = (3×4)"


@pytest.mark.parametrize("name", names())
def test_each_example_fits_80_columns_and_names_every_stage(name: str) -> None:
    shown = lines(example(name))
    assert max(map(len, shown)) <= 80, max(shown, key=len)
    assert all(any(line.startswith(stage) for line in shown) for stage in example(name).worked())


# The command


def test_terms_that_cancel_are_0(pellucid: Command) -> None:
    assert example("000-masked").worked()["keys"].tensor[0, 0, 0, 1] != 0
    shown = pellucid("example", "000-masked").out
    assert "e−" not in shown and "START   0.7500        0  −0.2500" in shown


def test_claimed_beside_computed(pellucid: Command) -> None:
    outcome = pellucid("example", "004-self")
    assert outcome.code == 0 and outcome.err == ""
    code = code_line("weights")
    assert code is not None
    assert """\
weights (Weights)  softmax of each row of (2×2) = (2×2)  [line 364]
| weights = see("weights_BHLM", softmax_over_keys(masked_scores,
|     mask.some_row_is_empty or watched()))  pellucid/model.py:{line}
                                      Me   gustan
Me      the notes say                 1.0      0.0
        from their previous line  1.0000█       0
        from the start            1.0000█       0
        verdict                     right    right
gustan  the notes say                 0.4      0.6
        from their previous line  0.4502▒  0.5498▒
        from the start            0.4502▒  0.5498▒
        verdict                     wrong    wrong
! gustan: may be rounding, as the line before shows 1 decimal
""".replace("{line}", str(code.line)) in outcome.out  # fmt: skip
    assert "values  (2×4)\nMe " in outcome.out, "what is given has no line that computes it"
    assert "The first stage that goes wrong is weights" in outcome.out
    assert outcome.out.endswith("20 cells: 10 right, 4 follow, 2 wrong, 4 not derivable\n")


def test_the_list_and_the_claims_alone(pellucid: Command) -> None:
    listed = pellucid("example", "--list").out.splitlines()
    assert listed[::2] == names() and all(line.startswith("    ") for line in listed[1::2])
    assert pellucid("example", "004-mask-4", "--claims").out.startswith("mask  (4×4)\n")
    claims, full = pellucid("example", "004-self", "--claims").out, pellucid("example", "004-self").out
    assert "first stage" not in claims and "first stage" in full, "an exercise has people find it"
    table = pellucid("example", "--verdicts", "004").out
    assert table in (DOCS / "notes-004-verdicts.md").read_text(encoding="utf-8")


def test_a_page_of_an_example(pellucid: Command, files: Any, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    outcome = pellucid("example", "004-self", "--html", page)
    assert outcome == pellucid("example", "004-self"), "it prints the same"
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>") and "http" not in text.replace("http-equiv", "").replace(
        "http://www.w3.org/2000/svg", ""
    )
    own = files("homework.toml", *OWN.split("\n"))
    assert pellucid("example", "--file", own, "--html", page).code == 0
    assert '"queries":"1  2","keys":' in page.read_text(encoding="utf-8")
    bad = tmp_path / "none" / "page.html"
    assert pellucid("example", "004-self", "--html", bad) == (
        1,
        "",
        f"pellucid: {bad}: cannot be written: No such file or directory. Choose another place.\n",
    )


OWN = """
scale = "none"
[given]
queries = [[1, 2.0]]
keys = [["1.0", "0.0"], ["0.0", "…"]]
[claims]
scores = [["1", "2.0"]]
"""


def test_an_example_of_ones_own(pellucid: Command, files: Any) -> None:
    outcome = pellucid("example", "--file", files("homework.toml", *OWN.split("\n")))
    assert outcome.code == 0 and outcome.out.startswith("homework\n\nqueries  (1×2)\n")
    assert "claimed" in outcome.out and "the notes" not in outcome.out
    assert outcome.out.endswith("2 cells: 1 right, 1 not derivable\n")
    as_json = '{"given": {"scores": [["1.0", "…"]]}, "mask": "none", "claims": {"scores": [["1.0", "2.0"]]}}'
    assert pellucid("example", "--file", files("page.json", as_json)).out.endswith("1 not derivable\n")
    for name, kind in (("junk.toml", "TOML"), ("junk.json", "JSON")):
        bad = files(name, "[given")
        assert pellucid("example", "--file", bad).err.startswith(f"pellucid: {bad}: not {kind}: ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("scores = [[1.0]]", "scores is not known. Nearest: scale, tokens."),
        ("[given]\n", "nothing is given. Write [given] and, in it, queries = [[…], …] and so on."),
        ("given = 3", "given must be a table: [given]."),
        ("[given]\nquery = [[1.0]]", "query is not known. Nearest: w_query, queries."),
        ('[given]\nscores = [["one"]]', 'scores: "one" is not a number. Write 0.25, -inf, or … for one left'),
    ],
)
def test_what_a_file_must_be(files: Any, text: str, message: str) -> None:
    path = files("bad.toml", text)
    with pytest.raises(UsageError, match=re.escape(f"{path}: {message}")):
        read_example(path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["004-cross"], 'no example is called "004-cross". Nearest: 004-cross-4, 002-cross, 004-cross-512.'),
        (["--verdicts", "005"], "--verdicts 005: the notes claim nothing there. Give 004."),
        (["--file", "none.toml"], "none.toml: cannot be read: No such file or directory. Give the path of"),
        (["002-add-norm", "--claims"], "002-add-norm: it is not an attention, and nothing is claimed."),
    ],
)
def test_what_the_command_refuses(pellucid: Command, arguments: list[str], message: str) -> None:
    outcome = pellucid("example", *arguments)
    assert (outcome.code, outcome.out) == (1 if "--file" in arguments else 2, "")
    assert outcome.err.startswith(f"pellucid: {message}")


def test_the_examples_on_the_page_of_the_notes_work(files: Any) -> None:
    text = (DOCS / "notes.md").read_text(encoding="utf-8")
    toml = re.search(r"```toml\n(.*?)```", text, re.DOTALL)
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert toml is not None and code is not None
    report = read_example(files("yours.toml", *toml[1].split("\n"))).report()
    assert [cell.verdict for cell in report.cells] == ["right"] * 4
    exec(compile(code[1], "docs/notes.md", "exec"), {})


def test_one_stage_alone(pellucid: Command) -> None:
    outcome = pellucid("example", "000-masked", "--stage", "weights")
    assert outcome.out.startswith("weights  softmax of each row") and "context" not in outcome.out
    assert pellucid("example", "000-masked", "--stage", "w_query").out.startswith("w_query  (4×3)\n0 ")
    assert pellucid("example", "000-masked", "--stage", "inputs").out.startswith("inputs  (6×4)\nSTART ")
    refused = pellucid("example", "000-masked", "--stage", "weight")
    assert refused.code == 2 and 'no tensor is called "weight". Nearest: weights' in refused.err
