"""Explanations and their pages, made once for all tests of the page."""

from pathlib import Path

import pytest
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
