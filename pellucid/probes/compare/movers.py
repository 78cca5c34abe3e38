"""What moved a word's vector in one layer: each other word's part in the change, head by head, exactly."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from pellucid.model import Attention
from pellucid.probes.compare.occurrence import Occurrence
from pellucid.reading.words import Word
from pellucid.seeing.records import Record

Key = tuple[str, int]  # a word's text, and which of its occurrences


@dataclass(frozen=True)
class Mover:
    """A word, and its part in the change of an attention's output at the word that is compared."""

    word: str
    sentences: str  # "both", "first" or "second": which of them have it
    itself: bool  # it is the word that is compared
    shares: list[float]  # of the change, through each head; those of all movers and heads sum to 1
    weights: tuple[list[float], list[float]]  # how much of each head's attention it got; 0 where it is not

    @property
    def share(self) -> float:
        """Through all heads."""
        return sum(self.shares)


@dataclass(frozen=True)
class LayerChange:
    """A layer's self-attention at the word: how its output changes from the first sentence to the second."""

    attention: str  # its path
    distance: float  # the length of the change of its output
    movers: list[Mover]  # the largest part first
    rest: float  # the largest number that the sum of all parts lacks of the change as traced: rounding
    attention_share: (
        float  # of the change of the first Add's sum: the sublayer's part, the rest is the stream's
    )
    feed_forward_share: float  # the same for the second Add


def layer_change(
    number: int,
    attention: Attention,
    ours: Mapping[str, Record],
    theirs: Mapping[str, Record],
    first: Occurrence,
    second: Occurrence,
) -> LayerChange:
    """From the first sentence to the second, in encoder layer `number`."""
    path, layer = f"encoder.layers.{number}.self_attention", f"encoder.layers.{number}"
    parts = [
        given(seen, path, attention, occurrence) for seen, occurrence in ((ours, first), (theirs, second))
    ]
    change = _change(f"{path}.output", ours, theirs, first, second)
    size = float(change @ change)
    nothing = torch.zeros(attention.heads, len(change), dtype=torch.float64), [0.0] * attention.heads
    movers = []
    for key in dict.fromkeys((*parts[0], *parts[1])):
        (before, weights_before), (after, weights_after) = (each.get(key, nothing) for each in parts)
        shares = ((after - before) @ change / size).tolist() if size else [0.0] * attention.heads
        where = "both" if key in parts[0] and key in parts[1] else "first" if key in parts[0] else "second"
        movers.append(Mover(key[0], where, key[1] < 0, shares, (weights_before, weights_after)))
    sums = [sum(vector.sum(0) for vector, _ in each.values()) for each in parts]
    movers.sort(key=lambda mover: -abs(mover.share))
    added = [
        _share(_change(f"{layer}.{sublayer}.output", ours, theirs, first, second), total)
        for sublayer, total in (
            ("self_attention", _change(f"{layer}.residual_1.sum", ours, theirs, first, second)),
            ("feed_forward", _change(f"{layer}.residual_2.sum", ours, theirs, first, second)),
        )
    ]
    rest = float((sums[1] - sums[0] - change).abs().max())
    return LayerChange(path, size**0.5, movers, rest, *added)


def given(
    seen: Mapping[str, Record], path: str, attention: Attention, occurrence: Occurrence
) -> dict[Key, tuple[Tensor, list[float]]]:
    """What each word gives the compared one through each head, H D, and its weights there.

    weights(h, m) · values(h, m) · W_O(h), summed over the word's pieces; of a compared word of several pieces
    the mean. The compared word's own key has the number -1.
    """
    weights_HM = seen[f"{path}.weights"].tensor[0, :, list(occurrence.places)].double().mean(1)
    values_HMU = seen[f"{path}.values"].tensor[0].double()
    output_DHU = attention.output.weight.detach().cpu().double().unflatten(1, (attention.heads, -1))
    given_HMD = torch.einsum("hm,hmu,dhu->hmd", weights_HM, values_HMU, output_DHU)
    parts = {}
    for key, word in _keys(occurrence.words, occurrence.places):
        places = list(word.places)
        parts[key] = given_HMD[:, places].sum(1), weights_HM[:, places].sum(1).tolist()
    return parts


def _keys(words: Sequence[Word], places: Sequence[int]) -> list[tuple[Key, Word]]:
    """Words by their text, the second "the" apart from the first; the compared one is -1 whatever it says."""
    counts: Counter[str] = Counter()
    keys = []
    for word in words:
        itself = set(places) <= set(word.places)
        text = word.text.casefold()
        keys.append(((text, -1 if itself else counts[text]), word))
        counts[text] += not itself
    return keys


def _change(
    name: str, ours: Mapping[str, Record], theirs: Mapping[str, Record], first: Occurrence, second: Occurrence
) -> Tensor:
    before, after = (
        seen[name].tensor[0, list(occurrence.places)].double().mean(0)
        for seen, occurrence in ((ours, first), (theirs, second))
    )
    return after - before


def _share(part: Tensor, change: Tensor) -> float:
    size = float(change @ change)
    return float(part @ change) / size if size else 0.0
