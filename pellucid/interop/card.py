"""The model card, README.md: it says under which licence a model may be used."""

import json
import re
from pathlib import Path

from pellucid.folder.load import Loaded
from pellucid.interop.foreign import Foreign

CARD = "README.md"
TEXT = """---
license: {}
---

A translation model, exported with Pellucid. The licence is that of the model, or of the text that it learned.
"""


def read_licence(foreign: Foreign) -> str:
    """Return the licence that a model card names in its header; "" if there is none."""
    content = foreign.bytes(CARD) if (foreign.folder / CARD).exists() else b""
    header = re.match(r"---\n(.*?)\n---", content.decode("utf-8", "replace"), re.DOTALL)
    named = re.search(r"^license: *(\S.*?) *$", header[1], re.MULTILINE) if header else None
    return named[1].strip("'\"") if named else ""


def write_card(loaded: Loaded, folder: Path) -> None:
    """Write a model card if the licence is known."""
    if licence := loaded.manifest.get("provenance", {}).get("licence"):
        (folder / CARD).write_text(TEXT.format(json.dumps(licence, ensure_ascii=False)), "utf-8")
