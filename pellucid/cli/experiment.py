"""pellucid experiment: what is only claimed, measured on one's own model and sentence."""

import argparse
from pathlib import Path
from typing import Any

from pellucid.cli.arguments import Verbs, add_device, add_to, folder, text, verb
from pellucid.cli.arguments import setting as toml_setting
from pellucid.errors import UsageError

EXAMPLES = """
pellucid experiment --list
pellucid experiment heads demo "I like cats" --to es
pellucid experiment attribution demo "I like cats" --to es --set steps=2048
pellucid experiment positions demo --out pictures
pellucid experiment leakage --set steps=300 --out pictures
pellucid experiment float16
"""
NOTES = """
What an experiment is given, --list says: some need a model and a sentence, some a model, some neither;
and the settings that it has.
--out writes NAME.png (which needs matplotlib) and NAME.json, every number.
"""


def add(verbs: Verbs) -> None:
    """The verb and its arguments."""
    about = "measure a claim about the Transformer: heads differ, layers refine, the scale stabilises, …"
    parser = verb(verbs, "experiment", about, run, EXAMPLES, NOTES)
    option = parser.add_argument
    option("name", metavar="NAME", nargs="?", type=text, help="an experiment that --list names")
    option("model", metavar="MODEL", nargs="?", help="a model folder, or the word demo")
    option("text", metavar="TEXT", nargs="?", type=text, help="the sentence, in quotes")
    add_to(parser)
    option("--list", action="store_true", help="the experiments, what each needs and what can be set")
    option("--out", metavar="DIR", type=folder, help="write the picture and the numbers here")
    change = "a setting of the experiment, as in steps=100; may be repeated"
    option(
        "--set", metavar="NAME=VALUE", dest="settings", type=setting, action="append", default=[], help=change
    )
    add_device(parser)


def setting(argument: str) -> tuple[str, Any]:
    """name=value of an experiment."""
    if "=" not in argument:
        raise argparse.ArgumentTypeError(
            f"{argument!r}: write name=value, as in steps=100; pellucid experiment --list says what can "
            "be set"
        )
    return toml_setting(argument)


def run(arguments: argparse.Namespace) -> None:
    """The conclusion and its numbers to standard output."""
    if arguments.name is None and not arguments.list:
        raise UsageError("experiment: give a NAME; --list says which there are.")
    from pellucid import experiments
    from pellucid.cli.lines import put, tell
    from pellucid.folder.whole_file import refuse_foreign
    from pellucid.seeing.viewed import columns_of_terminal
    from pellucid.translator import load

    if arguments.list:
        for name in experiments.names():
            put(described(name, max(40, min(80, columns_of_terminal()))))
        return
    model = arguments.model
    if model is not None and experiments.needs(arguments.name) != "nothing":  # or its name is refused below
        model = load(model, arguments.device, precision="fp32")
    settings = dict(arguments.settings)
    for own in {"name", "model", "text", "to"} & settings.keys():
        raise UsageError(f"--set {own}: this is no setting of an experiment. Give it as the help says.")
    if arguments.out and arguments.name in experiments.names():  # before the work, which may take minutes
        refuse_foreign(arguments.out / f"{arguments.name}.{ending}" for ending in ("json", "png"))
    result = experiments.experiment(arguments.name, model, arguments.text, arguments.to, **settings)
    if arguments.out:
        write(result, arguments.name, arguments.out)
        tell(f"written: {arguments.name}.png and {arguments.name}.json, in {arguments.out}")
    put(result.lines(max(60, min(100, columns_of_terminal()))))  # last: who reads it may leave


def described(name: str, width: int) -> list[str]:
    """An experiment's name, what it shows, what it needs and what can be set."""
    from textwrap import wrap

    from pellucid import experiments

    changeable = ", ".join(experiments.settings(name)) or "none"
    texts = [
        experiments.about(name),
        f"needs {experiments.NEEDED[experiments.needs(name)]}; settings: {changeable}",
    ]
    return [name, *(f"    {line}" for text in texts for line in wrap(text, width - 4))]


def write(result: Any, name: str, out: Path) -> None:
    """The picture and the numbers of a result."""
    import dataclasses
    import json

    from pellucid.folder.manifest import jsonable
    from pellucid.folder.version import __version__
    from pellucid.folder.whole_file import write as write_file

    out.mkdir(parents=True, exist_ok=True)
    numbers = {"pellucid": __version__} | jsonable(dataclasses.asdict(result))
    write_file(out / f"{name}.json", json.dumps(numbers, ensure_ascii=False, allow_nan=False).encode())
    result.plot(out / f"{name}.png")
