"""An explanation as files: JSON, and NumPy's .npz.

The JSON: {"schema": "pellucid.explanation", "version": 1, "pellucid": its version, "source", "to", "target",
"score", "forced", "largest_difference", "source_tokens", "target_tokens" (what the decoder read), "steps":
[{"input", "expected", "predicted", "probability", "loss", "alternatives": [[token, probability]]}],
"vocabulary": the target tokens by id (what an axis V counts),
"tensors": {name: {"axes": "BHLM", "shape": [...], "labels": {"L": [...], "M": [...]}, "values": [...]}}}.
Each value has the fewest digits that give the same float32 back; -inf is the string "-inf".
The .npz holds each tensor by its name, and source_tokens, target_tokens and expected_tokens.
"""

import contextlib
import io
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from pellucid.errors import PellucidError
from pellucid.explain.explanation import Explanation
from pellucid.explain.words import visible
from pellucid.seal import jsonable
from pellucid.see import Record
from pellucid.version import __version__

SCHEMA, VERSION = "pellucid.explanation", 1


def write(path: str | Path, content: bytes) -> None:
    """A file with this content, whole or as it was before; or an error that says why not."""
    path = Path(path)
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(content)
        os.replace(part, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink()
        raise PellucidError(
            f"{path}: cannot be written: {error.strerror or error}. Choose another place."
        ) from None


def as_json(explanation: Explanation) -> bytes:
    """The whole explanation; the schema is this module's docstring."""
    translation = explanation.translation
    table = {
        "schema": SCHEMA,
        "version": VERSION,
        "pellucid": __version__,
        "source": visible(translation.source),
        "to": explanation.to,
        "target": visible(translation.text),
        "score": translation.score,
        "forced": explanation.forced,
        "largest_difference": explanation.largest_difference,
        "source_tokens": explanation.source_tokens,
        "target_tokens": explanation.target_tokens,
        "steps": [asdict(step) for step in explanation.steps],
        "vocabulary": explanation.vocabulary.target_tokens(range(explanation.vocabulary.target_size)),
        "tensors": {name: _tensor(record) for name, record in explanation.trace.items()},
    }
    return json.dumps(jsonable(table), ensure_ascii=False, allow_nan=False).encode()


def as_npz(explanation: Explanation) -> bytes:
    """Every tensor by its name, and the tokens."""
    arrays = {name: record.tensor.numpy() for name, record in explanation.trace.items()}
    arrays["source_tokens"] = np.array(explanation.source_tokens)
    arrays["target_tokens"] = np.array(explanation.target_tokens)
    arrays["expected_tokens"] = np.array([step.expected for step in explanation.steps])
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)  # type: ignore[arg-type]
    return content.getvalue()


def _tensor(record: Record) -> dict[str, Any]:
    return {
        "axes": record.axes,
        "shape": list(record.tensor.shape),
        "labels": {axis: record.labels(axis) for axis in record.axes if axis in record.tokens},
        "values": _shortest(record.tensor),
    }


def _shortest(tensor: Tensor) -> Any:
    """Nested lists of numbers that JSON writes with the fewest digits that are this float32."""
    return tensor.numpy().astype(str).astype(np.float64).tolist()
