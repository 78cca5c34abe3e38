"""The manual page `pellucid(1)`, in the format of man, from the parsers of the verbs."""

import argparse
from collections.abc import Iterator

from pellucid.cli.arguments import Parser
from pellucid.folder.version import __version__

EXIT_CODES = {
    0: "It did what was asked.",
    1: "It failed; one message on standard error says why.",
    2: "It was called wrongly: the message names the option.",
    129: "A terminal that closed ended it (SIGHUP).",
    130: "Ctrl-C ended it.",
    143: "SIGTERM ended it.",
}


def manual_page(parser: Parser) -> Iterator[str]:
    """Yield the lines of the page: each verb with its arguments, its notes and its examples."""
    yield f'.TH PELLUCID 1 "" "pellucid {__version__}"'
    yield from [".SH NAME", f"pellucid \\- {_plain(parser.description or '')}", ".SH SYNOPSIS"]
    yield from [
        ".B pellucid",
        ".I VERB",
        "[...]",
        ".SH DESCRIPTION",
        _plain(parser.epilog or ""),
        ".SH VERBS",
    ]
    for name, verb in parser.parser_of.items():
        yield from [f".SS pellucid {name}", _plain(verb.description or "")]
        for action in verb._actions:
            if action.help != argparse.SUPPRESS and not isinstance(action, argparse._HelpAction):
                yield from [
                    ".TP",
                    f".B {_plain(_written(action))}",
                    _plain((action.help or "") % vars(action)),
                ]
        yield from [".PP", ".nf", *map(_plain, (verb.epilog or "").splitlines()), ".fi"]
    yield ".SH EXIT STATUS"
    for code, meaning in EXIT_CODES.items():
        yield from [".TP", f".B {code}", meaning]


def _written(action: argparse.Action) -> str:
    """Return an argument as it is written: `--beam N`, or MODEL."""
    value = "" if action.nargs == 0 else str(action.metavar or "|".join(map(str, action.choices or [])))
    return " ".join([*action.option_strings[-1:], value]).strip() or action.dest.upper()


def _plain(text: str) -> str:
    """Return text in which nothing is a command of the format."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
