"""What experiments print, draw and refuse, from Python and on the command line."""

import copy
import dataclasses
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from command import Command
from drawn import assert_matrices, read_labels
from matplotlib.figure import Figure
from rich.cells import cell_len
from test_experiments import OF_A_SENTENCE, TEXT, measured, tiny

from pellucid import experiments
from pellucid.errors import PellucidError, UsageError
from pellucid.experiments import experiment, heads, leakage
from pellucid.folder.version import __version__
from pellucid.folder.whole_file import refuse_foreign
from pellucid.reading.words import visible
from pellucid.show.columns import stacked
from pellucid.show.drawing import shade
from pellucid.translator import load

# What is printed


@pytest.mark.parametrize("name", [*OF_A_SENTENCE, "positions", "float16"])
@pytest.mark.parametrize("sentence", ["How are you ?", "le chat est sur le tapis " * 2])
def test_what_an_experiment_prints_and_draws(name: str, sentence: str, tmp_path: Path) -> None:
    given: dict[str, Any] = {"steps": 4} if name == "attribution" else {}
    is_hindi = sentence == "How are you ?"
    needs = experiments.needs(name)
    model = None if needs == "nothing" else tiny("first")
    sentence_to = [sentence, "hi" if is_hindi else "en"] if needs == "sentence" else []
    result = experiment(name, model, *sentence_to, **given)
    lines = result.lines(80)
    assert max(map(cell_len, lines)) <= 80
    assert lines[0] and not any(line != line.rstrip() for line in lines)
    assert " ".join(lines).startswith(visible(result.conclusion) + " ")
    json.dumps(dataclasses.asdict(result))  # plain data, all of it
    if is_hindi:
        result.plot(tmp_path / "a.svg")
        assert b"<svg" in (tmp_path / "a.svg").read_bytes()


def test_every_experiment_says_what_it_shows_and_needs() -> None:
    assert {*OF_A_SENTENCE, "positions", "float16"} <= set(experiments.names())
    for name in experiments.names():
        assert len(experiments.about(name)) > 20 and experiments.needs(name) in experiments.NEEDED


def test_parts_are_stacked_with_an_empty_line_between_them() -> None:
    told = stacked(12, "a text that is wrapped", ["a line that is not", "another"], "end")
    assert told == ["a text that", "is wrapped", "", "a line that is not", "another", "", "end"]
    assert stacked(12) == []


def test_shades_have_their_names_their_texts_and_their_limits() -> None:
    axes = Figure().subplots()
    image = shade(axes, [[1.0, -4.0]], 5.0, signed=True, rows=["a"], columns=["b", "c"], written=[["x", "y"]])
    assert image.get_clim() == (-5.0, 5.0) and image.get_array().tolist() == [[1.0, -4.0]]
    ticks = [axis.get_ticklabels() for axis in (axes.xaxis, axes.yaxis)]
    assert [[label.get_text() for label in labels] for labels in ticks] == [["b", "c"], ["a"]]
    assert [(each.get_text(), *each.get_position(), each.get_color()) for each in axes.texts] == [
        ("x", 0, 0, "black"),
        ("y", 1, 0, "white"),
    ]
    assert shade(Figure().subplots(), [[1.0]], 5.0).get_clim() == (0.0, 5.0)


def test_shades_have_their_first_row_on_top() -> None:
    figure, grid = Figure(layout="constrained"), np.array([[1.0, -4.0], [5.0, 0.0], [-2.0, 3.0]])
    axes = figure.subplots()
    shade(axes, grid, 5.0, signed=True, rows=["a", "b", "c"], columns=["d", "e"])
    assert_matrices(figure, [grid])
    assert read_labels(axes) == (["a", "b", "c"], ["d", "e"])


def test_the_masks_are_drawn_as_they_are_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    drawn: list[Figure] = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *arguments, **settings: drawn.append(figure))
    found = measured("masks")
    found.plot(tmp_path / "masks.png")
    assert_matrices(drawn[0], [np.array(mask.values) for mask in found.masks])
    for mask, axes in zip(found.masks, drawn[0].axes, strict=True):
        assert read_labels(axes) == (mask.rows, mask.columns)


# What is refused

