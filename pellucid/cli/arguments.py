"""The verbs and their options, read from verbs.toml, and the types of their arguments."""

import argparse
import os
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from pellucid.config.schema import Config
from pellucid.config.toml_file import read
from pellucid.errors import PellucidError, did_you_mean
from pellucid.folder.version import __version__

CHOSEN = "train.toml"  # the settings that are chosen for a training, in the model's folder


class Parser(argparse.ArgumentParser):
    """A parser of one verb, or of all, that says what was probably meant."""

    verbs: tuple[str, ...] = ()
    parser_of: Mapping[str, argparse.ArgumentParser] = {}  # of each verb

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse arguments. Raise an error for an unknown verb, and for an unknown option, with the usage of
        its verb."""
        if self.verbs and args and args[0] not in self.verbs and not args[0].startswith("-"):
            self.error(f"there is no verb {args[0]!r}.{did_you_mean(args[0], self.verbs)}")
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            near = did_you_mean(unknown[0].partition("=")[0], self._option_string_actions)
            self.error(f"unrecognized arguments: {' '.join(unknown)}.{near}")
        return found, unknown


class Once(argparse.Action):
    """An option with a value, that may be given once."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        """Store the value; raise an error if there is one already."""
        if getattr(namespace, self.dest) is not self.default:
            parser.error(f"{option_string} is given twice. Leave one out.")
        setattr(namespace, self.dest, values)


def command_line() -> Parser:
    """Build the parser of all verbs from verbs.toml."""
    table = tomllib.loads(files(__package__).joinpath("verbs.toml").read_text("utf-8"))
    shared = table.pop("shared")
    parser = Parser(
        prog="pellucid",
        description="An encoder-decoder Transformer that you can train, run and see through.",
        epilog="MODEL is a model folder, or the word `demo` for the model that comes with the package. "
        "Each verb has its own --help, with an example.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"pellucid {__version__}")
    verbs = parser.add_subparsers(title="verbs", dest="verb", metavar="VERB")
    parser.verbs = tuple(table)
    for name, verb in table.items():
        _add_verb(verbs, name, verb, shared)
    parser.parser_of = verbs.choices
    return parser


def _add_verb(verbs: Any, name: str, verb: dict[str, Any], shared: dict[str, Any]) -> None:
    """Add a verb to the subparsers `verbs`, with a help text that ends with examples. shared: the settings of
    options that several verbs have."""
    about, examples = verb["about"], verb["examples"].split("\n")
    title = "example" if len(examples) == 1 else "examples"
    parts = [verb.get("notes", ""), "\n  ".join([f"{title}:", *examples])]
    parser = verbs.add_parser(
        name,
        help=about,
        description=about[0].upper() + about[1:] + ".",
        epilog="\n\n".join(part for part in parts if part),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    groups = {"": parser}
    for written, entry in verb["options"].items():
        settings = _as_table(shared.get(written, {})) | _as_table(entry)
        group = settings.pop("group", "")  # "at most one", "exactly one"
        if group not in groups:
            groups[group] = parser.add_mutually_exclusive_group(required=group == "exactly one")
        _add_option(groups[group], written, settings)


def _add_option(parser: Any, written: str, settings: dict[str, Any]) -> None:
    """Add an argument to the parser. `written` is its form in the help: `--beam N`, `--json` or `MODEL`."""
    name, _, metavar = written.partition(" ")
    if not name.startswith("--"):
        name, metavar = settings.pop("dest", name.lower()), settings.pop("metavar", name)
    if metavar:
        settings["metavar"] = metavar
    elif not settings.keys() & {"choices", "default"}:
        settings["action"] = "store_true"
    if name.startswith("--"):
        settings.setdefault("action", Once)
    if "type" in settings:
        settings["type"] = TYPES[settings["type"]]
    parser.add_argument(name, **settings)


def _as_table(entry: str | dict[str, Any]) -> dict[str, Any]:
    return {"help": entry} if isinstance(entry, str) else entry


def text(argument: str) -> str:
    """Return the argument decoded as UTF-8, whatever the locale; raise an error if it is not UTF-8."""
    try:
        return os.fsencode(argument).decode()
    except UnicodeError:
        raise argparse.ArgumentTypeError(f"{argument!r} is not UTF-8") from None


def _refuse_empty(argument: str, remedy: str) -> str:
    """Return the argument. Raise an error if it is empty, such as "$MODEL" when the variable is not set."""
    if not argument:
        raise argparse.ArgumentTypeError(f"it is empty: {remedy}")
    return argument


def model(argument: str) -> str:
    """Return the name of a model folder; raise an error if the argument is empty."""
    return _refuse_empty(argument, "name a model folder, or write demo")


def check_models(arguments: argparse.Namespace) -> None:
    """Raise an error if a model folder in the arguments does not exist. This runs before torch is imported,
    which takes a while."""
    for name in ("model", "checkpoints", "path", "beside", "start", "original"):
        models = getattr(arguments, name, None) or []
        for each in map(str, models if isinstance(models, list) else [models]):
            if each != "demo" and not each.startswith("hf://") and not Path(each).is_dir():
                what = "this is a file" if Path(each).exists() else "no such folder"
                others = "" if name in ("path", "original") else " or hf://OWNER/NAME, or write demo"
                raise PellucidError(f"{each}: {what}. Name a model folder{others}.")


def file(argument: str) -> Path:
    """Return the path of a file; raise an error if the argument is empty."""
    return Path(_refuse_empty(argument, "name a file"))


def setting(argument: str) -> tuple[str, Any]:
    """Split name=value. The value is read as TOML; if that fails, it is taken as plain text."""
    name, equals, value = argument.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{argument!r}: write name=value, as in training.steps=500")
    value = text(value)
    try:
        table = tomllib.loads(f"value = {value}")
    except (ValueError, RecursionError):
        return name.strip(), value
    return name.strip(), table["value"] if len(table) == 1 else value


def whole(argument: str) -> int:
    """Return the argument as a whole number, 0 or more."""
    if not argument.isdecimal():
        raise argparse.ArgumentTypeError(f"{argument!r} is not a whole number, 0 or more")
    return int(argument)


def folder(argument: str) -> Path:
    """Return the path of a folder to write into; raise an error if a file is in the way."""
    path = Path(_refuse_empty(argument, "name a folder, or . for this one"))
    there = next((each for each in (path, *path.parents) if each.exists()), None)
    if there and not there.is_dir():
        raise argparse.ArgumentTypeError(f"{there} is a file, so no folder can be made there: name another")
    return path


KINDS: list[Any] = [int, float, Path, text, model, file, folder, setting, whole]
TYPES = {kind.__name__: kind for kind in KINDS}


def configuration(path: Path, settings: Mapping[str, Any]) -> Config:
    """Read CONFIG with the settings of --set. torch is imported only if a training starts from
    another program's model."""

    def load(folder: Path) -> Config:
        from pellucid.interop.importing import config_of

        return config_of(folder)

    return read(path, settings, load)
