"""A model folder as transformers writes it: JSON and weights; nothing in it is ever executed."""

import json
import pickle
import warnings
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from pellucid.errors import PellucidError

CONFIG, GENERATION, TOKENIZER = "config.json", "generation_config.json", "tokenizer_config.json"
SAFE, PICKLED = "model.safetensors", "pytorch_model.bin"
KINDS = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "F64": torch.float64}
TOGETHER = 2**20  # numbers that are read at once
SUPPORTED = {"marian": "MarianMT (OPUS-MT)", "m2m_100": "M2M100 and NLLB"}


@dataclass
class Foreign:
    """What lies in a folder, and the faults that were found so far."""

    folder: Path
    config: Mapping[str, Any] = field(default_factory=dict)
    generation: Mapping[str, Any] = field(default_factory=dict)
    tokenizer: Mapping[str, Any] = field(default_factory=dict)
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    _files: dict[str, Any] = field(default_factory=dict)  # the open file of each tensor

    def tensor(self, name: str, dtype: torch.dtype = torch.float32) -> Tensor:
        """Read one tensor, as numbers of this type."""
        file = self._files[name]
        return file[name].to(dtype) if isinstance(file, dict) else file.get_tensor(name, dtype)

    def json(self, name: str, optional: bool = False) -> Mapping[str, Any]:
        """Read a JSON file that holds an object; a file that is missing or damaged is a fault."""
        path = self.folder / name
        if optional and not path.exists():
            return {}
        try:
            content = json.loads(path.read_bytes())
            if isinstance(content, dict):
                return content
            self.faults.append(f"{name}: this is not a JSON object.")
        except OSError as error:
            self.faults.append(f"{name}: cannot be read: {error.strerror}.")
        except (ValueError, RecursionError):
            self.faults.append(f"{name}: this is not JSON.")
        return {}

    def bytes(self, name: str) -> bytes | None:
        """Read a file; one that is missing is a fault."""
        try:
            return (self.folder / name).read_bytes()
        except OSError as error:
            self.faults.append(f"{name}: cannot be read: {error.strerror}.")
            return None

    def check(self) -> None:
        """Raise with all faults at once, if there are any."""
        if self.faults:
            faults = "".join(f"\n  - {fault}" for fault in dict.fromkeys(self.faults))
            raise PellucidError(
                f"{self.folder}: this model cannot be taken in:{faults}\nNothing in it was executed. "
                "Download the folder again, or ask whoever made it."
            )


def is_foreign(folder: Path) -> bool:
    """Return whether a folder is a model of transformers and not one of ours; refuse CTranslate2's."""
    if is_ctranslate2(folder):
        raise PellucidError(
            f"{folder}: this is a model of CTranslate2, which shows no tensors. It can only be compared: "
            f"pellucid inspect MODEL --against {folder}"
        )
    return (folder / CONFIG).is_file() and not (folder / "MANIFEST.json").exists()


def is_ctranslate2(folder: Path) -> bool:
    """Return whether a folder holds a model of CTranslate2."""
    return (folder / "model.bin").is_file() and not (folder / "MANIFEST.json").exists()


def open_foreign(folder: str | Path) -> Foreign:
    """Open a folder, list its tensors and read its JSON; refuse the model of another architecture."""
    foreign = Foreign(Path(folder))
    foreign.config = foreign.json(CONFIG)
    kind = foreign.config.get("model_type")
    if not foreign.faults and kind not in SUPPORTED:
        raise PellucidError(
            f"{folder}: {CONFIG} says model_type = {kind!r}, which is another architecture. Pellucid takes "
            f"in {', '.join(SUPPORTED.values())}. Choose such a folder."
        )
    foreign.generation = foreign.json(GENERATION, optional=True) or foreign.config
    foreign.tokenizer = foreign.json(TOKENIZER, optional=True)
    _open_weights(foreign)
    return foreign


def _open_weights(foreign: Foreign) -> None:
    found = _weight_files(foreign)
    shapes: dict[str, tuple[int, ...]] = {}
    for name in found:
        opened = _open_safe(foreign, name) if name.endswith(".safetensors") else _open_pickled(foreign, name)
        for tensor, shape in opened[1].items():
            shapes[tensor] = shape
            foreign._files[tensor] = opened[0]
    foreign.shapes = shapes


def _weight_files(foreign: Foreign) -> Sequence[str]:
    """Return the names of the files with weights: one, or several with an index."""
    for name in (SAFE, PICKLED):
        if (foreign.folder / name).is_file():
            return [name]
        if (foreign.folder / f"{name}.index.json").is_file():
            named = foreign.json(f"{name}.index.json").get("weight_map")
            names = sorted({str(each) for each in named.values()}) if isinstance(named, dict) else []
            if names and all(each == Path(each).name and each.endswith(name[-4:]) for each in names):
                return names
            foreign.faults.append(f"{name}.index.json: its weight_map does not name files of this folder.")
            return []
    foreign.faults.append(f"there are no weights, neither {SAFE} nor {PICKLED}.")
    return []


class _SafeFile:
    """A safetensors file that is read tensor by tensor: mapped into memory, all of it would stay there."""

    def __init__(self, path: Path) -> None:
        with safe_open(path, "pt"):  # which checks it
            pass
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            self.header = json.loads(file.read(length))
        self._path, self._start = path, 8 + length
        self.header.pop("__metadata__", None)
        self.shapes = {name: tuple(each["shape"]) for name, each in self.header.items()}

    def get_tensor(self, name: str, dtype: torch.dtype) -> Tensor:
        """Read one tensor, a piece at a time: there is never a second copy of it in the file's type."""
        kind = KINDS[self.header[name]["dtype"]]
        tensor = torch.empty(self.shapes[name], dtype=dtype)
        with self._path.open("rb") as file:
            file.seek(self._start + self.header[name]["data_offsets"][0])
            for piece in tensor.view(-1).split(TOGETHER):
                content = bytearray(len(piece) * kind.itemsize)
                file.readinto(content)
                piece.copy_(torch.frombuffer(content, dtype=kind))
        return tensor


def _open_safe(foreign: Foreign, name: str) -> tuple[Any, dict[str, tuple[int, ...]]]:
    try:
        file = _SafeFile(foreign.folder / name)
        strange = sorted({each["dtype"] for each in file.header.values()} - KINDS.keys())
        if strange:
            foreign.faults.append(f"{name}: tensors of {', '.join(strange)}, not of {', '.join(KINDS)}.")
        return file, file.shapes
    except (OSError, SafetensorError) as error:
        foreign.faults.append(f"{name}: this is not a safetensors file: {error}.")
        return None, {}


def _open_pickled(foreign: Foreign, name: str) -> tuple[Any, dict[str, tuple[int, ...]]]:
    """Read a file of pickled tensors; torch refuses one that holds anything but tensors, and runs nothing."""
    path = foreign.folder / name
    try:
        with warnings.catch_warnings(action="ignore"):  # of a pickle that torch did not write
            mapped = zipfile.is_zipfile(path)  # a file of before torch 1.6 cannot be mapped into memory
            tensors = torch.load(path, map_location="cpu", weights_only=True, mmap=mapped)
        return tensors, {each: tuple(tensor.shape) for each, tensor in tensors.items()}
    except (OSError, RuntimeError, ValueError, EOFError, AttributeError, pickle.UnpicklingError):
        foreign.faults.append(f"{name}: it holds other things than tensors, or is damaged: not opened.")
        return {}, {}
