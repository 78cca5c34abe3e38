"""A page that holds explanations and the scripts that compute, nothing to look at; and edits made by hand."""

import base64
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.explanation import Explanation
from pellucid.page.assembly import html_page
from pellucid.page.bundle import script
from pellucid.page.payload import payload

SCRIPTS = ["runs/recorded.js", "runs/stepping.js", "model/ledger.js", "model/causal_map.js"]
SCRIPTS += ["cells/making.js", "own/judge.js"]
NUMBERS = """async (run) => {
  const numbers = {};
  for (const name of run.names) {
    const { axes, shape, data } = await run.get(name);
    let bytes = "";
    for (const byte of new Uint8Array(data.slice().buffer)) bytes += String.fromCharCode(byte);
    numbers[name] = [axes, shape, btoa(bytes)];
  }
  return numbers;
}"""


@contextmanager
def engine_page(browser: Any, explanations: Sequence[Explanation], folder: Path) -> Iterator[Any]:
    """An open page of these explanations; no request but for the file, and no complaint, is allowed."""
    html = html_page(
        "engine",
        "",
        "",
        script(*SCRIPTS),
        payload([(each, each.translator, "") for each in explanations]),
    )
    path = folder / "engine.html"
    path.write_text(html, encoding="utf-8")
    context = browser.new_context(offline=True)
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text))
    page.on("request", lambda request: complaints.append(request.url))
    page.goto(path.as_uri())
    page.evaluate("openPage().then(() => null)")
    yield page
    context.close()
    assert complaints == [path.as_uri()]


def numbers_of(page: Any, run: str, given: Any = None) -> dict[str, tuple[str, np.ndarray]]:
    """{name: (axes, numbers)} of a run that an expression in JavaScript gives; it may use `given`."""
    found = page.evaluate(f"async (given) => ({NUMBERS})(await ({run}))", given)
    return {
        name: (axes, np.frombuffer(base64.b64decode(text), "<f4").reshape(shape))
        for name, (axes, shape, text) in found.items()
    }


def error_of(page: Any, call: str, given: Any = None) -> str:
    """The message of the error that an expression in JavaScript raises."""
    caught = f"async (given) => {{ try {{ await ({call}); }} catch (error) {{ return error.message; }} }}"
    return str(page.evaluate(caught, given))
