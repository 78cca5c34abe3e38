"""The command line as tests call it: its exit code, its standard output, its standard error."""

import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

TABLE = tomllib.loads(files("pellucid.cli").joinpath("verbs.toml").read_text("utf-8"))
VERBS = [name for name in TABLE if name != "shared"]


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Command = Callable[..., Outcome]


def run_python(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A new process of Python in a folder, which finds this repository's package: `python -c code …`."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])} | environment,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
