"""How the plates look: one ramp of colour, forced colours, a phone, and where a cell came from."""

from pathlib import Path
from typing import Any

import pytest
from test_page_plates import CROSS, SELF, panels, until
from tiny import translator

from pellucid.explanation import Explanation

pytestmark = pytest.mark.browser

WEIGHTS = f"{SELF}.weights?cell=2,1"
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
# The colours of the same numbers as cells and as a painted matrix.
BOTH_WAYS = f"""async () => {{
  {LUMINANCE}
  const numbers = [0, 0.1, 0.25, 0.5, 0.681, 0.9, 1];
  const tensor = makeTensor("LM", [1, numbers.length], Float64Array.from(numbers));
  const labels = numbers.map(String);
  const made = grid({{tensor, rows: ["a"], columns: labels, name: "weights", role: "w", title: "weights"}});
  const canvas = element("canvas");
  const place = element("div", {{class: "role-w"}}, made, canvas);
  document.body.append(place);
  paintCells(canvas, {{panel: panelOf(tensor), width: 20, height: 20, scale: scaleOf("weights")}}, 140, 20);
  const {{width, height}} = canvas;
  const ground = getComputedStyle(document.body).getPropertyValue("--card");
  const picture = canvas.getContext("2d");
  const painted = numbers.map((_, place) => {{
    const [r, g, b, a] = picture.getImageData(((place + 0.5) * width) / 7, height / 2, 1, 1).data;
    return pixel(ground, `rgba(${{r}}, ${{g}}, ${{b}}, ${{a / 255}})`);
  }});
  const shaded = [...made.querySelectorAll("td[role=gridcell]:not(.sum)")]
    .map((cell) => pixel(getComputedStyle(cell).backgroundColor));
  place.remove();
  return [painted, shaded];
}}"""


@pytest.fixture(scope="module")
def hindi() -> Explanation:
    return translator().explain("How are you ?", to="hi", target="आप कैसे हैं ?")


