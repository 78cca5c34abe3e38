"""`pellucid translate` in a pipe: what it says does not depend on when the lines arrive."""

from pathlib import Path

import pytest
from command import Command

LINES = b"a b c\na b c\nd e\n\na b c\nf g\n"
BLOCKS = (1, 7, 13)  # bytes that arrive together


@pytest.mark.parametrize(
    "options",
    [
        ("--sample", "--temperature", 3, "--seed", 7),
        ("--sample", "--n-best", 2),
        ("--beam", 3, "--n-best", 2),
    ],
    ids=["sample", "samples", "n-best"],
)
def test_the_same_lines_give_the_same_output(
    pellucid: Command, toy_model: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    def said() -> list[list[str]]:
        """Each line out without its score, whose last digits depend on the line's neighbours."""
        outcome = pellucid("translate", toy_model, *options, stdin=LINES)
        assert outcome.code == 0
        return [line.split(" ||| ")[:2] for line in outcome.out.splitlines()]

    at_once = said()
    if "--n-best" in options:
        assert [index for index, _ in at_once] == ["0", "0", "1", "1", "2", "2", "3", "4", "4", "5", "5"]
    for block in BLOCKS:
        monkeypatch.setattr("pellucid.cli.lines._ARRIVAL", block)
        assert said() == at_once


def test_the_same_line_is_drawn_anew_each_time(pellucid: Command, toy_model: Path) -> None:
    said = pellucid("translate", toy_model, "--sample", "--temperature", 3, stdin=b"a b c\n" * 4)
    assert len({*said.out.splitlines()}) > 1
