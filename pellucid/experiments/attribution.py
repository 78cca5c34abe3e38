"""Attribution: how much of each word's log-probability is due to each word that was read.

Gradient × input looks at the words as they are alone; integrated gradients (Sundararajan et al. 2017,
Axiomatic Attribution for Deep Networks) add up the gradients on the straight way from no words (embeddings of
zero, positions as they are) to the words, so that the shares sum to the whole difference: completeness.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from pellucid.config.whole import whole_setting
from pellucid.experiments.said import Said, said
from pellucid.reading.words import visible
from pellucid.seeing.trace import trace
from pellucid.show.columns import columns, digits, stacked
from pellucid.show.drawing import drawing, shade
from pellucid.translate.decoding import evaluating

if TYPE_CHECKING:
    from pellucid.translator import Translator

ABOUT = "which words a word is due to: gradient × input, and integrated gradients that sum to the whole"
NEEDS = "sentence"
STEPS = 512
TOGETHER = 32  # points on the way that are computed as one batch
SOURCE, READ = "encoder.token_embeddings", "decoder.token_embeddings"


@dataclass(frozen=True)
class Due:
    """One word of the target: its log-probability, and what of it is due to each word that was read."""

    word: str
    log_probability: float
    without_words: float  # its log-probability where every embedding is 0
    integrated: list[float]  # the source's words, then what the decoder read, in nats
    gradient_times_input: list[float]

    @property
    def missing(self) -> float:
        """The difference that the integrated gradients must sum to, less their sum."""
        return self.log_probability - self.without_words - sum(self.integrated)


@dataclass(frozen=True)
class Attribution:
    """All words of a target."""

    title: str
    source: list[str]
    read: list[str]  # by the decoder: the start token and the target, shifted
    words: list[Due]
    steps: int  # points on the way, at which gradients were taken

    @property
    def error(self) -> float:
        """By how much the sum of a word's shares misses the difference, at most."""
        return max(abs(each.missing) for each in self.words)

    @property
    def conclusion(self) -> str:
        """How much is due to the source, to what for the most certain pair, and how complete the sum is."""
        count = len(self.source)
        gained = sum(each.log_probability - each.without_words for each in self.words)
        source = sum(sum(each.integrated[:count]) for each in self.words)
        amount, word, cause = max(
            (share, each.word, self.source[place])
            for each in self.words
            for place, share in enumerate(each.integrated[:count])
        )
        return (
            f"Of the {gained:.1f} nats that the words read add to this translation's log-probability, "
            f"{source:.1f} are due to the source and {gained - source:.1f} to the target's words so far; "
            f"most for one word: {visible(word)!r} owes {amount:.1f} to {visible(cause)!r}. The shares sum "
            f"to the whole within {digits(self.error)} a word."
        )

    def lines(self, width: int) -> list[str]:
        """The conclusion; the integrated gradients with their sums; gradient × input."""
        sums = [
            [
                each.word,
                f"{sum(each.integrated):.4f}",
                f"{each.log_probability:.4f}",
                f"{each.without_words:.4f}",
                digits(each.missing),
            ]
            for each in self.words
        ]
        legend = (
            f"In nats of log p. Rows: the words to be said. Integrated over {self.steps} points "
            "(Gauss-Legendre) from embeddings of zero; gradient × input looks at the words as they are "
            "alone: small where the model is sure, and its sum means nothing."
        )
        source, read = slice(0, len(self.source)), slice(len(self.source), None)
        title = "integrated gradients, what the decoder had read (later words: 0)"
        completeness = columns(["", "sum", "log p", "without", "missing"], sums, width)
        return stacked(
            width,
            self.conclusion,
            self.title,
            self._table("integrated gradients, the source's words", "integrated", source, width),
            self._table(title, "integrated", read, width),
            ["completeness: sum = log p − log p without words", *completeness],
            self._table("gradient × input, the source's words", "gradient_times_input", source, width),
            legend,
        )

    def _table(self, title: str, which: str, part: slice, width: int) -> list[str]:
        header = [*self.source, *self.read][part]
        rows = [
            [each.word, *(f"{share:z.2f}" for share in getattr(each, which)[part])] for each in self.words
        ]
        return [title, *columns(["", *header], rows, width)]

    def plot(self, path: str | Path) -> None:
        """Both attributions as shades, the source left and what the decoder read right."""
        labels = [visible(word) for word in [*self.source, *self.read]]
        words = [visible(each.word) for each in self.words]
        with drawing(path, "attribution", "".join([*labels, *words])) as figure:
            figure.set_size_inches(3 + 0.9 * len(labels), 1.8 + 0.35 * len(words))
            panels = figure.subplots(1, 2, sharey=True)
            for axes, which in zip(panels, ("integrated", "gradient_times_input"), strict=True):
                grid = np.array([getattr(each, which) for each in self.words])
                most = float(np.abs(grid).max()) or 1.0
                image = shade(axes, grid, most, signed=True, rows=words, columns=labels, turned=True)
                axes.axvline(len(self.source) - 0.5, color="0.3")
                axes.set_title(
                    which.replace("_times_", " × ").replace("integrated", "integrated gradients"), fontsize=8
                )
                figure.colorbar(image, ax=axes).set_label("nats of log p", fontsize=7)


