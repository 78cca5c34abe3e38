"""pellucid example: worked examples, claimed beside computed."""

import argparse
from collections.abc import Iterator
from importlib import import_module

from pellucid.cli.arguments import Verbs, file, text, verb
from pellucid.errors import UsageError

EXAMPLES = """
pellucid example --list
pellucid example 004-cross-4
pellucid example 000-masked --stage weights
pellucid example --verdicts 004
pellucid example --file homework.toml
pellucid example 004-self --html example.html
"""
NOTES = """
A file has a table [given] with matrices (inputs, memory, w_query, w_key, w_value, w_output; or queries,
keys, values; or scores, scaled_scores, masked_scores or weights), and may have [claims] with numbers as
strings, "0.40"; and the settings scale, mask, heads, tokens, memory_tokens. What is elided is "…".
"""


def add(verbs: Verbs) -> None:
    """The verb and its arguments."""
    about = "work out an example of attention, stage by stage, and judge the numbers claimed for it"
    parser = verb(verbs, "example", about, run, EXAMPLES, NOTES)
    option = parser.add_argument
    option("name", metavar="NAME", nargs="?", type=text, help="an example that --list names")
    option("--list", action="store_true", help="list the examples, with the lines of the notes they follow")
    option("--file", metavar="YOURS.toml", type=file, help="an example of your own, or a page's .json")
    option("--stage", metavar="NAME", type=text, help="only this stage, such as weights")
    every = "all claims of a note (004) with their verdicts, as a Markdown table"
    option("--verdicts", metavar="NOTE", help=every)
    page = "also write a page of it, one file; of an attention with a form to change it"
    option("--html", metavar="FILE", type=file, help=page)
    only = "only the claims, a line for each cell, with its verdict; the first mistake is left to find"
    option("--claims", action="store_true", help=only)


def run(arguments: argparse.Namespace) -> None:
    """Print what the notes say, what follows from their previous line, and what follows from the start."""
    from pellucid.cli.lines import put

    _check(arguments)
    if arguments.list:
        put(_list())
        return
    from pellucid.seeing.viewed import columns_of_terminal  # here, after the wrong calls: torch follows
    from pellucid.show.worked_text import example_lines, report_lines, verdict_table
    from pellucid.worked.examples import example, names, read_example

    if arguments.verdicts is not None:
        chosen = [each for each in map(example, names()) if each.note == arguments.verdicts and each.claims]
        if not chosen:
            raise UsageError(f"--verdicts {arguments.verdicts}: the notes claim nothing there. Give 004.")
        put(verdict_table(chosen))
        return
    shown = read_example(arguments.file) if arguments.file else example(arguments.name)
    if arguments.claims and shown.is_part:
        raise UsageError(f"{shown.name}: it is no attention, and nothing is claimed. Leave --claims out.")
    if arguments.html:
        import_module("pellucid.page.worked_document")  # which registers the page of an example
        shown.to_html(arguments.html)
    if arguments.claims:
        put(report_lines(shown.report(), says_first=False))
    else:
        put(example_lines(shown, max(40, columns_of_terminal()), arguments.stage))


def _check(arguments: argparse.Namespace) -> None:
    """Raise where too much or too little is asked for: before torch is imported."""
    asked = {
        "NAME": arguments.name,
        "--file": arguments.file,
        "--verdicts": arguments.verdicts,
        "--html": arguments.html,
        "--claims": arguments.claims or None,
        "--stage": arguments.stage,
    }
    alone = "--list" if arguments.list else "--verdicts" if arguments.verdicts is not None else ""
    idle = [name for name, value in asked.items() if value is not None and name != alone]
    if alone and idle:
        has = "have" if len(idle) > 1 else "has"
        raise UsageError(
            f"example: beside {alone}, {' and '.join(idle)} {has} no effect. Leave one of them out."
        )
    if arguments.claims and arguments.stage is not None:
        raise UsageError("example: --claims and --stage say what to print. Leave one of them out.")
    if not alone and (arguments.name is None) == (arguments.file is None):
        raise UsageError("example: give a NAME or --file YOURS.toml, one of the two; --list says the names.")


def _list() -> Iterator[str]:
    """Yield the name of each example, and what it is about."""
    from pellucid.show.listings import worked_examples

    for each in worked_examples():
        yield each.name
        yield f"    {each.about} (note {each.note}, lines {each.lines})"
