"""pellucid experiment: what is only claimed, measured on one's own model and sentence."""

import argparse
from typing import Any

from pellucid.cli.arguments import DEVICE, TO, Option, folder, text
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
--list says what each experiment needs (a model and a sentence, a model, or neither), and its settings.
--out writes NAME.png (which needs matplotlib) and NAME.json, every number.
"""


def setting(argument: str) -> tuple[str, Any]:
    """Read the name=value of a setting."""
    if "=" not in argument:
        raise argparse.ArgumentTypeError(
            f"{argument!r}: write name=value, as in steps=100; pellucid experiment --list names the settings"
        )
    return toml_setting(argument)


ABOUT = "measure a claim about the Transformer: heads differ, layers refine, the scale stabilises, …"
CHANGE = "a setting of the experiment, as in steps=100; may be repeated"
OPTIONS = (
    Option("NAME", "an experiment that --list names", nargs="?", type=text),
    Option("MODEL", "a model folder, or the word demo", nargs="?"),
    Option("TEXT", "the sentence, in quotes", nargs="?", type=text),
    TO,
    Option("--list", "the experiments, what each needs and what can be set"),
    Option("--out DIR", "write the picture and the numbers here", type=folder),
    Option("--set NAME=VALUE", CHANGE, dest="settings", type=setting, action="append", default=[]),
    DEVICE,
)


def run(arguments: argparse.Namespace) -> None:
    """Print the conclusion and its numbers."""
    if arguments.name is None and not arguments.list:
        raise UsageError("experiment: give a NAME; --list says which there are.")
    from pellucid import experiments
    from pellucid.cli.lines import put, tell
    from pellucid.folder.whole_file import refuse_foreign
    from pellucid.seeing.viewed import columns_of_terminal
    from pellucid.translator import load

    name, out, model = arguments.name, arguments.out, arguments.model
    if arguments.list:
        for each in experiments.NAMES:
            put([each, *(f"    {line}" for line in experiments.described(each, 76))])
        return
    if model is not None and experiments.needs(name) != "nothing":  # or its name is refused below
        model = load(model, arguments.device, precision="fp32")
    settings = dict(arguments.settings)
    for own in {"name", "model", "text", "to"} & settings.keys():
        raise UsageError(f"--set {own}: this is no setting of an experiment. Give it as the help says.")
    if out and name in experiments.NAMES:  # before the work, which may take minutes
        refuse_foreign(out / f"{name}.{ending}" for ending in ("json", "png"))
    result = experiments.experiment(name, model, arguments.text, arguments.to, **settings)
    if out:
        out.mkdir(parents=True, exist_ok=True)
        result.to_json(out / f"{name}.json")
        result.plot(out / f"{name}.png")
        tell(f"written: {name}.png and {name}.json, in {out}")
    put(result.lines(max(60, min(100, columns_of_terminal()))))  # last: the reader may leave
