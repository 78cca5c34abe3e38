"""Runs with a switch off, computed when the page is written, for models whose weights it does not carry.

A variant in the header: {"title", "switches": as the page has them, "steps", "tensors"}. Its tensors are the
weights and contexts of every attention, the best words, what the page can make of these, and what is equal
to the recording.
"""

from dataclasses import asdict
from typing import Any

from pellucid.model import Transformer
from pellucid.page.best_words import KEPT, best_words
from pellucid.page.blocks import Blocks
from pellucid.page.derived import Arrays, same_bits, way_to_make
from pellucid.reading.passes import watched_pass
from pellucid.reading.reading import Reading
from pellucid.reading.steps import steps_of
from pellucid.seeing.edits import Edits, lift_mask, together, without_residual, without_scale

# As script/state.js has them.
UNSWITCHED = {"causal": True, "padding": "none", "scale": True, "residual": True}
UNSWITCHED |= {"silent": {}, "where": None, "head": None}
STORED = ("weights", "context")
Table = dict[str, Any]


def variants(
    reading: Reading, model: Transformer, recorded: Table, parameters: Arrays, blocks: Blocks
) -> list[Table]:
    """Return runs without the causal mask, the scale, the residuals; `recorded`: the recording's tensors."""
    parts = {name.rpartition(".")[0] for name in reading.trace}
    attentions = [part for part in parts if part.endswith("_attention")]
    residuals = [part for part in parts if part.rpartition(".")[2].startswith("residual_")]
    switched: list[tuple[str, Table, Edits]] = [
        ("causal mask off", {"causal": False}, lift_mask("decoder.*.self_attention")),
        ("scale off", {"scale": False}, together(*map(without_scale, attentions))),
        ("residuals off", {"residual": False}, together(*map(without_residual, residuals))),
    ]
    return [
        {"title": title, "switches": UNSWITCHED | switches}
        | _variant(reading, model, edits, recorded, parameters, blocks)
        for title, switches, edits in switched
    ]


def _variant(
    reading: Reading, model: Transformer, edits: Edits, recorded: Table, parameters: Arrays, blocks: Blocks
) -> Table:
    vocabulary, expected = reading.vocabulary, reading.target_ids
    seen = watched_pass(model, vocabulary, reading.source_ids, expected, edits)
    arrays = {name: record.tensor.numpy() for name, record in seen.items() if name not in KEPT}
    tensors: dict[str, Table] = {}
    stored = []
    for name, array in arrays.items():
        entry = {"axes": seen[name].axes, "shape": list(array.shape)}
        if how := way_to_make(name, arrays, tensors, parameters, model.config, reading.ids_by_stack):
            tensors[name] = entry | {"how": how}
        elif "block" in recorded[name] and same_bits(array, reading.trace[name].tensor.numpy()):
            tensors[name] = recorded[name]
        elif name.rpartition(".")[2] in STORED:
            tensors[name] = entry
            stored.append(name)
    for name, place in zip(stored, blocks.put(arrays[name] for name in stored), strict=True):
        tensors[name] |= place
    logits, probabilities = (seen[name].tensor for name in KEPT)
    tensors |= best_words(logits, probabilities, expected, vocabulary, blocks)
    steps = steps_of(seen, vocabulary, expected)
    return {"steps": [asdict(step) for step in steps], "tensors": tensors}
