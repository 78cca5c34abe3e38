"""The prebuilt page of docs/pages: what a newcomer opens before anything is installed."""

import json
import re
from pathlib import Path

import pytest
from documents import ROOT, explained, links
from opened_page import OpenPage

PAGE = ROOT / "docs" / "pages" / "how-are-you.html"


def part(html: str, tag: str) -> str:
    """What stands in the page's one style, or in its one script that runs."""
    (text,) = re.findall(f"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
    return str(text)


def header(html: str) -> dict[str, list[dict[str, object]]]:
    (text,) = re.findall(r'<script type="application/json" id="payload">(.*?)</script>', html, re.DOTALL)
    found: dict[str, list[dict[str, object]]] = json.loads(text)
    return found


def test_it_is_the_first_thing_in_the_readme_and_of_the_documentation() -> None:
    for document in (ROOT / "README.md", ROOT / "docs" / "README.md"):
        first = next(link for link in links(document) if not link.endswith(".png"))
        assert (document.parent / first).resolve() == PAGE, document


def test_it_is_what_is_written_now(tmp_path: Path) -> None:
    """Else: pellucid explain demo "How are you" --to hi --html docs/pages/how-are-you.html"""
    committed = PAGE.read_text(encoding="utf-8")
    explained("How are you", "hi").to_html(tmp_path / "page.html")
    fresh = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert len(committed.encode()) < 2_200_000
    for tag in ("style", "script"):
        assert part(committed, tag) == part(fresh, tag), f"the page's {tag} is of an earlier day"
    (old,), (new,) = header(committed)["runs"], header(fresh)["runs"]
    assert old["translation"] == new["translation"] == "आप कैसे हैं"
    assert old["tensors"].keys() == new["tensors"].keys()  # type: ignore[attr-defined]


@pytest.mark.browser
def test_it_opens_and_computes_without_a_network(open_page: OpenPage) -> None:
    opened = open_page(of=PAGE)
    assert opened.text("h1").startswith("How are you") and "आप कैसे हैं" in opened.text("h1")
    opened.assert_steps(explained("How are you", "hi").steps)
    opened.go("#?text=je%20suis%20student&to=en")
    assert "I am a student" in opened.text("h1")
