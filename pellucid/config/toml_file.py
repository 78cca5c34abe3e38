"""Read a configuration from strict TOML, with its shorthand and relative paths, and write it back whole."""

import dataclasses
import os
import tomllib
import typing
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import tomli_w

from pellucid.config.file_names import short_names
from pellucid.config.nearest import did_you_mean
from pellucid.config.schema import LEARNED_BY, PRESETS, Config, ModelConfig
from pellucid.config.settings import plain, title
from pellucid.errors import UsageError

PATHS = ("data.train", "data.validation", "vocabulary.model", "training.start_from")


def read(path: str | Path, overrides: Mapping[str, Any] | None = None) -> Config:
    """Read a configuration from a TOML file.

    overrides: settings that count more than the file's, as {"training.steps": 500}. Relative paths in the
    file start at its folder, those in `overrides` at the working folder.
    """
    path = Path(path)
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise UsageError(
            f"{path}: no such file. Give the path of a TOML configuration (examples/ has some)."
        ) from None
    except IsADirectoryError:
        raise UsageError(f"{path} is a folder, not a TOML configuration. Give the path of a file.") from None
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror}. Give the path of a TOML configuration."
        ) from None
    except ValueError as error:  # syntax, UTF-8, and numbers of thousands of digits
        raise UsageError(f"{path}: this is not TOML: {error}.") from None
    except RecursionError:
        raise UsageError(f"{path}: this is not a configuration: its lists are nested too deeply.") from None
    override(table, overrides or {}, str(path))
    _take_shape(table, path.parent)
    return from_table(table, where=str(path), folder=path.parent)


def as_config(config: Config | Mapping[str, Any] | str | Path) -> Config:
    """Return a Config from a Config, from a dictionary like its TOML, or from the path of a file."""
    if isinstance(config, Config):
        return config
    if not isinstance(config, Mapping):
        return read(config)
    table = plain(config, list)
    _take_shape(table, Path())
    return from_table(table)


def override(table: dict[str, Any], overrides: Mapping[str, Any], where: str) -> None:
    """Set {"section.key": value} in the table of a configuration."""
    for dotted, value in overrides.items():
        section, _, key = dotted.partition(".")
        if not key:
            raise UsageError(f"{dotted}={value}: a setting is named section.key, as in training.steps=500.")
        if not isinstance(table.setdefault(section, {}), dict):
            raise UsageError(f"{where}: [{section}] must be a section.")
        table[section][key] = _absolute(value, Path()) if dotted in PATHS else value


def _absolute(value: Any, folder: Path) -> Any:
    """Make a path, or each path in a list, absolute; relative ones start at `folder`."""
    if isinstance(value, list | tuple):
        return [_absolute(entry, folder) for entry in value]
    return os.path.abspath(folder / value) if isinstance(value, str | os.PathLike) else value


def _take_shape(table: dict[str, Any], folder: Path) -> None:
    """If a run starts from a model, take the missing settings of shape and vocabulary from that model.

    The other settings, and a folder without a model, are checked when the model is loaded.
    """
    training, none = table.get("training"), dict[str, Any]()
    start = training.get("start_from") if isinstance(training, dict) else None
    if not isinstance(start, str):
        return
    try:
        started = tomllib.loads((folder / start / "config.toml").read_text("utf-8"))
    except (OSError, ValueError):
        return
    for section, names in {"model": None, "vocabulary": LEARNED_BY}.items():
        ours = table.setdefault(section, {})
        if isinstance(ours, dict):
            preset = PRESETS.get(str(ours.get("preset")), none)
            for name, value in started.get(section, none).items():
                if name not in ours | preset and (names is None or name in names):
                    ours[name] = value


def from_table(table: Mapping[str, Any], where: str = "configuration", folder: Path | None = None) -> Config:
    """Return a Config from nested dictionaries; an unknown section or key is an error."""
    sections = typing.get_type_hints(Config)
    for name in table:
        if name not in sections:
            raise UsageError(f"{where}: there is no section [{name}].{did_you_mean(name, sections)}")
        if not isinstance(table[name], Mapping):
            raise UsageError(f"{where}: {name} must be a section, [{name}], not a single value.")
    tables = {name: dict(table.get(name, {})) for name in sections}
    preset = tables["model"].pop("preset", None)
    if preset is not None:
        if not isinstance(preset, str) or preset not in PRESETS:
            nearest = did_you_mean(str(preset), PRESETS)
            raise UsageError(
                f"{where}: [model] preset = {preset!r} is not one of {', '.join(PRESETS)}.{nearest}"
            )
        tables["model"] = PRESETS[preset] | tables["model"]
    if "size" in tables["vocabulary"] and "vocabulary" not in tables["model"]:
        tables["model"]["vocabulary"] = tables["vocabulary"]["size"]
    config = Config(**{name: _section(kind, tables[name], where) for name, kind in sections.items()})
    if folder is None:
        return config
    for section, _, key in (path.partition(".") for path in PATHS):
        settings = getattr(config, section)
        settings = dataclasses.replace(settings, **{key: _absolute(getattr(settings, key), folder)})
        config = dataclasses.replace(config, **{section: settings})
    return config


def without_folders(config: Config) -> Config:
    """Return the configuration with its files' names only: for others to read and a resume to compare."""
    data, vocabulary, start = config.data, config.vocabulary, config.training.start_from
    corpora = (*data.train, *data.validation, vocabulary.model)
    names = short_names(file for corpus in corpora for file in corpus)
    train, validation = (
        tuple(tuple(names[file] for file in corpus) for corpus in part)
        for part in (data.train, data.validation)
    )
    model = tuple(names[file] for file in vocabulary.model)
    start = start and os.path.basename(os.path.abspath(start))
    return dataclasses.replace(
        config,
        data=dataclasses.replace(data, train=train, validation=validation),
        vocabulary=dataclasses.replace(vocabulary, model=model),
        training=dataclasses.replace(config.training, start_from=start),
    )


def to_table(config: Config) -> dict[str, Any]:
    """Return the configuration as nested dictionaries for TOML, without settings that are None."""
    return {
        section.name: {
            key: value
            for key, value in dataclasses.asdict(getattr(config, section.name)).items()
            if value is not None
        }
        for section in fields(config)
    }


def to_toml(config: Config) -> str:
    """Return the whole resolved configuration as TOML text that `read` reads back unchanged."""
    return tomli_w.dumps(plain(to_table(config), list))  # tomli_w writes lists, not tuples


def _section(kind: type, table: dict[str, Any], where: str) -> Any:
    names = [setting.name for setting in fields(kind)]
    for key in table:
        if key not in names:
            near = did_you_mean(key, [*names, "preset"] if kind is ModelConfig else names)
            raise UsageError(f'{where}: [{title(kind)}] has no setting "{key}".{near}')
    try:
        return kind(**table)
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from None


def one_line(value: Any) -> str:
    """Return a value as TOML, in one line."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(one_line, value))}]"
    return tomli_w.dumps({"value": value}).removeprefix("value = ").strip()