def experiment(
    translator: "Translator",
    text: str,
    to: str | None = None,
    *,
    target: str | None = None,
    steps: int = STEPS,
) -> Attribution:
    """Share each target word's log-probability out among the words read, with this many points on the way."""
    steps = whole_setting("steps", steps, 1, 10_000, "points on the way")
    pair = said(translator, text, to, target)
    words = [pair.trace[name].tensor[0].to(pair.source.device) for name in (SOURCE, READ)]
    integrated = _integrated(pair, words, steps)
    at_once = _shares(pair, words, torch.ones(1))[0]
    ends = _log_p(pair, words, torch.tensor([1.0, 0.0]))[1].tolist()
    rows = zip(pair.expected_tokens, *ends, integrated.tolist(), at_once.tolist(), strict=True)
    tokens = pair.explanation.source_tokens, pair.explanation.target_tokens
    return Attribution(pair.title, *tokens, [Due(*row) for row in rows], steps)


def _integrated(pair: Said, words: list[Tensor], steps: int) -> Tensor:
    """L (M + L): the integral of the shares over the way from no words to the words."""
    nodes, factors = (torch.tensor(each) for each in np.polynomial.legendre.leggauss(steps))
    total = torch.zeros(())
    points = ((nodes + 1) / 2).float().split(TOGETHER)
    for some, factor in zip(points, (factors / 2).split(TOGETHER), strict=True):
        total = total + torch.einsum("p,plm->lm", factor, _shares(pair, words, some))
    return total


def _shares(pair: Said, words: list[Tensor], points: Tensor) -> Tensor:
    """P L (M + L): at each point of the way, gradient · embedding of each word read, for each word said."""
    inputs, log_p_PL = _log_p(pair, words, points)
    rows = []
    for place in range(log_p_PL.shape[1]):
        gradients = torch.autograd.grad(log_p_PL[:, place].sum(), inputs, retain_graph=True)
        of_words = [
            (gradient.double() * word.double()).sum(-1)
            for gradient, word in zip(gradients, words, strict=True)
        ]
        rows.append(torch.cat(of_words, dim=-1))
    return torch.stack(rows, dim=1).cpu()


def _log_p(pair: Said, words: list[Tensor], points: Tensor) -> tuple[list[Tensor], Tensor]:
    """The embeddings at each point of the way from 0, and P L: log p of each expected word there."""
    count = len(points)
    scale = points.to(words[0].device)[:, None, None]
    inputs = [(scale * word).requires_grad_() for word in words]
    edits = {SOURCE: lambda _: inputs[0], READ: lambda _: inputs[1]}
    source, target = pair.source.expand(count, -1), pair.target.expand(count, -1)
    with (
        evaluating(pair.model),
        torch.enable_grad(),
        torch.autocast(source.device.type, enabled=False),
        trace(pair.model, only="decoder.logits", edits=edits),
    ):
        log_p = pair.model(source, None, target).log_softmax(-1)
    expected = torch.tensor(pair.explanation.target_ids, device=source.device).expand(count, -1)
    return inputs, log_p.gather(2, expected[:, :, None])[:, :, 0]
