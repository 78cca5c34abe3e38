"""A model folder of another program: settings and weights. Nothing in it is ever executed."""

import importlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args, get_origin

import torch
from torch import Tensor

from pellucid.errors import PellucidError
from pellucid.folder.manifest import is_sealed
from pellucid.interop.strangers import find_stranger
from pellucid.interop.tensor_files import ONLY_A_POINTER, POINTER, check_regular

CONFIG, GENERATION, TOKENIZER = "config.json", "generation_config.json", "tokenizer_config.json"
SAFE, PICKLED = "model.safetensors", "pytorch_model.bin"
MARIAN, FAIRSEQ = "*.npz", "*.pt"  # weights of programs whose folders have no config.json
AT_MOST = 2**28  # bytes of a file that is read as a whole
WORDS: dict[Any, str] = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
WORDS |= {list[int]: "a list of whole numbers", list[list[int]]: "a list of lists of whole numbers"}


@dataclass
class Foreign:
    """The contents of a model folder, in the words of transformers."""

    folder: Path
    config: Mapping[str, Any] = field(default_factory=dict)
    generation: Mapping[str, Any] = field(default_factory=dict)
    tokenizer: Mapping[str, Any] = field(default_factory=dict)
    source_language: str | None = None  # that the user chose
    settings_in: str = CONFIG  # the file that says the model's settings
    ours: dict[str, Any] = field(default_factory=dict)  # settings of ours that transformers has no word for
    tensors: dict[str, Tensor] = field(default_factory=dict)
    corrected: dict[str, Any] = field(default_factory=dict)  # settings that the weights disprove

    def equal(self, one: str, other: str) -> bool:
        """Return whether two tensors are equal; two names of the same stored tensor are, even if it has
        NaN."""
        ours, theirs = self.tensors[one], self.tensors[other]
        return ours.is_set_to(theirs) or torch.equal(ours, theirs)

    def json(self, name: str, optional: bool = False) -> Mapping[str, Any]:
        """Read a JSON object from a file; {} if the file is optional and missing."""
        if optional and not (self.folder / name).exists():
            return {}
        content = self.bytes(name)
        try:
            table = json.loads(content)
        except (ValueError, RecursionError):
            table = None
        if not isinstance(table, dict):
            raise self.fault(f"{name}: this is not a JSON object.")
        return table

    def settings(self, name: str, expected: Mapping[str, Any], optional: bool = True) -> Mapping[str, Any]:
        """Read a JSON file of settings, without those that are null. Raise an error for a wrong type."""
        table = {setting: value for setting, value in self.json(name, optional).items() if value is not None}
        self.check(name, table, expected)
        return table

    def check(self, name: str, table: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
        """Raise an error for a setting of this file that has a wrong type."""
        for setting, value in table.items():
            kind = expected.get(setting)
            if kind is not None and not is_a(value, kind):
                raise self.fault(f"{name}: {setting} = {value!r:.60} is not {WORDS[kind]}.")

    def bytes(self, name: str) -> bytes:
        """Read a file."""
        with self.blaming(name):
            path = self.folder / name
            check_regular(path)
            if path.stat().st_size > AT_MOST:
                raise PellucidError(f"it has more than {AT_MOST:,} bytes.")
            content = path.read_bytes()
            if content.startswith(POINTER):
                raise PellucidError(ONLY_A_POINTER)
        return content

    def find(self, *patterns: str) -> str:
        """Return the name of the only file that matches the first of these patterns that any file matches."""
        for pattern in patterns:
            if found := sorted(path.name for path in self.folder.glob(pattern)):
                if len(found) > 1:
                    raise self.fault(
                        f"there are {' and '.join(found)}: leave only one of them in the folder."
                    )
                return found[0]
        raise self.fault(f"there is no {' or '.join(patterns)}.")

    @contextmanager
    def blaming(self, what: str) -> Iterator[None]:
        """Turn an error in the block into one that names this file of the folder, or a setting in it."""
        try:
            yield
        except OSError as error:
            raise self.fault(f"{what}: cannot be read: {error.strerror}.") from None
        except PellucidError as error:
            raise self.fault(f"{what}: {error}") from None

    def wrong(self, setting: str) -> PellucidError:
        """Return the error that a setting of the model, which this text begins with, is wrong."""
        return self.fault(f"{self.settings_in}: {setting}")

    def fault(self, message: str) -> PellucidError:
        """Return the error that the folder cannot be imported, and why."""
        return PellucidError(
            f"{self.folder}: this model cannot be imported. {message} Nothing in it was executed. "
            "Download the folder again, or ask whoever made it."
        )


def is_foreign(folder: Path) -> bool:
    """Return whether a folder holds a model that can be imported rather than a Pellucid one. Raise an error
    for a known model of another program that cannot."""
    if is_ctranslate2(folder):
        raise PellucidError(
            f"{folder}: this is a CTranslate2 model, which shows no tensors. It can only be compared: "
            f"pellucid inspect MODEL --against {folder}"
        )
    if is_sealed(folder):
        return False
    is_theirs = any(any(folder.glob(each)) for each in (CONFIG, MARIAN, FAIRSEQ))
    if not is_theirs and (what := find_stranger(folder)):
        raise PellucidError(f"{folder}: this is no model that Pellucid reads. {what}")
    return is_theirs


def is_ctranslate2(folder: Path) -> bool:
    """Return whether a folder holds a CTranslate2 model."""
    return (folder / "model.bin").is_file() and not is_sealed(folder)


def weight_files(foreign: Foreign) -> Sequence[str]:
    """Return the names of the files with weights: one file, or several that an index names."""
    for name in (SAFE, PICKLED):
        if (foreign.folder / name).exists():
            return [name]
        if (foreign.folder / f"{name}.index.json").exists():
            named = foreign.json(f"{name}.index.json").get("weight_map")
            names = sorted({str(each) for each in named.values()}) if isinstance(named, dict) else []
            if names and all(each == Path(each).name and each.endswith(name[-4:]) for each in names):
                return names
            raise foreign.fault(f"{name}.index.json: its weight_map does not name files of this folder.")
    stranger = find_stranger(foreign.folder)
    raise foreign.fault(f"there are no weights, neither {SAFE} nor {PICKLED}. {stranger}".rstrip())


def is_a(value: Any, kind: Any) -> bool:
    """Return whether a JSON value has this type; true and false are not numbers."""
    if get_origin(kind) is list:
        return isinstance(value, list) and all(is_a(each, *get_args(kind)) for each in value)
    return type(value) in ((int, float) if kind is float else (kind,))


def import_extra(module: str) -> Any:
    """Import and return a module of the extra `interop`; raise an error if it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError:
        name = module.partition(".")[0]
        raise PellucidError(f'{name} is not installed. Run pip install "pellucid[interop]".') from None
