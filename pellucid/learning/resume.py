"""What may differ between a run and its resume, so that it goes on bit for bit."""

from collections.abc import Sequence
from typing import Any

from pellucid.config.schema import Config
from pellucid.config.toml_file import to_table, without_folders
from pellucid.errors import UsageError

Table = dict[str, dict[str, Any]]

# Settings that may change between a run and its resume: they decide when it stops and what it keeps, not what
# it learns.
FREE = (
    "training.steps",
    "training.minutes",
    "training.checkpoint_every",
    "training.checkpoint_minutes",
    "training.keep_checkpoints",
    "training.patience",
)


def check_accepted(accept: Sequence[str]) -> None:
    """Each is a setting, as section.key, or the word data."""
    if isinstance(accept, str):
        raise UsageError(f'accept = "{accept}" must be a list of names, as in accept=["{accept}"].')
    default = Config()
    known = {f"{section}.{key}" for section, settings in vars(default).items() for key in vars(settings)}
    for name in accept:
        if name != "data" and name not in known:
            raise UsageError(f'accept: there is no setting "{name}". Name one as section.key, or data.')


def refuse_changes(
    config: Config, saved: Config, data: dict[str, str], saved_data: dict[str, str], accept: Sequence[str]
) -> None:
    """Refuse another configuration or other data, with what differs; `accept` lets single things through."""
    if different := changes(config, saved, data, saved_data, accept):
        raise UsageError(
            "this run was started with other settings or data, so it cannot go on bit for bit:\n"
            + "\n".join(different)
            + "\nRestore them, start anew with another --out, or let them through: "
            "--accept section.key (or --accept data)."
        )


def changes(
    config: Config,
    saved: Config,
    data: dict[str, str],
    saved_data: dict[str, str],
    accept: Sequence[str] = (),
) -> list[str]:
    """What differs between a run and what is asked for, a line each.

    The order of the files counts, and what is in them, but not where they lie.
    """
    before, now = (to_table(without_folders(each)) for each in (saved, config))
    different = _changed_settings(before, now, accept)
    if "data" not in accept:
        different += _changed_files(saved_data, data)
    return different


def _changed_settings(old: Table, new: Table, accept: Sequence[str]) -> list[str]:
    changed = []
    names = sorted(
        (section, key) for section, settings in new.items() for key in {**old[section], **settings}
    )
    for section, key in names:
        name = f"{section}.{key}"
        follows_from_vocabulary = section == "model" and key.endswith(("_id", "vocabulary"))
        if name in (*FREE, *accept) or follows_from_vocabulary:
            continue
        before, now = old[section].get(key), new[section].get(key)
        if section == "data" and key in ("train", "validation"):
            if "data" in accept:
                continue
            before, now = ([list(corpus) for corpus in value or ()] for value in (before, now))
        if now != before:
            changed.append(f"  {name}: {before!r} -> {now!r}")
    return changed


def _changed_files(old: dict[str, str], new: dict[str, str]) -> list[str]:
    changed = [name for name in sorted({*old, *new}) if old.get(name) != new.get(name)]
    short = [[hashes.get(name, "absent")[:12] for hashes in (old, new)] for name in changed]
    return [f"  data {name}: SHA-256 {' -> '.join(pair)}" for name, pair in zip(changed, short, strict=True)]
