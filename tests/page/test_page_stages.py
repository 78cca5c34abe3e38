"""A part from inside: its stages, matrices to walk through, every cell made again; against the trace."""

import math
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from opened_page import Opened, named, opened_page
from tiny import translator

import pellucid
from pellucid.explanation import Explanation
from pellucid.page import payload

pytestmark = pytest.mark.browser

SELF = "decoder.layers.0.self_attention"
CROSS = "decoder.layers.1.cross_attention"
MODELS: dict[str, dict[str, Any]] = {
    "norm last, relu": {},
    "norm first, gelu, untied": {"norm": "first", "activation": "gelu", "tied": False, "output_bias": True},
    "silu, two vocabularies, unscaled": {"activation": "silu", "joint": False, "scale_embeddings": False},
}
# A view of the page's first run in a place of its own, and what was told to the shell.
SHOW = """async (changes) => {
  globalThis.told ??= [];
  if (!document.querySelector("#tried")) {
    document.body.append(Object.assign(document.createElement("main"), {id: "tried"}));
    globalThis.tried = {
      run: page.runs[0], beside: null, head: 0,
      select: (chosen) => {
        told.push(chosen);
        Object.assign(tried, chosen);
        return drawStages({...tried}, tried.place);
      },
      place: document.querySelector("#tried"),
    };
  }
  Object.assign(tried, changes);
  await drawStages({...tried}, tried.place);
}"""
MAKE = """async (cells) => {
  const made = [];
  for (const [name, head, row, column] of cells) {
    const { total, recorded, written } = await makingOf(page.runs[0], name, head, row, column);
    made.push([String(total), String(recorded), written]);
  }
  return made;
}"""


@pytest.fixture(scope="module")
def page(browser: Any, path: Path) -> Iterator[Opened]:
    with opened_page(browser, path) as opened:
        yield opened


@pytest.fixture
def opened(page: Opened) -> Any:
    return page.page


def shown(opened: Any, **changes: Any) -> Any:
    """The place with this view."""
    fresh = {"tensor": None, "head": 0, "row": None, "column": None, "time": {"mode": "training"}}
    opened.evaluate(SHOW, fresh | changes)
    return opened.locator("#tried")


def panels(explanation: Explanation, name: str) -> np.ndarray:
    """A tensor as heads × rows × columns."""
    record = explanation.trace[name]
    numbers = record.tensor.numpy()
    columns = 1 if record.axes == "BL" else numbers.shape[-1]
    rows = numbers.shape[-1] if record.axes == "BL" else numbers.shape[-2]
    return numbers.reshape(-1, rows, columns)


@pytest.mark.parametrize("model", MODELS)
def test_every_tensor_is_made_again(browser: Any, model: str, tmp_path: Path) -> None:
    explanation = translator(**MODELS[model]).explain("I like cats", to="es", target="Me gustan los gatos")
    explanation.to_html(tmp_path / "page.html")
    draw = random.Random(7)
    cells = [
        (name, *(draw.randrange(length) for length in panels(explanation, name).shape))
        for name in explanation.trace
        for _ in range(4)
    ]
    with opened_page(browser, tmp_path / "page.html") as opened:
        made = opened.page.evaluate(MAKE, cells)
    unexplained = set()
    for (name, *at), (total, recorded, written) in zip(cells, made, strict=True):
        matrix = panels(explanation, name)
        value = float(matrix[tuple(at)])
        largest = max(1.0, float(np.abs(matrix[np.isfinite(matrix)]).max()))
        assert float(recorded) == value, name
        assert float(total) == value or abs(float(total) - value) <= 1e-5 * largest, (name, at)
        if not written:
            unexplained.add(name.rpartition(".")[2])
    assert unexplained == {"mask"}, "a mask is a rule; everything else is computed from something"


