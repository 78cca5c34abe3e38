"""The page on translating: its commands exist, its Python runs, its links lead somewhere."""

import shlex

from documents import ROOT, blocks, check_link, links

from pellucid.cli.arguments import command_line

PAGE = ROOT / "docs" / "translating.md"


def test_its_blocks() -> None:
    verbs = set()
    for block in blocks(PAGE):
        if block.info == "python":
            exec(compile(block.text, PAGE.name, "exec"), {"__name__": "translating"})
        for line in block.text.splitlines():
            if line.startswith("pellucid "):
                words = shlex.split(line.partition(" <")[0])
                verbs.add(command_line().parse_args(words[1:]).verb)
    assert verbs == {"translate", "evaluate", "set"}


def test_its_links_lead_somewhere() -> None:
    for link in links(PAGE):
        check_link(link, PAGE)
