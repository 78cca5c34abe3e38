"""The compiled kernels: whether they are installed, which of them run on this CPU (such as "avx2"), and their
C structures."""

import ctypes
import functools
import os
import zlib
from ctypes import c_float, c_int32, c_int64, c_void_p
from pathlib import Path
from typing import Any

from pellucid.errors import PellucidError, Setting, UsageError

LIBRARY = Path(__file__).with_name("kernels.bin")
PARTS = ("decoding/kernels.c", "learning/fused.c", "decoding/vectors.h")
SOURCES = [Path(__file__).parents[1] / part for part in PARTS]
BITS = {"avx512": 4, "avxvnni": 2, "avx2": 1, "neon": 8, "plain": 0}  # the fastest first, as in kernels.c
CHOICE = "PELLUCID_KERNELS"  # in the environment: one of BITS, or "none"
INSTALL = "Install the package again, from a wheel or where ziglang can be installed"


def structure(name: str, fields: str) -> type[ctypes.Structure]:
    """Make a ctypes class for a structure of C. `fields` is "type name, name; type name", where the
    type `*` is any pointer."""
    types: dict[str, Any] = {"*": c_void_p, "int32": c_int32, "int64": c_int64, "float": c_float}
    types |= {each.__name__: each for each in ctypes.Structure.__subclasses__()}
    listed = []
    for group in fields.split(";"):
        kind, names = group.split(maxsplit=1)
        listed += [(each.strip(), types[kind]) for each in names.split(",")]
    return type(name, (ctypes.Structure,), {"_fields_": listed})


Linear = structure("Linear", "* weight, scale, bias, shift; int32 outputs, inputs")
Norm = structure("Norm", "* gain, bias")
Layer = structure(
    "Layer",
    "Linear qkv, self_output, cross_query, cross_output, inner, outer, cross_kv; Norm norm_1, norm_2, norm_3",
)
Model = structure(
    "Model",
    "int32 kind, width, padded, heads, head, across, hidden, norm_first, activation;"
    "int32 encoder_layers, decoder_layers, vocabulary; float scale, score_scale;"
    "* source_embedding, target_embedding, positions, forbidden, encoder, decoder;"
    "Norm encoder_norm, decoder_norm; Linear logits",
)
Team = structure("Team", "int32 size, job, jobs, arrived, meeting, rests, sentences; * ids, starts, places")
Work = structure(
    "Work", "* x, normed, wide, context, row_scale, scores, quantised, pairs, keys, team; int32 rank, seen"
)
Memory = structure("Memory", "* pairs, start, length; int64 rows")
Step = structure(
    "Step",
    "int32 rows, candidates; * token, position, place, cell, ancestor, required; int64 longest, cells;"
    "* cache, greatest, total, asked, value, id, logits",
)


class Kernels:
    """The compiled functions for one kind of CPU, such as "avx2"."""

    def __init__(self, library: ctypes.CDLL, kind: str) -> None:
        self.kind = kind
        self.begin = getattr(library, f"{kind}_begin")
        self.help = getattr(library, f"{kind}_help")
        self.pack = getattr(library, f"{kind}_pack")
        self.begin.argtypes = [*[c_void_p] * 4, c_int32]
        self.help.argtypes = [c_void_p] * 4
        self.pack.argtypes = [c_int32, c_void_p, c_int64, c_int64, c_int64, *[c_void_p] * 4]
        self.begin.restype = self.pack.restype = None

    def __repr__(self) -> str:
        return f"<Kernels {self.kind}>"


def kernels() -> Kernels:
    """Return the fastest kernels for this CPU, or those that the environment variable PELLUCID_KERNELS names.
    Raise an error if there are none."""
    return Kernels(*library_and_kind())


def library_and_kind() -> tuple[ctypes.CDLL, str]:
    """Return the compiled library and the kind of its kernels that runs, such as "avx2"; raise an error if
    there is none."""
    library = _open()
    if isinstance(library, str):
        settings = [Setting("precision", each) for each in ("int8", "fp32")]
        raise UsageError("{} needs compiled kernels: {}, or set {}.", settings[0], library, settings[1])
    return library, chosen_kind(library, os.environ.get(CHOICE) or None)


def has_kernels() -> bool:
    """Return whether compiled kernels can be loaded, and PELLUCID_KERNELS is not "none"."""
    return not isinstance(_open(), str)


def chosen_kind(library: ctypes.CDLL, chosen: str | None) -> str:
    """Return `chosen`, or the fastest kind of kernels for this CPU if it is None. Raise an error if `chosen`
    does not run on this CPU."""
    possible = [kind for kind in BITS if runs(library, kind)]
    if chosen is None:
        return possible[0]
    if chosen not in possible:
        raise UsageError(
            f"{CHOICE} = {chosen!r} does not run on this CPU. Set it to {', '.join(possible)} or none, "
            "or leave it out."
        )
    return chosen


def runs(library: ctypes.CDLL, kind: str) -> bool:
    """Return whether the library has kernels of this kind and this CPU supports them."""
    has = not BITS[kind] or library.processor() & BITS[kind]
    return bool(has) and hasattr(library, f"{kind}_begin")


def _open() -> ctypes.CDLL | str:
    """Return the compiled library; if there is none, the reason and the remedy."""
    return f"{CHOICE} is none. Leave it out" if os.environ.get(CHOICE) == "none" else _load(LIBRARY)


@functools.cache
def _load(path: Path) -> ctypes.CDLL | str:
    if not path.exists():
        return f"this installation has none. {INSTALL}"
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        return f"those of this installation do not load ({error}). {INSTALL}"
    # Its structures may be others than those above, and a call would then read and write anywhere.
    if getattr(library, "checksum", int)() % 2**32 != zlib.crc32(b"".join(map(Path.read_bytes, SOURCES))):
        raise PellucidError(
            f"{path} was not compiled from the present kernels.c, fused.c and vectors.h. "
            "Run python hatch_build.py."
        )
    return library