def test_a_dot_product_has_its_operands(opened: Any, hindi: Explanation) -> None:
    making = opened.evaluate(f"makingOf(page.runs[0], '{SELF}.scores', 1, 3, 2)")
    queries, keys = panels(hindi, f"{SELF}.queries")[1, 3], panels(hindi, f"{SELF}.keys")[1, 2]
    assert [term["numbers"] for term in making["terms"]] == [
        [q, k] for q, k in zip(queries, keys, strict=True)
    ]
    products = [q * k for q, k in zip(queries.tolist(), keys.tolist(), strict=True)]
    assert [term["value"] for term in making["terms"]] == products
    assert making["written"].endswith(f" = {sum(products):.4f}")


def test_worked_examples_are_made_too(opened: Any) -> None:
    draw = torch.Generator().manual_seed(3)
    matrices = {
        name: torch.randn(shape, generator=draw, dtype=torch.float64).round(decimals=2).tolist()
        for name, shape in {
            "inputs": (3, 4),
            "memory": (2, 4),
            "w_query": (4, 6),
            "w_key": (4, 6),
            "w_value": (4, 10),
            "w_output": (10, 3),
        }.items()
    }
    worked = pellucid.attention(**matrices, heads=2)
    made = opened.evaluate(
        """async (given) => {
          const run = runOfWorked(workedExample({ given, heads: 2 }), ""), made = {};
          for (const name of run.names) {
            const { shape, axes } = await run.get(name);
            const heads = axes.includes("H") ? 2 : 1, [rows, columns] = shape.slice(-2);
            made[name] = [];
            for (let h = 0; h < heads; h++) for (let r = 0; r < rows; r++) for (let c = 0; c < columns; c++)
              made[name].push((await makingOf(run, name, h, r, c)).total);
          }
          return made;
        }""",
        {name: np.array(matrix).astype(str).tolist() for name, matrix in matrices.items()},
    )
    assert set(made) == {*worked, "inputs", "memory"}
    for name, record in worked.items():
        assert made[name] == pytest.approx(record.tensor.flatten().tolist(), abs=1e-12), name


def test_a_walk_through_a_matrix(page: Opened, opened: Any, hindi: Explanation) -> None:
    place = shown(opened, block=SELF, tensor=f"{SELF}.weights", row=2, column=0)
    weights = panels(hindi, f"{SELF}.weights")[0]
    tokens = named(hindi.target_tokens)
    opened.locator(f"#tried [data-plate='{SELF}.weights'] [role=gridcell][tabindex='0']").focus()

    def at(row: int, column: int) -> None:
        weight = "0" if column > row else f"{weights[row, column]:.4f}"
        masked = ", masked" if column > row else ""
        said = f"{tokens[row]} asks, {tokens[column]} is attended to, weight {weight}{masked}"
        assert opened.evaluate("document.activeElement.getAttribute('aria-label')") == said
        heading = f"{tokens[row]} asks, {tokens[column]} is attended to"
        page.until(f"document.querySelector('#tried .inspector h2').textContent === {heading!r}")
        assert place.locator(".making-total b").inner_text() == weight

    for key, row, column in [
        ("ArrowRight", 2, 1),
        ("ArrowDown", 3, 1),
        ("End", 3, 4),
        ("ArrowRight", 3, 4),
        ("Home", 3, 0),
        ("PageUp", 0, 0),
        ("PageDown", 4, 0),
        ("Control+Home", 0, 0),
        ("Control+End", 4, 4),
        ("ArrowUp", 3, 4),
    ]:
        opened.keyboard.press(key)
        at(row, column)
    page.until("told.at(-1)?.row === 3 && told.at(-1).column === 4")  # a slow walk rests on its way
    assert opened.evaluate("told.at(-1)") == {"tensor": f"{SELF}.weights", "row": 3, "column": 4}
    place.locator("[data-key=unpin]").click()
    assert opened.evaluate("told.at(-1)") == {"row": None, "column": None}


