"""pellucid data: known corpora."""

import argparse
from pathlib import Path

from pellucid.cli.arguments import Option, folder

ABOUT = "fetch a known corpus: download it, verify its SHA-256, prepare its files"
EXAMPLES = """
pellucid data --list
pellucid data multi30k-en-de
pellucid data tatoeba-en-es --out spanish
"""
MIRROR = "copy from this folder instead of downloading (PELLUCID_MIRROR in the environment does the same)"
OPTIONS = (
    Option("NAME", "a corpus that --list names", nargs="?"),
    Option("--list", "the known corpora and their licences"),
    Option("--out DIR", "default: data/NAME", type=folder),
    Option("--mirror DIR", MIRROR, type=Path),
)


def run(arguments: argparse.Namespace) -> None:
    """Fetch the corpus; the folder's name goes to standard output."""
    from pellucid.cli.lines import put, tell
    from pellucid.data.catalog import CORPORA, fetch
    from pellucid.errors import UsageError

    if arguments.list:
        for name, corpus in CORPORA.items():
            put([name, f"    {corpus.about}", f"    licence: {corpus.licence}"])
    elif arguments.name is None:
        raise UsageError(f"data: say which corpus. Known: {', '.join(CORPORA)}; --list says more of them.")
    else:
        folder = fetch(arguments.name, arguments.out, arguments.mirror)
        tell(f"licence: {CORPORA[arguments.name].licence}")
        put([str(folder)])
