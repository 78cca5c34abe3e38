"""pellucid experiment: measure a claim about the Transformer on your own model and sentence."""

import argparse

from pellucid import experiments
from pellucid.cli.lines import put, tell
from pellucid.folder.whole_file import refuse_foreign
from pellucid.seeing.viewed import columns_of_terminal
from pellucid.translator import load


def run(arguments: argparse.Namespace) -> None:
    """Run an experiment and print its conclusion and tables. With --list, print all experiments instead."""
    name, out, model = arguments.name, arguments.out, arguments.model
    if arguments.list:
        for each in experiments.NAMES:
            put([each, *(f"    {line}" for line in experiments.describe(each, 76))])
        return
    if model is not None and experiments.needs(name) != "nothing":  # or its name is refused below
        model = load(model, arguments.device, precision="fp32")
    if out and name in experiments.NAMES:  # before the work, which may take minutes
        refuse_foreign(out / f"{name}.{ending}" for ending in ("json", "png"))
    settings = {"to": arguments.to} | dict(arguments.settings)
    result = experiments.experiment(name, model, arguments.text, **settings)
    if out:
        out.mkdir(parents=True, exist_ok=True)
        result.to_json(out / f"{name}.json")
        result.plot(out / f"{name}.png")
        tell(f"written: {name}.png and {name}.json, in {out}")
    put(result.lines(max(60, min(100, columns_of_terminal()))))  # last: the reader may leave
