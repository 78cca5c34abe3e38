"""A package as a stranger installs it: into an empty environment, with nothing but what it depends on."""

import os
import subprocess
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

from tools.dist.building import Refused, expect, run
from tools.dist.contents import KERNELS

TRIED = (
    (("translate", "demo", "--to", "hi"), "How are you\n", "आप कैसे हैं\n"),
    (("translate", "demo", "--to", "hi", "--precision", "int8"), "How are you\n", "आप कैसे हैं\n"),
    (("explain", "demo", "I like cats", "--to", "es", "--html", "cats.html"), None, "gatos"),
    (("demo", "--no-train", "--out", "tour"), None, "how-are-you.html"),
)


def version_of(python: str) -> str | None:
    """Return the version of an interpreter, such as "3.12.1"; None if there is no such program."""
    asked = [python, "-c", "import platform; print(platform.python_version())"]
    try:
        return subprocess.check_output(asked, text=True, stderr=subprocess.DEVNULL).strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def try_wheel(python: str, wheel: Path) -> Iterator[str]:
    """Install the wheel and use it; say what took how many seconds."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command, began = _environment(python, folder), time.monotonic()
        run([command, "-m", "pip", "install", "--quiet", str(wheel.resolve())], folder)
        run([command, "-m", "pip", "check"], folder)
        installed = run([command, "-m", "pip", "list", "--format=freeze"], folder).splitlines()
        (torch,) = (each.partition("==")[2] for each in installed if each.startswith("torch=="))
        yield f"installed in {time.monotonic() - began:.0f} s: {len(installed)} packages, torch {torch}"
        for arguments, given, expected in TRIED:
            began = time.monotonic()
            said = run([str(folder / "venv" / "bin" / "pellucid"), *arguments], folder, given, **_empty(folder))
            expect(expected in said, f"pellucid {' '.join(arguments)}: no {expected!r} in {said!r}")
            yield f"{time.monotonic() - began:.1f} s: pellucid {' '.join(arguments)}"


def try_sdist(python: str, sdist: Path, wheel: Path) -> str:
    """Build a wheel from the sdist as pip does where no wheel fits: its kernels are the same, bit for bit."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = _environment(python, folder)
        run([command, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(sdist)], folder)
        (built,) = folder.glob("*.whl")
        kernels = [zipfile.ZipFile(each).read(KERNELS) for each in (built, wheel)]
    expect(kernels[0] == kernels[1], "built again from the sdist, the kernels are others")
    return "pip builds a wheel from it, whose kernels are those of ours, bit for bit"


def _environment(python: str, folder: Path) -> str:
    """Make an empty environment; return its interpreter."""
    try:
        run([python, "-m", "venv", str(folder / "venv")], folder)
    except OSError as error:
        raise Refused(f"{python}: {error}") from error
    return str(folder / "venv" / "bin" / "python")


def _empty(folder: Path) -> dict[str, str]:
    """Return an environment in which nothing else of ours is found."""
    return {"HOME": str(folder), "PYTHONPATH": "", "PATH": os.defpath, "PYTHONUTF8": "1"}
