"""The notes' worked examples: their verdicts, what each is there to show, the command, files of one's own."""

import json
import math
import re
import tomllib
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import Command
from documents import build

from pellucid.errors import UsageError
from pellucid.seeing.viewed import lines
from pellucid.show.code_lines import code_line
from pellucid.worked.examples import FILES, example, names, read_example

DOCS = Path(__file__).parents[2] / "docs"
Array = np.ndarray[Any, Any]


def test_the_committed_table_is_what_is_computed() -> None:
    """139 verdicts, each checked against NumPy when the table was written: the judge may not change one."""
    text = (DOCS / "notes-004-verdicts.md").read_text(encoding="utf-8")
    chosen = [each for each in map(example, names()) if each.note == "004" and each.claims]
    assert [line for line in text.splitlines() if line.startswith("|")] == build().verdicts()
    counted = re.search(r"(\d+) cells: (\d+) right, (\d+) follow, (\d+) wrong, (\d+) not derivable", text)
    assert counted is not None
    found = [cell.verdict for each in chosen for cell in each.report().cells]
    kinds = ("right", "follows", "wrong", "not derivable")
    assert [int(each) for each in counted.groups()] == [len(found), *map(found.count, kinds)]


def test_products_on_the_wrong_side() -> None:
    products = {product.written: str(product) for name in names() for product in example(name).products}
    assert (
        products.items()
        >= {
            "W_Q · D": "(4×4)·(2×4) does not multiply: 4 columns, 2 rows",
            "D · W_Q": "(2×4)·(4×4) = (2×4)",
            "W_O · Concat": "(8×8)·(2×8) does not multiply: 8 columns, 2 rows",
            "Concat · W_O": "(2×8)·(8×8) = (2×8)",
            "Token Indices · W_E": "(1×3)·(7×4) does not multiply: 3 columns, 7 rows",
        }.items()
    )


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
    assert "e−" not in "".join(shown), "terms that cancel are 0"
    assert all(any(line.startswith(stage) for line in shown) for stage in example(name).worked())


# The command


def test_claimed_beside_computed(pellucid: Command) -> None:
    outcome = pellucid("example", "004-self")
    assert outcome.code == 0 and outcome.err == ""
    code = code_line("weights")
    assert code is not None
    assert """\
weights (Weights)  softmax of each row of (2×2) = (2×2)  [line 364]
| weights = see("weights_BHLM", softmax_over_keys(masked_scores,
|     mask.some_row_is_empty or is_watched()))  pellucid/model.py:{line}
                                      Me   gustan
Me      the notes say                 1.0      0.0
        from their previous line  1.0000█       0
        from the start            1.0000█       0
        verdict                     right    right
gustan  the notes say                 0.4      0.6
        from their previous line  0.4502▒  0.5498▒
        from the start            0.4502▒  0.5498▒
        verdict                     wrong    wrong
""".replace("{line}", str(code.line)) in outcome.out  # fmt: skip
    assert "values  (2×4)\nMe " in outcome.out, "what is given has no line that computes it"
    assert "The first stage that goes wrong is weights" in outcome.out
    assert outcome.out.endswith("20 cells: 10 right, 4 follow, 2 wrong, 4 not derivable\n")


def test_the_list_the_claims_and_a_stage_alone(pellucid: Command) -> None:
    listed = pellucid("example", "--list").out.splitlines()
    assert listed[::2] == names() and all(line.startswith("    ") for line in listed[1::2])
    assert pellucid("example", "004-mask-4", "--claims").out.startswith("mask  (4×4)\n")
    claims, full = pellucid("example", "004-self", "--claims").out, pellucid("example", "004-self").out
    assert "first stage" not in claims and "first stage" in full, "an exercise has people find it"
    weights = pellucid("example", "000-masked", "--stage", "weights").out
    assert weights.startswith("weights  softmax of each row") and "context" not in weights
    assert pellucid("example", "000-masked", "--stage", "inputs").out.startswith("inputs  (6×4)\nSTART ")


