"""What experiments print, draw, write and refuse, from Python and on the command line."""

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
from command import Command
from matplotlib.figure import Figure
from rich.cells import cell_len
from short_corpus import lessons

from pellucid import experiments
from pellucid.errors import UsageError
from pellucid.experiments import experiment, leakage
from pellucid.experiments.corpus import curve
from pellucid.experiments.result import Result, Table, lines
from pellucid.folder.version import __version__
from pellucid.folder.whole_file import refuse_foreign
from pellucid.reading.words import visible
from pellucid.show.panels import Bars, Lines, Shades
from pellucid.show.tables import text_lines

T, TEXT = tiny.translator(), "How are you ?"
QUICK: dict[str, dict[str, Any]] = {
    "attribution": {"steps": np.int64(4)},  # as good as Python's own numbers
    "parallel": {"lengths": [2]},
}


def run(name: str) -> Result:
    if name == "leakage":  # on a smaller corpus than the demo's
        return leakage.compare(lessons(40, 4), 2)
    inputs = {"explanation": (T, TEXT, "hi"), "translator": (T,), "nothing": ()}
    return experiment(name, *inputs[experiments.needs(name)], **QUICK.get(name, {}))


@pytest.mark.parametrize("name", experiments.NAMES)
def test_every_experiment_prints_draws_and_writes(name: str, tmp_path: Path) -> None:
    result = run(name)
    text = result.lines(80)
    assert max(map(cell_len, text)) <= 80 and not any(line != line.rstrip() for line in text)
    assert " ".join(text).startswith(visible(result.conclusion) + " ")
    assert "<table" in result._repr_html_() and len(experiments.describe(name, 76)) > 1
    result.plot(tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    result.to_json(tmp_path / "a.json")
    written = json.loads((tmp_path / "a.json").read_text("utf-8"))
    assert written["pellucid"] == __version__ and written["conclusion"] == result.conclusion
    assert [len(table["rows"]) for table in written["tables"]] == [len(table.rows) for table in result.tables]


def test_a_table_writes_numbers_in_its_forms() -> None:
    rows = [["a", 0.5, 1e-9, (1.0, " | ", -math.inf)], ["b", -1e-9, 0.0, None]]
    table = Table(["", "x", "p", "pair"], rows, form=["", ".2f", 4, ".1f"], title="numbers")
    text = ["numbers", "      x        p      pair", "a  0.50  1.0e-09  1.0 | -∞", "b  0.00   0.0000"]
    assert text_lines([table], 80) == text and table.column("x") == [0.5, -1e-9]
    both = Table(["d", "pair"], [["1", (2.0, " | ", 3.0)], ["4", (5.0, " | ", 6.0)]], form=".1f")
    assert text_lines([both], 80)[1:] == ["1  2.0 | 3.0", "4  5.0 | 6.0"]
    drawn = lines(both, "two", "pair", labels=("one", "other"))
    assert (drawn.x, drawn.log) == ("d", "x")
    assert drawn.series == {"one": ([1, 4], [2, 5], "o-"), "other": ([1, 4], [3, 6], "s--")}


def test_bars_and_lines_have_their_heights_and_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    panels = [
        Shades("signed", [[1.0, -4.0]], ["a"], ["b", "c"], signed=True),
        Bars("bars", ["one", "two"], {"x": [1.0, 2.0], "y": [3.0, 4.0]}),
        Lines("lines", "step", {"z": ([1, 2], [5.0, 6.0], "o-")}, "xy"),
    ]
    figures: list[Figure] = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *arguments, **settings: figures.append(figure))
    Result("", [], panels).plot(tmp_path / "a.png")
    shades, bars, line, _ = figures[0].axes
    assert shades.images[0].get_clim() == (-4.0, 4.0)
    assert [bar.get_height() for bar in bars.patches] == [1.0, 2.0, 3.0, 4.0]
    assert [label.get_text() for label in bars.get_xticklabels()] == ["one", "two"]
    assert line.lines[0].get_ydata().tolist() == [5.0, 6.0]
    assert (line.get_xscale(), line.get_yscale(), line.get_xlabel()) == ("log", "log", "step")
    legends = [text.get_text() for axes in (bars, line) for text in axes.get_legend().get_texts()]
    assert legends == ["x", "y", "z"]


