"""The documentation as a site: built without a warning, opened from the disk without a network, searched."""

import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import chromium

ROOT = Path(__file__).parents[1]
pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.timeout(900)]
FOUND = {  # what somebody looks for, and where it is told
    "causal mask": "learn/02-masks.html",
    "beam": "learn/08-words.html",
    "resume": "scale.html",
    "OPUS-MT": "opus-mt.html",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocstrings", reason="make docs installs it")
    folder = tmp_path_factory.mktemp("site")
    built = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    ended = subprocess.run(built, cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as opened:
        yield opened


def opened(browser: Any, address: Path, width: int = 1440, scheme: str = "light") -> Any:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.set_default_timeout(120_000)
    page.goto(address.as_uri(), wait_until="domcontentloaded")
    page.wait_for_selector("html.js, html:not(.no-js)")
    return page


def test_every_link_leads_somewhere(site: Path) -> None:
    from tools.site.check import faults

    assert list(faults(site)) == []
    page = site / "cli.html"
    page.write_text(
        page.read_text("utf-8") + '<a href="cli.html#nowhere"></a><img src="https://e.org/x.png">'
    )
    assert [each.partition(": ")[2] for each in faults(site)] == [
        "loads https://e.org/x.png",
        "cli.html#nowhere: no such place",
    ]


@pytest.mark.parametrize("wanted", FOUND)
def test_the_search_finds(wanted: str, site: Path, browser: Any) -> None:
    asked: list[str] = []
    page = opened(browser, site / "index.html")
    page.on("request", lambda request: asked.append(request.url))
    page.click(".md-search__input")
    page.keyboard.type(wanted)
    page.wait_for_selector(f'.md-search-result__link[href*="{FOUND[wanted]}"]', state="attached")
    assert [each for each in asked if not each.startswith(("file:", "data:", "blob:", "about:"))] == []


def test_axe_finds_nothing_that_hinders(site: Path, browser: Any) -> None:
    """On pages, widths and colours drawn at random; the live page inside has tests of its own."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    pages = [each for each in site.rglob("*.html") if each.parent.name != "pages" and each.name != "404.html"]
    seed = random.randrange(10**6)
    print(f"seed {seed}")
    draw = random.Random(seed)
    for address in ["index.html", "api.html", "learn/02-masks.html", *draw.sample(sorted(pages), 3)]:
        page = opened(browser, site / address, draw.choice([390, 1440]), draw.choice(["light", "dark"]))
        found = axe.run(page, options={"iframes": False}).response["violations"]
        # Chromium itself gives the keyboard what scrolls.
        found = [each for each in found if each["id"] != "scrollable-region-focusable"]
        grave = [each for each in found if each["impact"] in ("serious", "critical")]
        assert [(each["id"], each["nodes"][0]["html"]) for each in grave] == [], address
        overflow = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert overflow <= 0, f"{address} is wider than the screen"
        page.close()


def test_the_live_page_opens_in_the_course(site: Path, browser: Any) -> None:
    page = opened(browser, site / "learn" / "02-masks.html")
    page.locator(".live iframe").first.scroll_into_view_if_needed()
    inside = page.frame_locator(".live iframe").first
    inside.get_by_text("All at once (training)").first.wait_for()
