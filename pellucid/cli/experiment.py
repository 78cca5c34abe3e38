"""pellucid experiment: measure a claim about the Transformer on your own model and sentence."""

import argparse
from typing import Any

from pellucid import experiments
from pellucid.cli.lines import as_text, put, tell
from pellucid.data.corpus import read_lines
from pellucid.errors import UsageError
from pellucid.experiments.catalogue import catalogue
from pellucid.experiments.result import Result
from pellucid.folder.whole_file import refuse_foreign
from pellucid.seeing.viewed import columns_of_terminal
from pellucid.show.panels import require_matplotlib
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
        require_matplotlib()
        refuse_foreign(out / f"{name}.{ending}" for ending in ("json", "png"))
    if arguments.file is not None:
        result = _over_text(arguments, model)
    else:
        settings = {"to": arguments.to} | dict(arguments.settings)
        result = experiments.experiment(name, model, arguments.text, **settings)
    if out:
        out.mkdir(parents=True, exist_ok=True)
        result.to_json(out / f"{name}.json")
        result.plot(out / f"{name}.png")
        tell(f"written: {name}.png and {name}.json, in {out}")
    put(result.lines(max(60, min(100, columns_of_terminal()))))  # last: the reader may leave


def _over_text(arguments: argparse.Namespace, model: Any) -> Result:
    """Run the experiment heads over the lines of --text."""
    if arguments.name != "heads" or model is None or arguments.text is not None or arguments.settings:
        raise UsageError("--text FILE belongs to `experiment heads MODEL`, without a sentence or settings.")
    file, bad = arguments.file, arguments.bad_utf8
    texts = [as_text(line, file, number, bad) for number, line in enumerate(read_lines(file), 1)]
    return catalogue(model, texts, arguments.to)
