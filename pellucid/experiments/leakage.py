"""Leakage: the same small model trained with the causal mask and without it.

Without the mask each position sees the word that it is to predict, one place to the right in what the decoder
reads. So it learns to copy it, and not to translate; nothing in training shows that, and validation with
teacher forcing neither. In decoding the word is not there.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from pellucid.config.whole import is_whole, seed_setting, whole_setting
from pellucid.errors import UsageError
from pellucid.experiments.held_out import Decoding, decoded, decoded_anew, teacher_forced
from pellucid.experiments.lookahead import LooksAhead
from pellucid.experiments.short_training import Material, learning, phrasebook_material
from pellucid.learning.learner import Learner
from pellucid.model import Transformer
from pellucid.probes.leak import find_leak
from pellucid.show.columns import columns, digits, paragraph, stacked
from pellucid.show.drawing import ORANGE, PURPLE, drawing
from pellucid.translate.evaluate import evaluate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ABOUT = "without the causal mask training and teacher forcing look excellent, and decoding fails"
NEEDS = "nothing"
SHOWN = 20  # words of a translation
LAST = 50  # steps whose mean is the training loss at the end
VALIDATIONS = 18
MOST = 1_000_000  # steps
HEADS = 4  # of the demo's model
WIDEST = 1024
KINDS = {True: "with the mask", False: "without"}


@dataclass(frozen=True)
class Trained:
    """One of the two models: how it learned, how it looks with teacher forcing, and how it translates."""

    masked: bool
    parameters: int
    losses: list[float]  # of each step, per target token
    validations: list[tuple[int, float, float]]  # step, loss, share of the next words that are right
    decoding: Decoding  # with a cache, as translators do
    anew: Decoding  # the whole prefix read again in each step
    leaking: list[int]  # positions of a target that see later words
    seconds: float  # of training

    @property
    def training_loss(self) -> float:
        """The mean of the last steps."""
        last = self.losses[-LAST:]
        return sum(last) / len(last)

    @property
    def loss(self) -> float:
        """On the validation pairs, with teacher forcing."""
        return self.validations[-1][1]

    @property
    def accuracy(self) -> float:
        """The share of the next words that are the most probable ones, with teacher forcing."""
        return self.validations[-1][2]


@dataclass(frozen=True)
class Leakage:
    """Two models that differ in the causal mask of their training, and in nothing else."""

    masked: Trained
    unmasked: Trained
    steps: int
    held_out: int  # sentences
    source: str  # the first of them
    right: str
    signatures: tuple[str, str]  # of BLEU and chrF

    @property
    def conclusion(self) -> str:
        """How the model without the mask looks, and how it translates."""
        masked, unmasked = self.masked, self.unmasked
        return (
            f"Without the causal mask the training loss ends at {digits(unmasked.training_loss)} (with it "
            f"{digits(masked.training_loss)}) and {unmasked.accuracy:.1%} of the next words are right "
            f"({masked.accuracy:.1%}), and of {self.held_out:,} held-out sentences "
            f"{unmasked.decoding.exactly_right:,} are translated right ({masked.decoding.exactly_right:,})."
        )

    def lines(self, width: int) -> list[str]:
        """What the two models look like and what they are, in a table."""
        both = (self.masked, self.unmasked)
        table = [[name, *(show(each) for each in both)] for name, show in self._figures()]
        first = [
            *paragraph(f"{self.source}  →  {self.right}", width),
            *paragraph(f"with the mask: {_beginning(self.masked.decoding.first)}", width),
            *paragraph(f"without: {_beginning(self.unmasked.decoding.first)}", width),
        ]
        about = (
            f"{self.masked.parameters:,} parameters, {self.steps:,} steps; the same first weights, "
            "batches and dropout. Without the mask padding stays hidden."
        )
        rows = columns(["", *KINDS.values()], table, width, longest=min(44, width - 17))
        return stacked(width, self.conclusion, rows, first, about)

    def plot(self, path: str | Path) -> None:
        """The losses of all steps, and bars of what looks good beside what is."""
        with drawing(path, "leakage") as figure:
            figure.set_size_inches(9, 3.8)
            curves, bars = figure.subplots(1, 2)
            for trained, style in ((self.masked, "-"), (self.unmasked, "--")):
                _draw_losses(curves, trained, style)
            curves.set(yscale="log", xlabel="step", ylabel="loss per target word (teacher forcing)")
            curves.legend(fontsize=8)
            _draw_bars(bars, self.masked, self.unmasked, self.held_out)

    def _figures(self) -> list[tuple[str, Callable[[Trained], str]]]:
        def share(decoding: Decoding) -> str:
            return f"{decoding.exactly_right:,} ({decoding.exactly_right / self.held_out:.1%})"

        return [
            (f"training: loss, last {LAST} steps", lambda each: digits(each.training_loss)),
            ("validation, teacher forcing: loss", lambda each: digits(each.loss)),
            ("validation, teacher forcing: words right", lambda each: f"{each.accuracy:.1%}"),
            (f"decoding {self.held_out:,} held-out: exactly right", lambda each: share(each.decoding)),
            ("    BLEU", lambda each: f"{each.decoding.bleu:.1f}"),
            ("    chrF", lambda each: f"{each.decoding.chrf:.1f}"),
            ("prefix read anew each step: exactly right", lambda each: share(each.anew)),
            ("    chrF", lambda each: f"{each.anew.chrf:.1f}"),
            ("positions that see later words", lambda each: str(len(each.leaking))),
            ("seconds of training", lambda each: f"{each.seconds:.0f}"),
        ]


def _beginning(said: str) -> str:
    """Its first words: a model that has learned to copy may say one word without end."""
    words = said.split(" ")
    return said if len(words) <= SHOWN else f"{' '.join(words[:SHOWN])} … ({len(words)} words)"


def experiment(
    *,
    steps: int = 900,
    width: int = 64,
    seed: int = 1,
) -> Leakage:
    """Trains the demo's model twice on the demo's corpus, which takes two minutes on two idle processors: so
    many steps, with and without the causal mask."""
    steps, seed = whole_setting("steps", steps, 1, MOST), seed_setting(seed)
    if not is_whole(width, HEADS, WIDEST) or width % HEADS:
        raise UsageError(
            f"width = {width!r:.60} must be a multiple of {HEADS} from {HEADS} to {WIDEST:,}: each of the "
            f"{HEADS} heads takes an equal share of it."
        )
    width = int(width)
    settings = {"model.width": width, "model.hidden": 3 * width, "training.seed": seed}
    short = {"training.batch_tokens": 2048, "training.warmup_steps": 200, "training.label_smoothing": 0.0}
    return compare(phrasebook_material(settings | short), steps)


def compare(lessons: Material, steps: int) -> Leakage:
    """The two models, trained on the same material."""
    masked, unmasked = (_trained(kind, lessons, steps) for kind in (Transformer, LooksAhead))
    first = lessons.held_out[0]
    anything = evaluate(["a"], ["a"])
    signatures = anything.bleu_signature, anything.chrf_signature
    count = len(lessons.held_out)
    return Leakage(masked, unmasked, steps, count, first.source, first.target, signatures)


def _trained(kind: type[Transformer], lessons: Material, steps: int) -> Trained:
    with torch.random.fork_rng([]):  # the caller's random numbers stay as they are
        torch.manual_seed(lessons.config.training.seed)
        learner = Learner(kind(lessons.config.model), lessons.config.training)
        every, started, validating = max(1, steps // VALIDATIONS), time.perf_counter(), 0.0
        losses, validations = [], []
        for number, update in enumerate(learning(learner, lessons, steps), start=1):
            losses.append(update.plain_loss)
            if number % every == 0 or number == steps:
                before = time.perf_counter()
                validations.append((number, *teacher_forced(learner.model, lessons)))
                validating += time.perf_counter() - before
        seconds = time.perf_counter() - started - validating
    model = learner.model.eval()
    leaking = sorted({leak.position for leak in find_leak(model).leaks})
    said = decoded(model, lessons), decoded_anew(model, lessons)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    return Trained(kind is Transformer, parameters, losses, validations, *said, leaking, seconds)


def _draw_losses(axes: "Axes", trained: Trained, style: str) -> None:
    """Means of some steps, for a step's own loss jumps; the points are validations."""
    colour, name = (PURPLE if trained.masked else ORANGE), KINDS[trained.masked]
    group = max(1, len(trained.losses) // 60)
    starts = range(0, len(trained.losses) - group + 1, group)
    means = [sum(trained.losses[start : start + group]) / group for start in starts]
    axes.plot([start + group / 2 for start in starts], means, style, color=colour, label=f"training, {name}")
    steps, losses, _ = zip(*trained.validations, strict=True)
    mark = "o" if trained.masked else "^"
    axes.plot(steps, losses, mark, color=colour, markersize=3.5, label=f"validation, {name}")


def _draw_bars(axes: "Axes", masked: Trained, unmasked: Trained, held_out: int) -> None:
    names = ["next words right,\nteacher forcing", "sentences right,\ndecoded", "chrF,\ndecoded"]
    for shift, each in ((-0.2, masked), (0.2, unmasked)):
        heights = [100 * each.accuracy, 100 * each.decoding.exactly_right / held_out, each.decoding.chrf]
        colour, hatch = (PURPLE, "") if each.masked else (ORANGE, "///")
        places = [place + shift for place in range(len(names))]
        bars = axes.bar(
            places, heights, 0.38, color=colour, hatch=hatch, edgecolor="white", label=KINDS[each.masked]
        )
        axes.bar_label(bars, [f"{height:.1f}" for height in heights], fontsize=8)
    axes.set_xticks(range(len(names)), names, fontsize=8)
    axes.set(ylim=(0, 112), ylabel="of 100")
    axes.legend(fontsize=8, loc="upper right", ncols=2)
