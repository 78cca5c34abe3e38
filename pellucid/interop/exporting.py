"""Give a model out: a folder for another program, written whole and compared with the model."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from pellucid.errors import Setting, UsageError
from pellucid.folder.load import Loaded
from pellucid.folder.whole_file import writing
from pellucid.interop.ctranslate2_export import NEAR_IN, against_ctranslate2, write_ctranslate2
from pellucid.interop.importing import Conversion, refuse_used
from pellucid.interop.marian_export import write_marian
from pellucid.interop.onnx_export import against_onnx, write_onnx
from pellucid.interop.parity import Parity, against_transformers

PROGRAMS = {
    "huggingface": "a MarianMT folder, for AutoModelForSeq2SeqLM and MarianTokenizer",
    "ctranslate2": "a folder for ctranslate2.Translator, with the SentencePiece models of both sides",
    "onnx": "two graphs for onnxruntime, with their tokens and the SentencePiece models of both sides",
}


def export(
    program: str,
    loaded: Loaded,
    out: str | Path,
    check: bool = True,
    quantization: str = "float32",
    see: Sequence[str] = (),
) -> Conversion:
    """Write a model for a program: "huggingface" (a MarianMT folder), "ctranslate2" or "onnx".

    check: open it with that program and compare; a difference is an error, and nothing is written.
    quantization: of CTranslate2's weights, "float32", "int8", "int8_float32" or "int16".
    see: globs of tensors, as a trace names them, that ONNX's graphs return too.
    """
    if program not in PROGRAMS:
        raise UsageError(f"{program!r} is not one of {', '.join(PROGRAMS)}. Choose one of these.")
    if quantization not in NEAR_IN or (program != "ctranslate2" and quantization != "float32"):
        raise UsageError(
            f"{{}}: CTranslate2 takes {', '.join(NEAR_IN)}, and no other program takes one. "
            "Leave it out, or choose one of these for ctranslate2.",
            Setting("quantization", quantization),
        )
    if see and program != "onnx":
        raise UsageError("{}: only onnx shows tensors. Leave it out.", Setting("see", tuple(see)))
    out = Path(out)
    refuse_used(out)
    programs: dict[str, tuple[Callable[..., None], Callable[..., Parity | None]]] = {
        "huggingface": (write_marian, against_transformers),
        "ctranslate2": (
            partial(write_ctranslate2, quantization=quantization),
            partial(against_ctranslate2, quantization=quantization),
        ),
        "onnx": (partial(write_onnx, see=see), against_onnx),
    }
    write, compare = programs[program]
    with _whole(out) as part:
        write(loaded, part)
        parity = compare(part, loaded) if check else None
        if parity:
            parity.check(out)
    return Conversion(f"{out}: {PROGRAMS[program]}", out, parity)


@contextmanager
def _whole(out: Path) -> Iterator[Path]:
    """A folder to write into that takes the place of `out` when all is there; else nothing stays."""
    with writing(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    try:
        with writing(out):
            yield part
            if out.exists():
                out.rmdir()
            part.chmod(0o755)
            os.replace(part, out)
    except BaseException:  # whatever went wrong, and Ctrl-C: no half folder stays
        shutil.rmtree(part, ignore_errors=True)
        raise
