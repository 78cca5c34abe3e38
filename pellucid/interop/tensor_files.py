"""Files of tensors: safetensors, and pickles that hold nothing but tensors.

Both are mapped into memory: numbers are read from the disk when they are used, and the system takes their
memory back when it needs it. So a file must not be cut while its model is read."""

import stat
import warnings
import zipfile
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from pellucid.errors import PellucidError

KINDS = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "F64": torch.float64}
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
    if strange := {str(each.dtype) for each in tensors.values() if each.dtype not in KINDS.values()}:
        raise PellucidError(
            f"its tensors have the type {', '.join(sorted(strange))}, not {', '.join(KINDS)}."
        )
    return tensors


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
    """Open a file of pickled tensors; torch refuses anything but tensors, and executes nothing."""
    try:
        if modern := zipfile.is_zipfile(path):  # a file of before torch 1.6 can only be read as a whole
            _check_records(path)
        with warnings.catch_warnings(action="ignore"):  # of a pickle that torch did not write
            tensors: Any = torch.load(path, map_location="cpu", weights_only=True, mmap=modern)
        size = path.stat().st_size  # which a tensor that repeats its numbers may exceed
        if not isinstance(tensors, dict) or not all(
            isinstance(name, str) and isinstance(each, Tensor) and each.numel() * each.itemsize <= size
            for name, each in tensors.items()
        ):
            raise ValueError
    except PellucidError:
        raise
    except Exception:  # zipfile and torch raise errors of any type for a damaged file
        raise PellucidError("it was not loaded: it contains more than tensors or is damaged.") from None
    return tensors


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
