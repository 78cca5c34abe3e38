"""A recorded step of training as a file for numpy.load: each tensor by its name, and the tokens.

`source_tokens` (what the encoder read) and `target_tokens` (what the decoder read: the start token and the
target, shifted right) have a row for each sentence of the batch; they are there where a recorded tensor has
that axis. Numbers of 16 bits are widened to float32, exactly.
"""

from pathlib import Path

import numpy as np
import torch

from pellucid.folder.whole_file import check_writable, whole, writing
from pellucid.seeing.records import stack_of
from pellucid.seeing.trace import Trace

FOLDER = "traces"


def write_recording(trace: Trace, run: Path, step: int) -> Path:
    """Writes traces/step-N.npz in the folder of a run, whole or not at all."""
    folder = run / FOLDER
    check_writable(folder, sum(record.tensor.nbytes for record in trace.values()))
    path = folder / f"step-{step}.npz"
    arrays = {name: _wide(record.tensor).numpy() for name, record in trace.items()}
    with writing(folder), whole(path) as file:
        np.savez(file, **arrays, **_tokens(trace))  # type: ignore[arg-type]
    return path


def _tokens(trace: Trace) -> dict[str, "np.ndarray[tuple[int, ...], np.dtype[np.str_]]"]:
    """The tokens of both sides, sentences x positions, padding included."""
    found = {}
    for record in trace.values():
        for axis, rows in record.tokens.items():
            side = {"encoder": "source", "decoder": "target"}[stack_of(record.name, axis)]
            found[f"{side}_tokens"] = np.array(rows)
    return found


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.float() if tensor.dtype in (torch.bfloat16, torch.float16) else tensor
