"""pellucid import: a model of another program as a model folder of ours."""

import argparse

from pellucid.cli.arguments import NO_CHECK, Option, folder, model

ABOUT = "take in a MarianMT (OPUS-MT), M2M100 or NLLB model, and compare it with the original"
EXAMPLES = """
pellucid import opus-mt-en-de runs/opus-en-de
pellucid import nllb-200-distilled-600M runs/nllb-de --from deu_Latn
"""
NOTES = """
PATH is a folder with a MarianMT (OPUS-MT), M2M100 or NLLB model as transformers has it: config.json,
model.safetensors or pytorch_model.bin, and the files of its tokenizer. Nothing is downloaded,
and nothing in it is executed. Every verb also takes such a folder as MODEL, without this step.
"""
FROM = "of M2M100 and NLLB: the language to translate from (default: what its tokenizer names)"
OPTIONS = (
    Option("PATH", "the folder of the model", type=model),
    Option("OUT", "the new model folder", type=folder),
    Option("--from LANG", FROM, dest="source_language"),
    NO_CHECK,
)


def run(arguments: argparse.Namespace) -> None:
    """Import the model; the report goes to standard error, the folder's name to standard output."""
    from pellucid.cli.lines import put, tell
    from pellucid.interop.importing import import_model

    check, source = not arguments.no_check, arguments.source_language
    conversion = import_model(arguments.path, arguments.out, check, source)
    tell(str(conversion))
    put([str(conversion.out)])
