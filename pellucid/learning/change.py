"""How a finished model translates unless a call says otherwise: its [translation], changed afterwards."""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import fields
from pathlib import Path
from typing import Any

from pellucid.config.schema import Config, TranslationConfig
from pellucid.config.toml_file import from_table, to_table
from pellucid.errors import UsageError
from pellucid.folder.checkpoint import CONFIG, load_config, save_config
from pellucid.learning.claim import LOCK, locked

SETTINGS = [f"translation.{setting.name}" for setting in fields(TranslationConfig)]


def change_translation(folder: Path, changes: Mapping[str, Any]) -> tuple[Config, Config]:
    """Changes {"translation.beam": 8, …} in a model folder; its configuration before and after."""
    for name in changes:
        if not name.startswith("translation."):
            raise UsageError(
                f"{name}: this says how the model was made, which cannot change afterwards. "
                f"There are: {', '.join(SETTINGS)}."
            )
    with ExitStack() as stack:
        for run in (folder, folder.absolute().parent):  # the parent of runs/x/last, for example
            if (run / LOCK).exists():
                stack.enter_context(locked(run))
        before = load_config(folder)
        table = to_table(before)
        table["translation"] |= {name.partition(".")[2]: value for name, value in changes.items()}
        after = from_table(table, where=str(folder / CONFIG))
        save_config(folder, after)
    return before, after
