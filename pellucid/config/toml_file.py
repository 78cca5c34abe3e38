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
from pellucid.config.schema import (
    LEARNED_BY,
    PRESETS,
    Config,
    DataConfig,
    ModelConfig,
    TrainingConfig,
    TranslationConfig,
    VocabularyConfig,
    not_a_corpus,
    several,
)
from pellucid.config.settings import convert, plain, title
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
    table = plain(table, list)
    sections = {"data": DataConfig, "vocabulary": VocabularyConfig, "model": ModelConfig}
    sections |= {"training": TrainingConfig, "translation": TranslationConfig}
    for name in table:
        if name not in sections:
            raise UsageError(f"{where}: there is no section [{name}].{did_you_mean(name, sections)}")
        if not isinstance(table[name], Mapping):
            raise UsageError(f"{where}: {name} must be a section, [{name}], not a single value.")
    given = {name: dict(table.get(name, {})) for name in sections}
    _shorthand(given["data"], where)
    if isinstance(given["vocabulary"].get("model"), str):
        given["vocabulary"]["model"] = [given["vocabulary"]["model"]]
    for section, _, key in (path.partition(".") for path in PATHS):
        if folder and key in given[section]:
            given[section][key] = _absolute(given[section][key], folder)
    preset = given["model"].pop("preset", None)
    if preset is not None:
        if not isinstance(preset, str) or preset not in PRESETS:
            nearest = did_you_mean(str(preset), PRESETS)
            raise UsageError(
                f"{where}: [model] preset = {preset!r} is not one of {', '.join(PRESETS)}.{nearest}"
            )
        given["model"] = PRESETS[preset] | given["model"]
    if "size" in given["vocabulary"] and "vocabulary" not in given["model"]:
        given["model"]["vocabulary"] = given["vocabulary"]["size"]
    return Config(**{name: _section(kind, given[name], where) for name, kind in sections.items()})


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


def _shorthand(data: dict[str, Any], where: str) -> None:
    """Read train = ["a.en", "a.de"] as a list of one corpus, languages likewise; raise for anything else."""
    for key in {"train", "validation", "languages"} & data.keys():
        data[key] = several(data[key])
    for key in ("train", "validation"):
        corpora = data.get(key)
        for corpus in corpora if isinstance(corpora, list) else ():
            texts = isinstance(corpus, list) and all(isinstance(name, str) for name in corpus)
            if not texts or not 1 <= len(corpus) <= 2:
                raise not_a_corpus(f"{where}: [data] {key}", corpus)


def _section(kind: type, given: dict[str, Any], where: str) -> Any:
    hints = typing.get_type_hints(kind)
    known = [setting.name for setting in fields(kind)] + (["preset"] if kind is ModelConfig else [])
    for key in given:
        if key not in known:
            raise UsageError(f'{where}: [{title(kind)}] has no setting "{key}".{did_you_mean(key, known)}')
    try:
        return kind(
            **{key: convert(f"[{title(kind)}] {key}", value, hints[key]) for key, value in given.items()}
        )
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from None


def one_line(value: Any) -> str:
    """Return a value as TOML, in one line."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(one_line, value))}]"
    return tomli_w.dumps({"value": value}).removeprefix("value = ").strip()
