"""Every view of the live page that the course and the list of the notes lead to opens in a real browser."""

from pathlib import Path
from typing import Any

import pytest
from browser import chromium
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
  };
}"""


def test_every_view_opens(tmp_path: Path) -> None:
    path = tmp_path / "how-are-you.html"
    explained("How are you", "hi").to_html(path)
    assert len(VIEWS) > 30
    complaints: list[str] = []
    with chromium() as browser:
        page: Any = browser.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(path.as_uri())
        for view in VIEWS:
            found = page.evaluate(OPEN, f"#{view}")
            name, _, query = view.partition("?")
            assert (found["missing"], found["refused"]) == ("", ""), view
            assert found["shown"] and name in ("", found["block"], found["tensor"]), (view, found)
            assert found["open"] == ("tour" if "open=tour" in query else ""), view
            assert complaints == [], view
