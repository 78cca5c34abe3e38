"""Check that a resumed run has the settings and data of the saved run, so that it continues bit for bit."""

from collections.abc import Mapping, Sequence
from typing import Any

from pellucid.config.schema import Config
from pellucid.config.toml_file import to_table, without_folders
from pellucid.errors import UsageError

# Settings that decide when a run stops and what it keeps, not what it learns.
ENDING = ("steps", "minutes", "checkpoint_every", "checkpoint_minutes", "keep_checkpoints", "patience")
Hashes = Mapping[str, str]  # the SHA-256 of each file
FREE = {f"training.{name}" for name in ENDING}


def check_accepted(accept: Sequence[str]) -> None:
    """Raise an error unless each name is "data" or a setting, such as "training.peak_rate"."""
    settings = {f"{section}.{key}" for section, values in vars(Config()).items() for key in vars(values)}
    for name in accept:
        if name not in settings | {"data"}:
            raise UsageError(
                f'accept: there is no setting "{name}". Give names such as training.steps, or the word data.'
            )


def refuse_changes(
    config: Config, saved: Config, data: Hashes, saved_data: Hashes, accept: Sequence[str]
) -> None:
    """Raise an error that lists all settings and data that differ from the saved run and are not in `accept`.
    Settings that only decide when a run stops and what it keeps may always differ.

    The order and the content of the files count; their folders do not.
    """
    free = FREE | {*accept} | ({"data.train", "data.validation"} if "data" in accept else set())
    before, now = _comparable(saved), _comparable(config)
    lines = [
        f"  {name}: {before.get(name)!r} -> {now.get(name)!r}"
        for name in sorted({*before, *now} - free)
        if before.get(name) != now.get(name)
    ]
    for name in sorted({*saved_data, *data}) if "data" not in accept else ():
        if saved_data.get(name) != data.get(name):
            old, new = (hashes.get(name, "absent")[:12] for hashes in (saved_data, data))
            lines.append(f"  data {name}: SHA-256 {old} -> {new}")
    if lines:
        raise UsageError(
            "this run was started with other settings or data, so it cannot continue bit for bit:\n"
            + "\n".join(lines)
            + "\nRestore them, start a new run with another --out, or accept them: "
            "--accept section.key (or --accept data)."
        )


def _comparable(config: Config) -> dict[str, Any]:
    """Return the settings by name, such as "training.seed". Leave out settings of the model that follow from
    the vocabulary, such as its size."""
    table = to_table(without_folders(config))
    for part in ("train", "validation"):
        table["data"][part] = [list(corpus) for corpus in table["data"][part]]
    return {
        f"{section}.{key}": value
        for section, values in table.items()
        for key, value in values.items()
        if section != "model" or not key.endswith(("_id", "vocabulary"))
    }
