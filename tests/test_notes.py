"""docs/notes.md has a place for every row of the notes, and each holds: its command runs and prints what the
row says, its views of the page and its chapters exist."""

import re
from collections import Counter
from typing import NamedTuple

import pytest
from command import Command
from documents import ROOT, check_link, eighty_columns, links, run_line, table_rows

from pellucid.experiments import NAMES
from pellucid.worked.examples import names

__all__ = ["eighty_columns"]

PAGE = ROOT / "docs" / "notes.md"
SLOW = ("experiment leakage", "experiment parallel")  # they train, or measure time

ROWS_OF = {"000": 13, "001": 17, "002": 14, "003": 11, "004": 24}  # each note's: none may get lost
AXES = {"L": "T_dec", "M": "T_enc", "D": "d_model", "K": "d_k", "U": "d_v", "H": "H", "F": "", "V": ""}


class Row(NamedTuple):
    """A row of the list: the note, its lines, the command and what to look for, and where it leads."""

    note: str
    lines: str
    command: str
    wanted: list[str]
    places: list[str]


def rows() -> list[Row]:
    found = []
    for part in re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        for cells in table_rows(part):
            if len(cells) == 5 and cells[2].startswith("`pellucid "):
                wanted, places = re.findall(r"`([^`]+)`", cells[3]), re.findall(r"\]\(([^)]+)\)", cells[4])
                found.append(Row(part[:3], cells[0], cells[2].strip("`"), wanted, places))
    return found


ROWS = rows()
COMMANDS = list(dict.fromkeys(row.command for row in ROWS))


def test_every_row_has_its_place() -> None:
    assert Counter(row.note for row in ROWS) == ROWS_OF
    named = {row.command.split()[2] for row in ROWS}
    assert {*names(), *NAMES} - named == {"attribution", "rollout"}, "what the notes do not ask for"
    for row in ROWS:
        assert row.wanted and row.places, f"{row.note}: {row.lines}"
    assert "Not yet" not in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(each, marks=pytest.mark.slow if is_slow else ())
        for each in COMMANDS
        for is_slow in [any(slow in each for slow in SLOW)]
    ],
)
@pytest.mark.timeout(1200)
@pytest.mark.usefixtures("eighty_columns")
def test_the_command_prints_what_the_rows_say(command: str, pellucid: Command) -> None:
    outcome = run_line(command, pellucid)
    assert outcome.code == 0, outcome.err
    printed = plain(outcome.out)
    for row in ROWS:
        for wanted in row.wanted if row.command == command else ():
            assert plain(wanted) in printed, (
                f"{row.note}, {row.lines}: {wanted!r} is not printed:\n{outcome.out}"
            )


def plain(text: str) -> str:
    """With single spaces and without shading, and a broken line joined again."""
    return " ".join(re.sub("[░▒▓█]", "", text).split())


def test_every_link_leads_somewhere() -> None:
    for link in links(PAGE):
        check_link(link, PAGE)
    for row in ROWS:
        assert any(place.startswith(("learn/", "pages/")) or "verdicts" in place for place in row.places), row


def test_the_symbols() -> None:
    part = PAGE.read_text(encoding="utf-8").partition("## Symbols")[2]
    assert {row[4][:1]: row[3] for row in table_rows(part)[1:9]} == AXES