def test_a_stage_has_its_operands_its_result_and_its_names(opened: Any, hindi: Explanation) -> None:
    place = shown(opened, block=SELF)
    assert place.locator(".stage-bar button").all_inner_texts() == [
        *("1\nX", "2\nQ", "K", "V", "3\nQ KT", "÷ √dk", "4\n+ mask", "5\nsoftmax", "6\n· V", "heads", "7\nWO")
    ]
    assert place.locator(".stage-title").inner_text().startswith("3. Scores")
    names = place.locator("[data-plate]").evaluate_all("all => all.map((each) => each.dataset.plate)")
    assert names == [f"{SELF}.queries", f"{SELF}.keys", f"{SELF}.scores"]
    assert "(5×4)·(4×5) = (5×5)" in place.locator(f"[data-plate='{SELF}.scores'] figcaption").inner_text()
    told = place.locator(".inspector .names").text_content() or ""
    for part in (f"{SELF}.scores", "Attention Scores", "queries @ keys.mT", "model.py:", "target × target"):
        assert part in told
    captions = opened.evaluate("Object.entries(page.header.captions)").copy()
    kinds = {
        (kind if kind.endswith("output") else kind.partition(".")[2], row["symbol"]) for kind, row in captions
    }
    symbols = [symbol for _, symbol in kinds]
    assert len(symbols) == len(set(symbols)), "one symbol for two kinds of matrices"
    heads = place.locator(".head-strip button")
    assert heads.all_inner_texts() == ["0", "1"]
    heads.nth(1).click()
    assert opened.evaluate("told.at(-1)") == {"head": 1}
    cross = shown(opened, block=CROSS).locator(".inspector .names").text_content() or ""
    assert "target × source" in cross


def test_the_row_and_the_column_of_a_cell_are_framed_in_its_operands(opened: Any) -> None:
    place = shown(opened, block=SELF, tensor=f"{SELF}.scores", row=2, column=1)
    boxes = [
        place.locator(f"[data-plate='{SELF}.{name}'] .frame").bounding_box()
        for name in ("queries", "keys", "scores")
    ]
    query, key, cell = boxes
    assert abs(query["y"] - cell["y"]) < 2 and abs(query["height"] - cell["height"]) < 2, (
        "a row beside its cell"
    )
    assert abs(key["x"] - cell["x"]) < 2 and abs(key["width"] - cell["width"]) < 2, "a column above its cell"


def test_weights_fold_and_unfold(opened: Any, hindi: Explanation) -> None:
    place = shown(opened, block=SELF, tensor=f"{SELF}.queries")
    chips = place.locator(".plate-chip")
    assert [chip.inner_text().split() for chip in chips.all()] == [
        ["WQ", "8", "×", "4"],
        ["bQ", "1", "×", "4"],
    ]
    assert place.locator("[data-plate]").count() == 2
    chips.first.click()
    weight = place.locator("[data-plate^='decoder.layers.0.self_attention.query.weight']")
    first = hindi.translator.model.state_dict()["decoder.layers.0.self_attention.query.weight"][0, 0].item()
    assert weight.locator("[role=gridcell]").first.text_content() or first is not None
    place.locator(".corner .plate-chip[aria-expanded=true]").click()
    assert place.locator("[data-plate]").count() == 2


def test_weights_sum_to_one_and_what_is_masked_is_hatched(opened: Any, hindi: Explanation) -> None:
    place = shown(opened, block=SELF, tensor=f"{SELF}.weights")
    assert place.locator("td.sum").all_inner_texts() == ["1.0000"] * 5
    cells = place.locator(f"[data-plate='{SELF}.weights'] td[role=gridcell]:not(.sum)").all_inner_texts()
    weights = panels(hindi, f"{SELF}.weights")[0].flatten()
    assert cells == ["0" if weight == 0 else f"{weight:.4f}" for weight in weights] and "0" in cells
    place = shown(opened, block=SELF, tensor=f"{SELF}.masked_scores")
    hatched = place.locator(f"[data-plate='{SELF}.masked_scores'] td[role=gridcell]").evaluate_all(
        "cells => cells.map((cell) => [cell.classList.contains('hatched'), cell.textContent])"
    )
    matrix = panels(hindi, f"{SELF}.masked_scores")[0]
    assert hatched == [
        [value == -math.inf, "−∞" if value == -math.inf else f"{value:z.4f}"] for value in matrix.flatten()
    ]
    assert "−∞" in place.locator(".legend").inner_text()


