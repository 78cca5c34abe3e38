"""Pictures of an explanation, chosen by name: a tensor, a module (its weights or its output), or one of
these:

"looked": where each step looked, the mean of the heads of the last cross-attention; "words": the same, with
the pieces of each word merged.
"""

import dataclasses

import numpy as np

from pellucid.reading.looking import merge_words
from pellucid.reading.reading import Reading
from pellucid.seeing.records import AXES, Record, UnknownTensor, attentions, no_such_name
from pellucid.show.panels import Shades

NAMES = ("looked", "words")
BEST = 4  # words of each position, where an axis is the whole vocabulary
WRITTEN = 120  # cells of a single matrix that get their number


def picture(reading: Reading, name: str) -> tuple[str, list[Shades]]:
    """Return the title and the panels of a picture, one panel per head; raise an error for an unknown name.

    name: a tensor, a module (for its weights, or its output if it has no weights), or one of NAMES.
    """
    trace, weights = reading.trace, f"{reading.watched_layer}.weights"
    if name in NAMES:
        record = (merge_words(reading) if name == "words" else trace)[weights]
        mean = dataclasses.replace(record, axes="BLM", tensor=record.tensor.mean(1))
        between = " between words" if name == "words" else ""
        heads = f"the mean of the {record.tensor.shape[1]} heads of {weights}"
        return f"Where each step looked{between}\n{heads}", _panels(reading, mean)
    for full in (name, f"{name}.weights", f"{name}.output"):
        if full in trace:
            return _title(trace[full]), _panels(reading, trace[full])
    parts = {full.rpartition(".")[0] for full in trace if full.count(".") > 1}
    raise UnknownTensor(no_such_name(name, [*trace, *sorted(parts), *NAMES]))


def whole_set(reading: Reading) -> list[str]:
    """Return the names of the most useful pictures: the weights of each attention, the causal mask, NAMES,
    and the decoder's probabilities."""
    weights = [f"{part}.weights" for part in attentions(reading.trace)]
    return [*weights, "decoder.layers.0.self_attention.mask", *NAMES, "decoder.probabilities"]


def _title(record: Record) -> str:
    named = zip(("down", "across"), record.axes[-2:], strict=False)
    sides = " · ".join(f"{way}: {axis}, {AXES[axis]}" for way, axis in named)
    return f"{record.name}\n{' × '.join(map(str, record.tensor.shape))} ({record.axes})\n{sides}"


def _panels(reading: Reading, record: Record) -> list[Shades]:
    """Return a panel for each head, or one panel if all heads are equal. If the columns are the vocabulary,
    keep only the best words of each row."""
    heads, sides = record.matrices.numpy(), record.sides
    rows, columns = record.labels(sides[0]), record.labels(sides[1]) if len(sides) > 1 else [""]
    if sides.endswith("V"):
        best = sorted({int(word) for row in heads[0] for word in np.argsort(-row, kind="stable")[:BEST]})
        heads, columns = heads[..., best], reading.vocabulary.target_tokens(best)
    titles = [f"head {head}" for head in range(len(heads))] if len(heads) > 1 else [""]
    if len(heads) > 1 and (heads == heads[0]).all():
        titles, heads = [f"the same for each of the {len(heads)} heads"], heads[:1]
    largest = float(np.abs(heads[np.isfinite(heads)]).max(initial=0.0))
    written: list[list[str]] = []  # the number of each cell, for readers who cannot tell the colours apart
    if heads.size <= WRITTEN and len(heads) == 1 and (record.is_shares or not largest):
        written = [
            ["?" if np.isnan(n) else f"{n:.2f}" if np.isfinite(n) else "−∞" for n in row] for row in heads[0]
        ]
    most = 1.0 if record.is_shares else largest or 1.0
    return [
        Shades(title, head, rows, columns, written, most, not record.is_shares)
        for title, head in zip(titles, heads.tolist(), strict=True)
    ]
