"""The arguments of verbs: how a verb writes them, those that several share, and their types."""

import argparse
import os
import re
import tomllib
from pathlib import Path
from typing import Any

from pellucid.errors import PellucidError


class Option:
    """An argument of a verb: `--beam N`, `--json` or `MODEL`, its help, and what else argparse takes.

    Of the options that stand `alone`, a command has one at most.
    """

    def __init__(self, written: str, about: str, alone: bool = False, **settings: Any) -> None:
        name, _, metavar = written.partition(" ")
        self.name = name if name.startswith("--") else settings.pop("dest", name.lower())
        self.alone, self.settings = alone, {"help": about, **settings}
        if metavar or name != self.name:
            self.settings["metavar"] = metavar or name
        elif "choices" not in settings and "default" not in settings:
            self.settings.setdefault("action", "store_true")


def add_verb(verbs: Any, name: str, verb: Any) -> None:
    """Add a verb, a module with ABOUT, EXAMPLES, OPTIONS, run and maybe NOTES; its help ends in examples."""
    lines = verb.EXAMPLES.strip().split("\n")
    title = "example" if len(lines) == 1 else "examples"
    parts = [getattr(verb, "NOTES", "").strip(), "\n  ".join([f"{title}:", *lines])]
    parser = verbs.add_parser(
        name,
        help=verb.ABOUT,
        description=verb.ABOUT[0].upper() + verb.ABOUT[1:] + ".",
        epilog="\n\n".join(part for part in parts if part),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=verb.run)
    groups = {False: parser}
    for option in verb.OPTIONS:
        if option.alone not in groups:
            groups[True] = parser.add_mutually_exclusive_group()
        groups[option.alone].add_argument(option.name, **option.settings)


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
    for name in ("model", "checkpoints"):
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


ENSEMBLE = "a model folder, or the word demo; several are an ensemble (the mean of their probabilities)"
UTF8 = (
    "a line that is not UTF-8: stop with an error (default), replace the bad bytes with U+FFFD, or take it "
    "as an empty line"
)
GPU = "auto (a GPU if there is one), cpu, cuda, cuda:1, …"
MODEL = Option("MODEL", "a model folder, or the word demo", type=model)
MODELS = Option("MODEL", ENSEMBLE, type=model, nargs="+")
GPU = "auto (a GPU if there is one), cpu, cuda, cuda:1, …"
DEVICE = Option("--device NAME", GPU, type=device, default="auto")
TO = Option("--to LANG", "the target language, where the model has several")
DATA = Option("--data FILE", "both sides in one file, source, tab, target: .tsv, .tsv.gz")
BAD_UTF8 = Option("--bad-utf8", UTF8, choices=("error", "replace", "skip"), default="error")
SEARCH = (
    Option("--beam N", "hypotheses that are followed at once; 1 is greedy", type=int),
    Option("--length-penalty X", "scores are divided by length^X", type=float),
    Option("--max-length N", "the most tokens, with the end token", type=int),
)
NO_CHECK = Option("--no-check", "leave out the comparison of both models")
