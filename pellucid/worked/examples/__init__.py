"""The notes' worked examples, and anybody's own: numbers in a TOML file, worked out and judged."""

import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from pellucid.config.nearest import nearest
from pellucid.errors import PellucidError, UsageError
from pellucid.worked.attention import MATRICES, attention
from pellucid.worked.check import Report
from pellucid.worked.claims import number
from pellucid.worked.stages import product
from pellucid.worked.worked_example import WorkedExample

SETTINGS = ("heads", "scale", "mask", "tokens", "memory_tokens")
TEXTS = ("like", "about", "note", "lines", "decimals")
TABLES = ("given", "claims", "at", "called", "products")
ELIDED = re.compile(r"…\s*(\d+)\s*×\s*(\d+)")  # "… 8×4": a matrix of which only the shape is known
CELLS = 1_000_000  # of such a matrix: a slip of the keyboard should be told before memory runs out


@dataclass(frozen=True)
class Product:
    """A product as somebody writes it, and whether its shapes multiply."""

    written: str
    lines: str
    left: tuple[int, int]
    right: tuple[int, int]

    def __str__(self) -> str:
        left, right = (f"{rows}×{columns}" for rows, columns in (self.left, self.right))
        if self.left[1] == self.right[0]:
            return product(left, right, f"{self.left[0]}×{self.right[1]}")
        return f"({left})·({right}) does not multiply: {self.left[1]} columns, {self.right[0]} rows"


@dataclass(frozen=True)
class Example:
    """An attention to work out, with the claims that are made about it."""

    name: str
    arguments: Mapping[str, Any]  # of `attention`
    about: str = ""
    note: str = ""
    lines: str = ""
    claims: Mapping[str, Any] = field(default_factory=dict)
    decimals: int | None = None
    at: Mapping[str, str] = field(default_factory=dict)  # the note's lines with each claim
    called: Mapping[str, str] = field(default_factory=dict)  # the note's name of a stage
    products: Sequence[Product] = ()

    def worked(self) -> WorkedExample:
        """Every stage."""
        return attention(**self.arguments)

    def report(self) -> Report:
        """The verdict on every claim."""
        return self.worked().check(self.claims, self.decimals)

    def to_html(self, path: str | Path) -> None:
        """One page that needs no network: plates, claims with their verdicts, and a form to change them."""
        from pellucid.folder.whole_file import write
        from pellucid.page.worked_document import worked_page

        write(path, worked_page(self).encode("utf-8", "replace"))


def names() -> list[str]:
    """The examples that come with the package."""
    files = (resources.files(__name__) / "").iterdir()
    return sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml"))


def example(name: str) -> Example:
    """An example that comes with the package."""
    return _example(name, _table(name), name)


def read_example(path: str | Path) -> Example:
    """Anybody's own example, from a TOML file."""
    try:
        table = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise PellucidError(
            f"{path}: no such file. Give the path of a TOML file with a [given] table."
        ) from None
    except IsADirectoryError:
        raise PellucidError(f"{path}: a folder. Give the path of a TOML file with a [given] table.") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise PellucidError(f"{path}: not TOML: {error}. Mend it there.") from None
    return _example(Path(path).stem, _with_base(table), str(path))


def _table(name: str) -> dict[str, Any]:
    if name not in names():
        near = nearest(name, names(), cutoff=0.4)
        raise UsageError(
            f'no example is called "{name}". '
            + (f"Nearest: {', '.join(near)}. All: " if near else "All: ")
            + "pellucid example --list."
        )
    file = resources.files(__name__) / f"{name}.toml"
    return _with_base(tomllib.loads(file.read_text(encoding="utf-8")))


def _with_base(table: dict[str, Any]) -> dict[str, Any]:
    """`like` another example: what it gives and its settings, except where this one says otherwise."""
    if "like" not in table:
        return table
    if not isinstance(table.get("given", {}), dict) or not isinstance(table["like"], str):
        raise UsageError('like = "004-self" names an example, and [given] is a table of matrices.')
    base = {
        key: value for key, value in _table(table["like"]).items() if key in (*SETTINGS, "given", "called")
    }
    return {**base, **table, "given": {**base["given"], **table.get("given", {})}}


def _example(name: str, table: Mapping[str, Any], where: str) -> Example:
    _known(table, (*SETTINGS, *TEXTS, *TABLES), where)
    for key in ("given", "claims", "at", "called"):
        if not isinstance(table.get(key, {}), dict):
            raise UsageError(f"{where}: {key} must be a table: [{key}].")
    if not table.get("given"):
        raise UsageError(
            f"{where}: nothing is given. Write [given] and, in it, queries = [[…], …] and so on."
        )
    _known(table["given"], MATRICES, f"{where}: [given]")
    arguments = {key: _matrix(value, f"{where}: {key}") for key, value in table["given"].items()}
    for key in SETTINGS:
        if key in table and table[key] != "none":
            arguments[key] = table[key]
        elif table.get(key) == "none":
            arguments[key] = None
    if isinstance(arguments.get("mask"), list):
        arguments["mask"] = _matrix(arguments["mask"], f"{where}: mask")
    _check_texts(table, where)
    products = [_product(entry, where) for entry in table.get("products", ())]
    texts = {
        key: table[key]
        for key in ("about", "note", "lines", "decimals", "claims", "at", "called")
        if key in table
    }
    return Example(name, arguments, products=products, **texts)


def _check_texts(table: Mapping[str, Any], where: str) -> None:
    for key in ("tokens", "memory_tokens"):
        words = table.get(key, [])
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise UsageError(f'{where}: {key} must be a list of words, ["Me", "gustan"].')
    for key in ("about", "note", "lines"):
        if not isinstance(table.get(key, ""), str):
            raise UsageError(f'{where}: {key} = {table[key]!r} must be text: {key} = "…".')
    for key in ("at", "called"):
        for name, said in table.get(key, {}).items():
            if not isinstance(said, str):
                raise UsageError(f'{where}: [{key}] {name} = {said!r} must be text: {name} = "…".')
    if not isinstance(table.get("products", []), list):
        raise UsageError(f"{where}: products must be tables: [[products]].")


def _product(entry: Mapping[str, Any], where: str) -> Product:
    try:
        (a, b), (c, d) = entry["left"], entry["right"]
        return Product(str(entry["written"]), str(entry.get("lines", "")), (int(a), int(b)), (int(c), int(d)))
    except (KeyError, TypeError, ValueError):
        raise UsageError(
            f'{where}: a product is written = "W_O · Concat", left = [8, 8], right = [2, 8].'
        ) from None


def _known(table: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for key in table:
        if key not in known:
            near = nearest(key, known, n=2, cutoff=0.5)
            raise UsageError(
                f"{where}: {key} is not known. {'Nearest' if near else 'Known'}: {', '.join(near or known)}."
            )


def _matrix(value: Any, where: str) -> Any:
    """Numbers, with NaN for "…"."""
    if isinstance(value, bool):
        return value
    if isinstance(value, list):
        return [_matrix(entry, where) for entry in value]
    if isinstance(value, str) and (shape := ELIDED.fullmatch(value)):
        if max(map(len, shape.groups())) > 7 or (rows := int(shape[1])) * (columns := int(shape[2])) > CELLS:
            raise UsageError(
                f'{where}: "{value:.40}" is too large for an example. Give {CELLS:,} cells at most.'
            )
        return [[math.nan] * columns for _ in range(rows)]
    return number(value, 0, where)[0]
