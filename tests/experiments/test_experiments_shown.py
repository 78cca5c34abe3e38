"""What experiments print, draw, write and refuse, from Python and on the command line."""

import copy
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
import torch
from command import Command
from matplotlib.figure import Figure
from rich.cells import cell_len
from short_corpus import config, sentences

from pellucid import experiments
from pellucid.errors import PellucidError, UsageError
from pellucid.experiments import experiment, leakage
from pellucid.experiments.corpus import corpus_of
from pellucid.experiments.result import Result, Table
from pellucid.folder.version import __version__
from pellucid.folder.whole_file import refuse_foreign
from pellucid.reading.words import visible
from pellucid.show.panels import Bars, Lines, Shades
from pellucid.show.tables import text_lines

TEXT = "How are you ?"
QUICK: dict[str, dict[str, Any]] = {"attribution": {"steps": 4}, "parallel": {"lengths": [2]}}


def run(name: str, text: str = TEXT, to: str = "hi", **settings: Any) -> Result:
    if name == "leakage":  # on a smaller corpus than the demo's
        return leakage.compare(corpus_of(config(), sentences(40, 1), sentences(4, 2), sentences(4, 3)), 2)
    inputs = {"explanation": (tiny.translator(), text, to), "translator": (tiny.translator(),), "nothing": ()}
    return experiment(name, *inputs[experiments.needs(name)], **QUICK.get(name, {}) | settings)


