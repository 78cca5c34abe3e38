"""Export a model: write a complete folder for another program, and compare its results with the model's."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pellucid.errors import Setting, UsageError
from pellucid.folder.load import Loaded
from pellucid.folder.whole_file import writing
from pellucid.interop.card import write_card
from pellucid.interop.ctranslate2_export import NEAR_IN, against_ctranslate2, write_ctranslate2
from pellucid.interop.importing import Conversion, refuse_used
from pellucid.interop.marian_export import write_marian
from pellucid.interop.onnx_export import against_onnx, write_onnx
from pellucid.interop.parity import against_transformers

PROGRAMS = {
    "huggingface": "a folder for AutoModelForSeq2SeqLM and AutoTokenizer of transformers",
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
    """Export a model for another program: "huggingface" (a folder for transformers), "ctranslate2" or "onnx".

    check: open the result with that program and compare; if it differs, raise an error and write nothing.
    quantization: the type of CTranslate2's weights, "float32", "int8", "int8_float32" or "int16".
    see: patterns of tensor names, as in a trace; the ONNX graphs return these tensors too.
    """
    if program not in PROGRAMS:
        raise UsageError(f"{program!r} is not one of {', '.join(PROGRAMS)}. Choose one of these.")
    if quantization not in NEAR_IN or (program != "ctranslate2" and quantization != "float32"):
        raise UsageError(
            f"{{}}: only ctranslate2 takes a quantization, one of {', '.join(NEAR_IN)}. Leave it out, or "
            "choose one of these.",
            Setting("quantization", quantization),
        )
    if see and program != "onnx":
        raise UsageError("{} works with onnx only. Leave it out.", Setting("see", tuple(see)))
    _refuse(loaded, out := Path(out))
    with _whole(out) as part:
        if program == "huggingface":
            write_marian(loaded, part)
            parity = against_transformers(part, loaded) if check else None
        elif program == "ctranslate2":
            write_ctranslate2(loaded, part, quantization)
            parity = against_ctranslate2(part, loaded, quantization) if check else None
        else:
            write_onnx(loaded, part, see)
            parity = against_onnx(part, loaded) if check else None
        write_card(loaded.config, loaded.manifest, part, program, out.name)
        if parity:
            parity.check(out)
    return Conversion(f"{out}: {PROGRAMS[program]}", out, parity)


def _refuse(loaded: Loaded, out: Path) -> None:
    refuse_used(out)
    if not out.name:
        raise UsageError(f"{out}: an export makes a folder of its own. Name a new folder.")
    if loaded.config.model.positions == "learned":
        raise UsageError("a model with learned positions (mBART-50) cannot be exported. Use it here.")


@contextmanager
def _whole(out: Path) -> Iterator[Path]:
    """Yield a folder to write into, beside `out`. Rename it to `out` when the block ends; after an error,
    delete it."""
    with writing(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent) as beside:
            part = Path(beside) / out.name
            part.mkdir()
            yield part
            if out.exists():
                out.rmdir()
            os.replace(part, out)
