"""pellucid completion: what a shell completes, and a page of the manual, both from the table of verbs."""

import argparse
from pathlib import Path
from typing import Any

from pellucid.cli.arguments import command_line, file, folder, model
from pellucid.cli.lines import put
from pellucid.cli.manual import manual_page
from pellucid.errors import PellucidError


def run(arguments: argparse.Namespace) -> None:
    """Print the script that a shell reads to complete command lines, or the manual page."""
    parser = command_line()
    if arguments.shell == "man":
        put(manual_page(parser))
        return
    try:
        import shtab
    except ImportError:
        raise PellucidError(
            f'completion {arguments.shell}: shtab, which writes it, is missing. Install "pellucid[shell]".'
        ) from None
    for verb in parser.parser_of.values():
        for action in verb._actions:
            if _is_a_path(action):
                action.complete = shtab.FILE  # type: ignore[attr-defined]  # the name that shtab looks for
    put(shtab.complete(parser, arguments.shell).splitlines())


def _is_a_path(action: argparse.Action) -> bool:
    """Tell whether the argument names a file or a folder."""
    written: Any = action.metavar or ""
    return action.type in (Path, file, folder, model) or written.startswith(("FILE", "DIR", "CONFIG"))
