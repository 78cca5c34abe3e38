"""A recorded step of training as a file for numpy.load: each tensor by its name, and the tokens.

`source_tokens` (what the encoder read) and `target_tokens` (what the decoder read: the target shifted right)
have a row for each sentence of the batch, padding included, if a recorded tensor has that axis.
"""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from pellucid.folder.whole_file import check_writable, whole, writing
from pellucid.seeing.records import stack_of
from pellucid.seeing.trace import Trace

FOLDER = "traces"


def write_recording(trace: Trace, run: Path, step: int) -> Path:
    """Write traces/step-N.npz in the folder of a run, completely or not at all."""
    folder = run / FOLDER
    check_writable(folder, sum(record.tensor.nbytes for record in trace.values()))
    path = folder / f"step-{step}.npz"
    arrays: dict[str, Any] = {}
    for name, record in trace.items():
        narrow = record.tensor.dtype in (torch.bfloat16, torch.float16)  # NumPy has no bfloat16
        arrays[name] = (record.tensor.float() if narrow else record.tensor).numpy()
        for axis, rows in record.tokens.items():
            side = {"encoder": "source", "decoder": "target"}[stack_of(name, axis)]
            arrays[f"{side}_tokens"] = np.array(rows)
    with writing(folder), whole(path) as file:
        np.savez(file, **arrays)
    return path
