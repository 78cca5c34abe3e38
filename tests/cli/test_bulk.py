"""A file translated into a new one: in every format, and after any kill the same as without."""

import gzip
import json
import os
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import toy
from cases import few
from command import Command, run_python
from full_disk import disk_full_after
from marian_folders import opus

from pellucid.cli import bulk
from pellucid.cli.doubts import Doubts

SOURCES = ["a b c", "", "d\te f", "g h"]
Files = Callable[..., Path]


def packed(path: Path, text: str) -> Path:
    """A file with this text, packed if its name says so."""
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def unpacked(path: Path) -> str:
    return (gzip.decompress if path.suffix == ".gz" else bytes)(path.read_bytes()).decode()


def left_over(out: Path) -> list[str]:
    return sorted(path.name for path in out.parent.iterdir() if "part" in path.name)


@pytest.mark.parametrize("target", ["out.txt", "out.tsv", "out.jsonl.gz"])
@pytest.mark.parametrize("source", ["in", "in.gz", "in.tsv.gz", "in.jsonl"])
def test_formats(pellucid: Command, toy_model: Path, tmp_path: Path, source: str, target: str) -> None:
    records = [{"id": 0.5, "text": text} for text in SOURCES]
    texts = [text.partition("\t")[0] if "tsv" in source else text for text in SOURCES]
    lines = [json.dumps(record) for record in records] if "json" in source else SOURCES
    lines = [lines[0], "", *lines[2:]]  # an empty line, of JSON too, is an empty text
    records[1] = {"text": ""}
    if "json" not in source:
        records = [{"text": text} for text in texts]
    said = pellucid("translate", toy_model, stdin="".join(f"{text}\n" for text in texts).encode()).out
    expected = said
    if "tsv" in target:
        both = zip(texts, said.splitlines(), strict=True)
        expected = "".join(f"{text}\t{each}\n".replace(text, text.replace("\t", " ")) for text, each in both)
    if "json" in target:
        both = zip(records, said.splitlines(), strict=True)
        rows = [record | {"translation": each} for record, each in both]
        expected = "".join(f"{json.dumps(row)}\n" for row in rows)
    out = tmp_path / target
    given = packed(tmp_path / source, "\n".join(lines) + "\n" * ("gz" in source))
    outcome = pellucid("translate", toy_model, "--source", given, "--out", out)
    assert (outcome.code, outcome.out, unpacked(out)) == (0, "", expected)
    assert left_over(out) == []
    packed(given, "")
    assert pellucid("translate", toy_model, "--source", given, "--out", tmp_path / f"no-{target}").code == 0
    assert unpacked(tmp_path / f"no-{target}") == ""


KILLED = """
import os, random, signal, sys
import pellucid.learning.stop, pellucid.translator  # once, for all that follow
from pellucid.cli import bulk, main
from pellucid.folder import whole_file

bulk.BLOCK, chance, kills = 7, random.Random(int(sys.argv[1])), 0
mine, saving = {bulk.__file__, whole_file.__file__}, {"_save", "_write_state", "to_disk"}

def trace(frame, event, argument):
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    return trace

def code_of(argv, moment, only_saving):
    def choose(frame, *_):
        code = frame.f_code
        return trace if code.co_filename in mine and (code.co_name in saving or not only_saving) else None

    global left
    left = moment
    if not (child := os.fork()):
        sys.settrace(choose)
        os._exit(main(argv))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

def moment():  # every other kill comes while a block is saved
    only_saving = kills % 2 == 0
    return chance.randrange(1, 100 if only_saving else 1500) if kills < 12 else 0, only_saving

while (code := code_of(sys.argv[2:], *moment())) == -signal.SIGKILL:
    kills += 1
print(kills)
sys.exit(code)
"""


