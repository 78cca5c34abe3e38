"""Heads: how spread each one's attention is, what it looks at, and what the translation loses without it.

"Multi-head attention allows the model to jointly attend to information from different representation
subspaces at different positions" (Vaswani et al. 2017, section 3.2.2). Silencing a head: Voita et al. 2019,
Michel et al. 2019.
"""

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from pellucid.errors import UsageError
from pellucid.experiments.said import Said, said
from pellucid.reading.looking import HeadLook, looked_at
from pellucid.reading.words import visible
from pellucid.seeing.edits import HOW, silence
from pellucid.show.columns import columns, digits, short, stacked
from pellucid.show.drawing import drawing, shade

if TYPE_CHECKING:
    from pellucid.translator import Translator

ABOUT = "heads differ: how sharply each looks, at what, and how probable the translation is without it"
NEEDS = "sentence"
LONG = 1e9  # passes times parameters from which it takes seconds


@dataclass(frozen=True)
class Head:
    """One head of one attention, on one sentence."""

    part: str
    head: int
    entropy: float  # bits, the mean of its rows: 0 is one word alone
    distance: float | None  # words between who asks and what is looked at, weighted; None across languages
    word: str  # what gets the largest share of all its attention
    share: float
    silenced: dict[str, float]  # how -> the translation's probability

    @property
    def name(self) -> str:
        """decoder 1 cross 2."""
        return f"{short(self.part)} {self.head}"


@dataclass(frozen=True)
class Heads:
    """Every head of a model on one sentence."""

    title: str
    probability: float  # of the translation, nothing silenced
    heads: list[Head]

    def lines(self, width: int) -> list[str]:
        """The head that matters most and how they differ; then a line for each."""
        hows = list(self.heads[0].silenced)
        header = ["head", "looks most at", "share", "bits", "apart", *hows]
        table = [
            [
                head.name,
                visible(head.word),
                f"{head.share:.2f}",
                f"{head.entropy:.2f}",
                "" if head.distance is None else f"{head.distance:.1f}",
                *(digits(head.silenced[how]) for how in hows),
            ]
            for head in self.heads
        ]
        last = self.heads[-1]
        legend = (
            f"{last.name} is head {last.head} of {last.part}; all count from 0. "
            "share: of all its attention. bits: the entropy of its weights, 0 for one word alone. apart: "
            f"positions between the word that asks and what it looks at. {', '.join(hows)}: the probability "
            f"of this translation with the head silenced ({digits(self.probability)} with none): its context "
            "zero, its mean over the positions, or its weights uniform over what it may look at."
        )
        rows = columns(header, table, width, left=2, longest=18)
        return stacked(width, self.conclusion, self.title, rows, legend)

    @property
    def conclusion(self) -> str:
        """Which head matters most on this sentence, how many hardly do, and how their entropies differ."""
        how = next(iter(self.heads[0].silenced))
        worst = min(self.heads, key=lambda head: head.silenced[how])
        idle = sum(abs(head.silenced[how] - self.probability) < 0.01 for head in self.heads)
        sharp, even = min(self.heads, key=_entropy), max(self.heads, key=_entropy)
        if worst.silenced[how] < self.probability:
            most = (
                f"of {len(self.heads)} heads {worst.name} matters most here: silenced ({how}), the "
                f"translation's probability falls from {digits(self.probability)} to "
                f"{digits(worst.silenced[how])}"
            )
        else:
            most = f"no head of {len(self.heads)}, silenced ({how}), makes this translation less probable"
        return (
            f"Heads differ: {most}; {idle} change it by less than 0.01. The sharpest, {sharp.name}, has "
            f"{sharp.entropy:.2f} bits and looks most at {visible(sharp.word)!r}; the most even, "
            f"{even.name}, {even.entropy:.2f}."
        )

    def plot(self, path: str | Path) -> None:
        """Entropy, and the probability with each head silenced: parts × heads."""
        parts = list(dict.fromkeys(head.part for head in self.heads))
        hows = list(self.heads[0].silenced)
        values = {"entropy, bits": [head.entropy for head in self.heads]}
        values |= {f"p, silenced: {how}": [head.silenced[how] for head in self.heads] for how in hows}
        count = len(self.heads) // len(parts)
        names, each = [short(part) for part in parts], [str(head) for head in range(count)]
        with drawing(path, "heads") as figure:
            figure.set_size_inches(2.2 + 0.6 * count * len(values), 1.6 + 0.35 * len(parts))
            panels = figure.subplots(1, len(values), sharey=True, squeeze=False)[0]
            for axes, (title, numbers) in zip(panels, values.items(), strict=True):
                grid = torch.tensor(numbers).view(len(parts), count).numpy()
                is_share = title.startswith("p")
                most = 1.0 if is_share else max(1.0, float(grid.max()))
                written = [[f"{number:.2f}" for number in row] for row in grid]
                image = shade(axes, grid, most, rows=names, columns=each, written=written)
                axes.set_title(title, fontsize=8)
                axes.set_xlabel("head", fontsize=8)
                figure.colorbar(image, ax=axes, shrink=0.8)


def experiment(
    translator: "Translator",
    text: str,
    to: str | None = None,
    *,
    target: str | None = None,
    how: str | Sequence[str] = HOW,
) -> Heads:
    """Each head of each attention: where it looks, and the translation's probability with it silenced, in
    turn, in each of these ways."""
    hows: list[Any] = list(how) if isinstance(how, list | tuple) else [how]
    if not hows or any(each not in HOW for each in hows):
        raise UsageError(f"how = {how!r} is not known. A head is silenced with {', '.join(HOW)}.")
    pair = said(translator, text, to, target)
    looks = [look for part in pair.attentions for look in looked_at(pair.explanation, part)]
    _announce(len(looks) * len(hows), pair)
    heads = [_head(pair, look, hows) for look in looks]
    return Heads(pair.title, pair.probability(), heads)


def _announce(passes: int, pair: Said) -> None:
    """Who waits at a terminal should know for what."""
    numbers = sum(parameter.numel() for parameter in pair.model.parameters())
    if passes * numbers > LONG and sys.stderr is not None and sys.stderr.isatty():
        print(f"{passes} passes, one for each head and each way to silence it …", file=sys.stderr)


def _head(pair: Said, look: HeadLook, hows: Sequence[str]) -> Head:
    record = pair.trace[f"{look.part}.weights"]
    weights_LM = record.tensor[0, look.head].double()
    shares: Counter[str] = Counter()  # a word that stands there twice is one word
    for word, share in zip(record.labels("M"), weights_LM.mean(0).tolist(), strict=True):
        shares[word] += share
    (word, share), *_ = shares.most_common(1)
    distance = None
    if not look.part.endswith("cross_attention"):
        places = torch.arange(len(weights_LM), dtype=torch.float64)
        distance = float((weights_LM * (places[:, None] - places).abs()).sum(-1).mean())
    silenced = {how: pair.probability(silence(look.part, look.head, how)) for how in hows}
    return Head(look.part, look.head, look.entropy, distance, word, share, silenced)


def _entropy(head: Head) -> float:
    return head.entropy
