"""What an explanation's plots show: any tensor by its name, all heads of a part, and some pictures more.

Beside the names of tensors there are the paths of parts (an attention: its weights, head by head; any other:
its output) and these names:

looked     the mean of the last cross-attention's heads: where each step looked
words      the same between words, where the vocabulary cuts words into pieces
heads      the weights of every cross-attention, head by head
entropy    how spread each head's attention is, layers × heads: 0 one word alone, 1 all alike
mask       who may look at whom in the decoder: 0, and −∞ hatched
positions  the positional encodings of the source's places, L × D
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.errors import UsageError
from pellucid.reading.looking import heads_entropies
from pellucid.reading.merging import merged
from pellucid.reading.reading import Reading
from pellucid.reading.words import visible
from pellucid.seeing.records import AXES, Record, UnknownTensor, attentions, no_such_name
from pellucid.show.columns import short

Array = np.ndarray[Any, Any]
NAMES = ("looked", "words", "heads", "entropy", "mask", "positions")
BEST = 4  # words of each position, where an axis is the whole vocabulary


@dataclass(frozen=True)
class Picture:
    """Panels of one shape with the same labels: heads, layers, or a single matrix."""

    title: str
    panels: Array  # panels × rows × columns
    titles: list[str]  # of the panels; "" for one alone
    rows: list[str]
    columns: list[str]
    asks: str  # what a row is
    asked: str  # what a column is
    shares: bool = False  # values from 0 to 1
    whole: bool = False  # values that need no decimals: a mask's


def picture(reading: Reading, name: str) -> Picture:
    """The picture of this name."""
    if not isinstance(name, str):
        raise UsageError(
            f"name = {name!r:.60} is not the name of a tensor, a part or a picture, which is text. Give one "
            f'such as "{reading.watched_layer}" or "{NAMES[0]}".'
        )
    if name in NAMES:
        return _named(reading, name)
    trace = reading.trace
    for full in (name, f"{name}.weights", f"{name}.output"):
        if full in trace:
            return of_record(reading, trace[full])
    parts = {full.rpartition(".")[0] for full in trace if full.count(".") > 1}
    raise UnknownTensor(no_such_name(name, [*trace, *sorted(parts), *NAMES]))


def whole_set(reading: Reading) -> list[str]:
    """The names of the pictures that show most of what there is: each attention, and those of NAMES."""
    weights = [f"{part}.weights" for part in attentions(reading.trace)]
    return [*weights, *NAMES, "decoder.probabilities"]


def of_record(reading: Reading, record: Record) -> Picture:
    """A tensor: of several heads a panel each, of an axis V the best words only."""
    values = record.tensor.numpy()
    values = values[0] if record.axes[0] == "B" else values
    axes = (record.axes[-2], record.axes[-1]) if values.ndim > 1 else (record.axes[-1], "")
    rows, columns = record.labels(axes[0]), record.labels(axes[1]) if axes[1] else [""]
    if axes[1] == "V":
        best = sorted({int(word) for row in values for word in np.argsort(-row, kind="stable")[:BEST]})
        values, columns = values[:, best], reading.vocabulary.target_tokens(best)
    panels = values.reshape(-1, len(rows), len(columns))
    shape = " × ".join(map(str, record.tensor.shape))
    titles = [f"head {head}" if len(panels) > 1 else "" for head in range(len(panels))]
    meanings = [f"{axis}: {AXES[axis]}" if axis else "" for axis in axes]
    if record.name.endswith(".positions"):
        meanings[0] = "L: position"  # which nobody asks from
    shares = record.name.rpartition(".")[2] in ("weights", "probabilities")
    title = f"{record.name}\n{shape} ({record.axes})"
    return Picture(title, panels, titles, _seen(rows), _seen(columns), meanings[0], meanings[1], shares)


def _named(reading: Reading, name: str) -> Picture:
    trace = reading.trace
    if name == "mask":
        return _mask(of_record(reading, trace["decoder.layers.0.self_attention.mask"]))
    if name == "positions":
        return of_record(reading, trace["encoder.positions"])
    if name == "entropy":
        return _entropy(reading)
    if name == "heads":
        return _heads(reading)
    weights = f"{reading.watched_layer}.weights"
    record = merged(reading)[weights] if name == "words" else trace[weights]
    mean = record.tensor.mean(1).numpy()
    between = " between words" if name == "words" else ""
    title = f"Where each step looked{between}\nthe mean of the {record.tensor.shape[1]} heads of {weights}"
    asks, asked = "what was read", "the source, which is looked at"
    return Picture(title, mean, [""], _seen(record.labels("L")), _seen(record.labels("M")), asks, asked, True)


def _mask(shown: Picture) -> Picture:
    """One panel where the mask is the same for all heads."""
    if any(not np.array_equal(panel, shown.panels[0]) for panel in shown.panels):
        return dataclasses.replace(shown, whole=True)
    title = f"{shown.title}\nthe same for each of the {len(shown.panels)} heads"
    return dataclasses.replace(shown, title=title, panels=shown.panels[:1], titles=[""], whole=True)


def _heads(reading: Reading) -> Picture:
    trace = reading.trace
    records = [trace[f"{part}.weights"] for part in attentions(trace, "cross")]
    panels = np.concatenate([record.tensor[0].numpy() for record in records])
    titles = [
        f"layer {layer}, head {head}"
        for layer, record in enumerate(records)
        for head in range(record.tensor.shape[1])
    ]
    rows, columns = _seen(records[0].labels("L")), _seen(records[0].labels("M"))
    title = "Cross-attention: which source words each head looked at"
    return Picture(title, panels, titles, rows, columns, "what was read", "the source", True)


def _entropy(reading: Reading) -> Picture:
    parts, shares = heads_entropies(reading)
    heads = [f"head {head}" for head in range(shares.shape[1])]
    title = "How spread each head's attention is\n0: one word alone, 1: all that it may look at alike"
    return Picture(title, shares.numpy()[None], [""], list(map(short, parts)), heads, "attention", "", True)


def _seen(words: Sequence[str]) -> list[str]:
    return [visible(word) for word in words]
