"""docs/notes.md has a place for every row of the notes, and each holds: its command runs and prints what the
row says, its views of the page and its chapters exist."""

import re
from typing import NamedTuple

import pytest
from command import Command
from documents import ROOT, check_link, eighty_columns, links, run_line

from pellucid.explain.worked.examples import example

__all__ = ["eighty_columns"]

PAGE = ROOT / "docs" / "notes.md"
SLOW = ("experiment leakage", "experiment parallel")  # they train, or measure time

# Every row that must have a place: the notes' lines, as docs/notes.md writes them.
WANTED = {
    "000": ["22", "14-39", "41-52", "54-66", "68-76", "78-88", "90-98", "39-98", "100-104"],
    "001": [
        *("22-33", "35-43", "53-61", "63-69", "71-77", "79-85", "88-109", "111-133", "143-153"),
        "28, 61, 67, 76",
    ],
    "002": ["10-15", "17-25", "32-37", "39-50", "54-74", "78-103", "105-117"],
    "003": ["5-7", "11-16", "22-26", "27-32", "traps"],
    "004": [
        *("3-52", "67, 72", "85-135", "139-143, 270-274, 545-548", "168-261", "307-378", "396-450"),
        *("455-548", "556-672", "680-748", "103, 123, 247 against 458-466", "227, 436-450, 145"),
    ],
}
# The traps that have to be explained, and the headings under which a chapter does.
TRAPS = {
    "01-why-a-decoder": ["context-vectors-are-many", "ids-without-a-start-token"],
    "02-masks": ["itself-and-what-precedes-it", "near-zero-is-exactly-0", "leftward"],
    "03-teacher-forcing": ["non-autoregressive", "is-training-sequential", "what-runs-in-parallel"],
    "04-equations": ["shapes-of-the-embedding", "times-the-root-of-d", "one-letter-several-matrices"],
    "05-encoder": ["with-projection-and-without"],
    "06-cross-attention": [
        *("training-or-inference", "only-the-last-word", "scores-are-not-the-result"),
        *("where-the-queries-come-from", "other-matrices-with-the-same-names"),
    ],
    "07-heads": ["the-right-side", "attention_h", "one-head-in-the-equations", "a-mask-for-each-head"],
}
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
        for line in part.splitlines():
            cells = [cell.strip() for cell in line.strip("|").split(" | ")]
            if line.startswith("| ") and len(cells) == 5 and cells[2].startswith("`pellucid "):
                wanted, places = re.findall(r"`([^`]+)`", cells[3]), re.findall(r"\]\(([^)]+)\)", cells[4])
                found.append(Row(part[:3], cells[0], cells[2].strip("`"), wanted, places))
    return found


ROWS = rows()
COMMANDS = list(dict.fromkeys(row.command for row in ROWS))


def test_every_row_has_its_place() -> None:
    assert {row.note for row in ROWS} == set(WANTED)
    for note, wanted in WANTED.items():
        assert {row.lines for row in ROWS if row.note == note} == set(wanted), note
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


def test_every_trap_is_explained_and_listed() -> None:
    listed = {place for row in ROWS for place in row.places}
    for chapter, anchors in TRAPS.items():
        for anchor in anchors:
            check_link(f"learn/{chapter}.md#{anchor}", PAGE)
            assert f"learn/{chapter}.md#{anchor}" in listed


def test_the_symbols() -> None:
    part = PAGE.read_text(encoding="utf-8").partition("## Symbols")[2]
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in part.splitlines()
        if line[:2] == "| "
    ]
    assert {row[4][:1]: row[3] for row in cells[1:9]} == AXES


def test_the_steps_of_003_share_their_keys_and_values() -> None:
    first, second = (example(f"003-step-{step}").worked() for step in (1, 2))
    for name in ("keys", "values"):
        assert first[name].tensor.equal(second[name].tensor)
    assert second["queries"].tensor[0, 0, :1].equal(first["queries"].tensor[0, 0])
    assert len(second["queries"].tensor[0, 0]) == 2
