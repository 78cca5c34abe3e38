"""An explanation as files: JSON, and NumPy's .npz.

The JSON, schema version 3: {"schema": "pellucid.explanation", "version": 3, "pellucid": its version,
"source", "to", "target", "score", "forced", "largest_difference", "source_tokens", "target_tokens" (what the
decoder read), "source_ids", "target_ids" (without the start token),
"steps": [{"input", "expected", "predicted", "probability", "loss", "alternatives": [[token, probability]]}],
"alignment": {"pharaoh": "0-0 1-2", "source_words", "target_words", "links": [{"source", "target", "share"}],
  "layer", "heads"},
"vocabulary": the target tokens by id (the labels of an axis V),
"tensors": {name: {"axes": "BHLM", "shape": [...], "labels": {"L": [...], "M": [...]}, "values": [...]}},
"source_share": {"per_token": [...], "usual": {"low", "median", "high"} or null} (docs/why.md; not
from a server),
"ledger", if there is one: {"step" (from 0), "word", "against", "logit", "by_part": [[label, share]],
  "by_position", "by_input", "zero", "mean" (for by_part), "absent" (for by_input)},
"causal_map", if there is one: {"step" (from 0), "word", "source_position", "corrupted", "clean", "corrupt",
  "positions": {stack: [token]}, "restored": {tensor: [probability]}} (docs/tracing.md)}.
Version 2 also had "words", "heads" and "search".
Each value has the fewest digits that give the same float32 back; -inf is the string "-inf".
The .npz holds each tensor by its name, and schema_version, source_tokens, target_tokens, expected_tokens,
source_ids, target_ids, and alignment (its pairs: source word, target word).
"""

import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from pellucid.folder.manifest import jsonable
from pellucid.folder.version import __version__
from pellucid.reading.looking import align
from pellucid.reading.reading import Reading
from pellucid.reading.words import visible
from pellucid.seeing.records import Record

SCHEMA, VERSION = "pellucid.explanation", 3


def as_json(
    reading: Reading, names: Iterable[str] | None = None, more: Mapping[str, Any] | None = None
) -> bytes:
    """Return an explanation as JSON. The schema is in this module's docstring. names: only these tensors, and
    no vocabulary. more: further entries."""
    vocabulary = reading.vocabulary
    translation, aligned = reading.translation, align(reading)
    table = {
        "schema": SCHEMA,
        "version": VERSION,
        "pellucid": __version__,
        "source": visible(translation.source),
        "to": reading.to,
        "target": visible(translation.text),
        "score": translation.score,
        "forced": reading.forced,
        "largest_difference": reading.largest_difference,
        **_tokens(reading),
        "steps": [asdict(step) for step in reading.steps],
        "alignment": {"pharaoh": str(aligned), **asdict(aligned)},
        "vocabulary": vocabulary.target_tokens(range(vocabulary.target_size if names is None else 0)),
        "tensors": {
            name: _tensor(reading.trace[name]) for name in (reading.trace if names is None else names)
        },
        **(more or {}),
    }
    return json.dumps(jsonable(table), ensure_ascii=False, allow_nan=False).encode()


def as_npz(reading: Reading) -> bytes:
    """Return an explanation as the bytes of an .npz file: every tensor by its name, tokens and alignment."""
    pairs = [[link.source, link.target] for link in align(reading).links]
    arrays: dict[str, Any] = {
        "schema_version": VERSION,  # first: by it a file of ours is known
        **{name: record.tensor.numpy() for name, record in reading.trace.items()},
        **_tokens(reading),
        "expected_tokens": [step.expected for step in reading.steps],
        "alignment": np.array(pairs, dtype=int).reshape(-1, 2),
    }
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    return content.getvalue()


def _tokens(reading: Reading) -> dict[str, Any]:
    names = ("source_tokens", "target_tokens", "source_ids", "target_ids")
    return {name: getattr(reading, name) for name in names}


def _tensor(record: Record) -> dict[str, Any]:
    return {
        "axes": record.axes,
        "shape": list(record.tensor.shape),
        "labels": {axis: record.labels(axis) for axis in record.axes if axis in record.tokens},
        # As text a float32 has its fewest digits, and as float64 JSON writes the same digits.
        "values": record.tensor.numpy().astype(str).astype(np.float64).tolist(),
    }
