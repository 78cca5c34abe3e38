"""pellucid set: how a finished model translates unless a call says otherwise."""

import argparse
from pathlib import Path

from pellucid.cli.arguments import Verbs, model, setting, verb

EXAMPLES = """
pellucid set runs/m30k translation.length_penalty=0.8
pellucid set runs/m30k translation.beam=8 translation.max_length=200
"""


def add(verbs: Verbs) -> None:
    """Add the verb and its arguments."""
    about = "change a model's [translation]: beam, length_penalty, max_length"
    parser = verb(verbs, "set", about, run, EXAMPLES)
    parser.add_argument("model", metavar="MODEL", type=model, help="a model folder")
    parser.add_argument("settings", metavar="KEY=VALUE", type=setting, nargs="+", help="section.key=value")


def run(arguments: argparse.Namespace) -> None:
    """Write config.toml, seal the folder again, and say what the value was before."""
    from pellucid.cli.lines import tell
    from pellucid.errors import UsageError
    from pellucid.learning.finished import change_translation

    if arguments.model == "demo":
        raise UsageError("demo is the model inside the package, which stays as it is. Name a model folder.")
    changes = dict(arguments.settings)
    before, after = change_translation(Path(arguments.model), changes)
    for name in changes:
        was, now = (getattr(config.translation, name.partition(".")[2]) for config in (before, after))
        tell(f"{arguments.model}: {name} = {now} (it was {was})")
