"""How the plates look: one ramp of colour, forced colours, and where a cell came from."""

from pathlib import Path
from typing import Any

import pytest
from opened_page import Opened, opened_page

from pellucid.explanation import Explanation

pytestmark = pytest.mark.browser

SELF = "decoder.layers.0.self_attention"
CROSS = "decoder.layers.1.cross_attention"
LUMINANCE = """const brush = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const pixel = (...colours) => {
    brush.clearRect(0, 0, 1, 1);
    for (const colour of colours) { brush.fillStyle = colour; brush.fillRect(0, 0, 1, 1); }
    return [...brush.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const luminance = (parts) => parts.map((part) => part / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    .reduce((sum, part, place) => sum + part * [0.2126, 0.7152, 0.0722][place], 0);
  const contrast = (one, other) => {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };"""
# The least contrast of a number on its shade: each role, above and below zero, each depth.
LEAST_CONTRAST = f"""() => {{
  {LUMINANCE}
  const found = [];
  for (const role of "qkvwx") for (const side of ["", " below"]) {{
    const cell = Object.assign(document.createElement("b"), {{className: `role-${{role}} shade${{side}}`}});
    document.body.append(cell);
    for (let level = 0; level <= 200; level += 1) {{
      cell.style.setProperty("--level", (level / 200).toFixed(3));
      const {{backgroundColor, color}} = getComputedStyle(cell);
      found.push([contrast(pixel(backgroundColor), pixel(color)), `${{role}}${{side}} ${{level / 200}}`]);
    }}
    cell.remove();
  }}
  return found.sort(([one], [other]) => one - other)[0];
}}"""


def styles_of(opened: Opened, selector: str, name: str) -> list[str]:
    found: list[str] = opened.page.locator(selector).evaluate_all(
        "(all, name) => all.map((each) => getComputedStyle(each)[name])", name
    )
    return found


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_number_is_readable_on_every_shade(browser: Any, path: Path, scheme: str) -> None:
    with opened_page(browser, path, f"#{SELF}", color_scheme=scheme) as opened:
        least, where = opened.page.evaluate(LEAST_CONTRAST)
        assert least >= 4.5, where


def test_forced_colours_keep_the_shades_the_hatching_and_the_bars(
    browser: Any, hindi: Explanation, path: Path
) -> None:
    with opened_page(browser, path, f"#{SELF}.weights?cell=2,1", forced_colors="active") as opened:
        cells = f"[data-plate='{SELF}.weights'] td[role=gridcell]:not(.sum)"
        masked = hindi.trace[f"{SELF}.masked_scores"].tensor[0, 0].flatten() == float("-inf")
        hatched = ["gradient" in image for image in styles_of(opened, cells, "backgroundImage")]
        assert hatched == masked.tolist() and any(hatched) and not all(hatched)
        grounds = styles_of(opened, cells, "backgroundColor")
        assert len({ground for ground, no in zip(grounds, masked, strict=True) if not no}) > 5
        shades = ".stage-field .legend-scale:nth-child(2) i:not(.hatched)"
        assert len(set(styles_of(opened, shades, "backgroundColor"))) == 5
        opened.until("document.querySelector('.inspector .making') !== null")
        canvas = styles_of(opened, "body", "backgroundColor")[0]
        assert set(styles_of(opened, ".inspector .terms .term-bar", "backgroundColor")) - {canvas}
        opened.go("#")
        assert "gradient" in styles_of(opened, ".said .share-bar", "backgroundImage")[0]
        assert styles_of(opened, ".said.lit", "borderTopWidth") == ["3px"]


def strips(opened: Opened, address: str) -> list[tuple[str, list[float]]]:
    """Return what each strip is called, and its numbers."""
    opened.go(address)
    opened.until("document.querySelector('.inspector .strips') !== null")
    lines = opened.page.locator(".inspector .strip-line:has([role=img])").all()
    names = [line.locator(".strip-name").inner_text().replace("\n", " ") for line in lines]
    numbers = [line.locator("[role=img]").get_attribute("aria-label").split(", ") for line in lines]
    return [
        (name, [float(number.replace("−∞", "-inf")) for number in of])
        for name, of in zip(names, numbers, strict=True)
    ]


def test_a_cell_shows_the_row_and_the_column_it_came_from(
    browser: Any, hindi: Explanation, path: Path
) -> None:
    def four(numbers: Any) -> list[float]:
        return [float(f"{number:z.4f}") for number in numbers.tolist()]

    def part(last: str) -> Any:
        return hindi.trace[f"{CROSS}.{last}"].tensor[0, 1].double()

    at = "head=1&cell=3,2"
    with opened_page(browser, path) as opened:
        (q, query), (k, key), (_, products) = strips(opened, f"#{CROSS}.scores?{at}")
        assert q.split() == ["Q", hindi.target_tokens[3]] and k.split()[1:] == ["KT", hindi.source_tokens[2]]
        assert (query, key) == (four(part("queries")[3]), four(part("keys")[2]))
        assert products == four(part("queries")[3] * part("keys")[2])
        scores, _, shares = strips(opened, f"#{CROSS}.weights?{at}")
        assert scores[1] == four(part("masked_scores")[3])
        assert shares[1] == pytest.approx(four(part("weights")[3]), abs=1.01e-4)
        share, values, _ = strips(opened, f"#{CROSS}.context?{at}")
        assert (share[1], values[1]) == (four(part("weights")[3]), four(part("values")[:, 2]))


def test_each_hue_has_its_scale_and_a_key_is_a_key(browser: Any, path: Path) -> None:
    with opened_page(browser, path, f"#{SELF}.weights") as opened:
        assert opened.texts(".legend .symbol") == ["S + M", "A"]
        assert "masked: exactly 0" in opened.text(".legend") and "dash" not in opened.text(".legend")
        assert opened.texts(".label kbd") == [",", ".", "[", "]"]
        assert set(styles_of(opened, ".label kbd", "borderTopStyle")) == {"solid"}
        assert "local" in styles_of(opened, ".inspector", "backgroundAttachment")[0], (
            "it shows that it scrolls"
        )
        opened.go("#encoder.layers.0.feed_forward.hidden")
        assert (
            "dash: clearly below 0" in opened.text(".legend") or opened.page.locator(".painted").count() == 0
        )
