"""Files of tensors, read one tensor at a time: safetensors, and pickles that hold nothing but tensors."""

import json
import pickle
import stat
import warnings
import zipfile
from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from pellucid.errors import PellucidError

KINDS = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "F64": torch.float64}
TOGETHER = 2**20  # numbers that are read at once
POINTER = b"version https://git-lfs"  # how a file begins that Git has not fetched
DAMAGED = "it was not loaded: it contains more than tensors or is damaged."
ONLY_A_POINTER = "only a pointer of Git LFS is there. Run git lfs pull in its folder."
PICKLE_AT_MOST = 2**26  # bytes that say what a file's tensors are: real ones take a hundredth of this


class Stored(NamedTuple):
    """Where a tensor's data starts in a file, with its shape and type."""

    start: int
    shape: tuple[int, ...]
    dtype: torch.dtype


class OnDisk:
    """Tensors that stay on disk until each is read. The file is not memory-mapped, because then all pages
    read so far would stay in memory."""

    def __init__(self, path: Path, stored: Mapping[str, Stored]) -> None:
        self._path, self._stored = path, stored
        self.shapes = {name: each.shape for name, each in stored.items()}

    def read(self, name: str, dtype: torch.dtype) -> Tensor:
        """Read one tensor and convert it to this data type piece by piece, so that memory never holds it
        twice."""
        start, shape, kind = self._stored[name]
        tensor = torch.empty(shape, dtype=dtype)
        with self._path.open("rb") as file:
            file.seek(start)
            for piece in tensor.view(-1).split(TOGETHER):
                content = bytearray(len(piece) * kind.itemsize)
                if file.readinto(content) < len(content):
                    raise PellucidError(f"{self._path}: it ends inside tensor {name}. Copy the file again.")
                piece.copy_(torch.frombuffer(content, dtype=kind))
        return tensor

    def place(self, name: str) -> object:
        """Return where the tensor's numbers are stored; two names of the same stored tensor give the same
        result."""
        return self._path, self._stored[name]


class InMemory:
    """Tensors of a file that was read completely."""

    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        self._tensors = tensors
        self.shapes = {name: tuple(each.shape) for name, each in tensors.items()}

    def read(self, name: str, dtype: torch.dtype) -> Tensor:
        """Return one tensor in this data type."""
        return self._tensors[name].to(dtype)

    def place(self, name: str) -> object:
        """Return the address of the tensor's first number, and its shape; two names of the same tensor give
        the same result."""
        return self._tensors[name].data_ptr(), self.shapes[name]


TensorFile = OnDisk | InMemory


def open_tensors(path: Path) -> TensorFile:
    """Open a file of tensors: .safetensors, or else a pickle. Raise a short error if it cannot be opened."""
    check_regular(path)
    with path.open("rb") as file:
        if file.read(len(POINTER)) == POINTER:
            raise PellucidError(ONLY_A_POINTER)
    return _open_safe(path) if path.suffix == ".safetensors" else _open_pickled(path)


def check_regular(path: Path) -> None:
    """Raise a short error for what only looks like a file, such as a link to a device, which never ends."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise PellucidError("this is not a regular file. Put the file itself there.")


def _open_safe(path: Path) -> TensorFile:
    try:
        with safe_open(path, "pt"):  # which checks it
            pass
    except SafetensorError as error:
        raise PellucidError(f"this is not a safetensors file: {error}.") from None
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
    header.pop("__metadata__", None)
    _refuse_types({each["dtype"] for each in header.values()} - KINDS.keys())
    stored = {
        name: Stored(8 + length + each["data_offsets"][0], tuple(each["shape"]), KINDS[each["dtype"]])
        for name, each in header.items()
    }
    return OnDisk(path, stored)


def _open_pickled(path: Path) -> TensorFile:
    """Open a file of pickled tensors; torch refuses anything but tensors, and executes nothing."""
    modern = zipfile.is_zipfile(path)  # a file of before torch 1.6 can only be read as a whole
    if modern:
        _check_records(path)
    tensors = _unpickle(path, "meta" if modern else "cpu")
    _refuse_types({str(each.dtype) for each in tensors.values() if each.dtype not in KINDS.values()})
    if not modern:
        return InMemory(tensors)
    places = {name: _find_stored(tensor) for name, tensor in tensors.items()}
    stored = {name: place for name, place in places.items() if place}
    if len(stored) == len(places):
        return OnDisk(path, stored)
    return InMemory(_unpickle(path, "cpu", mmap=True))


def _unpickle(path: Path, device: str, **how: Any) -> dict[str, Tensor]:
    try:
        with warnings.catch_warnings(action="ignore"):  # of a pickle that torch did not write
            tensors: dict[str, Any] = torch.load(path, map_location=device, weights_only=True, **how)
        size = path.stat().st_size  # which a tensor that repeats its numbers may exceed
        if not isinstance(tensors, dict) or not all(
            isinstance(name, str) and isinstance(each, Tensor) and each.numel() * each.itemsize <= size
            for name, each in tensors.items()
        ):
            raise ValueError
    except (OSError, RuntimeError, ValueError, EOFError, pickle.UnpicklingError):
        raise PellucidError(DAMAGED) from None
    return tensors


def _check_records(path: Path) -> None:
    """Raise an error if a pickle is larger in memory than any of PyTorch's, which are never compressed."""
    try:
        with zipfile.ZipFile(path) as file:
            records = file.infolist()
    except zipfile.BadZipFile:
        raise PellucidError(DAMAGED) from None
    for each in records:
        too_large = "/data/" not in each.filename and each.file_size > PICKLE_AT_MOST
        if each.compress_type != zipfile.ZIP_STORED or too_large:
            raise PellucidError(
                f"it was not loaded: its record {each.filename:.60} is compressed, or larger than "
                f"{PICKLE_AT_MOST:,} bytes, unlike those of PyTorch. Save it again with torch.save."
            )


def _refuse_types(strange: Set[str]) -> None:
    """Raise an error for types of tensors that cannot be read."""
    if strange:
        raise PellucidError(
            f"its tensors have the type {', '.join(sorted(strange))}, not {', '.join(KINDS)}."
        )


def _find_stored(tensor: Tensor) -> Stored | None:
    """Return where torch found a tensor in its file; None if the tensor is not contiguous, or if torch does
    not record the place."""
    begin = getattr(tensor.untyped_storage(), "_checkpoint_offset", None)  # not public
    if begin is None or not tensor.is_contiguous():
        return None
    skipped = int(tensor.storage_offset()) * tensor.element_size()
    return Stored(begin + skipped, tuple(tensor.shape), tensor.dtype)
