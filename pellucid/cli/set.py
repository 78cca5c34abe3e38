"""pellucid set: change the translation settings of a finished model."""

import argparse
from pathlib import Path

from pellucid.cli.lines import tell
from pellucid.errors import UsageError
from pellucid.learning.saving import change_translation


def run(arguments: argparse.Namespace) -> None:
    """Change [translation] settings in the model's config.toml, update the hashes, and print each new and
    previous value."""
    if arguments.model == "demo":
        raise UsageError(
            "demo is the model inside the package, which cannot be changed. Name a model folder."
        )
    changes = dict(arguments.settings)
    before, after = change_translation(Path(arguments.model), changes)
    for name in changes:
        was, now = (getattr(config.translation, name.partition(".")[2]) for config in (before, after))
        tell(f"{arguments.model}: {name} = {now} (it was {was})")
