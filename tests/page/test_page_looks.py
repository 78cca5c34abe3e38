"""How the plates look: one ramp of colour, forced colours, and where a cell came from."""

from typing import Any

import pytest
from opened_page import CONTRAST, Opened, OpenPage

from pellucid.explanation import Explanation

pytestmark = pytest.mark.browser

SELF = "decoder.layers.0.self_attention"
CROSS = "decoder.layers.1.cross_attention"
# A number on each shade: of each role, above and below zero, of each depth.
SHADES = """() => document.body.append(...[..."qkvwx"].flatMap((role) => ["", " below"].flatMap((side) =>
  Array.from({length: 201}, (_, level) => {
    const cell = Object.assign(document.createElement("b"), {className: `role-${role} shade${side}`});
    cell.style.setProperty("--level", (level / 200).toFixed(3));
    cell.textContent = level / 200;
    return cell;
  }))))"""


def styles_of(opened: Opened, selector: str, name: str) -> list[str]:
    found: list[str] = opened.page.locator(selector).evaluate_all(
        "(all, name) => all.map((each) => getComputedStyle(each)[name])", name
    )
    return found


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_number_is_readable_on_every_shade(open_page: OpenPage, scheme: str) -> None:
    opened = open_page(f"#{SELF}", color_scheme=scheme)
    opened.page.evaluate(SHADES)
    ratios = [ratio for ratio in opened.page.evaluate(CONTRAST) if "shade" in ratio[1]]
    assert len(ratios) > 1000 and min(ratios)[0] >= 4.5, min(ratios)


def test_forced_colours_keep_the_shades_the_hatching_and_the_bars(
    open_page: OpenPage, hindi: Explanation
) -> None:
    opened = open_page(f"#{SELF}.weights?cell=2,1", forced_colors="active")
    cells = f"[data-plate='{SELF}.weights'] td[role=gridcell]:not(.sum)"
    masked = hindi.trace[f"{SELF}.masked_scores"].tensor[0, 0].flatten() == float("-inf")
    hatched = ["gradient" in image for image in styles_of(opened, cells, "backgroundImage")]
    assert hatched == masked.tolist() and any(hatched) and not all(hatched)
    grounds = styles_of(opened, cells, "backgroundColor")
    assert len({ground for ground, no in zip(grounds, masked, strict=True) if not no}) > 5
    shades = ".stage-field .legend-scale:nth-child(2) i:not(.hatched)"
    assert len(set(styles_of(opened, shades, "backgroundColor"))) == 5
    opened.until_there(".inspector .making")
    canvas = styles_of(opened, "body", "backgroundColor")[0]
    assert set(styles_of(opened, ".inspector .terms .term-bar", "backgroundColor")) - {canvas}
    opened.go("#")
    assert "gradient" in styles_of(opened, ".said .share-bar", "backgroundImage")[0]
    assert styles_of(opened, ".said.lit", "borderTopWidth") == ["3px"]


def strips(opened: Opened, address: str) -> list[tuple[str, list[float]]]:
    """Return what each strip is called, and its numbers."""
    opened.go(address)
    opened.until_there(".inspector .strips")
    lines = opened.page.locator(".inspector .strip-line:has([role=img])").all()
    names = [line.locator(".strip-name").inner_text().replace("\n", " ") for line in lines]
    numbers = [line.locator("[role=img]").get_attribute("aria-label").split(", ") for line in lines]
    return [
        (name, [float(number.replace("−∞", "-inf")) for number in of])
        for name, of in zip(names, numbers, strict=True)
    ]


def test_a_cell_shows_the_row_and_the_column_it_came_from(open_page: OpenPage, hindi: Explanation) -> None:
    def four(numbers: Any) -> list[float]:
        return [float(f"{number:z.4f}") for number in numbers.tolist()]

    def part(last: str) -> Any:
        return hindi.trace[f"{CROSS}.{last}"].tensor[0, 1].double()

    at = "head=1&cell=3,2"
    opened = open_page()
    (q, query), (k, key), (_, products) = strips(opened, f"#{CROSS}.scores?{at}")
    assert q.split() == ["Q", hindi.target_tokens[3]] and k.split()[1:] == ["KT", hindi.source_tokens[2]]
    assert (query, key) == (four(part("queries")[3]), four(part("keys")[2]))
    assert products == four(part("queries")[3] * part("keys")[2])
    scores, _, shares = strips(opened, f"#{CROSS}.weights?{at}")
    assert scores[1] == four(part("masked_scores")[3])
    assert shares[1] == pytest.approx(four(part("weights")[3]), abs=1.01e-4)
    share, values, _ = strips(opened, f"#{CROSS}.context?{at}")
    assert (share[1], values[1]) == (four(part("weights")[3]), four(part("values")[:, 2]))


def test_each_hue_has_its_scale_and_a_key_is_a_key(open_page: OpenPage) -> None:
    opened = open_page(f"#{SELF}.weights")
    assert opened.texts(".legend .symbol") == ["S + M", "A"]
    assert "masked: exactly 0" in opened.text(".legend") and "dash" not in opened.text(".legend")
    assert opened.texts(".label kbd") == [",", ".", "[", "]"]
    assert set(styles_of(opened, ".label kbd", "borderTopStyle")) == {"solid"}
    assert "local" in styles_of(opened, ".inspector", "backgroundAttachment")[0], "it shows that it scrolls"
    opened.go("#encoder.layers.0.feed_forward.hidden")
    assert "dash: clearly below 0" in opened.text(".legend") or opened.page.locator(".painted").count() == 0