@pytest.mark.skipif(os.name == "nt", reason="forks")
@pytest.mark.parametrize(
    ("name", "options"),
    few(
        1,
        [
            ("out.gz", "--beam 1"),
            ("out.jsonl", "--sample --temperature 2 --seed 3"),
            ("out", "--beam 3 --n-best 2 --precision int8"),
        ],
    ),
)
def test_killed_at_any_line_of_its_code_it_goes_on_to_the_same_file(
    pellucid: Command, toy_model: Path, files: Files, tmp_path: Path, name: str, options: str
) -> None:
    seed = random.SystemRandom().randrange(1 << 30)
    print("seed:", seed)
    chance = random.Random(seed)
    source = files("in", *(toy.sentence(chance) for _ in range(100)))
    command = "translate", str(toy_model), "--source", str(source), *options.split(), "--out"
    ended = run_python(tmp_path, "-c", KILLED, str(seed), *command, str(tmp_path / name), "--resume")
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) > 0, "it was killed"
    assert left_over(tmp_path / name) == []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bulk, "BLOCK", 7)
        assert pellucid(*command, tmp_path / f"whole-{name}").code == 0
    assert (tmp_path / name).read_bytes() == (tmp_path / f"whole-{name}").read_bytes()


def begin(pellucid: Command, model: Path, source: Path, out: Path, *more: object, blocks: int = 1) -> None:
    """A run that is interrupted after so many blocks of two lines."""
    kept = bulk._save

    def stop(*arguments: object, **now: object) -> None:
        kept(*arguments, **now)  # type: ignore[arg-type]
        if now.get("lines") == 2 * blocks:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bulk, "BLOCK", 2)
        patch.setattr(bulk, "_save", stop)
        assert pellucid("translate", model, "--source", source, "--out", out, *more).code == 130


