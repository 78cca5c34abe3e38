"""pellucid data: known corpora."""

import argparse
from pathlib import Path

from pellucid.cli.arguments import Verbs, folder, verb


def add(verbs: Verbs) -> None:
    """Add the verb and its arguments."""
    about = "fetch a known corpus: download it, verify its SHA-256, prepare its files"
    examples = "pellucid data --list\npellucid data multi30k-en-de\npellucid data tatoeba-en-es --out spanish"
    parser = verb(verbs, "data", about, run, examples)
    parser.add_argument("name", metavar="NAME", nargs="?", help="a corpus that --list names")
    parser.add_argument("--list", action="store_true", help="the known corpora and their licences")
    parser.add_argument("--out", metavar="DIR", type=folder, help="default: data/NAME")
    mirror = "copy from this folder instead of downloading (PELLUCID_MIRROR in the environment does the same)"
    parser.add_argument("--mirror", metavar="DIR", type=Path, help=mirror)


def run(arguments: argparse.Namespace) -> None:
    """Print the name of the folder on standard output."""
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
