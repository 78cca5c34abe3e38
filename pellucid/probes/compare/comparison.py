"""One word in two sentences: how far apart its vectors are after each layer, and what moved them.

**Position and context.** v(S, p) is the word's vector when the encoder reads sentence S and the word has the
positional encodings of the places p, all other words keeping theirs; a word of several pieces is their mean.
With the word at p in the first sentence A and at q in the second, B, four runs give

    position effect = ½ [v(A, q) − v(A, p) + v(B, q) − v(B, p)]
    context effect  = ½ [v(B, p) − v(A, p) + v(B, q) − v(A, q)]

and their sum is exactly v(B, q) − v(A, p), at every layer, whatever the layer does. A share of the change is
an effect's projection on it, so the two shares sum to 1; one may be negative.

**The words that moved it.** Given its weights, an attention is linear in the values: its output at the word
is the sum over heads h and words m of weights(h, m) · values(h, m) · W_O(h), plus a bias that is the same in
both sentences. So the change of that output is the sum over all words of what each gave in B less what it
gave in A, exactly; a share is the projection on the change. Add is linear too. Not linear are the weights
themselves (softmax of scores), the norm (it divides by the standard deviation) and the feed-forward: so
shares are of an attention's output, layer by layer, and from the second layer on a word's values hold what it
took from others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from pellucid.config.device import device_of
from pellucid.errors import UsageError
from pellucid.model import EncoderLayer, Transformer, sinusoids
from pellucid.probes.compare.movers import LayerChange, layer_change
from pellucid.probes.compare.occurrence import Occurrence, find
from pellucid.reading.alignment import alignment
from pellucid.reading.merging import said_words
from pellucid.reading.passes import in_float32, quietly
from pellucid.reading.reading import Reading, read
from pellucid.seeing.trace import Edit, Trace, trace
from pellucid.translate.base import BaseTranslator

Places = tuple[int, ...]


@dataclass(frozen=True)
class Stage:
    """The word's two vectors at one place of the encoder."""

    name: str  # the tensor's
    title: str  # after what
    cosine: float  # of the word in the first sentence and in the second
    position: float  # of the word and itself, same sentence, places exchanged: mean of both sentences
    context: (
        float  # of the word in the first sentence and in the second at the same place: mean of both places
    )
    distance: float  # the length of the change
    position_share: float  # of the change; the two sum to 1, and are 0 where nothing changes
    context_share: float


@dataclass(frozen=True)
class Rendering:
    """A sentence's translation, and what became of the word in it."""

    text: str
    words: list[str]  # the target words that are aligned with it
    probabilities: dict[str, float]  # of the words of both translations, at the first one's step


@dataclass(frozen=True)
class Comparison:
    """A word in two sentences: its vectors, stage by stage, what moved them, and its translations."""

    first: Occurrence
    second: Occurrence
    stages: list[Stage]
    layers: list[LayerChange]  # one for each encoder layer
    renderings: tuple[Rendering, Rendering]

    @property
    def word(self) -> str:
        """As the first sentence has it."""
        return self.first.word

    @property
    def verdict(self) -> str:
        """What came out, in a sentence or two."""
        last = self.stages[-1]
        if not last.distance:
            return f"Nothing parts the two: {self.word!r} has the same vector everywhere."
        first = self.stages[0].cosine
        told = f"{self.word!r}: cosine {first:.2f} before the encoder, {last.cosine:.2f} after it"
        by = f"{last.context_share:.0%} of the change by context, {last.position_share:.0%} by position"
        others = [mover for mover in self.layers[-1].movers if not mover.itself and mover.share >= 0.1]
        words = ", ".join(f"{mover.word} ({mover.share:.0%})" for mover in others[:3])
        moved = f" In the last layer it was moved most by {words}." if words else ""
        if self.first.tokens != self.second.tokens:
            moved += (
                f" Its tokens are not the same, {' '.join(self.first.tokens)} and "
                f"{' '.join(self.second.tokens)}: what they differ by counts as context."
            )
        return f"{told}; {by}.{moved}"

    def lines(self, width: int = 80) -> list[str]:
        """The comparison as text."""
        from pellucid.probes.compare.text import lines

        return lines(self, width)

    def show(self) -> None:
        """Prints the cosines, the effects, the words that moved it, and the translations."""
        from pellucid.seeing.viewed import columns_of_terminal, print_lines

        print_lines(self.lines(columns_of_terminal()))

    def plot(self, path: str | Path) -> None:
        """Draws the cosines and what moved the word: .png, .svg, .pdf; with pip install "pellucid[plot]"."""
        from pellucid.probes.compare.plot import plot

        plot(self, path)

    def _repr_html_(self) -> str:
        from pellucid.show.notebook import preformatted

        return preformatted(self.lines(100))


