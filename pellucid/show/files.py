"""An explanation as files: JSON, and NumPy's .npz.

The JSON, schema version 2: {"schema": "pellucid.explanation", "version": 2, "pellucid": its version,
"source", "to", "target", "score", "forced", "largest_difference", "source_tokens", "target_tokens" (what the
decoder read), "source_ids", "target_ids" (without the start token),
"steps": [{"input", "expected", "predicted", "probability", "loss", "alternatives": [[token, probability]]}],
"alignment": {"pharaoh": "0-0 1-2", "source_words", "target_words", "links": [{"source", "target", "share"}],
  "layer", "heads"},
"words": {"source": [{"text", "places", "special"}], "target": the same for what the decoder read},
"heads": [{"part", "head", "looks": [{"asks", "expected", "words": [[word, share]], "entropy" in bits}]}],
"search": {"beam", "target", "lost_at": a step or null, "steps": [{"place": of the path among the candidates,
  "candidates": [{"tokens", "token_ids", "log_probability", "total", "fate"}]}],
  "endings": [{"text", "token_ids", "score", "finished"}]},
"vocabulary": the target tokens by id (the labels of an axis V),
"tensors": {name: {"axes": "BHLM", "shape": [...], "labels": {"L": [...], "M": [...]}, "values": [...]}}}.
Version 1 had no "source_ids", "target_ids", "alignment", "words", "heads" and "search".
Each value has the fewest digits that give the same float32 back; -inf is the string "-inf".
The .npz holds each tensor by its name, and schema_version, source_tokens, target_tokens, expected_tokens,
source_ids, target_ids, and alignment (its pairs: source word, target word).
"""

import io
import json
from dataclasses import asdict
from typing import Any

import numpy as np

from pellucid.folder.manifest import jsonable
from pellucid.folder.version import __version__
from pellucid.reading.alignment import align
from pellucid.reading.beam_path import BeamPath
from pellucid.reading.looking import find_looks, merge_words
from pellucid.reading.reading import Reading
from pellucid.reading.words import visible
from pellucid.seeing.records import Record

SCHEMA, VERSION = "pellucid.explanation", 2


def as_json(reading: Reading, path: BeamPath) -> bytes:
    """Write an explanation as JSON; the schema is this module's docstring."""
    translation, aligned, words = reading.translation, align(reading), merge_words(reading)
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
        "source_tokens": reading.source_tokens,
        "target_tokens": reading.target_tokens,
        "source_ids": reading.source_ids,
        "target_ids": reading.target_ids,
        "steps": [asdict(step) for step in reading.steps],
        "alignment": {"pharaoh": str(aligned), **asdict(aligned)},
        "words": {side: [asdict(word) for word in getattr(words, side)] for side in ("source", "target")},
        "heads": [asdict(head) for head in find_looks(reading)],
        "search": {"lost_at": path.lost_at, **asdict(path)},
        "vocabulary": reading.vocabulary.target_tokens(range(reading.vocabulary.target_size)),
        "tensors": {name: _tensor(record) for name, record in reading.trace.items()},
    }
    return json.dumps(jsonable(table), ensure_ascii=False, allow_nan=False).encode()


def _tensor(record: Record) -> dict[str, Any]:
    return {
        "axes": record.axes,
        "shape": list(record.tensor.shape),
        "labels": {axis: record.labels(axis) for axis in record.axes if axis in record.tokens},
        # As text a float32 has its fewest digits, and as float64 JSON writes the same digits.
        "values": record.tensor.numpy().astype(str).astype(np.float64).tolist(),
    }


def as_npz(reading: Reading) -> bytes:
    """Write every tensor by its name, and the tokens, as the bytes of an .npz."""
    pairs = [[link.source, link.target] for link in align(reading).links]
    arrays: dict[str, Any] = {
        **{name: record.tensor.numpy() for name, record in reading.trace.items()},
        "source_tokens": np.array(reading.source_tokens),
        "target_tokens": np.array(reading.target_tokens),
        "expected_tokens": np.array([step.expected for step in reading.steps]),
        "schema_version": np.array(VERSION),
        "source_ids": np.array(reading.source_ids),
        "target_ids": np.array(reading.target_ids),
        "alignment": np.array(pairs, dtype=int).reshape(-1, 2),
    }
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    return content.getvalue()
