"""Explanations and their pages, made once for all tests of the page."""

import functools
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from opened_page import Opened, OpenPage, opened_page
from tiny import translator

import pellucid
from pellucid.explanation import Explanation


@pytest.fixture(scope="session")
def hindi() -> Explanation:
    """A translation that was given, by a small random model."""
    return translator().explain("How are you ?", to="hi", target="आप कैसे हैं ?")


@pytest.fixture(scope="session")
def path(hindi: Explanation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "page.html"
    hindi.to_html(path)
    return path


@pytest.fixture(scope="session")
def demo() -> Explanation:
    """A translation by the demo model, which finds it."""
    return pellucid.load("demo", precision="fp32").explain("How are you", to="hi")


@pytest.fixture(scope="session")
def demo_path(demo: Explanation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("demo") / "page.html"
    demo.to_html(path)
    return path


@pytest.fixture
def open_page(browser: Any, path: Path, tmp_path: Path) -> Iterator[OpenPage]:
    """Opens a page, leaving the one before: open_page("#address", width, height, of=file or explanation)."""
    with ExitStack() as last:

        def open_one(address: str = "", *size: int, of: Any = path, **settings: Any) -> Opened:
            last.close()
            if not isinstance(of, Path):
                of.to_html(tmp_path / "page.html")
                of = tmp_path / "page.html"
            return last.enter_context(opened_page(browser, of, address, *size, **settings))

        yield open_one


@pytest.fixture
def open_demo(open_page: OpenPage, demo_path: Path) -> OpenPage:
    """Opens the page of the demo model: open_demo("#address", width, height)."""
    return functools.partial(open_page, of=demo_path)
