"""The command line as a process: signals, pipes, locales, places without a home or a network."""

import fcntl
import json
import os
import random
import shlex
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import IO

import pytest
import toy
from cases import few
from network import NO_NETWORK

import pellucid
from pellucid.cli.streams import Display

ROOT = str(Path(pellucid.__file__).parents[1])
HERE = {**os.environ, "PYTHONPATH": ROOT, "PYTHONUNBUFFERED": ""}  # as a user's shell has it, with buffers
NOWHERE = os.devnull + "/home"  # inside a file: not writable, for root neither
ASCII_ONLY = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
ALONE = NO_NETWORK + "from pellucid.cli import main; sys.exit(main(sys.argv[1:]))"


def start(*arguments: object, cwd: Path | None = None, **environment: str) -> subprocess.Popen[bytes]:
    """`pellucid ARGUMENTS` without a network or a home."""
    return subprocess.Popen(
        [sys.executable, "-c", ALONE, *map(str, arguments)],
        cwd=cwd,
        env={**HERE, "HOME": NOWHERE, "XDG_CACHE_HOME": NOWHERE, **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def finish(process: subprocess.Popen[bytes], stdin: bytes = b"") -> tuple[int, str, str]:
    """Exit code, standard output, standard error."""
    out, err = process.communicate(stdin, timeout=120)
    return process.returncode, out.decode(), err.decode()


def pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


def test_any_locale_has_utf8_text_arguments_and_paths(toy_model: Path, tmp_path: Path) -> None:
    folder, file = tmp_path / "mon modèle हिन्दी", tmp_path / "été हिन्दी.json"
    folder.symlink_to(toy_model)
    code, out, err = finish(start("translate", folder, **ASCII_ONLY), "a b c\nआप ऐ\n".encode())
    assert code == 0 and out.count("\n") == 2
    assert err.startswith("pellucid: warning: standard input:2: the model has no word 'आप'.")
    code, out, err = finish(start("explain", folder, "a b", "--json", file, **ASCII_ONLY))
    assert (code, err) == (0, f"written: {file}\n") and file.exists() and "cross_attention" in out


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the size of a pipe is not known")
def test_pipes_that_do_not_wait_lose_nothing(toy_model: Path) -> None:
    """Some callers set their pipes so; a read then finds nothing yet, and a write no room."""
    ours, to_us, from_us, theirs = *os.pipe(), *os.pipe()
    fcntl.fcntl(theirs, fcntl.F_SETPIPE_SZ, 16384)  # soon full
    for end in (ours, theirs):
        os.set_blocking(end, False)
    line = [sys.executable, "-m", "pellucid", "translate", str(toy_model), "--beam", "1", "--json"]
    with subprocess.Popen(line, env=HERE, stdin=ours, stdout=theirs) as process:
        os.close(ours)
        os.close(theirs)
        with os.fdopen(to_us, "wb", 0) as asked, os.fdopen(from_us, "rb") as answered:
            asked.write(b"a b c\n")
            found = answered.readline()
            time.sleep(0.1)  # it tries to read, and there is nothing
            asked.write(b"a b c\n" * 300)
            asked.close()
            room = fcntl.fcntl(from_us, fcntl.F_GETPIPE_SZ) - 4096
            while struct.unpack("i", fcntl.ioctl(from_us, termios.FIONREAD, bytes(4)))[0] < room:
                time.sleep(0.01)
            time.sleep(0.1)  # it tries to write, and there is no room
            found += answered.read()
    assert process.returncode == 0 and len(found) > 20_000
    assert found.count(b"\n") == 301


def test_an_example_alone_knows_how_it_is_shown() -> None:
    """What no translator is loaded for: the views are registered all the same."""
    code, out, err = finish(start("example", "004-mask-4", "--stage", "weights"))
    assert (code, err) == (0, "") and out.startswith("weights  ")


def test_a_pipe_is_answered_as_it_speaks(toy_model: Path) -> None:
    with start("translate", toy_model) as process:
        for line in (b"a b c\n", b"d e\n"):
            pipe(process.stdin).write(line)
            pipe(process.stdin).flush()
            assert pipe(process.stdout).readline().endswith(b"\n")
        assert finish(process) == (0, "", "")


@pytest.mark.parametrize(
    ("signalled", "code", "told"),
    [(True, 130, b"pellucid: interrupted.\n"), (False, 0, b"")],
    ids=["Ctrl-C", "its reader left"],
)
def test_while_it_waits_for_a_line_it_can_end(
    toy_model: Path, signalled: bool, code: int, told: bytes
) -> None:
    with start("translate", toy_model) as process:
        pipe(process.stdin).write(b"a b c\n")
        pipe(process.stdin).flush()
        assert pipe(process.stdout).readline()
        if signalled:
            process.send_signal(signal.SIGINT)
        else:
            pipe(process.stdout).close()
            pipe(process.stdin).write(b"a b c\n")
            pipe(process.stdin).flush()
        assert (process.wait(60), pipe(process.stderr).read()) == (code, told)


INTERRUPTED = """
import os, signal, sys
class Finder:
    left = int(sys.argv.pop(1))
    def find_spec(self, name, path=None, target=None):
        self.left -= name.startswith(("torch", "numpy"))
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
from pellucid.cli import main
sys.exit(main(["translate", sys.argv[1]]))
"""


def test_ctrl_c_at_any_moment_of_the_import_ends_it(toy_model: Path) -> None:
    seed = random.randrange(1000)
    print(f"seed {seed}")
    for module in random.Random(seed).sample(range(1, 800), 4):  # of the modules of torch and NumPy
        line = [sys.executable, "-c", INTERRUPTED, str(module), str(toy_model)]
        ended = subprocess.run(line, env=HERE, input=b"a b c\n", capture_output=True)
        assert (ended.returncode, ended.stdout, ended.stderr) == (130, b"", b"pellucid: interrupted.\n")


def test_a_reader_that_leaves_early_is_no_error(toy_model: Path) -> None:
    with start("translate", toy_model, "--beam", "1", "--max-length", "2") as process:
        pipe(process.stdin).write(b"a b c\n" * 10)
        pipe(process.stdin).flush()
        pipe(process.stdout).readline()
        pipe(process.stdout).close()
        pipe(process.stdin).write(b"a b c\n" * 10)
        pipe(process.stdin).close()
        assert pipe(process.stderr).read() == b""
        assert process.wait(120) == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    ("verb", "redirection", "message"),
    [
        ("translate", "> /dev/full", "standard output: No space left on device."),
        ("explain", "'a b' > /dev/full", "standard output: No space left on device."),
        ("translate", ">&-", "standard output is closed. Give the command one, such as > FILE."),
    ],
)
def test_output_that_cannot_be_written_is_code_1(
    toy_model: Path, verb: str, redirection: str, message: str
) -> None:
    command = shlex.join([sys.executable, "-m", "pellucid", verb, str(toy_model)])
    script = ["bash", "-c", f"{command} {redirection}"]
    result = subprocess.run(script, env=HERE, input=b"a b\n", capture_output=True, timeout=120)
    assert (result.returncode, result.stderr.decode()) == (1, f"pellucid: {message}\n")


@pytest.mark.skipif(os.name == "nt", reason="needs a shell of Unix")
@pytest.mark.parametrize("lost", few(1, ["2> >(exec true)", "2>&-"]), ids=["its reader left", "closed"])
def test_a_training_goes_on_when_nobody_can_read_how_it_goes(tmp_path: Path, lost: str) -> None:
    command = [sys.executable, "-m", "pellucid", "train", str(toy.write(tmp_path)), "--out"]
    command += [str(tmp_path / "out"), "--set", "training.steps=4", "--set", "training.validate_every=1"]
    wait = "sleep 0.5; " if "true" in lost else ""
    script = f"{{ {wait}exec {shlex.join(command)}; }} {lost}"
    result = subprocess.run(["bash", "-c", script], env=HERE, capture_output=True, timeout=120)
    assert (result.returncode, result.stdout) == (0, b"")
    assert (tmp_path / "out" / "MANIFEST.json").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_display_loses_what_cannot_be_written(tmp_path: Path) -> None:
    with Display("/dev/full", "wb") as full:
        assert full.write(b"abc") == 3
    with Display(tmp_path / "file", "wb") as file:
        assert file.write(b"abc") == 3
    assert (tmp_path / "file").read_bytes() == b"abc"


@pytest.mark.parametrize(("stop", "by"), few(1, [(signal.SIGINT, ""), (signal.SIGTERM, " by SIGTERM")]))
def test_a_signal_saves_and_says_how_to_go_on(tmp_path: Path, stop: signal.Signals, by: str) -> None:
    config, out = toy.write(tmp_path / "my data"), tmp_path / "my run"
    endless = ["train", config]
    for name in ("steps", "checkpoint_every"):
        endless += ["--set", f"training.{name}=1000000"]
    process = start(*endless, "--out", out)
    deadline = time.monotonic() + 100
    while process.poll() is None and time.monotonic() < deadline and not lines_of(out / "metrics.jsonl"):
        time.sleep(0.05)
    process.send_signal(stop)
    code, _, err = finish(process)
    assert code == 128 + stop, err
    step = json.loads(lines_of(out / "metrics.jsonl")[-1])["step"]
    assert f"pellucid: stopped{by} at step {step}; everything is saved in {out}." in err
    assert "Traceback" not in err
    words = f"pellucid train '{config}' --set training.steps=1000000 --set training.checkpoint_every=1000000 "
    assert err.endswith(f"{words}--out '{out}' --resume\n")
    if stop == signal.SIGINT:
        longer = "--set", f"training.steps={step + 2}"
        code, _, err = finish(start("train", config, *longer, "--out", out, "--resume"))
        assert code == 0 and f"going on from step {step}\n" in err
        assert json.loads(lines_of(out / "metrics.jsonl")[-1])["step"] == step + 2


def lines_of(path: Path) -> list[str]:
    """The complete lines of a file that may not be there yet."""
    return path.read_text("utf-8").split("\n")[:-1] if path.exists() else []
