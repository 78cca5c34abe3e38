"""Read a configuration from a TOML file, with relative paths and short forms, and write it completely."""

import os
import tomllib
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import tomli_w

from pellucid.config.schema import LEARNED_BY, PRESETS, Config, ModelConfig, as_list
from pellucid.config.settings import convert, plain, title
from pellucid.errors import UsageError, did_you_mean, list_known

# What a training takes from the model that it starts from; of [model] and [translation] all.
INHERITED = {
    "data": ("languages", "preparation"),
    "vocabulary": LEARNED_BY,
    "model": (),
    "training": ("label_smoothing", "validation_metric"),
    "translation": (),
}
PATHS = ("data.train", "data.validation", "data.prepared", "vocabulary.model", "training.start_from")


def read(
    path: str | Path,
    overrides: Mapping[str, Any] | None = None,
    load: Callable[[Path], Config] | None = None,
) -> Config:
    """Read a configuration from a TOML file.

    overrides: settings that replace those of the file, such as {"training.steps": 500}. Relative paths in the
    file start from the file's folder, those in `overrides` from the working folder. load: a function that
    returns the configuration of another program's model, for training.start_from.
    """
    path = Path(path)
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        example = "Give the path of a TOML configuration (examples/ has some)."
        raise UsageError(f"{path} cannot be read: {error.strerror}. {example}") from None
    except (ValueError, RecursionError) as error:  # syntax, UTF-8, thousands of digits, lists in lists
        text = "Two files of text are given as --source FILE --target FILE."
        raise UsageError(f"{path}: this is not TOML: {error}. {text}") from None
    override(table, overrides or {}, str(path))
    _inherit(table, path.parent, load)
    return from_table(table, where=str(path), folder=path.parent)


def as_config(
    config: Config | Mapping[str, Any] | str | Path, load: Callable[[Path], Config] | None = None
) -> Config:
    """Return a Config, given a Config, a dictionary with the structure of a TOML file, or the path of a TOML
    file. load: as in `read`."""
    if isinstance(config, Config):
        return config
    if not isinstance(config, Mapping):
        return read(config, load=load)
    table = plain(config)
    _inherit(table, Path(), load)
    return from_table(table, folder=Path())


def override(table: dict[str, Any], overrides: Mapping[str, Any], where: str) -> None:
    """Set {"section.key": value, …} in the nested dictionaries of a configuration."""
    for dotted, value in overrides.items():
        section, _, key = dotted.partition(".")
        if not key:
            raise UsageError(f"{dotted}={value}: write section.key=value, as in training.steps=500.")
        if not isinstance(table.setdefault(section, {}), dict):
            raise UsageError(f"{where}: [{section}] must be a section.")
        table[section][key] = each_path(value, _from(Path())) if dotted in PATHS else value


def check_accepted(accept: Sequence[str]) -> None:
    """Raise an error unless each name is "data" or a setting, such as "training.peak_rate"."""
    settings = {f"{section}.{key}" for section, values in vars(Config()).items() for key in vars(values)}
    for name in accept:
        if name not in settings | {"data"}:
            raise UsageError(
                f'accept: there is no setting "{name}". Give names such as training.steps, or the word data.'
            )


def each_path(value: Any, change: Callable[[str], str]) -> Any:
    """Apply a function to a path, or to each path of a (nested) list, and return the result."""
    if isinstance(value, list | tuple):
        return [each_path(entry, change) for entry in value]
    return change(os.fspath(value)) if isinstance(value, str | os.PathLike) else value


def _change_paths(config: Config, change: Callable[[str], str]) -> Config:
    for section, _, key in (path.partition(".") for path in PATHS):
        settings = getattr(config, section)
        settings = replace(settings, **{key: each_path(getattr(settings, key), change)})
        config = replace(config, **{section: settings})
    return config


def _inherit(table: dict[str, Any], folder: Path, load: Callable[[Path], Config] | None = None) -> None:
    """If the training starts from a model, add the settings that are taken from there.

    A folder without a model is noticed later, when the model is loaded.
    """
    training = table.get("training")
    start = training.get("start_from") if isinstance(training, dict) else None
    if not isinstance(start, str) or not isinstance(table.get("data", {}), Mapping):
        return
    start = os.path.expanduser(start)
    try:
        theirs = tomllib.loads((folder / start / "config.toml").read_text("utf-8"))
    except (OSError, ValueError):
        if load is None or not (folder / start).is_dir():
            return
        theirs = to_table(load(folder / start))
    for section, values in inherited(table, theirs).items():
        table.setdefault(section, {}).update(values)


