"""`pellucid distil`: from a teacher and source text to a student, in stages that can each be gone on with."""

import json
import os
import random
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import short_runs
import toy
from command import Command

from pellucid.cli import distil
from pellucid.errors import PellucidError

Files = Callable[..., Path]
SHAPE = "model.width=16 model.heads=2 model.hidden=16 model.encoder_layers=1 model.decoder_layers=1"
# What is otherwise chosen by measured time:
FIXED = (
    "training.steps=6 training.warmup_steps=2 training.batch_tokens=300 data.held_out=8 training.threads=1"
)
SMALL = [word for setting in (SHAPE + " " + FIXED).split() for word in ("--set", setting)]
NUMBERS = random.Random(1)
SOURCES = [toy.sentence(NUMBERS) for _ in range(240)]


def test_a_student_is_made_of_what_the_teacher_says(
    pellucid: Command, toy_model: Path, files: Files, tmp_path: Path
) -> None:
    lines = [*SOURCES, SOURCES[0], "", SOURCES[1].replace(" ", "  "), "a\tb c"]
    source, out = files("text", *lines), tmp_path / "student"
    test, right = files("test", *SOURCES[:5]), files("right", *map(toy.reverse, SOURCES[:5]))
    command = "distil", toy_model, "--source", source, "--out", out, *SMALL
    outcome = pellucid(*command, "--test", test, "--reference", right)
    assert outcome.code == 0, outcome.err
    rows = [line.split("\t") for line in (out / "said.txt").read_text().splitlines()]
    assert [source for _, source, _ in rows] == [line.replace("\t", " ") for line in lines]
    kept, held_out = (
        [tuple(line.split("\t")) for line in (out / name).read_text().splitlines()]
        for name in ("train.tsv", "heldout.tsv")
    )
    said = {source: text for _, source, text in rows}
    assert all(said[source] == text for source, text in (*kept, *held_out))
    sources = {source for source, _ in kept}
    assert len(sources) == len(kept) and not sources & {"", *SOURCES[:5], *(one for one, _ in held_out)}
    left = [float(score) for score, one, _ in rows if one in sources]
    assert min(left) > min(float(score) for score, one, _ in rows if one)  # the worst are not learned
    teacher, student, verdict = outcome.out.splitlines()
    assert teacher.startswith("teacher: chrF ") and student.startswith("student: chrF ")
    found = json.loads((out / "distilled.json").read_text())
    assert found["sentences"] == 5 and f"{found['chrf_share']:.1f}% of the teacher's chrF" in verdict
    assert found["chrf_share"] == pytest.approx(100 * found["student"]["chrf"] / found["teacher"]["chrf"])
    # Once more: nothing is done again, and without --test the held-out sentences are compared.
    weights, before = short_runs.weights(out), (out / "said.txt").stat()
    assert pellucid(*command).err.endswith("already exists. Go on with --resume, or choose another --out.\n")
    outcome = pellucid(*command, "--resume")
    assert outcome.code == 0 and (out / "said.txt").stat() == before
    assert all((short_runs.weights(out)[name] == each).all() for name, each in weights.items())
    found = json.loads((out / "distilled.json").read_text())
    assert found["sentences"] == len(held_out) and found["teacher"]["chrf"] > 95  # again in other batches
    seen = files("seen", *SOURCES[:4], kept[0][0]), files("right", *map(toy.reverse, SOURCES[:5]))
    outcome = pellucid(*command, "--resume", "--test", seen[0], "--reference", seen[1])
    assert outcome.code == 2 and "1 of the 5 sentences of --test are among those" in outcome.err
    new = files("new", *SOURCES[:2]), files("other", "一", "二")  # a score of 0 is told, too
    outcome = pellucid(*command, "--resume", "--test", new[0], "--reference", new[1])
    assert outcome.code == 0 and "The teacher's chrF is 0: are the references" in outcome.err
    assert json.loads((out / "distilled.json").read_text())["chrf_share"] == "nan"
    changed = *command, "--resume", "--set", "training.label_smoothing=0.2"
    assert "or accept them: --accept section.key (or --accept data)" in pellucid(*changed).err
    assert pellucid(*changed, "--accept", "training.label_smoothing").code == 0
    page = tmp_path / "page.html"
    explained = pellucid("explain", out, SOURCES[9], "--html", page, "--beside", toy_model)
    assert explained.code == 0 and page.exists(), explained.err


