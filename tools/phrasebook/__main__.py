"""`python -m tools.phrasebook`: write the package's phrasebook and its page for native speakers.

Both must be committed together: tests/test_phrasebook.py holds them to the grammar.
"""

import gzip
from pathlib import Path

from tools.phrasebook.page import page
from tools.phrasebook.parts import table

SEED = 1  # of the split into what is learned and what is held out
ROOT = Path(__file__).parents[2]

if __name__ == "__main__":
    packed = gzip.compress(table(SEED).encode(), mtime=0)
    (ROOT / "pellucid" / "data" / "phrasebook.tsv.gz").write_bytes(packed)
    (ROOT / "docs" / "phrasebook.md").write_text(page(), encoding="utf-8", newline="\n")