@pytest.fixture(scope="module")
def path(hindi: Explanation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("looks") / "page.html"
    hindi.to_html(path)
    return path


def view(browser: Any, path: Path, address: str, width: int = 1440, height: int = 900, **context: Any) -> Any:
    """The page at an address, once it is drawn."""
    size = {"width": width, "height": height}
    opened = browser.new_context(viewport=size, offline=True, **context).new_page()
    opened.goto(f"{path.as_uri()}#{address}")
    until(opened, "document.body.dataset.shown === location.hash")
    if "?cell" in address:
        until(opened, "document.querySelector('.opened .making') !== null")
    return opened


def styles_of(opened: Any, selector: str, name: str) -> list[str]:
    return opened.locator(selector).evaluate_all(
        "(all, name) => all.map((each) => getComputedStyle(each)[name])", name
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_number_is_readable_on_every_shade(browser: Any, path: Path, scheme: str) -> None:
    opened = view(browser, path, SELF, color_scheme=scheme)
    least, where = opened.evaluate(LEAST_CONTRAST)
    assert least >= 4.5, where


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_number_has_one_colour_whether_cell_or_painting(browser: Any, path: Path, scheme: str) -> None:
    painted, shaded = view(browser, path, SELF, color_scheme=scheme).evaluate(BOTH_WAYS)
    for one, other in zip(painted, shaded, strict=True):
        assert max(abs(a - b) for a, b in zip(one, other, strict=True)) <= 3, (one, other)
    assert len({tuple(colour) for colour in painted}) == 7


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_forced_colours_keep_the_shades_and_the_hatching(
    browser: Any, hindi: Explanation, path: Path, scheme: str
) -> None:
    opened = view(browser, path, WEIGHTS, forced_colors="active", color_scheme=scheme)
    cells = ".opened td[role=gridcell]:not(.sum)"
    masked = panels(hindi, f"{SELF}.masked_scores")[0].flatten() == float("-inf")
    assert masked.any() and not masked.all()
    hatched = ["gradient" in image for image in styles_of(opened, cells, "backgroundImage")]
    assert hatched == masked.tolist()
    grounds = styles_of(opened, cells, "backgroundColor")
    assert len({ground for ground, no in zip(grounds, masked, strict=True) if not no}) > 5
    assert not any("/ 0" in ground or "rgba(0, 0, 0, 0)" in ground for ground in grounds)
    legend = styles_of(opened, ".opened .legend-scale i:not(.hatched)", "backgroundColor")
    assert len(set(legend)) == 5
    bars = opened.locator(".opened .terms .term-bar")
    canvas = styles_of(opened, "body", "backgroundColor")[0]
    assert bars.count() and set(styles_of(opened, ".opened .terms .term-bar", "backgroundColor")) != {canvas}
    opened = view(browser, path, f"{SELF}.context?cell=2,1", forced_colors="active", color_scheme=scheme)
    stack = styles_of(opened, ".opened .stack-bar span", "backgroundColor")
    assert stack and canvas not in stack


def test_the_shared_readout_does_not_cover_an_opened_matrix(browser: Any, path: Path) -> None:
    opened = view(browser, path, SELF, 720, 450)
    opened.locator(f"[data-plate='{SELF}.weights'] td[role=gridcell]").first.hover()
    readout = opened.locator(".readout.shared")
    until(opened, "document.querySelector('.readout.shared').textContent !== ''")
    assert readout.is_visible()
    assert styles_of(opened, ".readout.shared", "backgroundColor") == styles_of(
        opened, "body", "backgroundColor"
    )
    opened = view(browser, path, WEIGHTS, 720, 450)
    opened.locator(f"[data-plate='{SELF}.scores'] td[role=gridcell]").first.hover()
    assert not opened.locator(".readout.shared").is_visible()


def test_under_a_plate_are_its_shape_alone_and_the_rest_in_lines(browser: Any, path: Path) -> None:
    opened = view(browser, path, SELF)
    for caption in opened.locator(".plate figcaption").all():
        assert caption.locator(".shape").count() == 1
        assert caption.bounding_box()["height"] <= 60
    facts = opened.locator(".line-facts li")
    assert facts.count() == opened.locator(".plate:not(.brief)").count()
    assert all(fact.bounding_box()["height"] <= 45 for fact in facts.all())


def test_a_phone_shows_one_plate_at_a_time_and_the_whole_sum(
    browser: Any, hindi: Explanation, path: Path
) -> None:
    phone = {"has_touch": True, "is_mobile": True, "device_scale_factor": 2}
    opened = view(browser, path, SELF, 390, 844, **phone)
    parts = opened.locator(".equation-part").evaluate_all(
        "all => all.map((each) => each.getBoundingClientRect().width)"
    )
    assert all(0.85 * 390 <= part <= 390 for part in parts)
    plate = opened.locator(f"[data-plate='{SELF}.weights']")
    plate.scroll_into_view_if_needed()
    plate.locator(".matrix-box").tap()
    until(opened, "document.querySelector('.opened .making') !== null")
    assert opened.locator(".opened").get_attribute("data-open") == f"{SELF}.weights"
    box = opened.locator(".opened .terms-box")
    box.scroll_into_view_if_needed()
    inside = box.bounding_box()
    last = opened.locator(".opened .terms tbody tr").first.locator("td:not(.bar-cell)").last.bounding_box()
    assert last["x"] + last["width"] <= inside["x"] + inside["width"] <= 390
    assert styles_of(opened, ".opened .terms .less", "display") == ["none"] * 7
    sums = opened.locator(".opened .matrix-box .sum")
    edge = opened.locator(".opened .matrix-box").first.bounding_box()
    for each in sums.all():
        place = each.bounding_box()
        assert edge["x"] <= place["x"] and place["x"] + place["width"] <= edge["x"] + edge["width"] + 1


def strips(opened: Any) -> list[tuple[str, list[float]]]:
    """What each strip is called, and its numbers."""
    lines = opened.locator(".opened .strip-line:has([role=img])").all()
    return [
        (
            line.locator(".strip-name").inner_text().replace("\n", " "),
            [
                float(number.replace("−∞", "-inf"))
                for number in line.locator("[role=img]").get_attribute("aria-label").split(", ")
            ],
        )
        for line in lines
    ]


def test_a_cell_shows_the_row_and_the_column_it_came_from(
    browser: Any, hindi: Explanation, path: Path
) -> None:
    def four(numbers: Any) -> list[float]:
        return [float(f"{number:z.4f}") for number in numbers.tolist()]

    def part(last: str) -> Any:
        return panels(hindi, f"{CROSS}.{last}")[1]

    at = "head=1&cell=3,2"
    (q, query), (k, key), (_, products) = strips(view(browser, path, f"{CROSS}.scores?{at}"))
    assert q.split() == ["Q", hindi.target_tokens[3]] and k.split()[1:] == ["KT", hindi.source_tokens[2]]
    assert (query, key) == (four(part("queries")[3]), four(part("keys")[2]))
    assert products == four(part("queries")[3].astype(float) * part("keys")[2].astype(float))
    scores, _, shares = strips(view(browser, path, f"{CROSS}.weights?{at}"))
    assert scores[1] == four(part("masked_scores")[3]) and shares[1] == pytest.approx(
        four(part("weights")[3]), abs=1.01e-4
    )
    share, values, _ = strips(view(browser, path, f"{CROSS}.context?{at}"))
    assert (share[1], values[1]) == (four(part("weights")[3]), four(part("values")[:, 2]))


def test_a_strip_comes_in_under_300_milliseconds_or_not_at_all(browser: Any, path: Path) -> None:
    moved = """() => { const strip = document.querySelector(".opened .strip-cells");
      globalThis.times = [];
      const before = Element.prototype.animate;
      Element.prototype.animate = function (frames, timing) {
        times.push(timing.duration); return before.call(this, frames, timing); };
      document.querySelectorAll(".opened .stepper button")[3]?.click();
      return strip !== null; }"""
    for motion, expected in (("no-preference", True), ("reduce", False)):
        opened = view(browser, path, f"{SELF}.scores?cell=2,1", 900, reduced_motion=motion)
        assert opened.evaluate(moved)
        until(
            opened, "document.querySelector('.opened .making h5').textContent.endsWith('कैसे is attended to')"
        )
        times = opened.evaluate("times")
        assert bool(times) == expected and all(time < 300 for time in times)
