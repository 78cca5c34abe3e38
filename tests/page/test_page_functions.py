"""Functions of the page's script, called one by one, against NumPy and plain loops."""

import math
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from engine_page import engine_page

from pellucid.explanation import Explanation
from pellucid.page.blocks import Blocks

pytestmark = pytest.mark.browser

# Numbers that 16 bits hold: signed zeros, the largest, the smallest normal and subnormal ones.
NARROW = [0.0, -0.0, 1.0, -1.5, 65504.0, 2.0**-14, -(2.0**-15), 2.0**-24, math.inf, -math.inf]
# Numbers that they do not: one digit too many, too large, too small.
WIDE = [0.1, 1 + 2.0**-11, 65505.0, 65520.0, -1e30, 2.0**-25, 1e-30]


@pytest.fixture(scope="module")
def page(browser: Any, hindi: Explanation, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with engine_page(browser, [hindi], tmp_path_factory.mktemp("functions")) as page:
        yield page


@pytest.mark.parametrize("largest", [1.0, 800.0, -800.0])
@pytest.mark.parametrize(
    "softmax",
    [
        "softmaxOfRows(new Matrix(1, x.length, Float64Array.from(x))).data",
        "softmaxOf(x).shares",
        "logSoftmax(Float64Array.from(x)).map(Math.exp)",
    ],
)
def test_a_softmax_of_large_scores_is_finite(page: Any, softmax: str, largest: float) -> None:
    scores = [largest + each for each in (0.0, -1.5, 0.0, -3.0)]
    powers = [math.exp(score - largest) for score in scores]
    shares = page.evaluate(f"(x) => Array.from({softmax})", scores)
    assert shares == pytest.approx([power / sum(powers) for power in powers], rel=1e-12)


@pytest.mark.parametrize("widths", [[1, 1, 1, 1, 1], [2, 3], [1, 4], [5]], ids=str)
def test_steps_with_a_cache_are_one_pass(page: Any, hindi: Explanation, widths: list[int]) -> None:
    """Also steps of several tokens, of which none may look at later ones."""
    logits = page.evaluate(
        """(widths) => {
          const { model, sourceIds, targetIds } = page.runs[0];
          const transformer = new Transformer(model.config, model.parameters);
          const real = sourceIds.map(() => true);
          const memory = transformer.remember(transformer.encode(sourceIds, real), real);
          const past = new GrowingPast();
          let first = 0;
          return widths.flatMap((width) => {
            const made = transformer.decode(targetIds.slice(first, (first += width)), memory, past);
            return Array.from({ length: width }, (_, row) => Array.from(made.row(row)));
          });
        }""",
        widths,
    )
    assert np.abs(np.array(logits) - hindi.trace["decoder.logits"].tensor[0].numpy()).max() < 1e-5


def test_of_equal_continuations_the_first_hypothesis_and_the_lowest_id_win(page: Any) -> None:
    chance = random.Random(1)
    for count in (1, 2, 5, 30):
        totals = [chance.choice([-1, -2]) for _ in range(3)]
        said = [[chance.choice([-1, -2, -3]) for _ in range(6)] for _ in totals]
        ranked = sorted(
            (-(total + said[row][token]), row, token)
            for row, total in enumerate(totals)
            for token in range(6)
            if token != 4
        )
        found = page.evaluate(
            """([totals, said, count]) => {
              const past = new GrowingPast();
              const open = totals.map((total, row) =>
                ({ ids: [row], total, logProbabilities: [], past, logP: said[row].with(4, -Infinity) }));
              return bestContinuations(open, count).map(({ ids, total }) => [-total, ...ids]);
            }""",
            [totals, said, count],
        )
        assert [tuple(each) for each in found] == ranked[:count]


@pytest.mark.parametrize("numbers", [NARROW, WIDE, NARROW + WIDE])
def test_a_block_keeps_every_bit(page: Any, numbers: list[float]) -> None:
    """In 16 bits where these are enough."""
    blocks, expected = Blocks(), np.array(numbers, np.float32)
    places = blocks.put([np.ones(1, np.float32), expected])
    assert places[1].get("type", "float32") == ("float16" if numbers is NARROW else "float32")
    found = page.evaluate(
        """async ([text, place, count]) =>
          [...new Uint32Array(numbersIn(await unpack(text), place, count).slice().buffer)]""",
        [blocks.packed[0], places[1], len(numbers)],
    )
    assert found == expected.view(np.uint32).tolist()


@pytest.mark.parametrize(
    ("ours", "theirs", "difference"),
    [
        ([1.0, -math.inf], [0.25, -math.inf], 0.75),
        ([1.0, -math.inf], [1.0, 0.0], math.inf),
        ([1.0, math.nan], [1.0, 2.0], math.inf),
        ([1.0, math.nan], [1.0, math.nan], math.inf),
    ],
)
def test_what_is_no_number_equals_nothing(
    page: Any, ours: list[float], theirs: list[float], difference: float
) -> None:
    found = page.evaluate(
        """(pair) => largestDifferenceOf(
          ...pair.map((numbers) => makeTensor("LD", [1, 2], Float32Array.from(numbers))), 0)""",
        [ours, theirs],
    )
    assert found == difference


def test_of_words_equally_alike_the_one_that_begins_alike_comes_first(page: Any) -> None:
    assert page.evaluate("closeMatches('cast', ['tsac', 'cats', 'scat'], 3, 0.5)") == ["cats", "tsac", "scat"]


@pytest.mark.parametrize(
    ("where", "path", "is_meant"),
    [
        ("decoder.layers.1", "decoder.layers.1.self_attention", True),
        ("decoder.layers.1", "decoder.layers.10.self_attention", False),
        ("decoder.layers.1.self_attention", "decoder.layers.1", False),
        (None, "encoder", True),
    ],
)
def test_a_switch_of_a_layer_is_one_of_its_parts(page: Any, where: str, path: str, is_meant: bool) -> None:
    assert page.evaluate("([where, path]) => isMeant({ where }, path)", [where, path]) == is_meant


def test_an_unknown_letter_costs_ten_more_than_the_rarest_piece(page: Any) -> None:
    """Against every way to cut a text: a, which is no piece, with bc; or ab, and c, which is the rarest."""
    pieces = {"ab": -5.0, "bc": -1.0, "c": -20.0}
    side = "{ ids: new Map([['ab', 0], ['bc', 1], ['c', 2]]), scores: [-5, -1, -20], least: -20, longest: 2 }"
    ways = [["ab", "c"], ["a", "bc"], ["a", "b", "c"]]
    best = max(ways, key=lambda way: sum(pieces.get(piece, -30.0) for piece in way))
    assert page.evaluate(f"cutByScore({side}, 'abc')") == best


def test_of_equal_merges_the_first_is_made(page: Any) -> None:
    side = "{ ids: new Map([['ab', 0], ['bc', 1]]), scores: [-1, -1] }"
    assert page.evaluate(f"cutByMerges({side}, 'abcab')") == ["ab", "c", "ab"]


SAYING_A_TAG = """(name) => {
  const [model] = page.models;
  const { pieces } = model.vocabulary.target;
  const tag = pieces.indexOf(">>hi<<");
  const bias = makeTensor("O", [pieces.length]);
  bias.data[tag] = 1000;
  const parameters = new Map(model.parameters).set(name, bias);
  return [tag, translateIds(page.runs[0].sourceIds, { ...model, parameters })[0].ids];
}"""


def test_a_translation_says_no_language_tag(page: Any) -> None:
    """However likely the model finds it."""
    tag, said = page.evaluate(SAYING_A_TAG, "decoder.projection.bias")
    assert tag >= 0 and tag not in said
