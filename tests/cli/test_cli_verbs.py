"""The command line in this process: what explain, inspect, demo, data and train print and refuse."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import toy
from command import Command

from pellucid.cli.arguments import setting
from pellucid.data.catalog import CORPORA
from pellucid.learning import run
from pellucid.learning.stop import Interrupted

# explain and inspect


def test_explain_prints_the_steps_and_writes_what_is_asked(
    pellucid: Command, toy_model: Path, tmp_path: Path
) -> None:
    numbers, steps = tmp_path / "all.npz", tmp_path / "steps.json"
    arguments = ["a b c", "--target", "c b a", "--npz", numbers, "--json", steps]
    outcome = pellucid("explain", toy_model, *arguments)
    assert outcome.code == 0 and "cross_attention" in outcome.out
    assert outcome.err == f"written: {steps}\nwritten: {numbers}\n"
    expected = [step["expected"] for step in json.loads(steps.read_text("utf-8"))["steps"]]
    assert expected == ["c", "b", "a", "</s>"]


def test_explain_says_why_a_word_is_said(pellucid: Command, tmp_path: Path) -> None:
    cats, path = ("explain", "demo", "I like cats", "--to", "es"), tmp_path / "why.json"
    outcome = pellucid(*cats, "--ledger", 4, "--minus", "perros", "--json", path)
    assert outcome.out.startswith("Why gatos and not perros at step 4? The difference of their logits")
    assert "A ledger is not a cause" in outcome.out
    table = json.loads(path.read_text("utf-8"))
    for reading in ("by_part", "by_position", "by_input"):
        assert sum(share for _, share in table["ledger"][reading]) == pytest.approx(table["ledger"]["logit"])
    assert len(table["source_share"]["per_token"]) == 5 and table["source_share"]["usual"]["low"] > 0.5
    assert "mean .86 (in nine of ten" in " ".join(pellucid(*cats).out.split())
    assert pellucid(*cats, "--ledger", 6).err == "pellucid: --ledger 6: there are 5 steps, counted from 1.\n"
    assert "Add --ledger STEP" in pellucid(*cats, "--word", "gatos").err


def test_inspect_says_what_a_folder_is(pellucid: Command, toy_model: Path) -> None:
    outcome = pellucid("inspect", toy_model)
    assert outcome.code == 0 and outcome.err == ""
    assert f"{toy_model}: a model; the hashes of its 3 files are right\n" in outcome.out
    assert "  20 tokens (word), one for both sides\n" in outcome.out
    assert "  decoder.layers.{l}.cross_attention  8,448\n" in outcome.out
    assert "  embedding                           640\n" in outcome.out  # 20 · 32
    assert "  decoder.layers.{l}.cross_attention.weights        BHLM\n" in outcome.out
    assert "  steps: 120\n" in outcome.out and "  width = 32\n" in outcome.out


# data and train


def test_data_lists_what_there_is(pellucid: Command, tmp_path: Path) -> None:
    outcome = pellucid("data", "--list")
    three = "{}\n    {.about}\n    licence: {.licence}\n"
    known = "".join(three.format(name, each, each) for name, each in CORPORA.items())
    assert (outcome.code, outcome.out) == (0, known) and "multi30k-en-de\n" in known
    outcome = pellucid("data", "multi30k-en-xx")
    assert outcome.code == 2 and "there is no corpus 'multi30k-en-xx'" in outcome.err
    outcome = pellucid("data", "multi30k-en-de", "--out", tmp_path / "out", "--mirror", tmp_path)
    assert outcome.code == 1 and "the mirror does not have this file" in outcome.err


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("training.steps=500", ("training.steps", 500)),
        ("model.preset=small", ("model.preset", "small")),
        ('data.languages=["en", "de"]', ("data.languages", ["en", "de"])),
        ("training.start_from=runs/my model", ("training.start_from", "runs/my model")),
        ("data.licence=1\nx = 2", ("data.licence", "1\nx = 2")),
    ],
)
def test_settings(argument: str, expected: object) -> None:
    assert setting(argument) == expected


def test_train_makes_a_model_and_says_what_to_try(
    pellucid: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = toy.write(tmp_path / "données हिन्दी")
    monkeypatch.chdir(tmp_path)
    outcome = pellucid("train", config, "--set", "training.steps=4", "--set", "training.validate_every=2")
    assert outcome.code == 0 and outcome.out == ""
    assert "step 1/4  loss " in outcome.err and "validation at step 4: loss " in outcome.err
    out = Path("runs/toy")
    assert f"The model is in {out}. To try it:\n" in outcome.err
    assert f"  echo 'YOUR SENTENCE' | pellucid translate {out}\n" in outcome.err
    assert pellucid("translate", out, stdin=b"a b\n").code == 0
    again = pellucid("train", config, "--set", "training.steps=4")
    assert again.code == 2 and "Go on with --resume, or choose another --out." in again.err
    other = pellucid("train", config, "--set", "training.seed=2", "--resume")
    assert other.err.endswith(
        "\nRestore them, start a new run with another --out, or accept them: --accept section.key "
        "(or --accept data).\n"
    )


def test_what_goes_on_with_a_resume_says_resume_once(
    pellucid: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise Interrupted("stopped.")

    monkeypatch.setattr(run, "training", stopped)
    outcome = pellucid("train", toy.write(tmp_path), "--resume", "--out", tmp_path / "x")
    assert outcome.err.endswith(
        f"stopped.\nTo go on: pellucid train {tmp_path}/toy.toml --out {tmp_path}/x --resume\n"
    )


def test_a_file_where_a_folder_should_be(
    pellucid: Command, toy_model: Path, files: Callable[..., Path]
) -> None:
    file = files("file", "a")
    for verb in (["demo", "--out"], ["data", "--out"], ["explain", toy_model, "a", "--png"]):
        for path in (file, file / "below"):
            outcome = pellucid(*verb, path)
            assert outcome.code == 2 and outcome.err.endswith(
                f"{verb[-1]}: {file} is a file, so no folder can be made there: name another\n"
            )
