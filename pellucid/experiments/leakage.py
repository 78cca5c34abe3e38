"""without the causal mask, training and teacher forcing look excellent, but decoding fails.

The same small model is trained with the mask and without it. Without the mask, each position sees the word
that it must predict, because this is the next word of the decoder's input. So the model learns to copy it
instead of translating. Neither training nor validation with teacher forcing shows this.
"""

from torch import Tensor

from pellucid.cache import NoPast
from pellucid.experiments.corpus import MEASURED, Corpus, curve, demo_corpus, measure, train
from pellucid.experiments.result import Result, Row, Table, bars
from pellucid.mask import Mask
from pellucid.model import Transformer
from pellucid.show.columns import digits
from pellucid.show.panels import Lines


class WholeTarget(NoPast):
    """The cache used in training, but its mask hides only padding: each position sees all target tokens."""

    def mask(self) -> Mask:
        return Mask(self._target_mask)


class LooksAhead(Transformer):
    """A Transformer that lacks the causal mask in training: each target position may look at all others."""

    def read(self, source: Tensor, source_mask: Tensor | None, target: Tensor, *_: Tensor | None) -> Tensor:
        memory = self.remember(self.encode(source, source_mask), source_mask)
        # A causal mask hides the padding on the right, too; here the padding has to be named.
        return self.decoder(target, memory, WholeTarget(target != self.config.pad_id), self.embedding)


def experiment(*, steps: int = 900) -> Result:
    """Train the demo's model with and without the causal mask, and compare. This takes two minutes on two
    idle CPU cores."""
    return compare(demo_corpus({"training.steps": steps}), steps)


def compare(corpus: Corpus, steps: int) -> Result:
    """Train a model with the causal mask and one without it, and compare them. Both have the same first
    weights, batches and dropout."""
    (model, losses), (other, others) = (train(kind, corpus, steps) for kind in (Transformer, LooksAhead))
    (masked, said), (unmasked, told) = measure(model, losses, corpus), measure(other, others, corpus)
    rows: list[Row] = [list(row) for row in zip(MEASURED, masked, unmasked, strict=True)]
    header, first, count = ["", "with the mask", "without"], corpus.held_out[0], len(corpus.held_out)
    right, wrong = (round(each[3] * count / 100) for each in (masked, unmasked))
    loss = Table(header, rows[:2], title="loss per word")
    of_100 = Table(header, rows[2:-1], form=".1f", title=f"of 100; decoded are {count:,} held-out sentences")
    curves = {"training, with the mask": curve(losses), "training, without": curve(others)}
    return Result(
        title=f"{first.source} → {first.target}; with the mask: {said:.80}; without: {told:.80}",
        conclusion=f"Without the causal mask the training loss ends at {digits(unmasked[0])} (with it "
        f"{digits(masked[0])}) and {unmasked[2]:.1f}% of the next words are right ({masked[2]:.1f}%), "
        f"and of {count:,} held-out sentences {wrong:,} are translated right ({right:,}).",
        tables=[loss, of_100, Table(header, rows[-1:], title="find_leak")],
        picture=[Lines("loss per word", "step", curves, "y"), bars(of_100, "of 100", *header[1:])],
        note=f"{sum(each.numel() for each in model.parameters()):,} parameters, {steps:,} steps; the "
        "same first weights, batches and dropout. Without the mask padding stays hidden.",
    )
