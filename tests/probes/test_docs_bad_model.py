"""The page that leads from a bad model to the line that made it bad: its commands print what it shows."""

import pytest
from command import Command
from documents import ROOT, check_link, eighty_columns, links, run_blocks

__all__ = ["eighty_columns"]
PAGE = ROOT / "docs" / "bad-model.md"


@pytest.mark.usefixtures("eighty_columns")
def test_every_block_runs_and_prints(pellucid: Command) -> None:
    run_blocks(PAGE, pellucid)


def test_its_links_lead_somewhere_and_pages_lead_to_it() -> None:
    for link in links(PAGE):
        check_link(link, PAGE)
    for page in ("README.md", "docs/README.md", "docs/training.md"):
        assert "bad-model.md)" in (ROOT / page).read_text("utf-8")
