"""Numbers as text in the page: blocks of numbers, compressed by gzip, in base64.

Of each array stand first the lowest bytes of all numbers, then the next ones, and last those with sign and
exponent: these are much alike, so that apart from the others they compress well.
"""

import base64
import gzip
from collections.abc import Iterable
from typing import Any

import numpy as np


class Blocks:
    """A collector of arrays: `put` packs several arrays into one block of text."""

    def __init__(self) -> None:
        self.packed: list[str] = []

    def put(self, arrays: Iterable[np.ndarray]) -> list[dict[str, Any]]:
        """Pack these arrays into a new block. Return where each array is: {"block", "offset" in bytes,
        "type": only if it was stored as float16}."""
        offset, parts = 0, []
        places: list[dict[str, Any]] = []
        for array in arrays:
            numbers = narrow(array)
            places.append({"block": str(len(self.packed)), "offset": offset})
            if numbers.dtype == np.float16:
                places[-1]["type"] = "float16"
            whole = np.frombuffer(numbers.astype(numbers.dtype.newbyteorder("<")).tobytes(), np.uint8)
            parts.append(whole.reshape(-1, numbers.itemsize).T.tobytes())
            offset += len(parts[-1])
        if places:
            packed = gzip.compress(b"".join(parts), 9, mtime=0)
            self.packed.append(base64.b64encode(packed).decode())
        return places

    def html(self) -> list[str]:
        """Return an HTML element for each block, with the ids "block-0", "block-1" and so on."""
        return [
            f'<script type="text/plain" id="block-{name}">{text}</script>'
            for name, text in enumerate(self.packed)
        ]


def narrow(array: np.ndarray) -> np.ndarray:
    """Return the array in 16 bits if that changes no number, else unchanged."""
    with np.errstate(over="ignore"):
        narrow = array.astype(np.float16)
    return narrow if np.array_equal(narrow.astype(np.float32), array, equal_nan=True) else array
