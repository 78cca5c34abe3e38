"""The widget in a real JupyterLab and a real marimo: select a cell, read its tensor, edit, translate anew."""

import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.browser]
NEEDS = 'pip install "pellucid[notebooks]"'
CROSS = "decoder.layers.1.cross_attention"
START = """import pellucid, pellucid.page.payload
{}pellucid.page.payload.COMPUTES = 0
explanation = pellucid.load("demo").explain("I like cats", to="es")
"""
SEEN = """record, cell = widget.tensor, widget.cell
number = f"{record.tensor[cell].item():.4f}" if cell else ""
said = widget.translate().translation.text
text = f"SEEN {record and record.name} {cell} {number} EDITED {[*widget.edits]} ANEW {said} END"
"""
BOTH = pytest.mark.parametrize("big", [False, True], ids=["computed by the page", "computed by Python"])


@contextmanager
def opened(browser: Any, folder: Path, module: str, *options: str, at: str) -> Iterator[Any]:
    """A page of the browser with a notebook, of a server on a free port of this computer."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url, log = f"http://127.0.0.1:{port}", folder / "log"
    command = [sys.executable, "-m", module, *options, f"--port={port}"]
    with log.open("w") as told:
        server = subprocess.Popen(command, cwd=folder, stdout=told, stderr=told)
    try:
        for _ in range(480):
            assert server.poll() is None, log.read_text()
            try:
                urllib.request.urlopen(url, timeout=5)
                break
            except OSError:
                time.sleep(0.25)
        page = browser.new_page(viewport={"width": 1440, "height": 1400})
        page.set_default_timeout(60_000)
        page.goto(f"{url}/{at}")
        yield page
        page.close()
    finally:
        server.terminate()
        server.wait(60)


def use(page: Any, ran: Any) -> None:
    """Select a cell of the page and read it in Python; silence all heads and translate anew. ran: returns
    what Python tells, when it contains this."""
    frame = page.frame_locator("iframe[title=Pellucid]")
    frame.locator(f"#drawing [data-block='{CROSS}']").click()
    frame.locator(f"[data-key='stage-{CROSS}.weights']").click()
    # Five weights and their sum in a row; as many digits as the page has room for.
    cell = frame.locator(f"[data-plate='{CROSS}.weights'] td[role=gridcell]").nth(8)
    cell.click()
    frame.locator("[data-key=unpin]").wait_for()
    seen, digits = ran(f"SEEN {CROSS}.weights (0, 0, 1, 2) "), cell.inner_text().partition(".")[2]
    assert f"{float(seen.split()[6]):.{len(digits)}f}".endswith(f".{digits}")
    assert "EDITED [] ANEW Me gustan los gatos END" in seen
    frame.locator("#unfold").click()
    for head in range(4):
        frame.locator(f"[data-key=silent-{head}]").click()
        frame.locator(f"[data-key=silent-{head}]", has_text="off").wait_for()
    other = frame.locator("#effect .anew", has_not_text="Me gustan los gatos")
    other.wait_for()
    anew = other.inner_text()
    ran(f"EDITED ['{CROSS}.context'] ANEW {anew} END")


@BOTH
def test_in_jupyterlab(browser: Any, tmp_path: Path, big: bool) -> None:
    pytest.importorskip("jupyterlab", reason=NEEDS)
    nbformat = pytest.importorskip("nbformat")
    start = START.format("" if big else "# ")
    cells = [f"{start}widget = explanation.widget(height=700)\nwidget", f"{SEEN}print(text)"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, tmp_path / "see.ipynb")
    quiet = ("--no-browser", "--allow-root", "--IdentityProvider.token=")
    with opened(browser, tmp_path, "jupyterlab", *quiet, at="lab/tree/see.ipynb") as page:
        first, second = (page.locator(".jp-CodeCell").nth(at) for at in (0, 1))

        def run(cell: Any) -> None:
            for _ in range(60):  # before its kernel is there, a cell does not begin
                cell.locator(".cm-content").click()
                page.keyboard.press("Control+Enter")
                page.wait_for_timeout(1000)
                if cell.locator(".jp-InputArea-prompt").inner_text() != "[ ]:":
                    return

        def ran(expected: str) -> str:
            run(second)
            said = second.locator(".jp-OutputArea-output", has_text=expected)
            said.wait_for()
            return str(said.inner_text())

        page.locator("[data-status=idle]").first.wait_for()
        run(first)
        use(page, ran)


@BOTH
def test_in_marimo(browser: Any, tmp_path: Path, big: bool) -> None:
    """Its cells run again by themselves."""
    pytest.importorskip("marimo", reason=NEEDS)
    start = START.format("" if big else "# ")
    cells = {
        "": f"import marimo as mo\n{start}widget = mo.ui.anywidget(explanation.widget(height=700))\nwidget",
        "mo, widget": f"widget.value\n{SEEN}mo.plain_text(text)",
    }
    lines = ["import marimo", "app = marimo.App()"]
    for given, cell in cells.items():
        lines += ["@app.cell", f"def _({given}):", *(f"    {line}" for line in cell.splitlines())]
        lines += ["    return" if given else "    return mo, widget"]
    (tmp_path / "see.py").write_text("\n".join(lines))
    quiet = ("--headless", "--no-token", "--host=127.0.0.1")

    with opened(browser, tmp_path, "marimo", "run", "see.py", *quiet, at="") as page:

        def ran(expected: str) -> str:
            said = page.locator("body", has_text=expected)
            said.wait_for()
            return str(said.inner_text())

        use(page, ran)