SENTENCE = 'a model and a sentence, such as demo and "I like cats"'


@pytest.mark.parametrize(
    "arguments,given,message",
    [
        (("haeds",), {}, 'no experiment is called "haeds". Nearest: heads, '),
        (("zzz",), {}, 'no experiment is called "zzz". There are: attribution, '),
        (("heads",), {}, f"the experiment heads needs {SENTENCE}. Give it one."),
        (
            ("heads", "demo"),
            {},
            f"the experiment heads needs {SENTENCE}, and there is no sentence. Give it one.",
        ),
        (
            ("float16", "demo"),
            {},
            "the experiment float16 needs neither a model nor a sentence: the model demo has no effect. "
            "Leave it out.",
        ),
        (
            ("positions", "demo", "I like cats"),
            {},
            "the experiment positions needs a model, such as demo: the sentence I like cats has no effect. "
            "Leave it out.",
        ),
        (
            ("heads", tiny(), TEXT, "es"),
            {"head": 1},
            "the experiment heads has no setting 'head'. It has: target, how.",
        ),
        (("float16",), {"numbers": 3}, "numbers = 3 must be a list of numbers below 0"),
        (("scale", tiny(), TEXT, "es"), {"widths": 4}, "widths = 4 must be a list of whole numbers"),
        (
            ("scale", tiny(), TEXT, "es"),
            {"seed": "a"},
            "seed = 'a' must be a whole number from 0 to 4,294,967,295.",
        ),
        (("scale", tiny(), TEXT, "es"), {"seed": True}, "seed = True must be a whole number from 0"),
        (("scale", tiny(), TEXT, "es"), {"seed": 10**30}, f"seed = {10**30} must be a whole number from 0"),
        (
            ("scale", tiny(), TEXT, "es"),
            {"widths": [True]},
            "widths = [True] must be a list of whole numbers",
        ),
        (("scale", tiny(), TEXT, "es"), {"widths": [10**9]}, "widths = [1000000000] must be a list of whole"),
        (("attribution", tiny(), TEXT, "es"), {"steps": True}, "steps = True must be a whole number from 1"),
        (("attribution", tiny(), TEXT, "es"), {"steps": 2.0}, "steps = 2.0 must be a whole number from 1"),
        (("positions", tiny()), {"length": True}, "length = True must be a whole number from 1"),
        (("positions", tiny()), {"length": 10**9}, "length = 1000000000 must be a whole number from 1"),
        (("positions", tiny()), {"widths": []}, "widths = [] must be a list of whole numbers from 2"),
        (("leakage",), {"seed": -1}, "seed = -1 must be a whole number from 0"),
        (
            ("leakage",),
            {"width": 7},
            "width = 7 must be a multiple of 4 from 4 to 1,024: each of the 4 heads takes an equal share of "
            "it.",
        ),
        (("leakage",), {"width": True}, "width = True must be a multiple of 4"),
        (("leakage",), {"width": 0}, "width = 0 must be a multiple of 4"),
        (("positions", tiny()), {"widths": 4}, "widths = 4 must be a list of whole numbers"),
        (
            ("layers", tiny(), TEXT, "es"),
            {"target": 5},
            'target = 5 must be text. In quotes it is: target="5", or --set \'target="5"\'.',
        ),
        (("norms", tiny(), TEXT, "es"), {"part": 0}, "part = 0 must be text."),
        (("norms", tiny(), TEXT, "es"), {"part": []}, "part = [] must be text."),
        (("norms", tiny(), TEXT, "es"), {"part": ""}, 'part: no norm is called "".'),
        (("feedback", tiny(), TEXT, "es"), {"slip": 1}, "slip = 1 must be text."),
        (
            ("masks", tiny(), "cats", "es"),
            {"shorter": TEXT},
            "shorter = 'I like cats' has 5 tokens and the sentence 3. Give one that is not longer, for the "
            "shorter one is padded.",
        ),
        (("masks", tiny(), TEXT, "es"), {"shorter": ["I"]}, "shorter = ['I'] must be text."),
        (("heads", tiny(), TEXT, "es"), {"how": 3}, "how = 3 is not known."),
        (("heads", 7, TEXT), {}, 'model = 7 must be a translator, a model folder, or "demo".'),
        (
            ("heads", tiny(), TEXT, "es"),
            {"how": "loud"},
            "how = 'loud' is not known. A head is silenced with zero, mean, uniform.",
        ),
        (
            ("heads", tiny(), " ", "es"),
            {},
            'the sentence is empty: nothing to explain. Give one, such as "How are you".',
        ),
        (
            ("scale", tiny(), "cats " * 500, "es"),
            {},
            "the sentence is longer than the 256 tokens that an explanation shows: its matrices grow with "
            "the square of the length. Give a shorter one.",
        ),
        (
            ("layers", tiny(), "I likes cats", "es"),
            {},
            "sentence: the model has no word 'likes'. Near it: like.",
        ),
        (
            ("masks", tiny(), TEXT, "es"),
            {"shorter": ""},
            'the sentence is empty: nothing to explain. Give one, such as "How are you".',
        ),
        (
            ("norms", tiny(), TEXT, "es"),
            {"part": "decoder.norn"},
            'part: no norm is called "decoder.norn". Nearest: ',
        ),
        (
            ("attribution", tiny(), TEXT, "es"),
            {"steps": 0},
            "steps = 0 must be a whole number from 1 to 10,000: points on the way.",
        ),
        (
            ("scale", tiny(), TEXT, "es"),
            {"widths": (4, 0)},
            "widths = (4, 0) must be a list of whole numbers from 1 to 10,000: each is a d_k.",
        ),
        (
            ("positions", tiny()),
            {"widths": (3,)},
            "widths = [3]: 3 is odd, and sine and cosine come in pairs.",
        ),
        (
            ("positions", tiny()),
            {"length": 0},
            "length = 0 must be a whole number from 1 to 10,000: so many positions are shown.",
        ),
        (
            ("float16",),
            {"numbers": (1.0,)},
            "numbers = (1.0,) must be a list of numbers below 0: each is added to a score to mask it.",
        ),
        (("float16",), {"numbers": [-1e9, math.nan]}, "numbers = [-1000000000.0, nan] must be a list of"),
        (("float16",), {"numbers": [-(10**400)]}, "numbers = [-1000000"),
        (
            ("float16",),
            {"numbers": []},
            "numbers = []: -inf is compared with other numbers, and there is none. Give one, such as -1e9.",
        ),
        (("float16",), {"numbers": [-math.inf]}, "numbers = [-inf]: -inf is compared with other numbers"),
        (("float16",), {"scores": [True, False]}, "scores = [True, False] must be a list of two numbers"),
        (
            ("float16",),
            {"scores": (1.0,)},
            "scores = (1.0,) must be a list of two numbers or more from -65504 to 65504, which float16 can "
            "hold: the last is masked.",
        ),
    ],
)
def test_what_an_experiment_refuses(arguments: tuple[Any, ...], given: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as error:
        experiment(*arguments, **given)
    assert str(error.value).startswith(message)


def test_who_waits_at_a_terminal_is_told_for_how_many_passes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = "heads", tiny("first"), "How are you ?", "hi"
    experiment(*asked, how="zero")
    monkeypatch.setattr(heads, "LONG", 1.0)
    experiment(*asked, how="zero")
    assert capsys.readouterr().err == ""  # no terminal
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    found = experiment(*asked, how="zero")
    expected = f"{len(found.heads)} passes, one for each head and each way to silence it …\n"
    assert capsys.readouterr() == ("", expected)


def test_of_a_broken_model_nothing_is_measured() -> None:
    broken = copy.deepcopy(tiny("first"))
    with torch.no_grad():
        next(broken.model.parameters()).fill_(math.nan)
    with pytest.raises(PellucidError) as error:
        experiment("heads", broken, "How are you ?", "hi", target="")
    assert str(error.value) == (
        "what the model says of this sentence is no number (NaN), so there is nothing to measure. "
        "pellucid.find_nonfinite(model) names the first tensor that is none."
    )


# The verb


def test_the_verb_lists_runs_and_writes(pellucid: Command, tmp_path: Path) -> None:
    listed = pellucid("experiment", "--list")
    assert listed.code == 0 and max(map(len, listed.out.splitlines())) <= 80
    assert [line for line in listed.out.splitlines() if not line.startswith(" ")] == experiments.names()
    outcome = pellucid("experiment", "heads", "demo", "I like cats", "--to", "es", "--out", tmp_path / "out")
    assert outcome.code == 0 and outcome.out.startswith("Heads differ: of 24 heads ")
    assert outcome.err == f"written: heads.png and heads.json, in {tmp_path / 'out'}\n"
    table = json.loads((tmp_path / "out" / "heads.json").read_text("utf-8"))
    assert len(table["heads"]) == 24 and set(table["heads"][0]["silenced"]) == {"zero", "mean", "uniform"}
    assert table["pellucid"] == __version__
    assert (tmp_path / "out" / "heads.png").read_bytes().startswith(b"\x89PNG")
    refuse_foreign((tmp_path / "out" / "heads.png", tmp_path / "out" / "heads.json"))  # ours: may be replaced
    how = "--set", 'how="mean"', "--set", "target=Me gusta el gato"
    of_one = pellucid("experiment", "heads", "demo", "I like cats", "--to", "es", *how)
    assert "I like cats  →  Me gusta el gato" in of_one.out and "silenced (mean)" in of_one.out
    alone = pellucid("experiment", "float16")
    assert (
        alone.code == 0 and alone.err == "" and alone.out.startswith("In float32 -1e+09 gives the very same")
    )


@pytest.mark.parametrize(
    "arguments,message",
    [
        ((), "pellucid: experiment: give a NAME; --list says which there are.\n"),
        (("hedas", "demo"), 'pellucid: no experiment is called "hedas". Nearest: heads'),
        (("heads", "demo", ""), "pellucid: the sentence is empty: nothing to explain."),
        (
            ("float16", "--set", "steps=3"),
            "pellucid: the experiment float16 has no setting 'steps'. It has: numbers, scores.\n",
        ),
        (
            ("positions", "demo", "--set", "length=true"),
            "pellucid: length = True must be a whole number from 1",
        ),
        (
            ("parallel", "demo", "--set", "lengths=20"),
            "pellucid: lengths = 20 must be a list of whole numbers from 1 to 1,000.\n",
        ),
        (
            ("feedback", "demo", "How are you", "--to", "hi", "--set", "slip=1"),
            'pellucid: slip = 1 must be text. In quotes it is: slip="1", or --set \'slip="1"\'.\n',
        ),
        (("float16", "demo"), "pellucid: the experiment float16 needs neither a model nor a sentence"),
        (
            ("heads", "demo", "I likke cats", "--to", "es"),
            "pellucid: sentence: the model has no word 'likke'.",
        ),
    ],
)
def test_the_verb_refuses(pellucid: Command, arguments: tuple[str, ...], message: str) -> None:
    outcome = pellucid("experiment", *arguments)
    assert outcome.code == 2 and outcome.out == "" and outcome.err.startswith(message)


def test_numpy_s_whole_numbers_are_whole_numbers(tmp_path: Path) -> None:
    found = experiment("positions", tiny("first"), length=np.int64(3), widths=[np.int32(4)])
    assert len(found.tables[0].values) == 3
    json.dumps(dataclasses.asdict(found))


def test_the_heads_that_share_leakage_s_width_are_the_demo_s() -> None:
    assert load("demo", "cpu").model.config.heads == leakage.HEADS


def test_float16_compares_a_finite_number_with_infinity() -> None:
    found = experiment("float16", numbers=[-math.inf, -30, -70_000.0])
    assert found.lines(200)[0] == (
        "In float32 -70000 gives the very same weights as -∞; float16 has no -70000 (its largest number is "
        "65504): it becomes -∞ itself."
    )
    assert experiment("float16", numbers=[-2.0]).lines(200)[0] == (
        "In float32 -2 gives other weights than -∞; in float16 it is held as -2."
    )


def test_the_verb_refuses_a_setting_without_a_value(pellucid: Command) -> None:
    outcome = pellucid("experiment", "float16", "--set", "scores")
    assert outcome.code == 2 and outcome.err.endswith(
        "argument --set: 'scores': write name=value, as in steps=100; pellucid experiment --list says what "
        "can be set\n"
    )
