"""pellucid example: compute worked examples (of the course notes or your own) and check the claimed
numbers."""

import argparse
from importlib import import_module

from pellucid.cli.lines import put
from pellucid.errors import UsageError
from pellucid.seeing.viewed import columns_of_terminal, lines
from pellucid.show.worked_text import NOT_JUDGED  # which registers the views
from pellucid.worked.examples import example, names, read_example


def run(arguments: argparse.Namespace) -> None:
    """Print every stage of an example, and each claimed number beside two computed ones: from the line before
    it, and from the start."""
    if arguments.list:
        for each in map(example, names()):
            put([each.name, f"    {each.about} (note {each.note}, lines {each.lines})"])
        return
    shown = read_example(arguments.file) if arguments.file else example(arguments.name)
    if arguments.claims and shown.is_part:
        raise UsageError(f"{shown.name}: it is not an attention. {NOT_JUDGED} Leave --claims out.")
    if arguments.html:
        import_module("pellucid.page.worked_document")  # which registers the page of an example
        shown.to_html(arguments.html)
    if arguments.claims:
        put(lines(shown.report(), says_first=False))
    else:
        put(lines(shown, max(40, columns_of_terminal()), stage=arguments.stage))