def test_without_room_for_its_numbers_a_matrix_is_painted_and_walked_all_the_same(opened: Any) -> None:
    opened.evaluate("""() => {
      const tensor = makeTensor("LD", [80, 70], Float32Array.from({length: 5600}, (_, i) => i / 100 - 20));
      const labels = (count) => Array.from({length: count}, (_, i) => String(i));
      const size = {width: 9, height: 9, numbers: false};
      const [rows, columns] = [labels(80), labels(70)];
      const words = {rowWord: "", columnWord: "dimension", word: "number", rowState: []};
      const scale = {kind: "numbers", most: 50}, role = "x", title = "n";
      const made = grid({panel: panelOf(tensor), size, scale, role, title, rows, columns, ...words});
      made.id = "big";
      document.body.append(made);
      made.choose(0, 0, true);
    }""")
    big = opened.locator("#big")
    assert big.locator("canvas").count() == 1 and big.locator("[role=gridcell]").count() == 1
    for _ in range(3):
        opened.keyboard.press("ArrowDown")
    opened.keyboard.press("End")
    value = (3 * 70 + 69) / 100 - 20
    told = f"3, dimension 69, number {value:.4f}"
    assert big.locator("[role=gridcell]").get_attribute("aria-label") == told
    assert opened.locator("#said").inner_text() == told
    opened.evaluate("document.querySelector('#big').remove()")


@pytest.mark.parametrize("cached", [True, False])
def test_a_step_shows_and_makes_only_of_words_already_said(
    browser: Any, path: Path, hindi: Explanation, cached: bool
) -> None:
    tokens, t, off = named(hindi.target_tokens), 3, "" if cached else "&cache=off"
    with opened_page(browser, path, f"#{SELF}.weights?cell=1,0&step={t}{off}") as opened:
        plate = f"[data-plate='{SELF}.weights']"
        assert [row.split() for row in opened.texts(f"{plate} tbody th")] == [
            [tokens[0], *("earlier" if cached else "made again").split()],
            [tokens[1], *("earlier" if cached else "made again").split()],
            [tokens[2], "new"],
        ]
        assert opened.texts(f"{plate} thead th bdi") == tokens[:t]
        opened.until("document.querySelector('.inspector .terms') !== null")
        terms = [text.split()[0] for text in opened.texts(".inspector .terms tbody th")]
        assert terms == list(tokens[:t])
        opened.go(f"#{SELF}.context?cell=1,0&step={t}{off}")
        opened.until("document.querySelector('.inspector .terms') !== null")
        assert opened.texts(".inspector .terms tbody th") == list(tokens[:t])
        opened.go(f"#{SELF}.keys?step={t}{off}")
        states = [text.split(maxsplit=1)[-1] for text in opened.texts(f"[data-plate='{SELF}.keys'] tbody th")]
        assert states == (["cached"] * 2 if cached else ["made again"] * 2) + ["new"]
        opened.go(f"#{CROSS}.scores?step={t}{off}")
        opened.until("document.querySelector('.stage-title .time-sentence') !== null")
        assert "which were computed once" in opened.text(".stage-title")


def test_what_a_switch_changed_says_so(opened: Any) -> None:
    place = shown(opened, block=SELF)
    opened.evaluate(
        """async () => {
        tried.run = await switchedRun(page.runs[0], {...UNSWITCHED, causal: false});
        await drawStages({...tried}, tried.place);
        }"""
    )
    changed = place.locator(".stage-bar button:has(.plate-changed)").evaluate_all(
        "all => all.map((each) => each.dataset.key.split('.').at(-1))"
    )
    assert changed == ["masked_scores", "weights", "context", "concatenated", "output"]
    note = opened.evaluate(f"makingOf(tried.run, '{SELF}.mask', 0, 1, 3).then((making) => making.note)")
    assert "The mask is lifted" in note
    opened.evaluate("async () => { tried.run = page.runs[0]; await drawStages({...tried}, tried.place); }")


