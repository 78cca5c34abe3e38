"""Arguments that several verbs share, and the types of arguments."""

import argparse
import os
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from pellucid.errors import PellucidError

Verbs: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def verb(
    verbs: Verbs,
    name: str,
    about: str,
    run: Callable[[argparse.Namespace], None],
    examples: str,
    notes: str = "",
) -> argparse.ArgumentParser:
    """Add a verb whose help ends in examples."""
    lines = examples.strip().split("\n")
    title = "example" if len(lines) == 1 else "examples"
    parts = [notes.strip(), "\n  ".join([f"{title}:", *lines])]
    parser = verbs.add_parser(
        name,
        help=about,
        description=about[0].upper() + about[1:] + ".",
        epilog="\n\n".join(part for part in parts if part),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)
    return parser


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add MODEL and --device."""
    parser.add_argument("model", metavar="MODEL", type=model, help="a model folder, or the word demo")
    add_device(parser)


def add_models(parser: argparse.ArgumentParser, optional: bool = False) -> None:
    """Add MODEL (several models make an ensemble) and --device."""
    about = "a model folder, or the word demo; several are an ensemble (the mean of their probabilities)"
    parser.add_argument("model", metavar="MODEL", type=model, nargs="*" if optional else "+", help=about)
    add_device(parser)


def add_device(parser: argparse.ArgumentParser) -> None:
    """Add --device."""
    about = "auto (a GPU if there is one), cpu, cuda, cuda:1, …"
    parser.add_argument("--device", metavar="NAME", type=device, default="auto", help=about)


def add_search(parser: argparse.ArgumentParser) -> None:
    """Add the options of the search."""
    option = parser.add_argument
    option("--beam", metavar="N", type=int, help="hypotheses that are followed at once; 1 is greedy")
    option("--length-penalty", metavar="X", type=float, help="scores are divided by length^X")
    option("--max-length", metavar="N", type=int, help="the most tokens, with the end token")


def add_data(parser: argparse.ArgumentParser) -> None:
    """Add --data: both sides in one file."""
    about = "both sides in one file, source, tab, target: .tsv, .tsv.gz"
    parser.add_argument("--data", metavar="FILE", help=about)


def add_to(
    parser: argparse.ArgumentParser, about: str = "the target language, where the model has several"
) -> None:
    """Add --to."""
    parser.add_argument("--to", metavar="LANG", help=about)


def add_bad_utf8(parser: argparse.ArgumentParser) -> None:
    """Add --bad-utf8: what to do with a line that is not UTF-8."""
    about = (
        "a line that is not UTF-8: stop with an error (default), replace the bad bytes with U+FFFD, or take "
        "it as an empty line"
    )
    parser.add_argument("--bad-utf8", choices=("error", "replace", "skip"), default="error", help=about)


def text(argument: str) -> str:
    """Return the argument as UTF-8 text, in any locale."""
    try:
        return os.fsencode(argument).decode()
    except UnicodeError:
        raise argparse.ArgumentTypeError(f"{argument!r} is not UTF-8") from None


def model(argument: str) -> str:
    """Return the name of a model folder; refuse an empty name, as of a variable that is not set."""
    if not argument:
        raise argparse.ArgumentTypeError("it is empty: name a model folder, or write demo")
    return argument


def check_models(arguments: argparse.Namespace) -> None:
    """Raise unless the folder of every model exists, before torch is imported."""
    for name in ("model", "checkpoints", "path"):
        models = getattr(arguments, name, None) or []
        for each in models if isinstance(models, list) else [models]:
            if each != "demo" and not Path(each).is_dir():
                raise PellucidError(f"{each}: no such folder. Name a model folder, or write demo.")


def device(argument: str) -> str:
    """Check the form of a device's name, before torch is imported."""
    if not re.fullmatch(r"auto|cpu|mps|(cuda|xpu)(:\d+)?", argument):
        raise argparse.ArgumentTypeError(f"{argument!r} is not the name of a device: use auto, cpu or cuda")
    return argument


def file(argument: str) -> Path:
    """Return the path of a file; refuse an empty name, as of a variable that is not set."""
    if not argument:
        raise argparse.ArgumentTypeError("it is empty: name a file")
    return Path(argument)


def setting(argument: str) -> tuple[str, Any]:
    """Split section.key=value; the value is TOML, or else plain text."""
    name, equals, value = argument.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{argument!r}: write section.key=value, as in training.steps=500")
    value = text(value)
    try:
        table = tomllib.loads(f"value = {value}")
    except (ValueError, RecursionError):
        return name.strip(), value
    return name.strip(), table["value"] if len(table) == 1 else value


def folder(argument: str) -> Path:
    """Return the path of a folder to write into; refuse an empty name, as of a variable that is not set."""
    if not argument:
        raise argparse.ArgumentTypeError("it is empty: name a folder, or . for this one")
    path = Path(argument)
    there = next((each for each in (path, *path.parents) if each.exists()), None)
    if there and not there.is_dir():
        raise argparse.ArgumentTypeError(f"{there} is a file, and no folder can be there: name another")
    return path