def inherited(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the settings that a training takes from the model that it starts from, because it does not set
    them itself. Languages of that model that it does not name follow those that it names."""
    taken: dict[str, dict[str, Any]] = {}
    for section, names in INHERITED.items():
        own = ours.get(section, {})
        if isinstance(own, Mapping):
            said = {**own, **PRESETS.get(str(own.get("preset")), {})}
            there = theirs.get(section, {}).items()
            taken[section] = {
                key: value for key, value in there if (not names or key in names) and key not in said
            }
    data, others = plain(ours.get("data", {})), theirs.get("data", {}).get("languages", [])
    named = as_list("languages", data.get("languages", []))
    corpora = as_list("train", data.get("train", []))
    if isinstance(named, list) and len(named) == 1 and isinstance(corpora, list):
        named = named * max(1, len(corpora))  # one pair is that of all corpora
    if named and isinstance(named, list):
        taken["data"]["languages"] = [*named, *(pair for pair in others if pair not in named)]
    elif len({to for _, to in others}) > 1 and len(corpora) != len(others):
        known = list_known(["-".join(pair) for pair in others])
        raise UsageError(
            f"[data] languages is missing: the model to start from knows {known}. Say which pair the text is "
            f"of, as in languages = {one_line(list(others[-1]))}."
        )
    return taken


def from_table(table: Mapping[str, Any], where: str = "configuration", folder: Path | None = None) -> Config:
    """Return a Config made of nested dictionaries; raise an error for an unknown section or setting."""
    sections = typing.get_type_hints(Config)
    for name in table:
        if name not in sections:
            raise UsageError(f"{where}: there is no section [{name}].{did_you_mean(name, sections)}")
        if not isinstance(table[name], Mapping):
            raise UsageError(f"{where}: {name} must be a section, [{name}], not a single value.")
    tables = {name: dict(table.get(name, {})) for name in sections}
    preset = tables["model"].pop("preset", None)
    if preset is not None:
        convert(f"{where}: [model] preset", preset, str, {"choices": tuple(PRESETS)})
        tables["model"] = PRESETS[preset] | tables["model"]
    if "size" in tables["vocabulary"] and "vocabulary" not in tables["model"]:
        tables["model"]["vocabulary"] = tables["vocabulary"]["size"]
    made = {name: _section(kind, tables[name], where) for name, kind in sections.items()}
    try:
        config = Config(**made)
    except UsageError as error:  # sections that do not fit together
        raise UsageError(f"{where}: {error}") from None
    return _change_paths(config, _from(folder)) if folder else config


def _from(folder: Path) -> Callable[[str], str]:
    """Return a function that makes a path absolute: relative paths start at the folder, ~ is the home folder.
    An address such as https://… stays, for the message that no file has this name."""
    return lambda path: path if "://" in path else os.path.abspath(folder / os.path.expanduser(path))


def without_folders(config: Config) -> Config:
    """Return the configuration with file names in place of paths, to show it to others, or to compare it on a
    resume."""
    corpora = (*config.data.train, *config.data.validation, config.vocabulary.model)
    names = short_names(file for corpus in corpora for file in corpus)
    return _change_paths(config, lambda path: names.get(path, os.path.basename(os.path.abspath(path))))


def short_names(paths: Iterable[str]) -> dict[str, str]:
    """Return {path: short name}. Folders are part of the short name only if two files have the same name."""
    parts = {path: Path(path).parts[bool(Path(path).anchor) :] for path in paths}
    names = {}
    for path, own in parts.items():
        others = [other for other in parts.values() if other != own]
        enough = (n for n in range(1, len(own)) if all(other[-n:] != own[-n:] for other in others))
        names[path] = "/".join(own[-next(enough, len(own)) :])
    return names


def to_table(config: Config) -> dict[str, Any]:
    """Return the configuration as nested dictionaries with types of TOML, without settings that are None."""
    sections = plain(asdict(config)).items()
    return {name: {key: value for key, value in each.items() if value is not None} for name, each in sections}


def to_toml(config: Config) -> str:
    """Return the complete configuration as TOML text; `read` returns an equal Config from it."""
    return tomli_w.dumps(to_table(config))


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
    """Write a value as TOML, in one line."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(one_line, value))}]"
    return tomli_w.dumps({"value": value}).removeprefix("value = ").strip()