def compare(
    translator: BaseTranslator,
    word: str,
    a: str,
    b: str,
    to: str | None = None,
    which: tuple[int, int] | None = None,
) -> Comparison:
    """A word in two sentences; `which` of its occurrences, counted from 1, where a sentence has several."""
    numbers = _numbers(which)
    first = find(word, a, to, translator.vocabulary, "first", numbers[0])
    second = find(word, b, to, translator.vocabulary, "second", numbers[1])
    model = in_float32(translator.model)
    here, there = first.places, second.places
    runs = {
        "A": _read(model, first, here),
        "A elsewhere": _read(model, first, _from(there[0], len(here))),
        "B": _read(model, second, there),
        "B elsewhere": _read(model, second, _from(here[0], len(there))),
    }
    stages = [_stage(name, title, runs, first, second) for name, title in stages_of(model)]
    layers = [
        layer_change(number, layer.self_attention, runs["A"], runs["B"], first, second)
        for number, layer in enumerate(cast("list[EncoderLayer]", model.encoder.layers))
    ]
    explained = [read(translator, occurrence.text, to=to) for occurrence in (first, second)]
    return Comparison(first, second, stages, layers, _renderings(explained, (first, second)))


def _numbers(which: Any) -> tuple[int | None, int | None]:
    if which is None:
        return None, None
    if (
        not isinstance(which, (tuple, list))
        or len(which) != 2
        or any(type(each) is not int for each in which)
    ):
        raise UsageError(
            f"which = {which!r} is not two whole numbers: which occurrence is meant in the first sentence "
            "and in the second, counted from 1. Give both, such as which=(1, 1)."
        )
    return which[0], which[1]


def stages_of(model: Transformer) -> list[tuple[str, str]]:
    """The tensors that hold the word's vector, in order, and what each is."""
    stages = [("encoder.token_embeddings", "embedding"), ("encoder.embedded", "position")]
    for number in range(len(model.encoder.layers)):
        stages.append((f"encoder.layers.{number}.residual_2.output", f"layer {number}"))
    if model.encoder.norm is not None:
        stages.append(("encoder.output", "last norm"))
    return stages


def _read(model: Transformer, occurrence: Occurrence, places: Places) -> Trace:
    """The encoder's pass with the word at these places."""
    source = torch.tensor([occurrence.ids], device=device_of(model))
    edits = moved(occurrence.places, places, model.config.positions)
    with quietly(model), trace(model, only="encoder.*", edits=edits) as seen:
        model.encode(source, None)
    return seen


def moved(places: Places, elsewhere: Places, positions: str = "paper") -> Mapping[str, Edit]:
    """The edit that gives the tokens at `places` the positional encodings of `elsewhere`."""

    def edit(positions_LD: Tensor) -> Tensor:
        width, kind, device = positions_LD.shape[1], positions_LD.dtype, positions_LD.device
        table = sinusoids(max(elsewhere) + 1, width, kind, device, positions)
        positions_LD[list(places)] = table[list(elsewhere)]
        return positions_LD

    return {} if places == elsewhere else {"encoder.positions": edit}


def _from(first: int, count: int) -> Places:
    return tuple(range(first, first + count))


def _stage(name: str, title: str, runs: Mapping[str, Trace], first: Occurrence, second: Occurrence) -> Stage:
    at = {
        run: seen[name].tensor[0, list((first if run.startswith("A") else second).places)].double().mean(0)
        for run, seen in runs.items()
    }
    a, a_elsewhere, b, b_elsewhere = at.values()
    position = (a_elsewhere - a + b - b_elsewhere) / 2
    context = (b_elsewhere - a + b - a_elsewhere) / 2
    change = b - a
    size = float(change @ change)
    return Stage(
        name,
        title,
        _cosine(a, b),
        (_cosine(a, a_elsewhere) + _cosine(b, b_elsewhere)) / 2,
        (_cosine(a, b_elsewhere) + _cosine(a_elsewhere, b)) / 2,
        size**0.5,
        float(position @ change) / size if size else 0.0,
        float(context @ change) / size if size else 0.0,
    )


def _cosine(one: Tensor, other: Tensor) -> float:
    return float(one @ other / (one.norm() * other.norm()))


def _renderings(
    explained: Sequence[Reading], occurrences: Sequence[Occurrence]
) -> tuple[Rendering, Rendering]:
    """The target words aligned with the word, and how probable each sentence holds both of them there."""
    found = [_aligned(*each) for each in zip(explained, occurrences, strict=True)]
    rows = [(reading, row) for reading, (_, row) in zip(explained, found, strict=True)]
    ids = list(dict.fromkeys(each.target_ids[row] for each, row in rows if row is not None))
    renderings = []
    for reading, (words, row) in zip(explained, found, strict=True):
        probabilities = {}
        if row is not None:
            rates = reading.trace["decoder.probabilities"].tensor[0, row]
            tokens = reading.vocabulary.target_tokens(ids)
            probabilities = {label: float(rates[each]) for label, each in zip(tokens, ids, strict=True)}
        renderings.append(Rendering(reading.translation.text, words, probabilities))
    return renderings[0], renderings[1]


def _aligned(reading: Reading, occurrence: Occurrence) -> tuple[list[str], int | None]:
    """The target words that looked at the word, and the step that begins the one that looked at it most."""
    links = [link for link in alignment(reading).links if link.source == occurrence.number]
    words = [word for word in said_words(reading) if not word.special]
    if not links:
        return [], None
    most = max(links, key=lambda link: link.share)
    return [words[link.target].text for link in links], words[most.target].places[0]