def test_a_page_of_an_example(pellucid: Command, files: Any, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    outcome = pellucid("example", "004-self", "--html", page)
    assert outcome == pellucid("example", "004-self"), "it prints the same"
    text = (
        page.read_text(encoding="utf-8").replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")
    )
    assert text.startswith("<!doctype html>") and "http" not in text
    own = files("homework.toml", *OWN.split("\n"))
    assert pellucid("example", "--file", own, "--html", page).code == 0
    assert '"queries":"1  2","keys":' in page.read_text(encoding="utf-8")
    refused = pellucid("example", "004-self", "--html", tmp_path / "none" / "page.html")
    assert (refused.code, refused.out) == (1, "") and "cannot be written" in refused.err


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
        ("scores = [[1.0]]", "scores is not known. There are: heads, "),
        ("[given]\n", "nothing is given. Write [given] and, in it, queries = [[…], …] and so on."),
        ("given = 3", "given must be a table, which begins with a line [given]."),
        ("[given]\nquery = [[1.0]]", 'query is not known. Did you mean "w_query"?'),
        ('[given]\nscores = [["one"]]', 'scores: "one" is not a number. Write 0.25, -inf, or … for a'),
    ],
)
def test_what_a_file_must_be(files: Any, text: str, message: str) -> None:
    path = files("bad.toml", text)
    with pytest.raises(UsageError, match=re.escape(f"{path}: {message}")):
        read_example(path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["004-cross"], 'no example is called "004-cross". Did you mean "004-cross-4"?'),
        (["--file", "none.toml"], "none.toml: cannot be read: No such file or directory. Give the path of"),
        (["000-masked", "--stage", "weight"], 'no tensor is called "weight". Nearest: weights'),
        (["002-add-norm", "--claims"], "002-add-norm: it is not an attention. Claims about"),
    ],
)
def test_what_the_command_refuses(pellucid: Command, arguments: list[str], message: str) -> None:
    outcome = pellucid("example", *arguments)
    assert (outcome.code, outcome.out) == (1 if "--file" in arguments else 2, "")
    assert outcome.err.startswith(f"pellucid: {message}")


ATTENTION = {"queries": [[1.0]], "keys": [[1.0]], "values": [[1.0]]}
EMBEDDINGS = {"ids": [0], "w_embedding": [[1.0, 2.0]]}


@pytest.mark.parametrize(
    ("table", "fault"),
    [
        ([], "own.json: it is not a table."),
        ({"given": ATTENTION, "heads": "two"}, "heads = 'two' must be a whole number"),
        ({"given": ATTENTION, "scale": [1.0]}, "scale = [1.0] is not known"),
        ({"given": ATTENTION, "tokens": 5}, "tokens: 5 is not a word"),
        ({"given": ATTENTION, "tokens": ["a", "b"]}, "tokens: 2 words for 1 rows. Give 1."),
        ({"given": ATTENTION, "scaled": True}, "own.json: scaled has no effect in an attention, which has: "),
        ({"given": EMBEDDINGS, "scaled": "yes"}, "scaled = 'yes' must be true or false"),
        (
            {"given": EMBEDDINGS | {"ids": [0, 1]}, "vocabulary": 9},
            "w_embedding has 1 rows, but vocabulary = 9",
        ),
        ({"given": EMBEDDINGS, "vocabulary": 0}, "vocabulary = 0 must be a whole number, 1 or more"),
        (
            {"given": EMBEDDINGS, "heads": 2},
            "own.json: heads has no effect in an example with ids, which has: ",
        ),
        ({"given": EMBEDDINGS, "claims": {"weights": [[1]]}}, "no stage is called 'weights'"),
        ({"given": ATTENTION, "claims": {"weights": ["12"]}}, "weights: the claim is not a matrix"),
        (
            {"given": ATTENTION, "products": [{"writen": "A"}]},
            "own.json: products must be a list of tables such as",
        ),
        ({"given": ATTENTION, "like": ["x"]}, "no example is called"),
    ],
)
def test_settings_of_a_file_that_are_wrong_or_idle_are_refused(
    pellucid: Command, table: Any, fault: str, tmp_path: Path
) -> None:
    (tmp_path / "own.json").write_text(json.dumps(table), encoding="utf-8")
    outcome = pellucid("example", "--file", tmp_path / "own.json")
    assert (outcome.code, outcome.out) == (2, "") and fault in outcome.err


def test_an_embedding_of_two_words_and_claims_without_a_place_are_shown(
    pellucid: Command, tmp_path: Path
) -> None:
    own = tmp_path / "own.json"
    own.write_text(json.dumps({"given": EMBEDDINGS, "claims": {"decoder.embedded": [[1, 3]]}}))
    shown = " ".join(pellucid("example", "--file", own).out.split())
    assert "one_hot · W_E" in shown and "judged on the page alone: --html FILE." in shown
    own.write_text(json.dumps({"given": ATTENTION, "claims": {"weights": [["1.0", "0.0"]]}}))
    outcome = pellucid("example", "--file", own)
    assert " 0.0 " in outcome.out and outcome.out.endswith("2 cells: 2 wrong\n")
    own.write_text(json.dumps({"given": ATTENTION, "claims": {"output": [["1.0"]]}}))
    assert "computed from queries to concatenated only" in pellucid("example", "--file", own).out


def test_an_example_is_like_one_that_is_like_another(tmp_path: Path) -> None:
    name = next(name for name in names() if "like" in tomllib.loads(FILES[name].read_text(encoding="utf-8")))
    (tmp_path / "own.json").write_text(json.dumps({"like": name}), encoding="utf-8")
    assert read_example(tmp_path / "own.json").arguments == example(name).arguments


