"""Runs with a switch off, computed when the page is written, for models whose weights it does not carry.

A variant in the header: {"title", "switches": as the page has them, "steps", "tensors"}. Its tensors are the
masks, weights and contexts of every attention, the best words, and what is equal to the recording.
"""

from dataclasses import asdict
from typing import Any

import torch

from pellucid.model import Transformer
from pellucid.page.best_words import KEPT, best_words
from pellucid.page.blocks import Blocks
from pellucid.reading.passes import watched_pass
from pellucid.reading.reading import Reading
from pellucid.reading.steps import steps_of
from pellucid.seeing.edits import Edits, lift_mask, together, without_residual, without_scale

# As script/state.js has them.
UNSWITCHED = {"causal": True, "padding": "none", "scale": True, "residual": True}
UNSWITCHED |= {"silent": {}, "where": None, "head": None}
STORED = (".mask", ".weights", ".context")
Table = dict[str, Any]


def variants(reading: Reading, model: Transformer, recorded: Table, blocks: Blocks) -> list[Table]:
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
        | _variant(reading, model, edits, recorded, blocks)
        for title, switches, edits in switched
    ]


def _variant(reading: Reading, model: Transformer, edits: Edits, recorded: Table, blocks: Blocks) -> Table:
    vocabulary, expected = reading.vocabulary, reading.target_ids
    seen = watched_pass(model, vocabulary, reading.source_ids, expected, edits)
    logits, probabilities = (seen[name].tensor for name in KEPT)
    tensors = best_words(logits, probabilities, expected, vocabulary, blocks)
    changed = []
    for name, record in seen.items():
        if name not in KEPT and torch.equal(record.tensor, reading.trace[name].tensor):
            tensors[name] = recorded[name]
        elif name.endswith(STORED):
            changed.append(record)
    for record, place in zip(changed, blocks.put(each.tensor.numpy() for each in changed), strict=True):
        tensors[record.name] = {"axes": record.axes, "shape": list(record.tensor.shape)} | place
    return {"steps": [asdict(step) for step in steps_of(seen, vocabulary, expected)], "tensors": tensors}
