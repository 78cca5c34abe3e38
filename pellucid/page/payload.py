"""The data of a page: a header in JSON, and blocks of numbers.

The header: {"version": 1, "pellucid": its version, "axes": {letter: meaning}, "captions": {kind of tensor:
its row in the table of tensors}, "code": {kind of tensor: {"file", "line", "text"}}, where a kind is
"attention.weights" or "residual.sum", "models": [{"computes": whether the page has all weights and can run
the model, "parameter_count", "config": its ModelConfig, "usual_share": {"low", "median", "high"} or null,
"translation": its TranslationConfig, "parameters": {name: {"shape", place}}, "made_of": {tensor: [tensors,
parameters]}, "vocabulary": see spelling.py}] (a later model has only what differs from the first), "movie":
[{"step", "loss", "probability", "source", "order", "stage"}] of each run, or null, "runs": [{"name", "title",
"text", "translation", "to", "forced", "model": its index in "models", "source", "target", "expected": tokens,
"source_ids", "target_ids", "steps": as in an explanation's JSON, "difference": of the search and this pass,
"source_shares": of the expected tokens, if the page cannot compute them, "tensors": {name: {"axes", "shape",
and a place, or "how": a key of HOW}}}]}.

A place is {"block", "offset" in bytes, "type": "float16" if all numbers fit into 16 bits unchanged, absent
for float32}. If "computes" is false, the decoder's logits and probabilities have only the best tokens of each
row and, last, the expected one. They then have "kept": {"size" of the vocabulary, "tokens" and "ids" of each
row, "log_sum_exp" of each row of logits}.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

import numpy as np

from pellucid.config.schema import ModelConfig
from pellucid.errors import UsageError
from pellucid.folder.manifest import jsonable
from pellucid.folder.version import __version__
from pellucid.page.assembly import json_block
from pellucid.page.blocks import Blocks
from pellucid.page.spelling import spelling
from pellucid.reading.passes import in_float32
from pellucid.reading.reading import Reading
from pellucid.reading.tensors import describe, kind_of, made_of
from pellucid.reading.words import visible
from pellucid.seeing.records import AXES, Record
from pellucid.seeing.trace import Trace
from pellucid.show.code_lines import code_line
from pellucid.translate.source_share import source_shares
from pellucid.translate.text_translator import TextTranslator

VERSION = 1
Shown = tuple[Reading, TextTranslator, str]  # the last: what the page calls it, beside another
Arrays = Mapping[str, np.ndarray]
# What the page's script makes of others with the same bits (script/runs/recorded.js), by the operation in the
# table of tensors: it spares a third of a big model's file.
HOW: Mapping[str, Callable[..., np.ndarray]] = {
    "same": lambda x: x,
    "plus": np.add,
    "activation": lambda x: np.maximum(x, np.float32(0)),
    "affine": lambda x, weight, bias: x * weight + bias,
}
# Of these a page that cannot compute has only the BEST words of each position.
KEPT = ("decoder.logits", "decoder.probabilities")
BEST = 20
COMPUTES = 600_000  # parameters: the page carries all weights of a model up to this size


def payload(shown: Sequence[Shown], **further: Any) -> str:
    """Return the data of readings as HTML elements: "payload" holds the header with the entries of `further`,
    and "block-0", "block-1" and so on hold the numbers. Of a movie they are the models' weights alone, if the
    page can compute with them."""
    if any(translator.model.config.positions == "learned" for _, translator, _ in shown):
        raise UsageError(
            "no page draws learned positions (mBART-50). The terminal, --json and --npz show them."
        )
    blocks = Blocks()
    traced = {id(translator): (translator, reading.trace) for reading, translator, _ in shown}
    parameters = {key: _parameters(translator) for key, (translator, _) in traced.items()}
    names = dict.fromkeys(name for reading, _, _ in shown for name in reading.trace)
    runs = [
        _run(
            reading,
            {}
            if further.get("movie") and computes(translator)
            else _tensors(reading, translator, parameters[id(translator)], blocks),
        )
        | {"model": list(traced).index(id(translator)), "name": visible(called)}
        | ({} if computes(translator) else {"source_shares": _source_shares(reading, translator)})
        for reading, translator, called in shown
    ]
    models = [_model(*traced[key], parameters[key], blocks, computes(traced[key][0])) for key in traced]
    # A later model has only what differs from the first: all frames of a movie share a vocabulary.
    models[1:] = [{key: each[key] for key in each if each[key] != models[0][key]} for each in models[1:]]
    data = header(names, models=models, runs=runs, **further)
    return "\n".join([json_block("payload", data), *blocks.html()])


def answer(reading: Reading, translator: TextTranslator, wanted: Collection[str]) -> dict[str, Any]:
    """Return the data of a reading for a page that asks a server: a header, with "blocks". They hold the best
    words, and of the tensors only those that are wanted; the page asks for others when it shows them."""
    blocks, trace = Blocks(), reading.trace
    tensors = {name: {"axes": each.axes, "shape": list(each.tensor.shape)} for name, each in trace.items()}
    for name, place in zip(wanted, blocks.put(trace[name].tensor.numpy() for name in wanted), strict=True):
        tensors[name] |= place
    tensors |= _best_words(reading, blocks)
    model = _model(translator, trace, {}, blocks, carried=False)
    return header(trace, models=[model], runs=[_run(reading, tensors)], blocks=blocks.packed)


def header(names: Iterable[str], **further: Any) -> dict[str, Any]:
    """Return the data that every page needs: captions and code lines of these tensors, and `further`."""
    kinds = dict.fromkeys(map(kind_of, names))
    head = {
        "version": VERSION,
        "pellucid": __version__,
        "axes": AXES,
        "captions": {kind: asdict(describe(kind)) for kind in kinds},
        "code": {kind: asdict(line) for kind in kinds if (line := code_line(kind))},
    }
    return jsonable(head | further)


def computes(translator: TextTranslator) -> bool:
    """Tell whether the page can run the model: the model has at most COMPUTES parameters, so that the page
    contains them all, and its positional encodings are the paper's."""
    if translator.model.config.positions != "paper":
        return False
    return sum(value.numel() for value in translator.model.state_dict().values()) <= COMPUTES


