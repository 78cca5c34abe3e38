"""pellucid data: fetch a known corpus, such as Multi30k."""

import argparse

from pellucid.cli.lines import put, tell
from pellucid.data.catalog import CORPORA, fetch


def run(arguments: argparse.Namespace) -> None:
    """Fetch a known corpus and print its folder's name on standard output. With --list, print all known
    corpora instead."""
    if arguments.list:
        for name, corpus in CORPORA.items():
            put([name, f"    {corpus.about}", f"    licence: {corpus.licence}"])
    else:
        folder = fetch(arguments.name, arguments.out, arguments.mirror)
        tell(f"licence: {CORPORA[arguments.name].licence}")
        put([str(folder)])
