"""The strip of a part's stages: what a cell lights, the space key, the row that travels once."""

import random
from typing import Any

import numpy as np
import pytest
from opened_page import Opened, OpenPage
from test_page_engine import shaken

from pellucid import edits
from pellucid.explanation import Explanation

pytestmark = pytest.mark.browser

SELF, CROSS = "decoder.layers.0.self_attention", "decoder.layers.1.cross_attention"
LIT = """([name, row, column]) => {
  const { stages } = drawings.get(document.querySelector("#stage .stage-plates"));
  const spec = stages.map(({ items }) => items.at(-1)).find((each) => each.name === name);
  const lit = [...areasOf(stages, spec, { row, column })];
  const given = ({ row, column }) => [row ?? null, column ?? null];
  return lit.map(([each, { areas }]) => [each, areas.map(given)]);
}"""


def panel(explanation: Explanation, name: str, head: int, edited: Any = None) -> Any:
    """A tensor's matrix, of this head if it has several."""
    tensor = explanation.again(edited)[name].tensor[0].numpy()
    return tensor[head] if tensor.ndim == 3 else tensor


@pytest.mark.parametrize("part", [SELF, CROSS])
@pytest.mark.parametrize("draws", [6, pytest.param(300, marks=pytest.mark.slow)])
def test_a_cell_lights_what_it_was_made_from_and_what_comes_of_it(
    open_page: OpenPage, part: str, draws: int
) -> None:
    """Whatever changes when a number changes is lit by it, and lights it; without a mask, nothing else."""
    seed = random.SystemRandom().randrange(1 << 30)
    print("seed:", seed)
    chance = random.Random(seed)
    explanation = shaken(heads=2).explain("I like cats", to="es", target="Me gustan los gatos")
    opened, head = open_page(f"#{part}.weights?head=1", of=explanation), 1
    names = opened.page.evaluate(
        "[...document.querySelectorAll('.small-matrix')].map((each) => each.spec.name)"
    )
    assert len(names) == 11
    for _ in range(draws):
        early, late = sorted(chance.sample(range(11), 2))
        one, other = names[early], names[late]
        before = panel(explanation, one, head)
        cell = tuple(chance.randrange(size) for size in before.shape)
        place = (
            0,
            *([head] if one.startswith(part) and explanation.trace[one].tensor.ndim == 4 else []),
            *cell,
        )
        edit = edits.rewrite(one, float(before[cell]) + 1, at=place)
        now, was = panel(explanation, other, head, edit), panel(explanation, other, head)
        changed = {
            tuple(map(int, at))
            for at in zip(*(~np.isclose(now, was, rtol=0, atol=1e-7)).nonzero(), strict=True)
        }
        lit = cells(opened, one, cell, other, was.shape)
        is_whole = part == CROSS and not other.endswith("concatenated")  # of which other heads have the rest
        assert changed <= lit and (not is_whole or changed == lit), (one, cell, other)
        if other.endswith("concatenated"):  # the other head's columns come from matrices that are not shown
            changed = {at for at in changed if at[1] >= was.shape[1] // 2}
        for at in chance.sample(sorted(changed), min(2, len(changed))):
            assert cell in cells(opened, other, at, one, before.shape), (other, at, one, cell)


def cells(opened: Opened, name: str, cell: Any, other: str, shape: Any) -> set[tuple[int, int]]:
    """The cells of another matrix that are lit by a cell."""
    areas = dict(opened.page.evaluate(LIT, [name, *cell]))[other]
    return {
        (row, column)
        for row in range(shape[0])
        for column in range(shape[1])
        for r, c in areas
        if r in (None, row) and c in (None, column)
    }


def test_pointing_at_a_small_matrix_lights_all_of_them(open_page: OpenPage) -> None:
    opened = open_page(f"#{SELF}")
    count = "[...document.querySelectorAll('.small-matrix')].filter((each) => each.querySelector('i')).length"
    box = opened.page.locator(".small-matrix").nth(3).bounding_box()
    opened.page.mouse.move(box["x"] + 3, box["y"] + 3)
    assert opened.page.evaluate(count) == 5, "V, from X, and what comes of it: C, the heads, the output"
    opened.page.mouse.move(5, 5)
    assert opened.page.evaluate(count) == 10, "the clearest score again: all but V"


def test_the_space_key_goes_from_stage_to_stage_and_from_part_to_part(open_page: OpenPage) -> None:
    opened = open_page("#decoder.layers.0.cross_attention.output")
    came = []
    while len(came) < 30 and (not came or "layers.1.self" not in came[-1]):
        opened.press("Space")
        came.append(opened.page.evaluate("state.block + ' ' + state.tensor"))
    last = "decoder.layers.0.residual_3.output"
    norm = ["sum", "norm.mean", "norm.variance", "norm.standardized", "norm.output", "output"]
    assert came == [
        *(f"decoder.layers.0.residual_2 decoder.layers.0.residual_2.{each}" for each in norm),
        *(
            f"decoder.layers.0.feed_forward decoder.layers.0.feed_forward.{each}"
            for each in ("hidden", "activated", "output")
        ),
        *(f"decoder.layers.0.residual_3 decoder.layers.0.residual_3.{each}" for each in norm),
        f"decoder.layers.1.self_attention {last}",
    ]
    opened.press("Space")  # the focus is on the bar
    assert opened.address == "#decoder.layers.1.self_attention.queries"
    opened.go("#decoder.probabilities")
    opened.press("Space")
    assert opened.is_seen("#drawing")


def test_a_row_travels_to_its_column_once_and_never_without_motion(open_page: OpenPage) -> None:
    moving = "document.getAnimations().filter(({ effect }) => effect.target.matches('.frame'))"
    opened = open_page(f"#{SELF}.scores", 1440, 900)
    assert opened.page.evaluate(f"{moving}.length") == 0
    opened = open_page(f"#{SELF}.scores", 1440, 900, reduced_motion="no-preference")
    assert opened.page.evaluate(f"{moving}.length") == 1
    opened.page.evaluate(f"{moving}[0].finish()")
    opened.go(f"#{SELF}.queries")
    opened.go(f"#{SELF}.scores")
    assert opened.page.evaluate(f"{moving}.length") == 0