def test_ctrl_c_says_how_to_go_on(
    pellucid: Command, toy_model: Path, files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    files("in", *SOURCES)
    monkeypatch.setattr(bulk, "_row", stop)
    command = "translate", toy_model, "--source", "in", "--out", "out.txt"
    again = f"pellucid translate {toy_model} --source in --out out.txt --resume"
    told = f"pellucid: interrupted: 0 lines are saved.\nTo go on: {again}\n"
    assert pellucid(*command) == (130, "", told)
    assert pellucid(*command, "--resume") == (130, "", told)
    assert pellucid(*command) == (
        2,
        "",
        "pellucid: out.txt.part: an earlier run did not end. Go on with --resume, or remove this file.\n",
    )
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    assert pellucid(*command, "--resume").code == 0
    assert pellucid(*command, "--resume") == (0, "", COMPLETE)


COMPLETE = "out.txt is complete: nothing is left to do. What made it is not known any more.\n"
NOWHERE = "no/new: cannot be written: No such file or directory. Choose another place."
AGAIN = "Call the command as then, or remove the file to begin anew."
WRONG = [
    ("--source in", 2, "--source and --out belong together, and --resume to both. Give both files."),
    ("--out new", 2, "--source and --out belong together, and --resume to both. Give both files."),
    ("--resume", 2, "--source and --out belong together, and --resume to both. Give both files."),
    ("--source no --out new", 1, "no: no such file."),
    ("--source . --out new", 1, ".: this is a folder. Name a file."),
    (
        "--source in --out -",
        2,
        "--out - : standard output takes no part of --resume. Leave --source and --out out.",
    ),
    ("--source in --out in", 2, "in already exists, and stays as it is. Choose another --out."),
    ("--source in --out no/new", 1, NOWHERE),
    (
        "--source in --out new.tsv.gz --json",
        2,
        "--json and --n-best write a format of their own. Give --out no .tsv.",
    ),
    (
        "--source in --out new.jsonl --n-best 2",
        2,
        "--json and --n-best write a format of their own. Give --out no .jsonl.",
    ),
    (
        "--source bad --out new",
        1,
        "bad:2: not UTF-8: byte 0xff at position 1 of the line. Correct the line, or give --bad-utf8 replace "
        "(U+FFFD for it) or skip (an empty line).",
    ),
    *[
        (f"--source {name}.jsonl --out new", 1, f'{name}.jsonl:1: not an object of JSON with a "text": '
         '{"text": "…"}.')
        for name in ("list", "number", "half", "deep")
    ],
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "code", "message"), WRONG, ids=[each[0] for each in WRONG])
def test_what_cannot_be_is_told_before_the_work(
    pellucid: Command,
    toy_model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: str,
    code: int,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    contents = {"in": "a", "bad": "a\n\udcff", "list.jsonl": "[]", "number.jsonl": '{"text": 1}'}
    contents |= {"half.jsonl": '{"text": "a', "deep.jsonl": "[" * 100_000}
    for name, text in contents.items():
        Path(name).write_bytes(text.encode(errors="surrogateescape"))
    monkeypatch.setattr("pellucid.translator.load", None)
    assert pellucid("translate", toy_model, *arguments.split()) == (code, "", f"pellucid: {message}\n")
    assert Path("in").read_text() == "a" and not Path("new").exists()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            "--beam 3 --no-repeat-ngram-size 2",
            f"out.part was begun with beam = None and no_repeat_ngram_size = None. {AGAIN}",
        ),
        (
            "model",
            f"out.part was begun with another model. {AGAIN}",
        ),
        (
            "source",
            "in: its first 2 lines, which are translated, have changed. Restore them, or remove out.part to "
            "begin anew.",
        ),
        ("less", "out.part.json: missing or damaged. Remove out.part, and begin anew."),
        ("state", "out.part.json: missing or damaged. Remove out.part, and begin anew."),
        ("list", "out.part.json: missing or damaged. Remove out.part, and begin anew."),
        ("settings", "out.part.json: missing or damaged. Remove out.part, and begin anew."),
        ("no state", "out.part.json: missing or damaged. Remove out.part, and begin anew."),
    ],
)
def test_only_the_same_run_goes_on(
    pellucid: Command, toy_model: Path, files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    changed: str, message: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    files("in", *SOURCES)
    part, state = Path("out.part"), Path("out.part.json")
    begin(pellucid, toy_model, Path("in"), Path("out"))
    kept = part.read_bytes()
    if changed == "source":
        files("in", "a b", *SOURCES[1:])
    if changed == "less":
        part.write_bytes(b"")
    if changed in (damaged := {"state": '{"lines"', "list": "[]", "settings": '{"settings": 5, "size": 0}'}):
        state.write_text(damaged[changed])
    if changed == "no state":
        state.unlink()
    model = toy_model / "last" if changed == "model" else toy_model
    options = changed.split() if changed.startswith("--") else []
    outcome = pellucid("translate", model, "--source", "in", "--out", "out", "--resume", *options)
    assert outcome == (1 if "damaged" in message else 2, "", f"pellucid: {message}\n")
    assert changed == "less" or part.read_bytes() == kept


def test_a_translation_inside_the_folder_of_a_foreign_model_goes_on(
    pellucid: Command, files: Files, tmp_path: Path
) -> None:
    model, source = opus(tmp_path / "opus"), files("in", *["a b"] * 5)
    begin(pellucid, model, source, model / "out")
    outcome = pellucid("translate", model, "--source", source, "--out", model / "out", "--resume")
    assert outcome.code == 0 and len((model / "out").read_text().splitlines()) == 5


def test_what_changes_no_translation_may_change(
    pellucid: Command, toy_model: Path, files: Files, tmp_path: Path
) -> None:
    """Also the lines that come later, so that one that ends the run can be mended."""
    source, out = files("in", "a b", "", "ZZ a", "", *["c"] * 20, "ZZ"), tmp_path / "out"
    begin(pellucid, toy_model, source, out)
    moved = source.rename(tmp_path / "moved")
    files("moved", "a b", "", "ZZ c", "d", *["c"] * 20, "ZZ")
    with (tmp_path / "out.part").open("ab") as file:
        file.write(b"half a li")  # of which the record knows nothing
    more = "--resume", "--memory", 300, "--batch-tokens", 10
    outcome = pellucid("translate", toy_model, "--source", moved, "--out", out, *more)
    assert outcome.code == 0 and outcome.err.startswith(
        f"pellucid: warning: {moved}:3, 25: the model has no "
    )
    expected = pellucid("translate", toy_model, stdin=moved.read_bytes()).out
    assert out.read_text("utf-8") == expected


@pytest.mark.parametrize("options", ["--json", "--beam 2 --n-best 2", "--bad-utf8 skip"])
def test_options_write_what_standard_output_has(
    pellucid: Command, toy_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: str
) -> None:
    monkeypatch.setattr(bulk, "BLOCK", 2)
    source, out = tmp_path / "in", tmp_path / "out"
    source.write_bytes(b"\xef\xbb\xbfa b\r\n\nc" + b" \xff\nd e\n" * ("skip" in options))
    command = "translate", toy_model, *options.split()
    assert pellucid(*command, "--source", source, "--out", out).code == 0
    assert out.read_text("utf-8") == pellucid(*command, stdin=source.read_bytes()).out


def test_a_line_that_ends_the_command_is_named(
    pellucid: Command, files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files("in", *[">>es<< I like cats"] * 3, "I like cats")
    monkeypatch.setattr(bulk, "BLOCK", 2)
    outcome = pellucid("translate", "demo", "--source", "in", "--out", "out")
    assert outcome.code == 2 and outcome.err == (
        "in:4: the command ends at this line. What is saved stays.\n"
        "pellucid: the model translates to hi, en, es, fr: say which, with --to hi.\n"
    )
    files("in", *[">>es<< I like cats"] * 4)
    assert pellucid("translate", "demo", "--source", "in", "--out", "out", "--resume").code == 0
    assert Path("out").read_text() == "Me gustan los gatos\n" * 4


def test_on_a_full_disk_what_is_saved_stays(
    pellucid: Command, toy_model: Path, files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(bulk, "BLOCK", 2)
    files("in", *["a b c d e f g h i j k l m n o p"] * 100)
    command = "translate", toy_model, "--source", "in", "--out", "out", "--beam", 1, "--resume"
    with disk_full_after(900):
        full = pellucid(*command)
    assert full == (
        1,
        "",
        "pellucid: out.part: cannot be written: File too large. What is saved stays. Make room, and go on "
        "with --resume.\n",
    )
    lines = json.loads(Path("out.part.json").read_bytes())["lines"]
    assert 0 < lines < 100
    assert pellucid(*command).code == 0
    assert Path("out").read_text() == pellucid(*command[:2], "--beam", 1, stdin=Path("in").read_bytes()).out


def test_a_second_command_waits_for_its_turn(
    pellucid: Command, toy_model: Path, files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While one translates, and also when it is nearly done, another is refused and spoils nothing."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(bulk, "BLOCK", 2)
    files("in", *SOURCES)
    command = "translate", toy_model, "--source", "in", "--out", "out"
    kept, second = bulk._save, []

    def save(*arguments: object, **now: object) -> None:
        kept(*arguments, **now)  # type: ignore[arg-type]
        second.append(pellucid(*command, "--resume"))

    monkeypatch.setattr(bulk, "_save", save)
    assert pellucid(*command).code == 0
    told = "out.part: another command is writing this file. Let it end."
    assert [outcome[:] for outcome in second] == [(1, "", f"pellucid: {told}\n")] * 3
    assert Path("out").read_text() == pellucid(*command[:2], stdin=Path("in").read_bytes()).out
    assert left_over(tmp_path / "out") == []


def test_the_time_that_is_left_is_that_of_the_characters_that_are_left(
    pellucid: Command, toy_model: Path, files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second for each line: after two of three short ones, a line of 40 characters takes 20 seconds."""
    now = [0.0]

    def second(*_: object) -> list[str]:
        now[0] += 1
        return ["x"]

    source = files("in", "a", "b", "c" * 39)
    monkeypatch.setattr(bulk, "EVERY", 2.0)
    monkeypatch.setattr(bulk, "_row", second)
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    outcome = pellucid("translate", toy_model, "--source", source, "--out", tmp_path / "out", "--beam", 1)
    assert outcome.err.splitlines()[0] == "2/3 lines  1.0 lines/s  0:00:20 left"


def test_however_many_doubts_there_are_few_are_kept() -> None:
    doubts = Doubts(None, "in", None)  # type: ignore[arg-type]
    for number in range(5000):
        doubts.add_unknown([f"word{number}", "again"])
    kept = [*doubts._found.values(), doubts._unknown]
    assert max(map(len, kept)) <= 1000
