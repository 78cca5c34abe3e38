"""pellucid export: a model of ours for another program."""

import argparse

from pellucid.cli.arguments import Verbs, folder, model, verb
from pellucid.cli.import_ import add_no_check

EXAMPLES = """
pellucid export huggingface runs/m30k runs/m30k-marian
pellucid export ctranslate2 runs/m30k runs/m30k-ct2 --quantization int8
pellucid export onnx demo demo-onnx --see "decoder.*.cross_attention.weights"
"""
PROGRAMS = ("huggingface", "ctranslate2", "onnx")
QUANTIZATIONS = ("float32", "int8", "int8_float32", "int16")


def add(verbs: Verbs) -> None:
    """Add the verb and its arguments."""
    about = "write a model for another program, and compare what that computes with the model"
    parser = verb(verbs, "export", about, run, EXAMPLES)
    program = (
        "huggingface: a MarianMT folder for transformers; ctranslate2: a folder for that engine; "
        "onnx: the encoder and a step of the decoder as graphs"
    )
    parser.add_argument("program", metavar="PROGRAM", choices=PROGRAMS, help=program)
    parser.add_argument("model", metavar="MODEL", type=model, help="a model folder, or the word demo")
    parser.add_argument("out", metavar="OUT", type=folder, help="the new folder")
    how = "how CTranslate2 keeps the weights (default: float32)"
    parser.add_argument("--quantization", choices=QUANTIZATIONS, default=QUANTIZATIONS[0], help=how)
    tensors = "of onnx: tensors, as a trace names them, that the graphs return too; may be repeated"
    parser.add_argument("--see", metavar="GLOB", action="append", default=[], help=tensors)
    add_no_check(parser)


def run(arguments: argparse.Namespace) -> None:
    """Export the model; the report goes to standard error, the folder's name to standard output."""
    from pathlib import Path

    from pellucid.cli.lines import put, tell
    from pellucid.interop.exporting import export
    from pellucid.interop.loading import load_folder
    from pellucid.translator import demo_folder

    loaded = load_folder(demo_folder() if arguments.model == "demo" else Path(arguments.model))
    check, quantization, see = not arguments.no_check, arguments.quantization, arguments.see
    conversion = export(arguments.program, loaded, arguments.out, check, quantization, see)
    tell(str(conversion))
    put([str(conversion.out)])
