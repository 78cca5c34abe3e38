"""Change finished models: average several models, and change the translation settings of a model."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import fields
from pathlib import Path
from typing import Any

from pellucid.config.schema import Config, TranslationConfig
from pellucid.config.settings import differences
from pellucid.config.toml_file import from_table, to_table
from pellucid.errors import UsageError
from pellucid.folder.checkpoint import CONFIG, save_config, save_model
from pellucid.folder.load import Loaded, load_config, load_model
from pellucid.folder.whole_file import making
from pellucid.learning.claim import LOCK, locked
from pellucid.learning.saving import mean, versions, what_is


def average(out: str | Path, checkpoints: Sequence[str | Path]) -> Path:
    """Average the weights of several models, and write the result to the new folder `out` (Vaswani et al.
    2017, section 6.1); return the folder.

    A checkpoint is RUN/checkpoints/step-N, RUN/averaging/checkpoints/step-N or a model folder. All must have
    the same architecture and the same vocabulary.
    """
    out = Path(out)
    if out.is_file() or (out.is_dir() and any(out.iterdir())):
        only = "an average is written to a new folder only"
        raise UsageError(
            f"{out} already exists, and {only}. Name the new folder first, then the checkpoints."
        )
    loaded = [load_model(Path(folder), "cpu") for folder in checkpoints]
    for folder, each in zip(checkpoints, loaded, strict=True):
        if difference := _difference(each, loaded[0]):
            raise UsageError(
                f"{folder} cannot be averaged with {checkpoints[0]}: {difference}. "
                "Average checkpoints of one run, or of runs that start from one model."
            )
    model, vocabulary, config, _ = loaded[0]
    model.load_state_dict(mean([each.model.state_dict() for each in loaded]))
    names = [what_is(each.manifest) for each in loaded]
    provenance = {
        "what": f"average of {'; '.join(names)}",
        "licence": config.data.licence,
        "scores": {},
        "versions": versions(),
    }
    with making(out):
        save_model(out, model, vocabulary, config, provenance)
    return out


def _difference(one: Loaded, other: Loaded) -> str:
    """Return why two models cannot be averaged, or "" if they can. Their dropout may differ."""
    shape = [name for name in vars(one.config.model) if not name.endswith("dropout")]
    if different := differences(one.config.model, other.config.model, shape):
        return f"its model has another shape: {different}"
    return "" if one.vocabulary.same_as(other.vocabulary) else "its vocabulary is different"


def change_translation(folder: Path, changes: Mapping[str, Any]) -> tuple[Config, Config]:
    """Change settings such as {"translation.beam": 8} in a model folder; return the old and new
    configuration."""
    for name in changes:
        if not name.startswith("translation."):
            known = ", ".join(f"translation.{setting.name}" for setting in fields(TranslationConfig))
            fixed = "cannot be changed, because it says how the model was made"
            raise UsageError(f"{name} {fixed}. Choose one of {known}.")
    with ExitStack() as stack:
        for run in (folder, folder.absolute().parent):  # runs/x/last belongs to the run in runs/x
            if (run / LOCK).exists():
                stack.enter_context(locked(run))
        before = load_config(folder)
        table = to_table(before)
        table["translation"] |= {name.partition(".")[2]: value for name, value in changes.items()}
        after = from_table(table, where=str(folder / CONFIG))
        save_config(folder, after)
    return before, after
