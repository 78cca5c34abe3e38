"""A configuration that suits a user's files and their time, and its commented TOML file."""

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pellucid.config.device import device_named
from pellucid.config.schema import Config
from pellucid.config.toml_file import PATHS, from_table, one_line, override
from pellucid.data.corpus import read_pairs
from pellucid.learning.choosing import ON_A_GPU, Chosen, choose, look_at


@dataclass(frozen=True)
class Suited:
    """The chosen settings, and the configuration that they make."""

    chosen: tuple[Chosen, ...]
    config: Config

    def to_toml(self, out: Path) -> str:
        """Return the settings as TOML with their reasons, for a file in `out`."""
        command = shlex.join(["pellucid", "train", str(out / "train.toml"), "--out", str(out), "--resume"])
        lines = [f"# Chosen by pellucid train; to go on: {command}"]
        for section in vars(self.config):
            rows = [self._row(each, out) for each in self.chosen if each.name.startswith(f"{section}.")]
            lines += ["", f"[{section}]", *rows] if rows else []
        return "\n".join(lines) + "\n"

    def _row(self, each: Chosen, out: Path) -> str:
        section, _, key = each.name.partition(".")
        # The value of the configuration, with its defaults; a preset is not a setting of its own.
        value = getattr(getattr(self.config, section), key, each.value)
        row = f"{key} = {one_line(_relative(value, out) if each.name in PATHS else value)}"
        return f"{row}  # {each.reason}" if each.reason else row


def suited(
    files: Sequence[str], minutes: float, settings: Mapping[str, Any] | None = None, device: str = "auto"
) -> Suited:
    """Choose the settings that suit parallel text, one or two files, and the time to train.

    settings: {"training.seed": 2, …} in place of what would be chosen.
    """
    corpus, settings = [list(files)], dict(settings or {})
    data = _config({"data.train": corpus, **settings}).data
    pairs, _ = read_pairs(data.train, data)
    faster = 1.0 if device_named(device).type == "cpu" else ON_A_GPU
    minutes = settings.get("training.minutes", minutes)
    chosen = [Chosen("data.train", corpus), *choose(look_at(pairs), minutes, faster)]
    left_out = {*settings, *(["data.held_out"] if data.validation else [])}
    chosen = [each for each in chosen if each.name not in left_out]
    chosen += [Chosen(name, value, "as --set says") for name, value in settings.items()]
    return Suited(tuple(chosen), _config({each.name: each.value for each in chosen}))


def _config(settings: Mapping[str, Any]) -> Config:
    table: dict[str, Any] = {}
    override(table, settings, "--set")
    return from_table(table, where="train", folder=Path.cwd())


def _relative(value: Any, folder: Path) -> Any:
    """Return paths as they lead from the folder: the file in it says nothing about the disk above."""
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [_relative(entry, folder) for entry in value]
    return os.path.relpath(value, folder)