def test_a_model_too_big_for_the_page_shows_shapes_and_results(
    browser: Any, hindi: Explanation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(payload, "COMPUTES", 100)
    hindi.to_html(tmp_path / "page.html")
    cells = [(name, 0, 2, 1) for name, record in hindi.trace.items() if record.axes[-1] not in "VL"]
    with opened_page(browser, tmp_path / "page.html", "#decoder.probabilities?cell=1,2") as opened:
        opened.until("document.querySelector('.inspector .making') !== null")
        third = np.sort(panels(hindi, "decoder.probabilities")[0, 1])[-3]
        assert f"= {third:.4f}" in opened.text(".making-written")
        making = opened.page.evaluate(f"makingOf(page.runs[0], '{SELF}.queries', 1, 2, 3)")
        assert making["terms"] == [] and making["missing"]
        why = "(5×8)·(8×4) = (5×4). The model has more parameters than a page can carry"
        assert making["note"].startswith(why)
        for (name, *at), (total, recorded, _) in zip(cells, opened.page.evaluate(MAKE, cells), strict=True):
            value = float(panels(hindi, name)[tuple(at)])
            assert float(recorded) == value and float(total) == pytest.approx(value, abs=1e-5), name
        opened.go(f"#{SELF}")
        opened.go(f"#{SELF}.queries")
        assert "8 × 4, not in the page" in opened.text(".plate-chip")
        count = sum(value.numel() for value in hindi.translator.model.parameters())
        assert opened.text(".outlines").startswith(f"{count:,} parameters: weight matrices are not")


def test_a_cell_is_written_out(opened: Any, hindi: Explanation) -> None:
    """What is written after the equals sign is the cell, and what stands before it comes to that."""
    steps = {
        f"{SELF}.scaled_scores": "÷",
        f"{SELF}.masked_scores": "+",
        "decoder.layers.0.residual_1.norm.mean": "÷ 8",
        "decoder.layers.0.residual_1.norm.variance": "÷ 8",
        "decoder.layers.0.residual_1.norm.standardized": "÷",
        "decoder.layers.0.residual_1.norm.output": "·",
        "decoder.layers.0.residual_1.sum": "+",
        "decoder.embedded": "+",
        "decoder.layers.0.feed_forward.activated": "max(0, ",
    }
    for name, sign in steps.items():
        value = panels(hindi, name)[0, 2, 0]
        written = opened.evaluate(
            f"makingOf(page.runs[0], '{name}', 0, 2, 0).then((making) => making.written)"
        )
        left, _, right = written.rpartition(" = ")
        assert right == (f"{value:z.4f}" if value else "0") and sign in left, written
        python = left.replace("÷", "/").replace("·", "*").replace("−", "-").replace("√", "math.sqrt")
        assert eval(python) == pytest.approx(float(value), abs=2e-3), written


SCRIPT = Path(payload.__file__).parent / "script"
STAGES = f"""stagesOf({{run: page.runs[0], block: "{SELF}", head: 0, time: {{mode: "training"}}}})"""
SHAPES = {
    "Tensor": "page.runs[0].get('decoder.embedded')",
    "Panel": "page.runs[0].get('decoder.embedded').then((tensor) => panelOf(tensor))",
    "Run": "Promise.resolve(page.runs[0])",
    "Stage": f"{STAGES}.then((stages) => stages[4])",
    "Plate": f"{STAGES}.then((stages) => stages[4].items.at(-1))",
}
KINDS = (
    "Object.fromEntries(Object.entries(it).map(([name, of]) => [name, Array.isArray(of) ? '[]' : typeof of]))"
)


@pytest.mark.parametrize("name", SHAPES)
def test_a_described_shape_is_that_of_its_objects(opened: Any, name: str) -> None:
    scripts = "\n".join(path.read_text("utf-8") for path in SCRIPT.rglob("*.js")).replace("\n * ", " ")
    (described,) = re.findall(r"@typedef \{\{([^{}]*)\}\} " + name + r"\b", scripts)
    kinds = opened.evaluate(f"{SHAPES[name]}.then((it) => {KINDS})")
    properties = re.findall(r"(\w+): (\([^)]*\) => [\w<>\[\]]+|[\w\[\]]+)", described)
    assert len(properties) >= 3
    for property, type_ in properties:
        kind = "function" if "=>" in type_ else "[]" if type_.endswith("[]") else type_
        assert kinds[property] == (kind if kind[0].islower() or kind == "[]" else "object"), property
