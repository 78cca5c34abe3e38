"""The compiled kernels: whether they are installed, which of them run on this CPU (such as "avx2"), and their
C structures."""

import ctypes
import functools
import os
import warnings
from ctypes import c_float, c_int32, c_int64, c_void_p
from pathlib import Path
from typing import Any

from pellucid.errors import UsageError

LIBRARY = Path(__file__).with_name("kernels.bin")
BITS = {"avx512": 4, "avxvnni": 2, "avx2": 1, "neon": 8, "plain": 0}  # the fastest first, as in kernels.c
CHOICE = "PELLUCID_KERNELS"  # in the environment: one of BITS, or "none" for PyTorch


class NoKernelsWarning(UserWarning):
    """int8 is computed in PyTorch, with the same results but slower, because no kernels can be loaded."""


def _structure(name: str, fields: str) -> type[ctypes.Structure]:
    """Make a ctypes class for a structure of kernels.c. `fields` is "type name, name; type name", where the
    type `*` is any pointer."""
    types: dict[str, Any] = {"*": c_void_p, "int32": c_int32, "int64": c_int64, "float": c_float}
    types |= {each.__name__: each for each in ctypes.Structure.__subclasses__()}
    listed = []
    for group in fields.split(";"):
        kind, names = group.split(maxsplit=1)
        listed += [(each.strip(), types[kind]) for each in names.split(",")]
    return type(name, (ctypes.Structure,), {"_fields_": listed})


Linear = _structure("Linear", "* weight, scale, bias, shift; int32 outputs, inputs")
Norm = _structure("Norm", "* gain, bias")
Layer = _structure(
    "Layer",
    "Linear qkv, self_output, cross_query, cross_output, inner, outer, cross_kv; Norm norm_1, norm_2, norm_3",
)
Model = _structure(
    "Model",
    "int32 kind, width, padded, heads, head, across, hidden, norm_first, activation;"
    "int32 encoder_layers, decoder_layers, vocabulary; float scale, score_scale;"
    "* source_embedding, target_embedding, positions, forbidden, encoder, decoder;"
    "Norm encoder_norm, decoder_norm; Linear logits",
)
Team = _structure("Team", "int32 size, job, jobs, arrived, meeting, rests, sentences; * ids, starts, places")
Work = _structure(
    "Work", "* x, normed, wide, context, row_scale, scores, quantised, pairs, keys, team; int32 rank, seen"
)
Memory = _structure("Memory", "* pairs, start, length; int64 rows")
Step = _structure(
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


def kernels() -> Kernels | None:
    """Return the fastest kernels for this CPU, or those that the environment variable PELLUCID_KERNELS names;
    None if it is "none" or, with a warning, if no kernels can be loaded."""
    chosen = os.environ.get(CHOICE) or None
    if chosen == "none":
        return None
    library, reason = _open(LIBRARY)
    if library is None:
        warnings.warn(
            f"int8 is computed in PyTorch, with the same results but slowly: {reason}. "
            "To build the engine's kernels, install the package again.",
            NoKernelsWarning,
            stacklevel=3,
        )
        return None
    return Kernels(library, chosen_kind(library, chosen))


def has_kernels() -> bool:
    """Return whether compiled kernels can be loaded, and PELLUCID_KERNELS is not "none"."""
    return os.environ.get(CHOICE) != "none" and _open(LIBRARY)[0] is not None


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


@functools.cache
def _open(path: Path) -> tuple[ctypes.CDLL | None, str]:
    if not path.exists():
        return None, "this installation has no compiled kernels"
    try:
        return ctypes.CDLL(str(path)), ""
    except OSError as error:
        return None, f"the compiled kernels do not load ({error})"
