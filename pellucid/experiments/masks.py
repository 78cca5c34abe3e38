"""Masks: causal, padding, and both, in a batch of two sentences of different length.

"We implement this inside of scaled dot-product attention by masking out (setting to -inf) all values in the
input of the softmax which correspond to illegal connections" (Vaswani et al. 2017, section 3.2.3): words that
come later, and padding, which makes the sentences of a batch equally long and is no word at all.
"""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from pellucid.data.batch import pad
from pellucid.errors import UsageError
from pellucid.experiments.said import Said, said
from pellucid.reading.passes import watch
from pellucid.reading.words import visible
from pellucid.seeing.edits import lift_mask
from pellucid.seeing.trace import Trace
from pellucid.show.columns import columns, digits, paragraph, stacked
from pellucid.show.drawing import drawing

if TYPE_CHECKING:
    from pellucid.translator import Translator

ABOUT = "causal, padding and both masks in a padded batch, and what goes wrong without each"
NEEDS = "sentence"
EXTRA = 2  # padding where both sentences are equally long
CAUSAL = "decoder.layers.*.self_attention"


@dataclass(frozen=True)
class Mask:
    """The mask of one attention for one sentence: 0, or -inf where it may not look."""

    name: str
    part: str
    rows: list[str]  # who asks
    columns: list[str]  # what is asked
    values: list[list[float]]

    def lines(self, width: int) -> list[str]:
        """The matrix, its words on both axes."""
        signs = [["0" if value == 0 else "-∞" for value in row] for row in self.values]
        rows = [[name, *cells] for name, cells in zip(self.rows, signs, strict=True)]
        hidden = sum(value == -math.inf for row in self.values for value in row)
        count = len(self.rows) * len(self.columns)
        title = f"{self.name} ({self.part}): {hidden} of {count} cells are −∞"
        return [*paragraph(title, width), *columns(["", *self.columns], rows, width)]


@dataclass(frozen=True)
class Without:
    """The shorter sentence in the batch with one mask left out, beside the same sentence alone."""

    mask: str
    probability: float  # of its translation
    difference: float  # the largest, of a word's log-probability from what it is alone


@dataclass(frozen=True)
class Masks:
    """The masks of a padded batch, and what they are for."""

    title: str  # of the longer sentence
    shorter: str
    masks: list[Mask]
    alone: float  # the shorter translation's probability without any batch
    without: list[Without]  # "both", then each one left out

    @property
    def conclusion(self) -> str:
        """Padding changes nothing with the masks, and what it changes without."""
        both, source, target, causal = self.without
        shown = f"{both.difference:.0e}" if both.difference else "0"
        return (
            f"With both masks the padded batch leaves the shorter translation as it is alone (log p within "
            f"{shown}, p = {digits(both.probability)}); without the source's padding mask p is "
            f"{digits(source.probability)}, without the causal mask {digits(causal.probability)}; the "
            f"target's padding mask {'changes nothing here' if target.difference < 1e-4 else 'matters too'}, "
            "for padding comes last and the causal mask hides it from every word."
        )

    def lines(self, width: int) -> list[str]:
        """The conclusion; each mask as a matrix; the shorter sentence with each one left out."""
        header = ["the shorter sentence", "p", "log p differs by"]
        rows = [["alone", digits(self.alone), ""]]
        rows += [[each.mask, digits(each.probability), digits(each.difference)] for each in self.without]
        both = [*paragraph(f"1: {self.title}", width), *paragraph(f"2: {self.shorter}", width)]
        masks = [mask.lines(width) for mask in self.masks]
        return stacked(width, self.conclusion, both, *masks, columns(header, rows, width, longest=40))

    def plot(self, path: str | Path) -> None:
        """The masks side by side; −∞ is hatched."""
        letters = "".join(visible(word) for mask in self.masks for word in [*mask.rows, *mask.columns])
        with drawing(path, "masks", letters) as figure:
            figure.set_size_inches(9, 7.5)
            for axes, mask in zip(figure.subplots(2, 2).flatten(), self.masks, strict=True):
                hidden = np.isneginf(np.array(mask.values))
                axes.set_facecolor("0.85")
                axes.patch.set(hatch="////", edgecolor="0.6")
                axes.imshow(
                    np.ma.masked_array(np.zeros(hidden.shape), hidden), cmap="Purples", vmin=-1, vmax=1
                )
                axes.set_title(f"{mask.name}\nwhite: 0, hatched: −∞", fontsize=8)
                axes.set_xticks(range(len(mask.columns)), map(visible, mask.columns), fontsize=7, rotation=90)
                axes.set_yticks(range(len(mask.rows)), map(visible, mask.rows), fontsize=7)


