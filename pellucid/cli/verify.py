"""pellucid verify: do a model's files, its pieces and everything that computes with it agree?"""

import argparse

from pellucid.cli.lines import put, tell
from pellucid.errors import PellucidError
from pellucid.folder.whole_file import place, write
from pellucid.probes.verify import verify
from pellucid.seeing.viewed import columns_of_terminal, html
from pellucid.show import registered as registered
from pellucid.translator import folder_of

PAGE = (
    '<!doctype html><meta charset="utf-8"><title>verify · Pellucid</title><body style="font:15px sans-serif">'
)


def run(arguments: argparse.Namespace) -> None:
    """Print what each check found, and write it as a page with --html. Raise an error if there is a fault."""
    page = place(arguments.html) if arguments.html is not None else None
    sheet = verify(folder_of(arguments.model), arguments.original)
    if page:
        write(page, f"{PAGE}{html(sheet)}".encode())
        tell(f"written: {page}")
    put(sheet.lines(max(60, min(100, columns_of_terminal()))))
    if faults := sheet.faults:
        names = ", ".join(fault.name for fault in faults)
        raise PellucidError(f"{arguments.model}: faults in {names}. The first: {faults[0].said}")
