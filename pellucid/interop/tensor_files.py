"""Files of tensors: safetensors, NumPy's .npz, and pickles of tensors and, where that is asked for, of plain
values.

safetensors and pickles are mapped into memory: numbers are read from the disk when they are used, and the
system takes their memory back when it needs it. So a file must not be cut while its model is read."""

import io
import stat
import struct
import warnings
import zipfile
from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from pellucid.errors import PellucidError

KINDS = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "F64": torch.float64}
DAMAGED = "it was not loaded: it contains more than tensors or is damaged."
POINTER = b"version https://git-lfs"  # how a file begins that Git has not fetched
ONLY_A_POINTER = "only a pointer of Git LFS is there. Run git lfs pull in its folder."
PICKLE_AT_MOST = 2**26  # bytes that say what a file's tensors are: real ones take a hundredth of this


def open_tensors(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a file, .safetensors or else a pickle, by name. Raise a short error if it cannot
    be opened."""
    check_regular(path)
    with path.open("rb") as file:
        if file.read(len(POINTER)) == POINTER:
            raise PellucidError(ONLY_A_POINTER)
    tensors = _open_safe(path) if path.suffix == ".safetensors" else _open_pickled(path)
    check_kinds(tensors)
    return tensors


def check_kinds(tensors: Mapping[str, Tensor]) -> None:
    """Raise a short error for tensors that do not hold floating-point numbers."""
    if strange := {str(each.dtype) for each in tensors.values() if each.dtype not in KINDS.values()}:
        raise PellucidError(
            f"its tensors have the type {', '.join(sorted(strange))}, not {', '.join(KINDS)}."
        )


def check_regular(path: Path) -> None:
    """Raise a short error for what only looks like a file, such as a link to a device, which never ends."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise PellucidError("this is not a regular file. Put the file itself there.")


def _open_safe(path: Path) -> dict[str, Tensor]:
    try:
        return safetensors.torch.load_file(path)
    except SafetensorError as error:
        raise PellucidError(f"this is not a safetensors file: {error}.") from None


def _open_pickled(path: Path) -> dict[str, Tensor]:
    held = load_pickled(path)
    try:
        return only_tensors(held, path)
    except ValueError:
        raise PellucidError(DAMAGED) from None


def load_pickled(path: Path, names: Sequence[str] = ()) -> Any:
    """Load a pickle of tensors and plain values; torch refuses anything else, and executes nothing.

    names: of further classes; each instance becomes an `argparse.Namespace`, which does nothing.
    """
    try:
        if modern := zipfile.is_zipfile(path):  # a file of before torch 1.6 can only be read as a whole
            _check_records(path)
        harmless: Any = [(Namespace, name) for name in names]
        with warnings.catch_warnings(action="ignore"), torch.serialization.safe_globals(harmless):
            return torch.load(path, map_location="cpu", weights_only=True, mmap=modern)
    except PellucidError:
        raise
    except Exception:  # zipfile and torch raise errors of any type for a damaged file
        raise PellucidError(DAMAGED) from None


def only_tensors(held: Any, path: Path) -> dict[str, Tensor]:
    """Return what a pickle held if it is tensors by name; else raise a ValueError."""
    size = path.stat().st_size  # which a tensor that repeats its numbers may exceed
    if not isinstance(held, dict) or not all(
        isinstance(name, str) and isinstance(each, Tensor) and each.numel() * each.itemsize <= size
        for name, each in held.items()
    ):
        raise ValueError
    return held


def open_npz(path: Path) -> dict[str, Tensor]:
    """Return the arrays of a .npz file by name, as NumPy and Marian write them: not compressed."""
    check_regular(path)
    arrays = dict[str, Tensor]()
    try:
        with zipfile.ZipFile(path) as file:
            records = file.infolist()
            if sum(each.file_size for each in records) > path.stat().st_size:
                raise PellucidError("it was not loaded: it is compressed. Save it again with numpy.savez.")
            for each in records:
                arrays[each.filename.removesuffix(".npy")] = _array(file.read(each))
    except PellucidError:
        raise
    except (zipfile.BadZipFile, ValueError, TypeError, EOFError, NotImplementedError, struct.error):
        raise PellucidError(
            "it was not loaded: it holds more than arrays of numbers or is damaged."
        ) from None
    return arrays


def _array(content: bytes) -> Tensor:
    """Return the array in a .npy file. NumPy itself would first reserve the memory that a false header asks
    for."""
    stream = io.BytesIO(content)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError
    shape, by_columns, kind = np.lib.format.read_array_header_1_0(stream)
    flat = np.frombuffer(content, kind, offset=stream.tell())
    return torch.from_numpy(flat.reshape(shape, order="F" if by_columns else "C").copy())


def _check_records(path: Path) -> None:
    """Raise an error if a pickle is larger in memory than any of PyTorch's, which are never compressed."""
    with zipfile.ZipFile(path) as file:
        records = file.infolist()
    for each in records:
        too_large = "/data/" not in each.filename and each.file_size > PICKLE_AT_MOST
        if each.compress_type != zipfile.ZIP_STORED or too_large:
            raise PellucidError(
                f"it was not loaded: its record {each.filename:.60} is compressed, or larger than "
                f"{PICKLE_AT_MOST:,} bytes, unlike those of PyTorch. Save it again with torch.save."
            )
