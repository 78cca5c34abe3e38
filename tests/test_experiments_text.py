"""What experiments print, draw and refuse, from Python and on the command line."""

import copy
import dataclasses
import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from command import Command
from rich.cells import cell_len
from test_experiments import OF_A_SENTENCE, TEXT, tiny

from pellucid.errors import PellucidError, UsageError
from pellucid.explain import experiments
from pellucid.explain.experiments import experiment, heads

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
    json.dumps(dataclasses.asdict(result))  # plain data, all of it
    if is_hindi:
        result.plot(tmp_path / "a.svg")
        assert b"<svg" in (tmp_path / "a.svg").read_bytes()


def test_every_experiment_says_what_it_shows_and_needs() -> None:
    assert {*OF_A_SENTENCE, "positions", "float16"} <= set(experiments.names())
    for name in experiments.names():
        assert len(experiments.about(name)) > 20 and experiments.needs(name) in experiments.NEEDED


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
        (("float16",), {"numbers": 3}, "numbers = 3 must be a list below 0"),
        (("scale", tiny(), TEXT, "es"), {"widths": 4}, "widths = 4 must be a list of whole numbers"),
        (("scale", tiny(), TEXT, "es"), {"seed": "a"}, "seed = 'a' must be a whole number."),
        (("positions", tiny()), {"widths": 4}, "widths = 4 must be a list of even numbers"),
        (("norms", tiny(), TEXT, "es"), {"part": 3}, 'part: no norm is called "3".'),
        (("layers", tiny(), TEXT, "es"), {"target": 3}, "a sentence must be text (str), not int: 3."),
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
            "widths = (4, 0) must be a list of whole numbers, 1 or more: each is a d_k.",
        ),
        (
            ("positions", tiny()),
            {"widths": (3,)},
            "widths = (3,) must be a list of even numbers, 2 or more: sine and cosine come in pairs.",
        ),
        (
            ("positions", tiny()),
            {"length": 0},
            "length = 0 must be a whole number, 1 or more: so many positions are shown.",
        ),
        (
            ("float16",),
            {"numbers": (1.0,)},
            "numbers = (1.0,) must be a list below 0: each is added to a score to mask it.",
        ),
        (
            ("float16",),
            {"scores": (1.0,)},
            "scores = (1.0,) must be a list of two finite numbers or more: the last is masked.",
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
    assert (tmp_path / "out" / "heads.png").read_bytes().startswith(b"\x89PNG")
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
