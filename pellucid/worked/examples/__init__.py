"""Worked examples of the notes, and of users: numbers in a TOML or JSON file, computed and judged."""

import json
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from pellucid.errors import PellucidError, UsageError, did_you_mean
from pellucid.folder.whole_file import write
from pellucid.seeing.viewed import page
from pellucid.worked.attention import MATRICES, attention
from pellucid.worked.check import Report
from pellucid.worked.claims import number, read_claims
from pellucid.worked.parts import NEEDED, OPTIONAL, PART_MATRICES, PART_STAGES, work_out_part
from pellucid.worked.stages import product
from pellucid.worked.worked_example import WorkedExample

OF_ATTENTION = ("heads", "scale", "mask", "tokens", "memory_tokens")
SETTINGS = (*OF_ATTENTION, "scaled", "vocabulary")
TEXTS = ("about", "note", "lines")
TABLES = ("given", "claims", "at", "called")
ELIDED = re.compile(r"…\s*(\d{1,4})\s*×\s*(\d{1,4})")  # "… 8×4": known shape, unknown numbers
FOLDER = resources.files(__name__)
FILES = {
    file.name.removesuffix(".toml"): file
    for file in (*FOLDER.iterdir(), *(FOLDER / "parts").iterdir())
    if file.name.endswith(".toml")
}


@dataclass(frozen=True)
class Product:
    """A matrix product as somebody writes it, and whether its shapes can be multiplied."""

    written: str
    left: tuple[int, int]
    right: tuple[int, int]
    lines: str = ""

    def __str__(self) -> str:
        (rows, inner), (other, columns) = self.left, self.right
        if inner == other:
            return product(f"{rows}×{inner}", f"{other}×{columns}", f"{rows}×{columns}")
        return f"({rows}×{inner})·({other}×{columns}) does not multiply: {inner} columns, {other} rows"


@dataclass(frozen=True)
class Example:
    """Numbers to compute from, with claims about the results."""

    name: str
    arguments: Mapping[str, Any]  # of `attention`, or of `work_out_part`
    about: str = ""
    note: str = ""
    lines: str = ""
    claims: Mapping[str, Any] = field(default_factory=dict)
    decimals: int | None = None
    at: Mapping[str, str] = field(default_factory=dict)  # the note's lines with each claim
    called: Mapping[str, str] = field(default_factory=dict)  # the note's name of a stage
    products: Sequence[Product] = ()

    @property
    def is_part(self) -> bool:
        """Tell whether the example is not about attention, but about embeddings, a feed-forward network, or
        Add & Norm."""
        return not {"ids", "w_1", "sublayer"}.isdisjoint(self.arguments)

    def worked(self) -> WorkedExample:
        """Compute and return every stage."""
        return work_out_part(self.arguments) if self.is_part else attention(**self.arguments)

    def report(self) -> Report:
        """Return the verdict on every claim."""
        return attention(**self.arguments).check(self.claims, self.decimals)

    def to_html(self, path: str | Path) -> None:
        """Write a page that needs no network. The page of an attention has a form to change the numbers."""
        write(path, page(self).encode("utf-8", "replace"))


def names() -> list[str]:
    """Return the names of the examples that come with the package."""
    return sorted(FILES)


def example(name: str) -> Example:
    """Return the example of this name that comes with the package; raise UsageError if there is none."""
    return _example(name, _table(name), name)


def read_example(path: str | Path) -> Example:
    """Read an example from a TOML file, or from the JSON that the page's form writes."""
    file = Path(path)
    kind = "JSON" if file.suffix == ".json" else "TOML"
    try:
        text = file.read_text(encoding="utf-8-sig")
        table = json.loads(text) if kind == "JSON" else tomllib.loads(text)
    except OSError as error:
        raise PellucidError(
            f"{path}: cannot be read: {error.strerror}. Give the path of a TOML file with a [given] table."
        ) from None
    except (ValueError, RecursionError) as error:
        raise PellucidError(f"{path}: not {kind}: {error}. Correct it there.") from None
    return _example(file.stem, table, str(path))


