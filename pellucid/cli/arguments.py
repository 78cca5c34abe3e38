"""What the verbs' arguments have in common."""

import argparse
import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

Verbs: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def verb(
    verbs: Verbs,
    name: str,
    about: str,
    run: Callable[[argparse.Namespace], None],
    examples: str,
    notes: str = "",
) -> argparse.ArgumentParser:
    """A verb whose help ends in examples."""
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
    """MODEL and --device."""
    parser.add_argument("model", metavar="MODEL", type=model, help="a model folder, or the word demo")
    add_device(parser)


def add_models(parser: argparse.ArgumentParser, optional: bool = False) -> None:
    """MODEL, of which several are an ensemble, and --device."""
    about = "a model folder, or the word demo; several are an ensemble (the mean of their probabilities)"
    parser.add_argument("model", metavar="MODEL", type=model, nargs="*" if optional else "+", help=about)
    add_device(parser)


def add_device(parser: argparse.ArgumentParser) -> None:
    """--device."""
    parser.add_argument("--device", default="auto", help="auto (a GPU if there is one), cpu, cuda, cuda:1, …")


def add_data(parser: argparse.ArgumentParser) -> None:
    """--data: both sides in one file."""
    about = "both sides in one file, source, tab, target: .tsv, .tsv.gz"
    parser.add_argument("--data", metavar="FILE", help=about)


def add_to(
    parser: argparse.ArgumentParser,
    about: str = "the language to translate to, where the model knows several",
) -> None:
    """--to."""
    parser.add_argument("--to", metavar="LANG", help=about)


def add_bad_utf8(parser: argparse.ArgumentParser) -> None:
    """--bad-utf8: what to do with a line that is not UTF-8."""
    parser.add_argument(
        "--bad-utf8",
        choices=("error", "replace", "skip"),
        default="error",
        help="a line that is not UTF-8: stop and say which (default), put U+FFFD for its bad bytes, "
        "or take it as an empty line",
    )


def text(argument: str) -> str:
    """An argument as text: UTF-8, though Python may have read it as something else because of the locale."""
    try:
        return os.fsencode(argument).decode()
    except UnicodeError:
        raise argparse.ArgumentTypeError(f"{argument!r} is not UTF-8") from None


def model(argument: str) -> str:
    """The name of a model folder; an empty one is that of a variable that is not set."""
    if not argument:
        raise argparse.ArgumentTypeError("it is empty: name a model folder, or write demo")
    return argument


def file(argument: str) -> Path:
    """A file to read or to write; an empty name, as of a variable that is not set, would be this folder."""
    if not argument:
        raise argparse.ArgumentTypeError("it is empty: name a file")
    return Path(argument)


def setting(argument: str) -> tuple[str, Any]:
    """section.key=value; the value is TOML, or else the text as it is."""
    name, equals, value = argument.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{argument!r}: write section.key=value, as in training.steps=500")
    value = text(value)
    try:
        table = tomllib.loads(f"value = {value}")
    except (ValueError, RecursionError):
        return name.strip(), value
    return name.strip(), table["value"] if len(table) == 1 else value


def folder(text: str) -> Path:
    """A folder to write into; an empty name, as of a variable that is not set, would be the current one."""
    if not text:
        raise argparse.ArgumentTypeError("it is empty: name a folder, or . for this one")
    there = next((path for path in (Path(text), *Path(text).parents) if path.exists()), None)
    if there and not there.is_dir():
        raise argparse.ArgumentTypeError(f"{there} is a file, and no folder can be there: name another")
    return Path(text)
