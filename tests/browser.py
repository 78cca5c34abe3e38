"""A real browser for the tests of pages: Chromium, offline; where there is none, skipped, saying why."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@contextmanager
def chromium() -> Iterator[Any]:
    """The browser; `.new_page(...)` as Playwright has it."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("no Chromium on this computer: tests/install_chromium.sh installs it")
    pytest.importorskip("playwright", reason='Playwright is not installed: pip install "pellucid[dev]"')
    from playwright.sync_api import sync_playwright

    arguments = ["--proxy-server=127.0.0.1:9"]  # where nothing answers: no page reaches a network
    if hasattr(os, "geteuid") and os.geteuid() == 0:  # Chromium refuses to run its sandbox as root
        arguments.append("--no-sandbox")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        try:
            yield browser
        finally:
            browser.close()
