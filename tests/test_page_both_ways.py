"""A step with a cache and without one, next to each other in the page: rows, and numbers that are equal."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from browser import chromium
from test_page_views import SMALL_TARGETS, Opened
from tiny import translator

from pellucid.explain.explanation import Explanation
from pellucid.explain.page import payload

pytestmark = pytest.mark.browser

SELF = "decoder.layers.1.self_attention"
CROSS = "decoder.layers.1.cross_attention"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def hindi() -> Explanation:
    return translator().explain("How are you ?", to="hi", target="आप कैसे हैं ?")


@pytest.fixture(scope="module")
def path(hindi: Explanation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ways") / "page.html"
    hindi.to_html(path)
    return path


def cells(opened: Opened, selector: str) -> list[list[str]]:
    texts = "[...document.querySelectorAll(selector)].map((row) => [...row.children].map((c) => c.innerText))"
    rows: list[list[str]] = opened.page.evaluate(f"(selector) => {texts}", selector)
    return rows


@pytest.mark.parametrize("width", [1440, 390])
def test_rows_and_numbers_of_both_ways_stand_next_to_each_other(
    browser: Any, hindi: Explanation, path: Path, width: int
) -> None:
    with Opened(browser, path, width=width) as opened:
        assert not opened.page.locator("#both-ways").is_visible()
        for t in range(1, len(hindi.steps) + 1):
            opened.go(f"#?step={t}")
            opened.until(f"document.querySelector('#both-ways h2')?.textContent.startsWith('Step {t},')")
            rows = cells(opened, "#both-ways tbody tr")
            assert rows[0][1:] == ["1", str(t)]
            assert rows[1][1:] == [str(t), str(sum(range(1, t + 1)))]
            assert f"{t - 1} row" in rows[2][1] and "1 new" in rows[2][1] and f"{t} row" in rows[2][2]
            assert (
                f"{len(hindi.source_tokens)} rows, computed {'now' if t == 1 else 'once, at step 1'}"
                in rows[3][1]
            )
            for row, (token, probability) in zip(rows[4:], hindi.steps[t - 1].alternatives, strict=False):
                for cell in row[1:]:
                    assert cell.startswith(token) and abs(float(cell.split()[-1]) - probability) < 6e-5
            told = opened.text("#both-ways .equality")
            difference = float(re.search(r"new row: (\S+?)[ .]*(\(|$)", told)[1])  # type: ignore[index]
            assert difference < 1e-5
        assert opened.page.evaluate("document.documentElement.scrollWidth") == width
        assert opened.page.evaluate(SMALL_TARGETS) == []


@pytest.mark.parametrize("name", ["weights", "scores", "keys", "context", "output"])
def test_every_matrix_shows_both_ways(browser: Any, hindi: Explanation, path: Path, name: str) -> None:
    t = 3
    with Opened(browser, path, f"#{SELF}.{name}?step={t}") as opened:
        opened.until("document.querySelector('#both-ways button') !== null")
        opened.page.locator("#both-ways button").click()
        opened.settle()
        assert "beside=ways" in opened.page.evaluate("location.hash")
        titles = opened.page.locator(".opened .opened-matrix .which-run").all_inner_texts()
        assert titles == ["with a cache", "without a cache"]
        tensor = hindi.trace[f"{SELF}.{name}"].tensor[0]
        expected = (tensor[0] if tensor.dim() == 3 else tensor)[:t]
        if name in ("weights", "scores"):
            expected = expected[:, :t]
        for place in (0, 1):
            grid = f".opened .opened-matrix .matrix:nth-of-type({place + 1})"
            shown = cells(opened, f"{grid} tbody tr")
            assert len(shown) == t, opened.text(".opened-matrix")
            states = [re.sub(r"^\S+\s*", "", row[0]) for row in shown]
            before = ["cached" if name == "keys" else "earlier", "made again"][place]
            assert states == [before, before, "new"]
            new = [float(each) for each in shown[-1][1 : 1 + expected.shape[1]]]
            assert torch.tensor(new) == pytest.approx(expected[-1], abs=6e-5)
        difference = re.search(r"largest difference (\S+)", opened.text(".opened .largest-difference"))
        assert difference is not None and float(difference[1].rstrip(",")) < 1e-4


def test_a_recording_has_only_one_way(
    browser: Any, hindi: Explanation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(payload, "COMPUTES", 0)
    hindi.to_html(tmp_path / "page.html")
    with Opened(browser, tmp_path / "page.html", f"#{SELF}.weights?step=2&beside=ways") as opened:
        assert not opened.page.locator("#both-ways").is_visible()
        assert opened.page.locator(".opened .which-run").count() == 0
