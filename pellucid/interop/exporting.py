"""Give a model out: a folder for another program, written whole and compared with the model."""

import os
import shutil
import tempfile
from pathlib import Path

from pellucid.errors import PellucidError
from pellucid.folder.checkpoint import Loaded
from pellucid.folder.seal import writing
from pellucid.interop.importing import Conversion, refuse_used
from pellucid.interop.marian_export import write_marian
from pellucid.interop.parity import against_transformers


def export_huggingface(loaded: Loaded, out: str | Path, check: bool = True) -> Conversion:
    """Write a model as a MarianMT folder.

    check: open it with transformers (if it is installed) and compare; a difference is an error, and nothing
        is written.
    """
    out = Path(out)
    refuse_used(out)
    with writing(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    try:
        with writing(out):
            write_marian(loaded, part)
        parity = against_transformers(part, loaded) if check else None
        with writing(out):
            if out.exists():
                out.rmdir()
            part.chmod(0o755)
            os.replace(part, out)
    except BaseException:  # whatever went wrong, and Ctrl-C: no half folder stays
        shutil.rmtree(part, ignore_errors=True)
        raise
    return Conversion(f"{out}: a MarianMT folder, for AutoModelForSeq2SeqLM and MarianTokenizer", out, parity)


def export(kind: str, loaded: Loaded, out: str | Path, check: bool = True) -> Conversion:
    """Write a model for the program that `kind` names."""
    if kind not in EXPORTS:
        raise PellucidError(f"{kind!r} is not one of {', '.join(EXPORTS)}. Choose one of these.")
    return EXPORTS[kind](loaded, out, check)


EXPORTS = {"huggingface": export_huggingface}
