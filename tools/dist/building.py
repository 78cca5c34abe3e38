"""The sdist of what git tracks, and a wheel for each system, made from the unpacked sdist: what it lacks, they lack."""

import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

from hatch_build import TARGETS

ROOT = Path(__file__).parents[2]


class Refused(Exception):
    """Why a package must not be released."""


def expect(holds: bool, otherwise: str) -> None:
    """Raise an error unless something holds."""
    if not holds:
        raise Refused(otherwise)


def build_sdist(out: Path) -> Path:
    """Build the sdist into an emptied folder."""
    shutil.rmtree(out, ignore_errors=True)
    return _build(ROOT, "sdist", out)


def build_wheels(sdist: Path, out: Path, folder: Path) -> Iterator[tuple[str, Path]]:
    """Build the wheels, one after the other; give each with the name of its system."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (source,) = folder.iterdir()
    cache = str(ROOT / "build" / "zig")  # for what each system's library is linked with
    for target in TARGETS:
        yield target, _build(source, "wheel", out, PELLUCID_TARGET=target, ZIG_GLOBAL_CACHE_DIR=cache)


def _build(source: Path, kind: str, out: Path, **environment: str) -> Path:
    before = set(out.glob("*"))
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(out)]
    run(command, source, **environment)
    (built,) = set(out.glob("*")) - before
    return built


def run(command: list[str], folder: Path, given: str | None = None, **environment: str) -> str:
    """Run a command; return what it printed, or raise an error with what it said if it failed."""
    ended = subprocess.run(
        command, cwd=folder, env=os.environ | environment, input=given, capture_output=True, encoding="utf-8"
    )
    expect(ended.returncode == 0, f"{' '.join(command)}: {ended.stdout}{ended.stderr}")
    return ended.stdout
