"""The page on going on from a model: its commands run as they stand, and its links lead somewhere."""

import pytest
from command import Command
from documents import ROOT, check_link, eighty_columns, links, run_blocks

__all__ = ["eighty_columns"]
PAGE = ROOT / "docs" / "fine-tuning.md"


@pytest.mark.usefixtures("eighty_columns")
def test_every_block_runs(pellucid: Command) -> None:
    run_blocks(PAGE, pellucid)


def test_its_links_lead_somewhere_and_pages_lead_to_it() -> None:
    for link in links(PAGE):
        check_link(link, PAGE)
    for page in ("README.md", "docs/README.md", "docs/training.md"):
        assert "fine-tuning.md)" in (ROOT / page).read_text("utf-8")
