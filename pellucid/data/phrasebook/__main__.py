"""`python -m pellucid.data.phrasebook`: print the page for native speakers, or write the corpus."""

import argparse
import sys

from pellucid.data.phrasebook.page import page
from pellucid.data.phrasebook.parts import write


def main() -> None:
    """Print docs/phrasebook.md, or write the training files."""
    parser = argparse.ArgumentParser(prog="python -m pellucid.data.phrasebook", description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--docs", action="store_true", help="print docs/phrasebook.md")
    what.add_argument("--write", metavar="FOLDER", help="write the training, validation and held-out files")
    parser.add_argument("--seed", type=int, default=1, help="of the split (default: 1, the demo's)")
    arguments = parser.parse_args()
    if arguments.docs:
        sys.stdout.buffer.write(page().encode())  # UTF-8 whatever the terminal
    else:
        for path in write(arguments.write, arguments.seed).values():
            print(path)


if __name__ == "__main__":
    main()
