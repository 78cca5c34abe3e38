"""`pellucid train --source --target`: a configuration chosen for a user's text, and its commented file."""

import argparse
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pellucid.errors import UsageError

if TYPE_CHECKING:
    from pellucid.config.schema import Config
    from pellucid.learning.choosing import Chosen

FILE = "train.toml"  # in the model's folder
MINUTES = 30.0


def files_of(arguments: argparse.Namespace) -> list[str]:
    """The files of --source and --target or of --data, by their full paths; none where there is CONFIG."""
    source, target, table = arguments.source, arguments.target, arguments.data
    ways = [way for way in (arguments.config, source or target, table) if way is not None]
    if len(ways) != 1 or (source is None) != (target is None):
        raise UsageError(
            "train needs one of these: CONFIG.toml, or --source FILE and --target FILE together, "
            "or --data FILE.tsv."
        )
    for option, side in (("--source", source), ("--target", target)):
        if side is not None and str(side).endswith((".tsv", ".tsv.gz")):
            raise UsageError(f"{option} {side}: a table of sources and targets. Give it as --data {side}.")
    return [str(Path(file).absolute()) for file in (source, target, table) if file is not None]


def chosen_config(
    files: Sequence[str], out: Path, arguments: argparse.Namespace
) -> tuple["Config", str | None]:
    """The configuration for these files, and the text to write as its file: None where a resume reads it."""
    from pellucid.config.toml_file import from_table, override, read

    path, corpus, settings = out / FILE, [list(files)], dict(arguments.settings)
    if path.exists():
        if not arguments.resume:
            raise UsageError(
                f"{path} is there already, from an earlier run. Go on with --resume, or choose another --out."
            )
        minutes = {} if arguments.minutes is None else {"training.minutes": arguments.minutes}
        return read(path, minutes | {"data.train": corpus} | settings), None
    chosen = _chosen(corpus, settings, arguments)
    table: dict[str, Any] = {}
    override(table, {each.name: each.value for each in chosen}, str(path))
    config = from_table(table, where="train", folder=Path.cwd())
    command = shlex.join(["pellucid", "train", str(path), "--out", str(out), "--resume"])
    return config, _text(chosen, config, command, out)


def _chosen(
    corpus: list[list[str]], settings: dict[str, Any], arguments: argparse.Namespace
) -> "list[Chosen]":
    """What suits the text, with what --set says in its place."""
    from pellucid.config.device import device_named
    from pellucid.config.toml_file import from_table, override
    from pellucid.data.corpus import read_pairs
    from pellucid.learning.choosing import ON_A_GPU, Chosen, choose, look_at

    table: dict[str, Any] = {"data": {"train": corpus}}
    override(table, settings, "--set")
    data = from_table(table, where="train", folder=Path.cwd()).data
    pairs, _ = read_pairs(data.train, data)
    faster = 1.0 if device_named(arguments.device).type == "cpu" else ON_A_GPU
    minutes = MINUTES if arguments.minutes is None else arguments.minutes
    minutes = settings.get("training.minutes", minutes)
    chosen = [Chosen("data.train", corpus), *choose(look_at(pairs), minutes, faster)]
    left_out = {*settings, *(["data.held_out"] if data.validation else [])}
    chosen = [each for each in chosen if each.name not in left_out]
    return chosen + [Chosen(name, value, "as --set says") for name, value in settings.items()]


def _text(chosen: "Sequence[Chosen]", config: "Config", command: str, out: Path) -> str:
    """The settings as TOML, section by section, with their reasons."""
    from pellucid.config.toml_file import PATHS

    lines = [f"# Chosen by pellucid train; to go on: {command}"]
    for section in ("data", "vocabulary", "model", "training", "translation"):
        rows = []
        for each in chosen:
            if each.name.startswith(f"{section}."):
                key = each.name.partition(".")[2]
                # As the configuration has it; a preset is no setting of its own.
                value = getattr(getattr(config, section), key, each.value)
                row = f"{key} = {toml(_from_folder(value, out) if each.name in PATHS else value)}"
                rows.append(f"{row}  # {each.reason}" if each.reason else row)
        if rows:
            lines += ["", f"[{section}]", *rows]
    return "\n".join(lines) + "\n"


def _from_folder(value: Any, folder: Path) -> Any:
    """Paths as they lead from a folder: the file in it says nothing of the disk above."""
    if isinstance(value, list | tuple):
        return [_from_folder(entry, folder) for entry in value]
    return os.path.relpath(value, folder)


def toml(value: Any) -> str:
    """Write a value as TOML has it, in one line."""
    import tomli_w

    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml, value))}]"
    return tomli_w.dumps({"value": value}).removeprefix("value = ").strip()