def _parameters(translator: TextTranslator) -> Arrays:
    """Return the parameters that the page contains: all of them if it can run the model, otherwise only those
    of the norms."""
    state = in_float32(translator.model).state_dict()
    kept = [name for name in state if computes(translator) or ".norm." in name]
    return {name: state[name].detach().cpu().numpy() for name in kept}


def _model(
    translator: TextTranslator, names: Iterable[str], parameters: Arrays, blocks: Blocks, carried: bool
) -> dict[str, Any]:
    places, config = blocks.put(parameters.values()), translator.model.config
    return {
        "computes": carried,
        "parameter_count": sum(value.numel() for value in translator.model.parameters()),
        "config": asdict(config),
        "usual_share": translator.usual_share and translator.usual_share._asdict(),
        "translation": asdict(translator.config.translation),
        "parameters": {
            name: {"shape": list(value.shape)} | place
            for (name, value), place in zip(parameters.items(), places, strict=True)
        },
        "made_of": {name: made_of(name, config) for name in names},
        "vocabulary": spelling(translator, carried),
    }


def _run(reading: Reading, tensors: dict[str, Any]) -> dict[str, Any]:
    translation = reading.translation
    return {
        "title": reading.title,
        "text": visible(translation.source),
        "translation": visible(translation.text),
        "to": reading.to,
        "forced": reading.forced,
        "source": reading.source_tokens,
        "target": reading.target_tokens,
        "expected": [step.expected for step in reading.steps],
        "source_ids": reading.source_ids,
        "target_ids": reading.target_ids,
        "steps": [asdict(step) for step in reading.steps],
        "difference": reading.difference,
        "tensors": tensors,
    }


def _source_shares(reading: Reading, translator: TextTranslator) -> list[float]:
    return source_shares(in_float32(translator.model), [(reading.source_ids, reading.target_ids)])[0]


def _tensors(
    reading: Reading, translator: TextTranslator, parameters: Arrays, blocks: Blocks
) -> dict[str, Any]:
    """Return for each tensor its axes, its shape, and where it is stored or how to compute it. The tensors of
    one module share a block."""
    trace, config = reading.trace, translator.model.config
    tensors: dict[str, dict[str, Any]] = {}
    if not computes(translator):
        tensors |= _best_words(reading, blocks)
    for _, part in groupby(trace.values(), key=lambda record: record.name.rpartition(".")[0]):
        carried = []
        for record in part:
            if record.name not in tensors:
                tensors[record.name] = {"axes": record.axes, "shape": list(record.tensor.shape)}
                if how := _way_to_make(record, trace, parameters, config):
                    tensors[record.name]["how"] = how
                else:
                    carried.append(record)
        for record, place in zip(carried, blocks.put(each.tensor.numpy() for each in carried), strict=True):
            tensors[record.name] |= place
    return {name: tensors[name] for name in trace}


def _best_words(reading: Reading, blocks: Blocks) -> dict[str, dict[str, Any]]:
    """Return the logits and probabilities of only the BEST words at each position, best first (ties: lower id
    first), and of the expected word. Add the log of the sum of exp(logit) over all words."""
    logits_BLV, probabilities_BLV = (reading.trace[name].tensor for name in KEPT)
    best = logits_BLV[0].sort(descending=True, stable=True).indices[:, :BEST].tolist()
    chosen = [[*ids, expected] for ids, expected in zip(best, reading.target_ids, strict=True)]
    rows = np.arange(len(chosen))[:, None]
    kept = {
        "size": logits_BLV.shape[-1],
        "tokens": [reading.vocabulary.target_tokens(ids) for ids in chosen],
        "ids": chosen,
        "log_sum_exp": logits_BLV[0].logsumexp(-1).tolist(),
    }
    numbers = [each[0].numpy()[rows, np.array(chosen)][None] for each in (logits_BLV, probabilities_BLV)]
    return {
        name: {"axes": "BLV", "shape": list(array.shape), "kept": kept} | place
        for name, array, place in zip(KEPT, numbers, blocks.put(numbers), strict=True)
    }


def _way_to_make(record: Record, trace: Trace, parameters: Arrays, config: ModelConfig) -> str | None:
    """Return the key of HOW, such as "plus", with which the page can compute this tensor from others bit for
    bit, or None if it cannot."""
    by, (tensors, learned) = describe(record.name).by, made_of(record.name, config)
    if by not in HOW:
        return None
    numbers = [*(trace[name].tensor.numpy() for name in tensors), *(parameters[name] for name in learned)]
    with np.errstate(all="ignore"):
        again = np.ascontiguousarray(HOW[by](*numbers))
    return by if again.tobytes() == record.tensor.numpy().tobytes() else None