def _table(name: str) -> dict[str, Any]:
    if not isinstance(name, str) or name not in FILES:
        near = did_you_mean(name, FILES)
        raise UsageError(f'no example is called "{name}".{near} All: pellucid example --list.')
    return tomllib.loads(FILES[name].read_text(encoding="utf-8"))


def _with_like(table: dict[str, Any]) -> dict[str, Any]:
    """Return a table with the inputs and settings that it leaves out, of the example that it is `like`."""
    if "like" not in table:
        return table
    base = _with_like(_table(table["like"]))
    taken = {key: base[key] for key in (*SETTINGS, "called") if key in base}
    return {**taken, **table, "given": {**base["given"], **table.get("given", {})}}


def _example(name: str, table: dict[str, Any], where: str) -> Example:
    """Make an example from the table of its file. Raise an error for unknown names, and for names that are of
    another kind of example, because they would silently have no effect."""
    if not isinstance(table, dict):
        raise UsageError(f'{where}: it is not a table. Write {{"given": {{"queries": [[…], …], …}}}}.')
    for key in TABLES:
        if not isinstance(table.get(key, {}), dict):
            raise UsageError(f"{where}: {key} must be a table, which begins with a line [{key}].")
    table = _with_like(table)
    known = (*SETTINGS, *TEXTS, *TABLES, "like", "decimals", "products", "name")
    for given, listed in ((table, known), (table.get("given", {}), (*MATRICES, *PART_MATRICES))):
        if unknown := next((key for key in given if key not in listed), None):
            near = did_you_mean(unknown, listed) or f" There are: {', '.join(listed)}."
            raise UsageError(f"{where}: {unknown} is not known.{near}")
    if not table.get("given"):
        raise UsageError(
            f"{where}: nothing is given. Write [given] and, in it, queries = [[…], …] and so on."
        )
    _refuse_idle(table, where)
    arguments = {key: _matrix(value, f"{where}: {key}") for key, value in table["given"].items()}
    arguments |= {key: None if table[key] == "none" else table[key] for key in SETTINGS if key in table}
    if isinstance(arguments.get("mask"), list):
        arguments["mask"] = _matrix(arguments["mask"], f"{where}: mask")
    try:
        products = [Product(**entry) for entry in table.get("products", ())]
        list(map(str, products))
    except (TypeError, ValueError):
        shape = '{ written = "A · B", left = [2, 3], right = [3, 4] }'
        raise UsageError(f"{where}: products must be a list of tables such as {shape}.") from None
    texts: dict[str, Any] = {key: str(table[key]) for key in TEXTS if key in table}
    tables = {key: table[key] for key in ("decimals", "claims", "at", "called") if key in table}
    read = Example(name, arguments, products=products, **texts, **tables)
    if read.is_part:
        read_claims(read.claims, 1, read.decimals, dict.fromkeys(PART_STAGES, ""))
    return read


def _refuse_idle(table: dict[str, Any], where: str) -> None:
    """Raise an error for a matrix or a setting of another kind of example: it would have no effect."""
    kind = next((first for first in NEEDED if first in table["given"]), None)
    used = (kind, *NEEDED[kind], *OPTIONAL[kind], "tokens") if kind else (*MATRICES, *OF_ATTENTION)
    given = (*table["given"], *(key for key in SETTINGS if key in table))
    if idle := next((key for key in given if key not in used), None):
        what = f"an example with {kind}" if kind else "an attention"
        listed = ", ".join(used)
        raise UsageError(f"{where}: {idle} has no effect in {what}, which has: {listed}. Leave it out.")


def _matrix(value: Any, where: str) -> Any:
    """Return a value as numbers: "…" becomes NaN, and "… 8×4" becomes 8 rows of 4 NaN."""
    if isinstance(value, list):
        return [_matrix(entry, where) for entry in value]
    if isinstance(value, str) and (shape := ELIDED.fullmatch(value)):
        return [[math.nan] * int(shape[2]) for _ in range(int(shape[1]))]
    return value if isinstance(value, bool) else number(value, 0, where)[0]
