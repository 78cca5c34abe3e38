"""The notebooks of the course run from their first cell to their last, in a kernel of their own."""

import asyncio
import json
import os
import re
import subprocess
import sys
import venv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from documents import LEARN, ROOT, check_link, links

NOTEBOOKS = sorted(LEARN.glob("*.ipynb"))
# What the cells must print, somewhere: the numbers are the demo model's, the words are the notebook's.
PRINTED = {
    "own-matrices": [
        "weights        0, 1: 0.5   wrong   softmax without the mask gives this; masked weights are",
        "context        0, 1: 0.0   follows",
        "mask causal: the contexts move by [0.0, 0.0, ",
        "0 leaks in the model as it is",
        "positions leak with the mask lifted in one layer",
        "1 + 2 + 3 + 3 + 3",
    ],
    "see-a-translation": [
        "reads <s>, is to say आप: 0.97",
        "decoder.layers.0.self_attention.weights         BHLM  (1, 4, 4, 4)",
        "0-1 1-2 2-0",
        "4 with a cache, 10 without",
        "without head 3:",
    ],
    "build-it": [],
}
# The first cell of each, for Colab.
INSTALL = """try:
    import pellucid
except ModuleNotFoundError:  # on Colab, or in a new environment
    %pip install --quiet "pellucid[notebook]"
    import pellucid"""
NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]\d+)?")
VARIES = re.compile(r"(?<=e-0\d), in \S+| at 0x[0-9a-f]+")  # where rounding is largest; an address in memory


def test_they_stand_with_small_outputs_and_links_lead_somewhere() -> None:
    """So that they can be read where nothing runs."""
    assert [path.stem for path in NOTEBOOKS] == sorted(PRINTED)
    for path in NOTEBOOKS:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        assert sum(bool(cell.get("outputs")) for cell in cells) >= 6 and path.stat().st_size < 30_000
        assert "".join(cells[1]["source"]) == INSTALL
        for link in links(path):
            check_link(link, path)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("default")  # of Jupyter's own modules
def test_it_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))  # nobody's own settings
    notebook = nbformat.read(path, as_version=4)
    stands = texts(notebook)
    resources = {"metadata": {"path": str(tmp_path)}}
    client = nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", resources=resources)
    with ThreadPoolExecutor(1) as aside:  # the browser's event loop may run in this thread
        aside.submit(asyncio.run, client.async_execute()).result()
    printed = texts(notebook)
    words, numbers = zip(
        *((NUMBER.sub("#", text), NUMBER.findall(text)) for text in (printed, stands)), strict=True
    )
    assert words[0] == words[1], "run it again, and keep its outputs"
    ran, stood = ([float(number) for number in each] for each in numbers)
    assert ran == pytest.approx(stood, rel=1e-3, abs=1e-4), "the last digits are the processor's"
    for expected in PRINTED[path.stem]:
        assert expected in printed, printed
    assert "Error" not in printed


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_first_cell_installs_where_nothing_is(tmp_path: Path) -> None:
    """In an empty environment with IPython, as on Colab; the wheel of these sources stands for the index."""
    wheels, python = tmp_path / "wheels", tmp_path / "env" / "bin" / "python"
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", wheels]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    venv.create(python.parents[1], with_pip=True)
    given = {"PIP_FIND_LINKS": str(wheels), "PIP_CONSTRAINT": str(ROOT / "constraints.txt")}
    nothing = {"PYTHONPATH": "", "IPYTHONDIR": str(tmp_path)}
    environment = os.environ | given | nothing
    subprocess.run([python, "-m", "pip", "install", "-q", "ipython"], env=environment, check=True)
    for path in NOTEBOOKS:
        cells = [cell for cell in json.loads(path.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
        code = "\n\n".join("".join(cell["source"]) for cell in cells[:2])
        (tmp_path / "cells.ipy").write_text(f"{code}\nprint('widget', pellucid.__file__)", encoding="utf-8")
        run = [python, "-m", "IPython", "--colors=nocolor", "cells.ipy"]
        ran = subprocess.run(run, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert f"widget {tmp_path}" in ran.stdout and ran.returncode == 0, ran.stdout + ran.stderr


def texts(notebook: Any) -> str:
    """What the cells printed, which comes in pieces, and the text of what they showed."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    shown = (output.get("text") or output.get("data", {}).get("text/plain", "") + "\n" for output in outputs)
    return VARIES.sub("", "".join(shown))
