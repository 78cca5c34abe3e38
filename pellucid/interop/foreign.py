"""A model folder in the format of transformers: JSON and weights. Nothing in it is ever executed."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from pellucid.errors import PellucidError
from pellucid.folder.manifest import is_sealed
from pellucid.interop import kinds
from pellucid.interop.strangers import find_stranger
from pellucid.interop.tensor_files import ONLY_A_POINTER, POINTER, TensorFile, check_regular, open_tensors

CONFIG, GENERATION, TOKENIZER = "config.json", "generation_config.json", "tokenizer_config.json"
SAFE, PICKLED = "model.safetensors", "pytorch_model.bin"
AT_MOST = 2**28  # bytes of a file that is read as a whole


@dataclass
class Foreign:
    """The contents of a transformers model folder, and the problems found so far."""

    folder: Path
    config: Mapping[str, Any] = field(default_factory=dict)
    generation: Mapping[str, Any] = field(default_factory=dict)
    tokenizer: Mapping[str, Any] = field(default_factory=dict)
    source_language: str | None = None  # that the user chose
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    corrected: dict[str, Any] = field(default_factory=dict)  # settings that the weights disprove
    faults: list[str] = field(default_factory=list)
    _files: dict[str, TensorFile] = field(default_factory=dict)  # the one that holds each tensor

    def tensor(self, name: str, dtype: torch.dtype = torch.float32) -> Tensor:
        """Read one tensor in this data type."""
        return self._files[name].read(name, dtype)

    def equal(self, one: str, other: str) -> bool:
        """Return whether two tensors are equal. Two names of the same stored tensor are equal without a
        comparison."""
        if self._files[one].place(one) == self._files[other].place(other):
            return True
        return torch.equal(self.tensor(one), self.tensor(other))

    def json(self, name: str, optional: bool = False) -> Mapping[str, Any]:
        """Read a JSON object from a file. If the file is damaged, or is missing and not optional, note a
        problem and return {}."""
        if optional and not (self.folder / name).exists():
            return {}
        content = self.bytes(name)
        try:
            table = {} if content is None else json.loads(content)
        except (ValueError, RecursionError):
            table = None
        if not isinstance(table, dict):
            self.faults.append(f"{name}: this is not a JSON object.")
            return {}
        return table

    def settings(self, name: str, expected: Mapping[str, Any], optional: bool = True) -> Mapping[str, Any]:
        """Read a JSON file of settings, without those that are null. Note a problem for each setting of a
        wrong type."""
        content = self.json(name, optional)
        table = {setting: value for setting, value in content.items() if value is not None}
        self.faults += [f"{name}: {fault}" for fault in kinds.faults_of(table, expected)]
        return table

    def bytes(self, name: str) -> bytes | None:
        """Read a file; if it cannot be read, note a problem and return None."""
        with self.noting(f"{name}: "):
            path = self.folder / name
            check_regular(path)
            if path.stat().st_size > AT_MOST:
                raise PellucidError(f"it has more than {AT_MOST:,} bytes.")
            content = path.read_bytes()
            if content.startswith(POINTER):
                raise PellucidError(ONLY_A_POINTER)
            return content
        return None

    @contextmanager
    def noting(self, begin: str = "") -> Iterator[None]:
        """Note an error in the block as a problem that begins so, and go on after the block."""
        try:
            yield
        except OSError as error:
            self.faults.append(f"{begin}cannot be read: {error.strerror}.")
        except PellucidError as error:
            self.faults.append(f"{begin}{error}")

    def check(self) -> None:
        """Raise one error with all problems, if there are any."""
        if self.faults:
            faults = "".join(f"\n  - {fault}" for fault in dict.fromkeys(self.faults))
            raise PellucidError(
                f"{self.folder}: this model cannot be imported:{faults}\nNothing in it was executed. "
                "Download the folder again, or ask whoever made it."
            )


def is_foreign(folder: Path) -> bool:
    """Return whether a folder holds a transformers model rather than a Pellucid one. Raise an error for a
    CTranslate2 model."""
    if is_ctranslate2(folder):
        raise PellucidError(
            f"{folder}: this is a CTranslate2 model, which shows no tensors. It can only be compared: "
            f"pellucid inspect MODEL --against {folder}"
        )
    return (folder / CONFIG).exists() and not is_sealed(folder)


def is_ctranslate2(folder: Path) -> bool:
    """Return whether a folder holds a CTranslate2 model."""
    return (folder / "model.bin").is_file() and not is_sealed(folder)


def open_foreign(folder: str | Path) -> Foreign:
    """Open a transformers model folder: read its JSON files and list its tensors. Raise an error if Pellucid
    does not support its architecture."""
    foreign = Foreign(Path(folder))
    foreign.config = foreign.settings(CONFIG, kinds.MODEL | kinds.SEARCH, optional=False)
    kind = foreign.config.get("model_type")
    if not foreign.faults and kind not in kinds.FAMILIES:
        raise PellucidError(
            f"{folder}: {CONFIG} says model_type = {kind!r:.60}, which is another architecture. Pellucid "
            f"takes in {', '.join(each.name for each in kinds.FAMILIES.values())}. Choose such a folder."
        )
    foreign.generation = foreign.settings(GENERATION, kinds.SEARCH) or foreign.config
    foreign.tokenizer = foreign.settings(TOKENIZER, kinds.TOKENIZER)
    readable = not foreign.faults
    _open_weights(foreign)
    if not readable:  # whatever else is wrong shows only once the settings are right
        foreign.check()
    return foreign


def _open_weights(foreign: Foreign) -> None:
    for name in _weight_files(foreign):
        with foreign.noting(f"{name}: "):
            opened = open_tensors(foreign.folder / name)
            foreign.shapes |= opened.shapes
            foreign._files |= dict.fromkeys(opened.shapes, opened)


def _weight_files(foreign: Foreign) -> Sequence[str]:
    """Return the names of the files with weights: one file, or several that an index names. If there are
    none, note a problem and return []."""
    for name in (SAFE, PICKLED):
        if (foreign.folder / name).exists():
            return [name]
        if (foreign.folder / f"{name}.index.json").exists():
            named = foreign.json(f"{name}.index.json").get("weight_map")
            names = sorted({str(each) for each in named.values()}) if isinstance(named, dict) else []
            if names and all(each == Path(each).name and each.endswith(name[-4:]) for each in names):
                return names
            foreign.faults.append(f"{name}.index.json: its weight_map does not name files of this folder.")
            return []
    foreign.faults.append(f"there are no weights, neither {SAFE} nor {PICKLED}.")
    if stranger := find_stranger(foreign.folder):
        foreign.faults.append(stranger)
    return []
