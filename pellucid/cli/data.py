"""pellucid data: known corpora."""

import argparse


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
