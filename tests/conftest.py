"""What every test starts from: one thread, so that processes can run side by side and sums have one order."""

import io
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import toy
from browser import chromium
from command import Command, Outcome

from pellucid.cli import main
from pellucid.learning.run import train

pytest_plugins = ["readings"]  # explanations of the tiny translator, as fixtures
torch.set_num_threads(1)
os.environ["OMP_NUM_THREADS"] = "1"  # the same in processes that tests start
# Under nohup, or as a job in the background, a process ignores signals that tests send.
signal.signal(signal.SIGINT, signal.default_int_handler)
HANG_UP = [signal.SIGHUP] if os.name != "nt" else []
for each in HANG_UP:
    signal.signal(each, signal.SIG_DFL)


SECONDS = 60  # of a processor, after which a test that is not marked slow is stopped


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Stop a test that computes without end. Unlike pytest's time limit, this one does not count waiting, so
    that a busy computer fails no test."""

    def stop(*_: object) -> None:
        pytest.fail(f"it took more than {SECONDS} seconds of a processor: is there an end, or is it slow?")

    if item.get_closest_marker("slow") or not hasattr(signal, "setitimer"):
        return (yield)
    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


@pytest.fixture(scope="session")
def toy_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small model that has learned, not very well, to reverse letters; read it only."""
    folder = tmp_path_factory.mktemp("toy")
    return train(toy.write(folder), folder / "model", device="cpu")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A real browser for pages. While it is open, an event loop runs in the tests' thread."""
    with chromium() as browser:
        yield browser


@pytest.fixture
def pellucid(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Command:
    """Runs a command line: pellucid("translate", "demo", stdin=b"…")."""

    def run(*argv: object, stdin: bytes = b"") -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), "ascii"))
        handlers = {each: signal.getsignal(each) for each in (signal.SIGINT, *HANG_UP)}
        try:
            code = main([str(argument) for argument in argv])
        except SystemExit as stop:  # argparse's own
            code = int(stop.code or 0)
        finally:  # `serve` changes them for its process, which is the tests' own here
            for each, handler in handlers.items():
                signal.signal(each, handler)
        captured = capsysbinary.readouterr()
        return Outcome(code, captured.out.decode(), captured.err.decode())

    return run


@pytest.fixture
def files(tmp_path: Path) -> Callable[..., Path]:
    """Writes a file of lines and returns its path."""

    def write(name: str, *lines: str) -> Path:
        path = tmp_path / name
        path.write_bytes("".join(f"{line}\n" for line in lines).encode())
        return path

    return write