def experiment(
    translator: "Translator", text: str, to: str | None = None, *, shorter: str | None = None
) -> Masks:
    """A batch of the sentence and of a shorter one (by default the first half of its words)."""
    first = said(translator, text, to)
    second = said(
        translator, shorter if shorter is not None else _first_half(text), to or first.explanation.to
    )
    sizes = [len(each.explanation.source_ids) for each in (first, second)]
    if sizes[1] > sizes[0]:
        raise UsageError(
            f"shorter = {shorter!r:.60} has {sizes[1]} tokens and the sentence {sizes[0]}. Give one that is "
            "not longer, for the shorter one is padded."
        )
    sources, source_real = _padded(first, [first.explanation.source_ids, second.explanation.source_ids])
    begun = [[first.model.config.start_id, *each.explanation.target_ids[:-1]] for each in (first, second)]
    targets, target_real = _padded(first, begun)
    run = functools.partial(watch, first.model, sources, targets, vocabulary=first.explanation.vocabulary)
    seen = run(source_mask=source_real, target_mask=target_real)
    uncausal = run(source_mask=source_real, target_mask=target_real, edits=lift_mask(CAUSAL))
    left_out: list[tuple[str, Trace]] = [
        ("in the batch, with both masks", seen),
        ("without the source's padding mask", run(target_mask=target_real)),
        ("without the target's padding mask", run(source_mask=source_real)),
        ("without the causal mask", uncausal),
    ]
    alone = torch.tensor(second.log_probabilities(second.trace), dtype=torch.float64)
    without = []
    for name, each in left_out:
        log_p = _log_probabilities(second, each)
        without.append(Without(name, float(log_p.sum().exp()), float((log_p - alone).abs().max())))
    return Masks(first.title, second.title, _masks(first.trace, seen), float(alone.sum().exp()), without)


def _first_half(text: str) -> str:
    words = [word for word in text.split() if not (word.startswith(">>") and word.endswith("<<"))]
    return " ".join(words[: max(1, (len(words) + 1) // 2)])


def _padded(pair: Said, rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Two rows of ids, padding at least in the second; and which are real."""
    ids, real = pad(rows, pair.model.config.pad_id, pair.source.device)
    if not bool(real[1].all()):
        return ids, real
    blank = ids.new_full((2, EXTRA), pair.model.config.pad_id)
    return torch.cat((ids, blank), dim=1), torch.cat(
        (real, blank.new_zeros(blank.shape, dtype=torch.bool)), dim=1
    )


def _log_probabilities(pair: Said, seen: Trace) -> Tensor:
    """Of the second sentence's expected words."""
    expected = torch.tensor(pair.explanation.target_ids)
    log_p = seen["decoder.logits"].tensor[1, : len(expected)].double().log_softmax(-1)
    return log_p.gather(1, expected[:, None])[:, 0]


def _masks(alone: Trace, batch: Trace) -> list[Mask]:
    decoder, cross = "decoder.layers.0.self_attention", "decoder.layers.0.cross_attention"
    chosen = (
        ("causal: sentence 1 alone", decoder, alone, 0),
        ("padding: sentence 2 in the batch", "encoder.layers.0.self_attention", batch, 1),
        ("both together: sentence 2", decoder, batch, 1),
        ("padding, asked by the target: sentence 2", cross, batch, 1),
    )
    masks = []
    for name, part, seen, sentence in chosen:
        record = seen[f"{part}.mask"]
        values = record.tensor[sentence, 0].tolist()
        masks.append(Mask(name, part, record.labels("L", sentence), record.labels("M", sentence), values))
    return masks
