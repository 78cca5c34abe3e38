"""pellucid import: a model of another program as a model folder of ours."""

import argparse

from pellucid.cli.arguments import Verbs, folder, model, verb

EXAMPLES = """
pellucid import opus-mt-en-de runs/opus-en-de
pellucid import nllb-200-distilled-600M runs/nllb-de --from deu_Latn
"""
NOTES = """
PATH is a folder with a MarianMT (OPUS-MT), M2M100 or NLLB model as transformers has it: config.json,
model.safetensors or pytorch_model.bin, and the files of its tokenizer. Nothing is downloaded,
and nothing in it is executed. Every verb also takes such a folder as MODEL, without this step.
"""


def add(verbs: Verbs) -> None:
    """Add the verb and its arguments."""
    about = "take in a MarianMT (OPUS-MT), M2M100 or NLLB model, and compare it with the original"
    parser = verb(verbs, "import", about, run, EXAMPLES, NOTES)
    parser.add_argument("path", metavar="PATH", type=model, help="the folder of the model")
    parser.add_argument("out", metavar="OUT", type=folder, help="the new model folder")
    about_from = "of M2M100 and NLLB: the language to translate from (default: what its tokenizer names)"
    parser.add_argument("--from", metavar="LANG", dest="source_language", help=about_from)
    add_no_check(parser)


def add_no_check(parser: argparse.ArgumentParser) -> None:
    """Add --no-check."""
    about = "leave out the comparison of both models"
    parser.add_argument("--no-check", action="store_true", help=about)


def run(arguments: argparse.Namespace) -> None:
    """Import the model; the report goes to standard error, the folder's name to standard output."""
    from pellucid.cli.lines import put, tell
    from pellucid.interop.importing import import_model

    check, source = not arguments.no_check, arguments.source_language
    conversion = import_model(arguments.path, arguments.out, check, source)
    tell(str(conversion))
    put([str(conversion.out)])
