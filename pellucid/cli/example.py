"""pellucid example: worked examples, claimed beside computed."""

import argparse
from collections.abc import Iterable, Iterator

from pellucid.cli.arguments import Verbs, file, text, verb
from pellucid.errors import UsageError

EXAMPLES = """
pellucid example --list
pellucid example 004-cross-4
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
    option("--list", action="store_true", help="the examples, with the lines of the notes that they follow")
    option("--file", metavar="YOURS.toml", type=file, help="an example of your own")
    every = "all claims of a note (004) with their verdicts, as a Markdown table"
    option("--verdicts", metavar="NOTE", help=every)
    option(
        "--html",
        metavar="FILE",
        type=file,
        help="a page of it, one file; of an attention with a form to change it",
    )
    option(
        "--claims",
        action="store_true",
        help="only the claims, a line for each cell, with its verdict; without it, also where it first goes "
        "wrong",
    )


def run(arguments: argparse.Namespace) -> None:
    """What the notes say, from their previous line, from the start."""
    from pellucid.cli.lines import put

    _check(arguments)
    if arguments.list:
        put(_listed())
        return
    from pellucid.seeing.viewed import columns_of_terminal  # here, after the wrong calls: torch follows
    from pellucid.worked.example_text import example_text, part_text
    from pellucid.worked.examples import example, read_example
    from pellucid.worked.part_examples import part_example, part_names
    from pellucid.worked.reporting import table

    if arguments.verdicts is not None:
        put(_verdicts(arguments.verdicts))
        return
    width = max(40, columns_of_terminal())
    if arguments.name in part_names():
        if arguments.claims:
            raise UsageError(
                f"{arguments.name}: it is no attention, and nothing is claimed. Leave --claims out."
            )
        part = part_example(arguments.name)
        if arguments.html:
            part.to_html(arguments.html)
        put(part_text(part, width))
        return
    chosen = read_example(arguments.file) if arguments.file else example(arguments.name)
    if arguments.html:
        chosen.to_html(arguments.html)
    # The full form says where it first goes wrong; here that is left to find, as in an exercise.
    only = table(chosen.report(), says_first=False).split("\n") if arguments.claims else None
    put(only or example_text(chosen, width))


def _check(arguments: argparse.Namespace) -> None:
    """Raises where too much or too little is asked for: before torch is imported."""
    if arguments.list:
        _check_alone("--list", arguments)
    elif arguments.verdicts is not None:
        _check_alone("--verdicts", arguments)
    elif (arguments.name is None) == (arguments.file is None):
        raise UsageError("example: give a NAME or --file YOURS.toml, one of the two; --list says the names.")


def _check_alone(option: str, arguments: argparse.Namespace) -> None:
    """Raises where something else is asked for too, which would be passed over."""
    asked = {
        "NAME": arguments.name,
        "--file": arguments.file,
        "--verdicts": arguments.verdicts if option == "--list" else None,
        "--html": arguments.html,
        "--claims": arguments.claims or None,
    }
    idle = [name for name, value in asked.items() if value is not None]
    if idle:
        has = "have" if len(idle) > 1 else "has"
        raise UsageError(
            f"example: beside {option}, {' and '.join(idle)} {has} no effect. Leave one of them out."
        )


def _listed() -> Iterator[str]:
    """Each example's name, and what it is about."""
    from pellucid.show.listings import worked_examples

    for each in worked_examples():
        yield each.name
        yield f"    {each.about} (note {each.note}, lines {each.lines})"


def _verdicts(note: str) -> Iterable[str]:
    """All claims of a note with their verdicts."""
    from pellucid.worked.examples import example, names
    from pellucid.worked.reporting import verdicts

    chosen = [each for each in map(example, names()) if each.note == note and each.claims]
    if not chosen:
        raise UsageError(f"--verdicts {note}: no claims are known of it. Known: 004.")
    return verdicts(chosen)
