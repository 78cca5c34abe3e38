"""Every view of the live page that the course and the list of the notes lead to opens in a real browser."""

from typing import Any

import pytest
from documents import LEARN, ROOT, explained, links

pytestmark = pytest.mark.browser

PAGE = "pages/how-are-you.html#"
VIEWS = sorted(
    {
        link.partition("#")[2]
        for path in [*LEARN.glob("*.md"), ROOT / "docs" / "notes.md"]
        for link in links(path)
        if PAGE in link
    }
)
# What an address comes to: what it names and is not there, why its switches cannot be set, and what is shown.
OPEN = """async (address) => {
  location.hash = address;
  for (let turn = 0; turn < 800 && document.body.dataset.shown !== location.hash; turn += 1) {
    await new Promise((done) => setTimeout(done, 10));
  }
  const asked = stateOf(address);
  return {
    missing: asked.missing ?? "",
    refused: cannotSwitch(page.runs[0], asked.switches),
    shown: document.body.dataset.shown === location.hash,
    block: state.block, tensor: state.tensor ?? "", open: state.open,
    asked: asked.text, says: document.querySelector("h1").textContent, wanted: asked.target ?? "",
    fault: document.querySelector("#fault").textContent,
  };
}"""


CELLS = """() => {
  const plates = [...document.querySelectorAll("[data-plate]")];
  const plate = plates.find((each) => each.spec.name === state.tensor);
  const cells = [...plate.querySelectorAll("[role=gridcell]")];
  return [cells.length, cells.filter((cell) => cell.classList.contains("hatched")).length];
}"""
SELF, CROSS = "decoder.layers.0.self_attention", "decoder.layers.0.cross_attention"
SIX = "text=le%20chat%20%C3%A9tait%20assis%20sur%20le%20tapis&to=en&target=The%20cat%20sat%20on%20mat"


@pytest.fixture(scope="module")
def live(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, list[str]]:
    """The live page, and what it complains of."""
    path = tmp_path_factory.mktemp("live") / "how-are-you.html"
    explained("How are you", "hi").to_html(path)
    complaints: list[str] = []
    page = browser.new_page(viewport={"width": 1600, "height": 900})
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(path.as_uri())
    return page, complaints


@pytest.mark.parametrize(
    ("view", "cells", "masked"),
    [
        (f"{SELF}.mask?{SIX}", 36, 15),  # six words, as in note 000
        (f"{SELF}.mask?mask=off&only=0", 16, 0),  # lifted for one head alone
        (f"{SELF}.mask?mask=off&only=0&head=1", 16, 6),
        (f"{CROSS}.mask?padding=masked", 28, 8),
        (f"{CROSS}.mask?padding=unmasked", 28, 0),
    ],
)
def test_masks_hide_so_many_cells(live: tuple[Any, list[str]], view: str, cells: int, masked: int) -> None:
    page, complaints = live
    assert page.evaluate(OPEN, f"#{view}")["shown"]
    assert page.evaluate(CELLS) == [cells, masked] and complaints == []


def test_every_view_opens(live: tuple[Any, list[str]]) -> None:
    page, complaints = live
    assert len(VIEWS) > 30
    for view in VIEWS:
        found = page.evaluate(OPEN, f"#{view}")
        name, _, query = view.partition("?")
        assert (found["missing"], found["refused"]) == ("", ""), view
        assert found["fault"] == "" and (found["asked"] or "How are you") in found["says"], (view, found)
        assert found["wanted"] in found["says"], (view, found)
        assert found["shown"] and name in ("", found["block"], found["tensor"]), (view, found)
        assert found["open"] == ("tour" if "open=tour" in query else ""), view
        assert complaints == [], view