def test_a_curve_has_the_mean_of_some_steps_in_their_middle() -> None:
    assert curve([1.0] * 15 + [3.0] * 15 + [4.0]) == ([7.5, 22.5, 37.5], [1.0, 3.0, 4.0], "-")


def test_of_many_names_some_are_written() -> None:
    for many, shown in ((40, 40), (41, 21), (81, 27)):
        axes = Figure().add_subplot()
        Shades("", [[1.0]] * many, list(map(str, range(many)))).draw(axes)
        assert len(axes.get_yticks()) == shown and list(axes.get_yticks()[:2]) == [0, -(-many // 40)]


@pytest.mark.parametrize(
    "arguments, settings, message",
    [
        (("haeds",), {}, 'no experiment is called "haeds". Did you mean "heads"?'),
        (("heads", T), {}, 'heads needs a model and a sentence, such as demo and "I like cats". Give that'),
        (("float16", T), {}, "the experiment float16 needs neither a model nor a sentence."),
        (("positions", T, TEXT), {}, "the experiment positions needs a model, such as demo."),
        (("heads", T, TEXT, "hi"), {"head": 1}, "the experiment heads has no setting 'head'."),
        (("parallel", T), {"lengths": [0]}, "lengths = 0 must be a whole number, 1 or more."),
        (("parallel", T), {"lengths": ()}, "lengths is empty: give numbers of words, such as 2,4,8."),
        (("masks", T, "I", "hi"), {}, "there is nothing to pad: the sentence has one word."),
        (("parallel", T), {"lengths": 1.5}, "lengths = 1.5 must be a whole number, 1 or more."),
        (("layers", T, TEXT, "hi"), {"target": 5}, "target = 5 must be text in quotes."),
        (("norms", T, TEXT, "hi"), {"part": "decoder.norn"}, 'no tensor is called "decoder.norn.mean".'),
    ],
)
def test_what_an_experiment_refuses(
    arguments: tuple[Any, ...], settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        experiment(*arguments, **settings)


def test_the_verb_lists_runs_and_writes(pellucid: Command, tmp_path: Path) -> None:
    listed = pellucid("experiment", "--list")
    assert listed.code == 0 and max(map(len, listed.out.splitlines())) <= 80
    assert [line for line in listed.out.splitlines() if not line.startswith(" ")] == experiments.NAMES
    refused = pellucid("experiment", "parallel", "demo", "--set", "model=x")
    assert refused.code == 2 and "the experiment parallel has no setting 'model'." in refused.err
    outcome = pellucid("experiment", "heads", "demo", "I like cats", "--to", "es", "--out", tmp_path / "out")
    assert outcome.code == 0 and outcome.out.startswith("Heads differ: of 24 heads ")
    assert outcome.err == f"written: heads.png and heads.json, in {tmp_path / 'out'}\n"
    files = [tmp_path / "out" / f"heads.{ending}" for ending in ("png", "json")]
    assert files[0].read_bytes().startswith(b"\x89PNG")
    refuse_foreign(files)  # ours: may be replaced
    written = json.loads(files[1].read_text("utf-8"))
    said, rows = written["conclusion"], written["tables"][0]["rows"]  # bits: 3, silenced by zero: 5
    sharp, *_, even = sorted(rows, key=lambda row: row[3])
    slight = sum(abs(row[5] - float(re.findall(r"goes from ([0-9.]+) to", said)[0])) < 0.01 for row in rows)
    assert f"; {slight} change it by less than 0.01. The sharpest, {sharp[0]}, has {sharp[3]:.2f}" in said
    assert said.endswith(f"the most even, {even[0]}, {even[3]:.2f}.")
    given = "--set", "target=Me gusta el gato", "--set", 'part="encoder.layers.0.residual_1.norm"'
    one = pellucid("experiment", "norms", "demo", "I like cats", "--to", "es", *given)
    assert "I like cats → Me gusta el gato" in one.out and "encoder.layers.0.residual_1.norm, pos" in one.out