def test_the_examples_on_the_page_of_the_notes_work(files: Any) -> None:
    text = (DOCS / "notes.md").read_text(encoding="utf-8")
    toml = re.search(r"```toml\n(.*?)```", text, re.DOTALL)
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert toml is not None and code is not None
    report = read_example(files("yours.toml", *toml[1].split("\n"))).report()
    assert [cell.verdict for cell in report.cells] == ["right"] * 4
    exec(compile(code[1], "docs/notes.md", "exec"), {})


# Embeddings, a feed-forward, Add & Norm: each stage again by plain NumPy


def stages_of(name: str) -> dict[str, Array]:
    return {
        stage: record.tensor.numpy()[0] if record.axes.startswith("B") else record.tensor.numpy()
        for stage, record in example(name).worked().items()
    }


def given(name: str) -> dict[str, Array]:
    arguments = example(name).arguments.items()
    return {key: np.array(value) for key, value in arguments if isinstance(value, list) and key != "tokens"}


@pytest.mark.parametrize(("name", "factor"), [("002-embedding", 1.0), ("002-embedding-scaled", 2.0)])
def test_looked_up_is_one_hot_times_the_matrix(name: str, factor: float) -> None:
    stages, start = stages_of(name), given("002-embedding")
    ids, matrix = start["ids"].astype(int), start["w_embedding"]
    one_hot = np.array([[float(column == index) for column in range(len(matrix))] for index in ids])
    np.testing.assert_array_equal(stages["one_hot"], one_hot)
    np.testing.assert_allclose(stages["one_hot · W_E"], matrix[ids], rtol=0, atol=1e-15)
    np.testing.assert_allclose(stages["decoder.token_embeddings"], factor * matrix[ids], rtol=0, atol=1e-15)
    angles = [[i / 100**pair for pair in range(2)] for i in range(3)]
    positions = [[wave(angle) for angle in row for wave in (math.sin, math.cos)] for row in angles]
    np.testing.assert_allclose(stages["decoder.positions"], positions, rtol=0, atol=1e-15)
    embedded = factor * matrix[ids] + positions
    np.testing.assert_allclose(stages["decoder.embedded"], embedded, rtol=0, atol=1e-15)


@pytest.mark.parametrize("name", ["002-add-norm", "002-feed-forward"])
def test_add_and_norm(name: str) -> None:
    stages, start = stages_of(name), given(name)
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
        stages_of("004-token-ids")["decoder.token_embeddings"], given("004-token-ids")["w_embedding"]
    )
    assert "one_hot" not in worked, "the other rows are not known"


@pytest.mark.parametrize("name", [name for name in names() if example(name).is_part])
def test_without_scripts_the_page_says_what_the_terminal_says(name: str, tmp_path: Path) -> None:
    import_module("pellucid.page.worked_document")  # which registers the page
    example(name).to_html(tmp_path / "page.html")
    shown = escape("\n".join(lines(example(name), 100)))
    assert shown in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        (
            {"inputs": [[1.0]], "sublayer": [[1.0, 2.0]]},
            "sublayer is 1×2 and must be 1×1, the shape of",
        ),
        ({"inputs": [[1.0]], "w_1": [[1.0], [2.0]], "w_2": [[1.0]]}, "w_1 is 2×1 and must be 1×1, to fit"),
        ({"ids": [[3]], "w_embedding": [[1.0, 2.0]]}, "ids: 3 is no row of W_E, whose rows are 0 to 0."),
        ({"ids": [1.5], "w_embedding": [[1.0], [2.0]]}, "ids: 1.5 is no row of W_E"),
        ({"ids": [1, float("nan")], "w_embedding": [[1.0], [2.0]]}, "ids: … is no row of W_E"),
        ({"ids": [0]}, "w_embedding is missing: nothing can be computed without it."),
        ({"inputs": [[1.0]], "sublayer": [["a"]]}, 'own.json: sublayer: "a" is not a number'),
        ({"inputs": [[1.0, 2.0]], "sublayer": [[1.0], [2.0, 3.0]]}, "sublayer is not of numbers only. Give"),
        ({"inputs": [[1.0]], "sublayer": [1.0]}, r"sublayer has the shape \(1,\). Give \[\["),
        ({"inputs": [[1e308, 0.0]], "sublayer": [[1e308, 0.0]]}, "residual.sum: it overflows float64"),
        ({"inputs": [[1.0]], "sublayer": [[1.0]], "w_query": [[1.0]]}, "w_query has no effect in an example"),
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
    odd = {"inputs": [[1.0, -2.0, 0.0]], "sublayer": [[0.0, 2.0, -1.0]]}
    (tmp_path / "own.json").write_text(json.dumps({"given": odd}))
    total = read_example(tmp_path / "own.json").worked()["residual.sum"].tensor
    assert total.flatten().tolist() == [1.0, 0.0, -1.0]
