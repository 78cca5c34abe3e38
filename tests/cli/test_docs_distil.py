"""The page on students: its commands are right, its links lead somewhere, and pages lead to it."""

import shlex

from documents import ROOT, blocks, check_link, links

from pellucid.cli.arguments import command_line

PAGE = ROOT / "docs" / "distil.md"


def test_its_commands_and_links() -> None:
    for block in blocks(PAGE):
        for line in block.commands:
            command_line().parse_args(shlex.split(line)[1:])
    for link in links(PAGE):
        check_link(link, PAGE)
    for page in ("docs/README.md", "docs/cli.md", "docs/fine-tuning.md"):
        assert "distil.md)" in (ROOT / page).read_text("utf-8")
