"""pellucid data: fetch a known corpus, such as Multi30k."""

import argparse
from dataclasses import asdict

from pellucid.cli.lines import put, put_json, tell
from pellucid.data.catalog import CORPORA, fetch


def run(arguments: argparse.Namespace) -> None:
    """Fetch a known corpus and print its folder's name on standard output. With --list, print all known
    corpora instead."""
    if arguments.list and arguments.json:
        put_json({name: asdict(corpus) for name, corpus in CORPORA.items()})
    elif arguments.list:
        for name, corpus in CORPORA.items():
            put([name, f"    {corpus.about}", f"    licence: {corpus.licence}"])
    else:
        folder, licence = (
            fetch(arguments.name, arguments.out, arguments.mirror),
            CORPORA[arguments.name].licence,
        )
        tell(f"licence: {licence}")
        files = sorted(path.name for path in folder.iterdir())
        about = {"folder": str(folder), "licence": licence, "files": files}
        put_json(about) if arguments.json else put([str(folder)])