@pytest.mark.parametrize("name", experiments.NAMES)
def test_every_experiment_prints_draws_and_writes(name: str, tmp_path: Path) -> None:
    result = run(name)
    lines = result.lines(80)
    assert max(map(cell_len, lines)) <= 80 and not any(line != line.rstrip() for line in lines)
    assert " ".join(lines).startswith(visible(result.conclusion) + " ")
    assert "<table" in result._repr_html_() and len(experiments.described(name, 76)) > 1
    result.plot(tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    result.to_json(tmp_path / "a.json")
    written = json.loads((tmp_path / "a.json").read_text("utf-8"))
    assert written["pellucid"] == __version__ and written["conclusion"] == result.conclusion
    assert [len(table["rows"]) for table in written["tables"]] == [len(table.rows) for table in result.tables]


def test_a_table_writes_numbers_in_its_forms() -> None:
    rows = [["a", 0.5, 1e-9, (1.0, " | ", -math.inf)], ["b", -1e-9, 0.0, None]]
    table = Table("numbers", ["", "x", "p", "pair"], rows, form=["", ".2f", 4, ".1f"])
    lines = ["numbers", "      x        p      pair", "a  0.50  1.0e-09  1.0 | -∞", "b  0.00   0.0000"]
    assert text_lines(table.parts(80), 80) == lines
    assert table.column("x") == [0.5, -1e-9]
    both = Table("", ["d", "pair"], [["1", (2.0, " | ", 3.0)], ["4", (5.0, " | ", 6.0)]])
    drawn = both.lines("two", "pair", labels=("one", "other"))
    assert (drawn.x, drawn.log) == ("d", "x")
    assert drawn.series == {"one": ([1, 4], [2, 5], "o-"), "other": ([1, 4], [3, 6], "s--")}


def drawn(result: Result, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Figure:
    figures: list[Figure] = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *arguments, **settings: figures.append(figure))
    result.plot(tmp_path / "a.png")
    return figures[0]


def test_bars_and_lines_have_their_heights_and_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    panels = [
        Shades("signed", [[1.0, -4.0]], ["a"], ["b", "c"], signed=True),
        Bars("bars", ["one", "two"], {"x": [1.0, 2.0], "y": [3.0, 4.0]}),
        Lines("lines", "step", {"z": ([1, 2], [5.0, 6.0], "o-")}, "xy"),
    ]
    shades, bars, lines, _ = drawn(Result("", [], panels), monkeypatch, tmp_path).axes
    assert shades.images[0].get_clim() == (-4.0, 4.0)
    assert [bar.get_height() for bar in bars.patches] == [1.0, 2.0, 3.0, 4.0]
    assert [label.get_text() for label in bars.get_xticklabels()] == ["one", "two"]
    assert lines.lines[0].get_ydata().tolist() == [5.0, 6.0]
    assert (lines.get_xscale(), lines.get_yscale(), lines.get_xlabel()) == ("log", "log", "step")
    legends = [text.get_text() for axes in (bars, lines) for text in axes.get_legend().get_texts()]
    assert legends == ["x", "y", "z"]


T = tiny.translator()


@pytest.mark.parametrize(
    "arguments, settings, message",
    [
        (("haeds",), {}, 'no experiment is called "haeds". Nearest: heads, '),
        (("heads", T), {}, 'heads needs a model and a sentence, such as demo and "I like cats". Give that'),
        (("float16", T), {}, "the experiment float16 needs neither a model nor a sentence."),
        (("positions", T, TEXT), {}, "the experiment positions needs a model, such as demo."),
        (("heads", T, TEXT, "hi"), {"head": 1}, "the experiment heads has no setting 'head'."),
        (("heads", T, TEXT, "hi"), {"how": "loud"}, "how = 'loud' is not known."),
        (("scale", T, TEXT, "hi"), {"widths": [0]}, "widths = 0 must be a whole number, 1 or more."),
        (("parallel", T), {"lengths": 1.5}, "lengths = 1.5 must be a whole number, 1 or more."),
        (("float16",), {"numbers": ["x"]}, "numbers = 'x' must be a number, -inf for example."),
        (("layers", T, TEXT, "hi"), {"target": 5}, "target = 5 must be text in quotes, such as target="),
        (("norms", T, TEXT, "hi"), {"part": "decoder.norn"}, 'no tensor is called "decoder.norn.mean".'),
        (("positions", T), {"widths": [3]}, "widths: 3 is odd, and sine and cosine come in pairs."),
        (("float16",), {"numbers": [1.0]}, "numbers = [1.0]: give numbers below 0, one of them finite"),
        (("float16",), {"numbers": [-math.inf]}, "numbers = [-inf]: give numbers below 0, one of them"),
    ],
)
def test_what_an_experiment_refuses(
    arguments: tuple[Any, ...], settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        experiment(*arguments, **settings)


def test_whole_numbers_of_numpy_are_whole_numbers(tmp_path: Path) -> None:
    found = run("positions", length=np.int64(3), widths=[np.int32(4)])
    assert len(found.tables[0].rows) == 3
    found.to_json(tmp_path / "a.json")


def test_of_a_broken_model_nothing_is_measured() -> None:
    broken = copy.deepcopy(tiny.translator())
    with torch.no_grad():
        next(broken.model.parameters()).fill_(math.nan)
    with pytest.raises(PellucidError, match=r"computes NaN for this sentence.*pellucid\.find_nonfinite"):
        experiment("heads", broken, TEXT, "hi", target="")


def test_the_verb_lists_runs_and_writes(pellucid: Command, tmp_path: Path) -> None:
    listed = pellucid("experiment", "--list")
    assert listed.code == 0 and max(map(len, listed.out.splitlines())) <= 80
    assert [line for line in listed.out.splitlines() if not line.startswith(" ")] == experiments.NAMES
    outcome = pellucid("experiment", "heads", "demo", "I like cats", "--to", "es", "--out", tmp_path / "out")
    assert outcome.code == 0 and outcome.out.startswith("Heads differ: of 24 heads ")
    assert outcome.err == f"written: heads.png and heads.json, in {tmp_path / 'out'}\n"
    files = [tmp_path / "out" / f"heads.{ending}" for ending in ("png", "json")]
    assert files[0].read_bytes().startswith(b"\x89PNG")
    refuse_foreign(files)  # ours: may be replaced
    how = "--set", 'how="mean"', "--set", "target=Me gusta el gato"
    one = pellucid("experiment", "heads", "demo", "I like cats", "--to", "es", *how)
    assert "I like cats → Me gusta el gato" in one.out and "silenced (mean)" in one.out


@pytest.mark.parametrize(
    "arguments, message",
    [
        (("parallel", "demo", "--set", "model=x"), "the experiment parallel has no setting 'model'."),
        (("float16", "--set", "scores"), "argument --set: 'scores': write name=value, as in"),
    ],
)
def test_the_verb_refuses(pellucid: Command, arguments: tuple[str, ...], message: str) -> None:
    outcome = pellucid("experiment", *arguments)
    assert outcome.code == 2 and outcome.out == "" and message in outcome.err