def test_what_is_wrong_is_said_before_the_work(
    pellucid: Command, toy_model: Path, files: Files, tmp_path: Path
) -> None:
    text, two, out = files("text", *SOURCES), files("two", "a", "b"), tmp_path / "student"
    none = files("none")
    command = "distil", toy_model, "--source", text, "--out", out
    for more, code, message in (
        (["--test", two], 2, "give the text to read: --test and --reference."),
        (["--test", none, "--reference", none], 1, f"{none} is empty, so there is nothing to compare with."),
        (["--test", two, "--reference", text], 1, f"{two} has 2 lines and {text} has 240"),
        (["--beam", 0], 2, "--beam 0 must be a whole number from 1 to 1000."),
        (["--set", "model.widht=64"], 2, 'distil: [model] has no setting "widht". Did you mean "width"?'),
        (["--set", "training.start_from=demo"], 2, "distil: a student starts from the beginning."),
        (["--set", 'data.train=["a", "b"]'], 2, "distil: a student learns what its teacher says. Leave"),
        (["--minutes", 0], 2, "distil: [training] minutes = 0.0 must be"),
        (["--accept", "rate"], 2, 'accept: there is no setting "rate".'),
        (["--to", "fr"], 2, "the model does not name its languages, so 'fr' cannot be chosen."),
    ):
        outcome = pellucid(*command, *more)
        assert outcome.code == code and outcome.err.startswith(f"pellucid: {message}"), outcome.err
        assert not out.exists()
    out.mkdir()
    (out / "weights.safetensors").touch()
    assert "already exists, but the folder has no checkpoint" in pellucid(*command).err
    (out / "weights.safetensors").unlink()
    (out / distil.HELD_OUT).touch()
    assert f"{out / distil.HELD_OUT} already exists, and no `distil` wrote it." in pellucid(*command).err
    (out / distil.HELD_OUT).unlink()
    (out / "checkpoints" / "step-3").mkdir(parents=True)
    (out / "checkpoints" / "step-3" / "MANIFEST.json").touch()
    assert f"{out} holds a training that no `distil` began." in pellucid(*command).err
    (out / distil.BEGUN).write_text("{}")
    outcome = pellucid(*command, "--resume")
    assert outcome.code == 2 and f"{out} was begun with another teacher, text or option" in outcome.err


def test_a_teacher_that_never_ends_teaches_nothing(tmp_path: Path) -> None:
    (tmp_path / distil.SAID).write_text("-inf\ta b\tb b b\n-inf\t\t\n")
    with pytest.raises(PellucidError, match=r"said\.txt: all translations are empty, cut or unfinished\. "):
        distil._select(tmp_path, [])
    assert not (tmp_path / distil.TRAIN).exists()


def test_one_good_line_is_too_little(tmp_path: Path) -> None:
    (tmp_path / distil.SAID).write_text("-0.1\ta b\tb a\n-0.2\ta b\tb a\n-inf\tc\t\n")
    with pytest.raises(PellucidError, match="of 3 translations only 1 can be kept, too few to learn from"):
        distil._select(tmp_path, [])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["an ensemble", "OPUS-MT"])
def test_any_model_teaches(
    kind: str, pellucid: Command, toy_model: Path, files: Files, tmp_path: Path
) -> None:
    teacher, lines = [toy_model, toy_model / "last"], SOURCES
    if kind == "OPUS-MT":
        pytest.importorskip("transformers")
        import marian_folders

        (tmp_path / "opus").mkdir()
        teacher, lines = [marian_folders.opus(tmp_path / "opus")], marian_folders.phrases("en", 200)
    command = "distil", *teacher, "--source", files("text", *lines), "--out", tmp_path / "student"
    outcome = pellucid(*command, *SMALL)
    assert outcome.code == 0, outcome.err
    assert json.loads((tmp_path / "student" / "distilled.json").read_text())["teacher"]["chrf"] > 95
    assert pellucid("translate", tmp_path / "student", stdin=b"a b c\n").code == 0


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
@pytest.mark.timeout(1800)
def test_it_goes_on_after_any_signal_and_ends_the_same(
    pellucid: Command, toy_model: Path, files: Files, tmp_path: Path
) -> None:
    """Stopped at random moments, by Ctrl-C or a kill, until it is done."""
    seed = int(os.environ.get("SEED") or random.randrange(10**6))
    print(f"SEED={seed}")
    chance = random.Random(seed)
    text = files("text", *(toy.sentence(chance) for _ in range(3000)))
    command = [toy_model, "--source", text, *SMALL, "--minutes", 1000, "--set", "training.steps=60"]
    began = time.monotonic()
    assert pellucid("distil", *command, "--out", tmp_path / "whole").code == 0
    whole, stops = time.monotonic() - began, 0
    words = ["distil", *map(str, command), "--out", str(tmp_path / "stopped"), "--resume"]
    while True:
        argv, pipe = [sys.executable, "-m", "pellucid", *words], subprocess.PIPE
        process = subprocess.Popen(argv, stderr=pipe, stdout=pipe, text=True)
        try:
            _, said = process.communicate(timeout=3 + chance.uniform(0, whole * (1 + stops / 4)))
        except subprocess.TimeoutExpired:
            stops += 1
            process.send_signal(chance.choice((signal.SIGKILL, signal.SIGINT)))
            _, said = process.communicate()
            assert process.returncode in (0, -signal.SIGKILL, -signal.SIGINT, 130), said
            if "To go on: " in said:
                assert shlex.split(said.rsplit("To go on: ", 1)[1]) == ["pellucid", *words]
            continue
        assert process.returncode == 0, said
        break
    print(f"stopped {stops} times")
    for name in ("said.txt", "train.tsv", "heldout.tsv", "teacher.json"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "stopped" / name).read_bytes()
    assert short_runs.same_run(tmp_path / "whole", tmp_path / "stopped")
