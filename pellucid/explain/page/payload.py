"""What the page carries of explanations: a header in JSON, and blocks of numbers.

The header: {"version": 1, "pellucid": its version, "axes": {letter: meaning},
"captions": {"attention.weights": {"symbol", "title", "equation", "role"}},
"models": [{"computes": whether all its weights are here, "config": its ModelConfig,
"parameters": {name: {"shape", "block", "offset", "type"}},
"vocabulary": {"target": the target tokens by id}}],
"runs": [{"title", "text", "translation", "to", "forced", "model": its place among the models,
"source", "target", "expected": tokens, "source_ids", "target_ids", "steps": as in an explanation's JSON,
"tensors": {name: {"axes", "shape", "block", "offset"}}}]}.
A block holds numbers, little-endian, float32, or where that changes none of them ("type": "float16") in 16
bits; gzip, base64. A tensor's numbers begin at its offset, in bytes.
"""

import base64
import gzip
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

import numpy as np

from pellucid.explain.explanation import Explanation
from pellucid.explain.page.assembly import json_block
from pellucid.explain.page.captions import caption
from pellucid.explain.passes import in_float32
from pellucid.explain.words import visible
from pellucid.seal import jsonable
from pellucid.see import AXES
from pellucid.translate.translator import Translator
from pellucid.version import __version__

VERSION = 1
COMPUTES = 300_000  # parameters: a page of a model with at most so many carries all of them
# In the order in which the page's script holds them.
SCRIPTS = ("numbers.js", "blocks.js", "runs.js")


@dataclass(frozen=True)
class Payload:
    """The header, and the blocks by name, in base64."""

    header: dict[str, Any]
    blocks: dict[str, str]

    def html(self) -> str:
        """The elements that hold it: "payload" the header, "block-0" the first block, and so on."""
        blocks = (
            f'<script type="text/plain" id="block-{name}">{text}</script>'
            for name, text in self.blocks.items()
        )
        return "\n".join([json_block("payload", self.header), *blocks])


class Blocks:
    """Blocks in the making."""

    def __init__(self) -> None:
        self._packed: dict[str, str] = {}

    def put(self, arrays: Iterable[np.ndarray]) -> list[dict[str, Any]]:
        """A new block of these arrays; returns the place of each."""
        name, offset, parts = str(len(self._packed)), 0, []
        places: list[dict[str, Any]] = []
        for array in arrays:
            numbers = narrowed(array)
            places.append({"block": name, "offset": offset})
            if numbers.dtype == np.float16:
                places[-1]["type"] = "float16"
            part = numbers.astype(numbers.dtype.newbyteorder("<")).tobytes()
            parts.append(part + bytes(-len(part) % 4))  # a float32 begins at a multiple of 4
            offset += len(parts[-1])
        packed = gzip.compress(b"".join(parts), 9, mtime=0)
        self._packed[name] = base64.b64encode(packed).decode()
        return places

    def all(self) -> dict[str, str]:
        """By name, in base64."""
        return dict(self._packed)


def narrowed(array: np.ndarray) -> np.ndarray:
    """In 16 bits where that changes no number, else as it is."""
    with np.errstate(over="ignore"):
        narrow = array.astype(np.float16)
    return narrow if np.array_equal(narrow.astype(np.float32), array, equal_nan=True) else array


def payload(explanations: Sequence[Explanation]) -> Payload:
    """What a page of these explanations carries."""
    blocks = Blocks()
    translators = list({id(each.translator): each.translator for each in explanations}.values())
    names = {name: None for each in explanations for name in each.trace}
    header = {
        "version": VERSION,
        "pellucid": __version__,
        "axes": AXES,
        "captions": {kind_of(name): asdict(caption(name)) for name in names},
        "models": [_model(translator, blocks) for translator in translators],
        "runs": [_run(each, translators.index(each.translator), blocks) for each in explanations],
    }
    return Payload(jsonable(header), blocks.all())


def _model(translator: Translator, blocks: Blocks) -> dict[str, Any]:
    model, vocabulary = in_float32(translator.model), translator.vocabulary
    parameters = {name: value.detach().cpu().numpy() for name, value in model.state_dict().items()}
    computes = sum(value.size for value in parameters.values()) <= COMPUTES
    kept = parameters if computes else {name: each for name, each in parameters.items() if ".norm." in name}
    places = blocks.put(kept.values())
    return {
        "computes": computes,
        "config": asdict(model.config),
        "parameters": {
            name: {"shape": list(kept[name].shape)} | place for name, place in zip(kept, places, strict=True)
        },
        "vocabulary": {"target": vocabulary.target_tokens(range(vocabulary.target_size))},
    }


def _run(explanation: Explanation, model: int, blocks: Blocks) -> dict[str, Any]:
    translation = explanation.translation
    return {
        "title": f"{visible(translation.source)} → {visible(translation.text)}",
        "text": visible(translation.source),
        "translation": visible(translation.text),
        "to": explanation.to,
        "forced": explanation.forced,
        "largest_difference": explanation.largest_difference,
        "model": model,
        "source": explanation.source_tokens,
        "target": explanation.target_tokens,
        "expected": [step.expected for step in explanation.steps],
        "source_ids": explanation.source_ids,
        "target_ids": explanation.target_ids,
        "steps": [asdict(step) for step in explanation.steps],
        "tensors": _tensors(explanation, blocks),
    }


def _tensors(explanation: Explanation, blocks: Blocks) -> dict[str, Any]:
    """Each tensor and where it is: those of a part of the model are in one block."""
    tensors: dict[str, Any] = {}
    for _, names in groupby(explanation.trace, key=lambda name: name.rpartition(".")[0]):
        records = [explanation.trace[name] for name in names]
        places = blocks.put(record.tensor.numpy() for record in records)
        for record, place in zip(records, places, strict=True):
            tensors[record.name] = {"axes": record.axes, "shape": list(record.tensor.shape)} | place
    return tensors


def kind_of(name: str) -> str:
    """What tensors of the same kind have in common: "attention.weights", "residual.sum"."""
    path, _, last = name.rpartition(".")
    part = path.rpartition(".")[2]
    return f"{'attention' if part.endswith('_attention') else re.sub('_[0-9]+$', '', part)}.{last}"
