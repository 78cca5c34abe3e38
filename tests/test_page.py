"""The page: every tensor with its own numbers; nothing in it can run or call home; it fits a phone."""

import base64
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import chromium
from test_see import contract
from tiny import HOSTILE, translator

from pellucid.explain.explanation import Explanation
from pellucid.explain.page import document


@dataclass
class Table:
    """A table of the page: its cells' texts, by row, the row's header first."""

    columns: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    classes: list[str] = field(default_factory=list)


class Page(HTMLParser):
    """What the tests ask of a page: figures and their tables, ids, links, elements and their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.figures: dict[str, list[Table]] = {}
        self.captions: dict[str, str] = {}
        self.ids: list[str] = []
        self.links: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: dict[str, str] = {}
        self._figure = self._inside = ""
        self._in_head = self._in_cell = False
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        named = dict(attributes)
        self.elements.append((tag, named))
        self._inside = tag
        self.ids += [named["id"] or ""] if "id" in named else []
        self.links += [named["href"] or ""] if "href" in named else []
        if tag == "figure":
            self._figure = named["id"] or ""
            self.figures[self._figure], self.captions[self._figure] = [], ""
        if tag == "table" and self._figure:
            self.figures[self._figure].append(Table())
        if not self._figure or not self.figures[self._figure]:
            return
        table = self.figures[self._figure][-1]
        if tag in ("thead", "tbody"):
            self._in_head = tag == "thead"
        elif tag == "tr" and not self._in_head:
            table.rows.append([])
        elif tag in ("td", "th"):
            self._in_cell = True
            (table.columns if self._in_head else table.rows[-1]).append("")
            table.classes += [named.get("class") or ""] if tag == "td" and not self._in_head else []

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""
        if tag == "figure":
            self._figure = ""
        if tag == "table":
            self._in_cell = False

    def handle_data(self, data: str) -> None:
        self.text[self._inside] = self.text.get(self._inside, "") + data
        tables = self.figures.get(self._figure)
        if tables and self._in_cell:
            table = tables[-1]
            cells = table.columns if self._in_head else table.rows[-1]
            cells[-1] += data.strip("\n")
        elif self._figure:
            self.captions[self._figure] += data


def html_of(explanation: Explanation, folder: Path) -> str:
    explanation.to_html(folder / "page.html")
    return (folder / "page.html").read_bytes().decode("utf-8")


@pytest.fixture(scope="module")
def hindi() -> Explanation:
    return translator().explain("How are you ?", to="hi", target="आप कैसे हैं ?")


@pytest.fixture(scope="module")
def page(hindi: Explanation, tmp_path_factory: pytest.TempPathFactory) -> Page:
    return Page(html_of(hindi, tmp_path_factory.mktemp("page")))


@pytest.mark.parametrize("norm", ["last", "first"])
@pytest.mark.parametrize("joint", [True, False])
def test_every_tensor_of_the_contract_has_its_place(norm: str, joint: bool, tmp_path: Path) -> None:
    explanation = translator(norm=norm, joint=joint).explain("I like cats", to="es", target="Me gustan")
    page = Page(html_of(explanation, tmp_path))
    assert set(page.figures) == set(contract(norm, 1, 2))
    for name, record in explanation.trace.items():
        shape = " × ".join(map(str, record.tensor.shape))
        assert name in page.captions[name] and f"{shape} ({' '.join(record.axes)})" in page.captions[name]
        assert len(page.figures[name]) == (record.tensor.shape[1] if "H" in record.axes else 1)


def test_the_numbers_and_tokens_are_the_recorded_ones(hindi: Explanation, page: Page) -> None:
    for name, record in hindi.trace.items():
        if record.axes[-1] == "V":
            continue
        letters = record.axes.removeprefix("B").removeprefix("H")
        values = record.tensor.numpy().reshape(-1, *record.tensor.shape[-2:])
        if letters == "L":
            values = values.transpose(0, 2, 1)
        for table, matrix in zip(page.figures[name], values, strict=True):
            assert [row[0] for row in table.rows] == record.labels(letters[0]), name
            assert table.columns[1:] == (record.labels(letters[1]) if letters[1:] else [name.split(".")[-1]])
            expected = [["−∞" if cell == -np.inf else f"{cell:.4f}" for cell in row] for row in matrix]
            shown = [row[1:] for row in table.rows]
            assert shown == [[re.sub(r"^-(0\.0000)$", r"\1", cell) for cell in row] for row in expected], name


def test_what_is_masked_is_hatched_and_nothing_else(page: Page) -> None:
    for name in ("mask", "masked_scores"):
        for table in page.figures[f"decoder.layers.0.self_attention.{name}"]:
            hatched = [shade == "no" for shade in table.classes]
            assert hatched == [column > row for row in range(5) for column in range(5)]
    assert "hatched: −∞" in page.captions["decoder.layers.0.self_attention.masked_scores"]
    assert "hatched" not in page.captions["decoder.layers.0.self_attention.scaled_scores"]


def test_who_asks_and_who_is_attended_to(page: Page) -> None:
    cross = page.captions["decoder.layers.0.cross_attention.weights"]
    assert "rows: target, asks (L) · columns: source, attended to (M)" in cross
    own = page.captions["decoder.layers.0.self_attention.weights"]
    assert "rows: target, asks (L) · columns: target, attended to (M)" in own
    encoder = page.captions["encoder.layers.0.self_attention.keys"]
    assert "rows: source, attended to (M) · columns: dimension of a head's queries and keys (K)" in encoder
    tables = page.figures["decoder.layers.0.cross_attention.weights"]
    assert all(table.columns[0] == "asks ↓attended to →" for table in tables)


def test_a_vocabulary_is_shown_as_the_best_words_of_each_position(hindi: Explanation, page: Page) -> None:
    for name in ("decoder.logits", "decoder.probabilities"):
        rows = hindi.trace[name].tensor[0]
        table = page.figures[name][0]
        assert table.columns[1:] == [str(rank) for rank in range(1, 21)]
        for shown, numbers, label in zip(table.rows, rows, hindi.target_tokens, strict=True):
            best = sorted(range(len(numbers)), key=lambda token: -numbers[token].item())[:20]
            words = hindi.vocabulary.target_tokens(best)
            assert shown[0] == label
            assert shown[1:] == [
                f"{word} {numbers[token]:z.4f}" for word, token in zip(words, best, strict=True)
            ]


def test_the_steps_and_the_attention_come_first(hindi: Explanation, tmp_path: Path) -> None:
    html = html_of(hindi, tmp_path)
    top = html[: html.index("<section id=model>")]
    for step in hindi.steps:
        for value in (step.probability, step.loss, *(p for _, p in step.alternatives)):
            assert f"{value:z.4f}" in top
    for share in hindi.attention_to_source().flatten().tolist():
        assert f"{share:.4f}" in top
    assert top.index("आप कैसे हैं ?") < top.index("Step by step") < top.index("Where each step looked")


def test_links_lead_somewhere_and_nothing_comes_from_elsewhere(page: Page) -> None:
    assert len(page.ids) == len(set(page.ids))
    assert page.links and all(link[0] == "#" and link[1:] in page.ids for link in page.links)
    assert not [
        tag for tag, attributes in page.elements if {"src", "srcset", "style", "data"} & set(attributes)
    ]
    handlers = [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    assert handlers == []
    assert [tag for tag, _ in page.elements].count("script") == 1


def test_the_policy_allows_this_style_and_this_script_alone(page: Page) -> None:
    policy = next(attributes["content"] for _, attributes in page.elements if "http-equiv" in attributes)
    assert policy is not None and policy.startswith("default-src 'none'; ")
    for kind in ("style", "script"):
        digest = base64.b64encode(hashlib.sha256(page.text[kind].encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}';" in policy


@pytest.mark.parametrize("kind", ["word", "unigram"])
def test_text_that_means_harm_is_text(kind: str, tmp_path: Path) -> None:
    source = f'{HOSTILE} "a" & b'
    explanation = translator(kind).explain(source, to="es", target="<b onclick='x'>")
    page = Page(html_of(explanation, tmp_path))
    tags = [tag for tag, _ in page.elements]
    assert tags.count("script") == tags.count("title") == 1 and "b" in tags
    assert not any("onclick" in attributes for _, attributes in page.elements)
    assert HOSTILE in page.text["title"] and "alert" not in page.text["script"]
    if kind == "word":
        table = page.figures["encoder.layers.0.self_attention.weights"][0]
        assert table.columns[1:] == [">>es<<", HOSTILE, '"a"', "&", "b", "</s>"]


def test_what_no_page_can_hold_is_replaced(tmp_path: Path) -> None:
    explanation = translator("unigram").explain("cats\x00 \ud800\x1b", to="es", target="los")
    html = html_of(explanation, tmp_path)
    assert "cats� ��" in html and "\x00" not in html and "\x1b" not in html


def test_a_big_model_is_abridged_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    explanation = translator(width=64).explain("I like cats", to="es", target="Me gustan los gatos")
    whole = html_of(explanation, tmp_path)
    monkeypatch.setattr(document, "CELLS", 1000)
    html = html_of(explanation, tmp_path)
    assert len(html) < len(whole) / 1.5
    assert "shows its first 16 and its last 8" in html and "shows its first" not in whole
    table = Page(html).figures["encoder.output"][0]
    assert table.columns[1:] == [*map(str, range(16)), "…", *map(str, range(56, 64))]
    row = explanation.trace["encoder.output"].tensor[0, 0].tolist()
    shown = [f"{value:z.4f}" for value in row]
    assert table.rows[0][1:] == [*shown[:16], "…", *shown[56:]]


# A real browser.

CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const over = (colours) => {
    canvas.clearRect(0, 0, 1, 1);
    for (const colour of colours) { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); }
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map((c) => c / 255)
      .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  };
  const light = ([r, g, b]) => 0.2126 * r + 0.7152 * g + 0.0722 * b;
  const known = new Map();
  for (const element of document.querySelectorAll("body *")) {
    if (element.closest("svg, script, style")) continue;
    if (![...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) continue;
    const grounds = [];
    for (let part = element; part; part = part.parentElement) {
      grounds.unshift(getComputedStyle(part).backgroundColor);
    }
    const ink = getComputedStyle(element).color;
    const key = ink + "|" + grounds.join();
    if (known.has(key)) continue;
    const ground = light(over(grounds)), text = light(over([...grounds, ink]));
    const ratio = (Math.max(ground, text) + 0.05) / (Math.min(ground, text) + 0.05);
    known.set(key, [ratio, `${element.tagName}.${element.className}: ${element.textContent.slice(0, 40)}`]);
  }
  return [...known.values()];
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as browser:
        yield browser


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_in_a_browser(browser: Any, hindi: Explanation, tmp_path: Path, width: int, scheme: str) -> None:
    hindi.to_html(tmp_path / "page.html")
    address = (tmp_path / "page.html").as_uri()
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True, reduced_motion="reduce"
    )
    opened = context.new_page()
    complaints, requests = [], []
    opened.on("console", lambda message: complaints.append(message.text))
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("request", lambda request: requests.append(request.url))
    opened.goto(address)

    def width_needed() -> int:
        return int(opened.evaluate("document.documentElement.scrollWidth"))

    place = opened.locator('[id="decoder.layers.1.cross_attention.queries"]')
    assert width_needed() == width and not place.is_visible()
    opened.locator('a[href="#decoder.layers.1.cross_attention.queries-block"]').click()
    assert place.is_visible() and "Queries" in place.inner_text()
    assert 0 <= place.bounding_box()["y"] < 900
    opened.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    assert width_needed() == width
    shown = opened.locator('[id="encoder.embedded"] tbody tr:first-child td:nth-child(2)').inner_text()
    assert shown == f"{hindi.trace['encoder.embedded'].tensor[0, 0, 0]:z.4f}"

    ratios = opened.evaluate(CONTRAST)
    assert len(ratios) > 20 and min(ratios)[0] >= 4.5, min(ratios)
    targets = opened.locator("nav a, summary")
    heights = [targets.nth(number).bounding_box()["height"] for number in range(targets.count())]
    assert min(heights) >= 44
    assert requests == [address] and complaints == []
    context.close()


@pytest.mark.browser
def test_a_link_from_outside_opens_its_matrix(browser: Any, hindi: Explanation, tmp_path: Path) -> None:
    hindi.to_html(tmp_path / "page.html")
    opened = browser.new_page()
    opened.goto((tmp_path / "page.html").as_uri() + "#decoder.layers.0.self_attention.mask")
    assert opened.locator('[id="decoder.layers.0.self_attention.mask"]').is_visible()
    opened.close()
