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
from opened_page import Opened, OpenPage, named, opened_page
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
MAKE = """async (cells) => {
  const made = [];
  for (const [name, head, row, column] of cells) {
    const { total, recorded, written } = await makingOf(page.runs[0], name, head, row, column);
    made.push([String(total), String(recorded), written]);
  }
  return made;
}"""


@pytest.fixture(scope="module")
def opened(browser: Any, path: Path) -> Iterator[Opened]:
    with opened_page(browser, path) as opened:
        yield opened


def panels(explanation: Explanation, name: str) -> np.ndarray:
    """A tensor as heads × rows × columns."""
    record = explanation.trace[name]
    numbers = record.tensor.numpy()
    columns = 1 if record.axes == "BL" else numbers.shape[-1]
    rows = numbers.shape[-1] if record.axes == "BL" else numbers.shape[-2]
    return numbers.reshape(-1, rows, columns)


@pytest.mark.parametrize("model", MODELS)
def test_every_tensor_is_made_again(open_page: OpenPage, model: str) -> None:
    explanation = translator(**MODELS[model]).explain("I like cats", to="es", target="Me gustan los gatos")
    draw = random.Random(7)
    cells = [
        (name, *(draw.randrange(length) for length in panels(explanation, name).shape))
        for name in explanation.trace
        for _ in range(4)
    ]
    opened = open_page(of=explanation)
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


@pytest.mark.parametrize("positions", ["fairseq", "marian"])
def test_positions_of_other_models_are_made_again(open_page: OpenPage, positions: str) -> None:
    explanation = translator(positions=positions).explain(
        "I like cats", to="es", target="Me gustan los gatos"
    )
    recorded = explanation.trace["encoder.positions"].tensor
    cells = [("encoder.positions", 0, *at) for at in np.ndindex(*recorded.shape)]
    made = open_page(of=explanation).page.evaluate(MAKE, cells)
    assert [float(total) for total, *_ in made] == pytest.approx(recorded.flatten().tolist(), abs=1e-6)


