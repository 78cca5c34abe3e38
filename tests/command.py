"""The command line as tests call it: its exit code, its standard output, its standard error."""

import tomllib
from collections.abc import Callable
from importlib.resources import files
from typing import NamedTuple

TABLE = tomllib.loads(files("pellucid.cli").joinpath("verbs.toml").read_text("utf-8"))
VERBS = [name for name in TABLE if name != "shared"]


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Command = Callable[..., Outcome]
