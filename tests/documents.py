"""Documents as tests read them: their blocks, their links, and whether what they promise is printed."""

import contextlib
import importlib.util
import io
import itertools
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote

import pytest
from command import Command, Outcome

import pellucid as package
from pellucid.explanation import Explanation

ROOT = Path(__file__).parents[1]
LEARN = ROOT / "docs" / "learn"
STATE = ROOT / "pellucid" / "page" / "script" / "view" / "state.js"
BLOCK = re.compile(r"^```(.*)\n((?:.*\n)*?)```$", re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")
NUMBER = re.compile(r"^([-+]?\d*\.?\d+(?:e[-+]?\d+)?)$")
SHADES = str.maketrans({"−": "-", "░": None, "▒": None, "▓": None, "█": None})


class Block(NamedTuple):
    """A fenced block: what stands after its fence, and its lines."""

    info: str
    text: str

    @property
    def commands(self) -> list[str]:
        """The command lines, where it has some."""
        lines = [line for line in self.text.splitlines() if line.strip()]
        is_shell = self.info.startswith("sh") or (not self.info and bool(lines))
        if not is_shell or not lines[0].startswith(("pellucid ", "echo ")):
            return []
        return lines


def blocks(path: Path) -> list[Block]:
    return [Block(*found) for found in BLOCK.findall(path.read_text(encoding="utf-8"))]


def run_line(line: str, pellucid: Command) -> Outcome:
    """A command line as one would paste it: `pellucid …`, or `echo … | pellucid …`."""
    words = shlex.split(line)
    stdin = b""
    if "|" in words:
        place = words.index("|")
        assert words[0] == "echo", line
        stdin, words = " ".join(words[1:place]).encode() + b"\n", words[place + 1 :]
    assert words[0] == "pellucid" and not {"|", ">", "<", "&&"} & set(words), line
    return pellucid(*words[1:], stdin=stdin)


def run_blocks(path: Path, pellucid: Command, is_slow: bool = False) -> None:
    """Run each block: commands, with what they print below them, and Python in one namespace."""
    printed, names = "", {"__name__": path.stem}
    for block in blocks(path):
        kind, _, file = block.info.partition(" ")
        if block.commands and ("slow" in file) == is_slow:
            outcomes = [run_line(line, pellucid) for line in block.commands]
            for line, outcome in zip(block.commands, outcomes, strict=True):
                assert outcome.code == 0, f"{path.name}: {line}\n{outcome.err}"
            printed = "".join(outcome.out for outcome in outcomes)
        elif is_slow or block.commands:
            continue
        elif kind == "toml":
            Path(file).write_text(block.text, encoding="utf-8")
        elif kind == "python":
            with contextlib.redirect_stdout(io.StringIO()) as output:
                exec(compile(block.text, path.name, "exec"), names)
            printed = output.getvalue() or printed
        elif kind == "text":
            check_prints(block.text, printed, path.name)
        else:
            pytest.fail(f"{path.name}: a block of no known kind: {block}")


def check_prints(expected: str, output: str, where: str) -> None:
    """What a document shows is printed: its lines follow each other, except where a line is … alone."""
    lines = [line.strip() for line in output.splitlines()]
    first = 0
    pieces = itertools.groupby(expected.strip("\n").splitlines(), key=lambda line: line.strip() == "…")
    for chunk in (list(piece) for is_gap, piece in pieces if not is_gap):
        places = range(first, len(lines) - len(chunk) + 1)
        found = next((at for at in places if all(map(alike, chunk, lines[at : at + len(chunk)]))), None)
        assert found is not None, f"{where}: not printed: {chunk}\n" + "\n".join(lines)
        first = found + len(chunk)


def alike(expected: str, line: str) -> bool:
    """The same words, and the same numbers but for a unit of their last digit; spaces do not count."""
    ours, theirs = expected.translate(SHADES).split(), line.translate(SHADES).split()
    return len(ours) == len(theirs) and all(map(_alike_words, ours, theirs))


def _alike_words(ours: str, theirs: str) -> bool:
    if ours == theirs:
        return True
    if not (NUMBER.match(ours) and NUMBER.match(theirs)):
        return False
    digits = len(ours.partition("e")[0].partition(".")[2])
    return abs(float(ours) - float(theirs)) <= 1.01 * 10**-digits


def headings(path: Path) -> set[str]:
    """The anchors that a Markdown file has, as GitHub makes them."""
    text = BLOCK.sub("", path.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def table_rows(text: str) -> list[list[str]]:
    """The cells of each row of the tables in a text, their heads too."""
    lines = [line.removeprefix("|").removesuffix("|") for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in re.split(r"(?<=\s)\|(?=\s)", line)] for line in lines]


def links(path: Path) -> Iterator[str]:
    """Where a document leads, but for other sites."""
    text = BLOCK.sub("", path.read_text(encoding="utf-8"))
    yield from (link for link in LINK.findall(text) if not link.startswith(("http:", "https:")))


def check_link(link: str, source: Path) -> None:
    """The file is there, and in it the place."""
    name, _, anchor = link.partition("#")
    target = (source.parent / unquote(name)).resolve() if name else source
    assert target.exists(), f"{source.name}: {link}: no such file"
    if anchor and target.suffix == ".md":
        assert unquote(anchor) in headings(target), f"{source.name}: {link}: no such heading"
    if anchor and target.suffix == ".html":
        check_view(anchor, f"{source.name}: {link}")


def check_view(anchor: str, where: str) -> None:
    """A view of the live page: a tensor or a part of the model, and what the page's address knows."""
    name, _, query = anchor.partition("?")
    names = set(explained("How are you", "hi").trace)
    parts = {".".join(each.split(".")[:end]) for each in names for end in range(1, each.count(".") + 1)}
    assert name in names | parts | {""}, f"{where}: nothing is called {name}"
    known = set(
        re.findall(r'\b(?:asked\.get|asked\.has|number|oneOf)\("(\w+)"', STATE.read_text(encoding="utf-8"))
    )
    assert {key for key, _ in parse_qsl(query, keep_blank_values=True)} <= known, where


@cache
def explained(text: str, to: str) -> Explanation:
    return package.load("demo", "cpu").explain(text, to=to)


@pytest.fixture
def eighty_columns(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A terminal as the documents were written for, in an empty folder."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)


@cache
def build() -> Any:
    """docs/build.py as a module."""
    spec = importlib.util.spec_from_file_location("docs_build", ROOT / "docs" / "build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
