"""docs/notes.md has a place for every row of the notes, and each holds: its command runs and prints what the
row says, its views of the page and its chapters exist."""

import re
from typing import NamedTuple

import pytest
from command import Command
from documents import ROOT, check_link, eighty_columns, links, run_line

__all__ = ["eighty_columns"]

PAGE = ROOT / "docs" / "notes.md"
SLOW = ("experiment leakage", "experiment parallel")  # they train, or measure time

# Every row that must have a place: the notes' lines, as docs/notes.md writes them, and what shows each row,
# the verb or the name of the example or the experiment.
WANTED = {
    "000": {
        "22": "explain",
        "14-39": "000-masked",
        "41-52": "000-masked 000-masked-scaled",
        "54-66": "000-masked 000-large-negative float16 000-unmasked",
        "68-76": "000-masked",
        "78-88": "000-masked",
        "90-98": "000-masked",
        "39-98": "000-masked",
        "100-104": "000-masked",
    },
    "001": {
        "22-33": "explain",
        "35-43": "explain inspect",
        "53-61": "explain feedback",
        "63-69": "parallel",
        "71-77": "parallel",
        "79-85": "leakage leak",
        "88-109": "001-bank-river 001-bank-money compare",
        "111-133": "001-masked",
        "143-153": "leak",
        "28, 61, 67, 76": "explain parallel inspect",
    },
    "002": {
        "10-15": "002-masked 002-embedding",
        "17-25": "002-embedding-scaled positions",
        "32-37": "002-masked",
        "39-50": "002-masked",
        "54-74": "002-cross inspect",
        "78-103": "norms dimensions 002-add-norm 002-feed-forward",
        "105-117": "inspect layers",
    },
    "003": {
        "5-7": "masks residuals",
        "11-16": "dimensions",
        "22-26": "003-step-1 explain explain",
        "27-32": "003-step-2 explain",
        "traps": "explain explain 003-step-1",
    },
    "004": {
        "3-52": "inspect",
        "67, 72": "explain 004-token-ids",
        "85-135": "004-cross-512",
        "139-143, 270-274, 545-548": "dimensions",
        "168-261": "004-cross-4",
        "307-378": "004-self 004-self-unmasked",
        "396-450": "004-two-heads heads",
        "455-548": "004-two-heads 004-masked-3",
        "556-672": "004-masked-head 004-two-heads",
        "680-748": "004-mask-4 004-mask-per-head 004-mask-lifted 004-mask-per-head 004-masked-head",
        "103, 123, 247 against 458-466": "004-cross-4 004-cross-4-projected",
        "227, 436-450, 145": "scale heads layers",
    },
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
    found: dict[str, dict[str, str]] = {note: {} for note in WANTED}
    for row in ROWS:
        before = found[row.note].get(row.lines, "")
        found[row.note][row.lines] = f"{before} {shown_by(row.command)}".strip()
    assert found == WANTED
    for row in ROWS:
        assert row.wanted and row.places, f"{row.note}: {row.lines}"
    assert "Not yet" not in PAGE.read_text(encoding="utf-8")


def shown_by(command: str) -> str:
    """The verb of a command, or the example or experiment that it names."""
    _, verb, *rest = command.split()
    return rest[0] if verb in ("example", "experiment") else verb


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