def test_worked_examples_are_made_too(opened: Opened) -> None:
    draw = torch.Generator().manual_seed(3)
    shapes = {"inputs": (3, 4), "memory": (2, 4), "w_query": (4, 6), "w_key": (4, 6)}
    matrices = {
        name: torch.randn(shape, generator=draw, dtype=torch.float64).round(decimals=2).tolist()
        for name, shape in (shapes | {"w_value": (4, 10), "w_output": (10, 3)}).items()
    }
    worked = pellucid.attention(**matrices, heads=2)
    made = opened.page.evaluate(
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


def test_a_walk_through_a_matrix(opened: Opened, hindi: Explanation) -> None:
    opened.go(f"#{SELF}.weights?cell=2,0")
    weights = panels(hindi, f"{SELF}.weights")[0]
    tokens = named(hindi.target_tokens)
    opened.page.locator(f"[data-plate='{SELF}.weights'] [role=gridcell][tabindex='0']").focus()
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
        opened.page.keyboard.press(key)
        weight = "0" if column > row else f"{weights[row, column]:.4f}"
        asks = f"{tokens[row]} asks, {tokens[column]} is attended to"
        assert opened.focus == f"{asks}, weight {weight}{', masked' if column > row else ''}"
        opened.until(f"document.querySelector('.inspector h2').textContent === {asks!r}")
        assert opened.text(".making-total b") == weight
    opened.until("location.hash.endsWith('?cell=3,4')")  # a slow walk rests on its way
    opened.click("unpin")
    assert opened.address == f"#{SELF}.weights"


def test_a_stage_has_its_operands_its_result_and_its_names(opened: Opened) -> None:
    opened.go(f"#{SELF}")
    assert opened.texts(".stage-bar button") == [
        *("1\nX", "2\nQ", "K", "V", "3\nQ KT", "÷ √dk", "4\n+ mask", "5\nsoftmax", "6\n· V", "heads", "7\nWO")
    ]
    assert opened.text(".stage-title").startswith("3. Scores")
    plates = opened.page.locator("[data-plate]").evaluate_all("all => all.map((each) => each.dataset.plate)")
    assert plates == [f"{SELF}.queries", f"{SELF}.keys", f"{SELF}.scores"]
    assert "(5×4)·(4×5) = (5×5)" in opened.text(f"[data-plate='{SELF}.scores'] figcaption")
    names = opened.page.locator(".inspector .names")
    told = names.text_content()
    for part in (f"{SELF}.scores", "Attention Scores", "queries @ keys.mT", "model.py:", "target × target"):
        assert part in told
    assert opened.texts(".head-strip button") == ["0", "1"]
    opened.page.locator(".head-strip button").nth(1).click()
    opened.settle()
    assert opened.address == f"#{SELF}?head=1"
    opened.go(f"#{CROSS}")
    assert "target × source" in names.text_content()
    captions = opened.page.evaluate("Object.entries(page.header.captions)")
    kinds = {
        (kind if kind.endswith("output") else kind.partition(".")[2], row["symbol"]) for kind, row in captions
    }
    symbols = [symbol for _, symbol in kinds]
    assert len(symbols) == len(set(symbols)), "one symbol for two kinds of matrices"


def test_the_row_and_the_column_of_a_cell_are_framed_in_its_operands(opened: Opened) -> None:
    opened.go(f"#{SELF}.scores?cell=2,1")
    query, key, framed = (
        opened.page.locator(f"[data-plate='{SELF}.{name}'] .frame").bounding_box()
        for name in ("queries", "keys", "scores")
    )
    cell = opened.page.locator(f"[data-plate='{SELF}.scores'] tbody tr").nth(2).locator("td").nth(1)
    there = cell.bounding_box()
    for one, at, size in ((query, "y", "height"), (key, "x", "width"), (framed, "y", "height")):
        assert abs(one[at] - there[at]) < 2 and abs(one[size] - there[size]) < 2


def test_weights_fold_and_unfold(opened: Opened, hindi: Explanation) -> None:
    opened.go(f"#{SELF}.queries")
    chips = [chip.split() for chip in opened.texts(".plate-chip")]
    assert chips == [["WQ", "8", "×", "4"], ["bQ", "1", "×", "4"]]
    opened.click(".plate-chip")
    name = f"{SELF}.query.weight"
    first = hindi.translator.model.state_dict()[name][0, 0].item()
    label = opened.page.locator(f"[data-plate^='{name}'] [role=gridcell]").first.get_attribute("aria-label")
    assert label.endswith(f" {first:z.4f}")
    opened.click(".corner .plate-chip[aria-expanded=true]")
    assert opened.page.locator("[data-plate]").count() == 2


def test_weights_sum_to_one_and_what_is_masked_is_hatched(opened: Opened, hindi: Explanation) -> None:
    opened.go(f"#{SELF}.weights")
    assert opened.texts("td.sum") == ["1.0000"] * 5
    cells = opened.texts(f"[data-plate='{SELF}.weights'] td[role=gridcell]:not(.sum)")
    weights = panels(hindi, f"{SELF}.weights")[0].flatten()
    assert cells == ["0" if weight == 0 else f"{weight:.4f}" for weight in weights] and "0" in cells
    opened.go(f"#{SELF}.masked_scores")
    hatched = opened.page.locator(f"[data-plate='{SELF}.masked_scores'] td[role=gridcell]").evaluate_all(
        "cells => cells.map((cell) => [cell.classList.contains('hatched'), cell.textContent])"
    )
    assert hatched == [
        [value == -math.inf, "−∞" if value == -math.inf else f"{value:z.3f}"]  # three matrices share the room
        for value in panels(hindi, f"{SELF}.masked_scores")[0].flatten()
    ]
    assert "−∞" in opened.text(".legend")


def test_a_shade_is_the_same_number_with_and_without_a_switch(opened: Opened) -> None:
    """A weight is its own shade, however small all of them are; other numbers are a share of a round one."""
    for name, most in ((f"{CROSS}.weights", 1), (f"{SELF}.concatenated", 3)):
        for switch in ("", "?mask=off"):
            opened.go(f"#{name}{switch}")
            for number, shade in opened.page.locator(f"[data-plate='{name}'] td[role=gridcell]").evaluate_all(
                "cells => cells.map((cell) => [cell.textContent, cell.style.getPropertyValue('--level')])"
            ):
                assert not shade or float(shade) == pytest.approx(abs(float(number)) / most, abs=1e-3)


def test_a_click_in_another_heads_matrix_chooses_that_head(opened: Opened) -> None:
    opened.go(f"#{SELF}.concatenated")
    opened.click(f"[data-plate='{SELF}.context|head 1'] td[role=gridcell]")
    assert opened.address == f"#{SELF}.context?head=1&cell=0,0"


def test_what_a_switch_changed_says_so(opened: Opened) -> None:
    opened.go(f"#{SELF}?mask=off")
    changed = opened.page.locator(".stage-bar button:has(.plate-changed)").evaluate_all(
        "all => all.map((each) => each.dataset.key.split('.').at(-1))"
    )
    assert changed == ["masked_scores", "weights", "context", "concatenated", "output"]
    note = opened.page.evaluate(f"makingOf(current.run, '{SELF}.mask', 0, 1, 3).then(({{ note }}) => note)")
    assert "The mask is lifted" in note


def test_without_room_for_its_numbers_a_matrix_is_painted_and_walked_all_the_same(opened: Opened) -> None:
    opened.page.evaluate("""() => {
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
    big = opened.page.locator("#big")
    assert big.locator("canvas").count() == 1 and big.locator("[role=gridcell]").count() == 1
    for _ in range(3):
        opened.page.keyboard.press("ArrowDown")
    opened.page.keyboard.press("End")
    value = (3 * 70 + 69) / 100 - 20
    told = f"3, dimension 69, number {value:.4f}"
    assert big.locator("[role=gridcell]").get_attribute("aria-label") == told
    assert opened.text("#said") == told
    opened.page.evaluate("document.querySelector('#big').remove()")


@pytest.mark.parametrize(
    ("off", "weights", "keys"), [("", "earlier", "cached"), ("&cache=off", "made again", "made again")]
)
def test_a_step_shows_and_makes_only_of_words_already_said(
    opened: Opened, hindi: Explanation, off: str, weights: str, keys: str
) -> None:
    tokens = named(hindi.target_tokens)[:3]
    for name, earlier in (("weights", weights), ("keys", keys)):
        opened.go(f"#{SELF}.{name}?cell=1,0&step=3{off}")
        rows = [" ".join(row.split()) for row in opened.texts(f"[data-plate='{SELF}.{name}'] tbody th")]
        states = (earlier, earlier, "new")
        assert rows == [f"{token} {state}" for token, state in zip(tokens, states, strict=True)]
    for name in ("weights", "context"):
        opened.go(f"#{SELF}.{name}?cell=1,0&step=3{off}")
        opened.until_there(".inspector .terms")
        assert [text.split()[0] for text in opened.texts(".inspector .terms tbody th")] == tokens
    opened.go(f"#{SELF}.weights?step=3{off}")
    assert opened.texts(f"[data-plate='{SELF}.weights'] thead th bdi") == tokens
    opened.go(f"#{CROSS}.scores?step=3{off}")
    opened.until_there(".stage-title .time-sentence")
    assert "which were computed once" in opened.text(".stage-title")


def test_a_model_too_big_for_the_page_shows_shapes_and_results(
    open_page: OpenPage, hindi: Explanation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(payload, "COMPUTES", 100)
    cells = [(name, 0, 2, 1) for name, record in hindi.trace.items() if record.axes[-1] not in "VL"]
    opened = open_page("#decoder.probabilities?cell=1,2", of=hindi)
    opened.until_there(".inspector .making")
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


def test_a_cell_is_written_out(opened: Opened, hindi: Explanation) -> None:
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
        written = opened.page.evaluate(
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
def test_a_described_shape_is_that_of_its_objects(opened: Opened, name: str) -> None:
    scripts = "\n".join(path.read_text("utf-8") for path in SCRIPT.rglob("*.js")).replace("\n * ", " ")
    (described,) = re.findall(r"@typedef \{\{([^{}]*)\}\} " + name + r"\b", scripts)
    kinds = opened.page.evaluate(f"{SHAPES[name]}.then((it) => {KINDS})")
    properties = re.findall(r"(\w+): (\([^)]*\) => [\w<>\[\]]+|[\w\[\]]+)", described)
    assert len(properties) >= 3
    for property, type_ in properties:
        kind = "function" if "=>" in type_ else "[]" if type_.endswith("[]") else type_
        assert kinds[property] == (kind if kind[0].islower() or kind == "[]" else "object"), property
