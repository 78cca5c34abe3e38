"""pellucid example: worked examples, claimed beside computed."""

import argparse
from importlib import import_module

from pellucid.errors import UsageError


def run(arguments: argparse.Namespace) -> None:
    """Print what the notes say, what follows from their previous line, and what follows from the start."""
    from pellucid.cli.lines import put

    _check(arguments)
    from pellucid.seeing.viewed import columns_of_terminal, lines  # after the wrong calls: torch follows
    from pellucid.show.worked_text import verdict_table
    from pellucid.worked.examples import example, names, read_example

    if arguments.list:
        for each in map(example, names()):
            put([each.name, f"    {each.about} (note {each.note}, lines {each.lines})"])
        return
    if arguments.verdicts is not None:
        chosen = [each for each in map(example, names()) if each.note == arguments.verdicts and each.claims]
        if not chosen:
            raise UsageError(f"--verdicts {arguments.verdicts}: the notes claim nothing there. Give 004.")
        put(verdict_table(chosen))
        return
    shown = read_example(arguments.file) if arguments.file else example(arguments.name)
    if arguments.claims and shown.is_part:
        raise UsageError(f"{shown.name}: it is not an attention, and nothing is claimed. Leave --claims out.")
    if arguments.html:
        import_module("pellucid.page.worked_document")  # which registers the page of an example
        shown.to_html(arguments.html)
    if arguments.claims:
        put(lines(shown.report(), says_first=False))
    else:
        put(lines(shown, max(40, columns_of_terminal()), stage=arguments.stage))


def _check(arguments: argparse.Namespace) -> None:
    """Raise where too much or too little is asked for: before torch is imported."""
    whole = "--list" if arguments.list else "--verdicts" if arguments.verdicts is not None else ""
    given = {"NAME": arguments.name, "--file": arguments.file, "--html": arguments.html}
    idle = [name for name, value in given.items() if value is not None]
    if whole and idle:
        raise UsageError(f"example: {' and '.join(idle)} can do nothing beside {whole}. Leave {whole} out.")
    if not whole and (arguments.name is None) == (arguments.file is None):
        raise UsageError("example: give a NAME or --file YOURS.toml, one of the two; --list says the names.")
