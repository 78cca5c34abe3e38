"""without the causal mask training and teacher forcing look excellent, and decoding fails.

The same small model is trained with the mask and without it. Without the mask each position sees the word
that it is to predict, one place to the right in what the decoder reads. So the model learns to copy it, and
not to translate; nothing in training shows that, and validation with teacher forcing neither.
"""

import statistics
from collections.abc import Sequence

import torch
from torch import Tensor

from pellucid.cache import NoPast
from pellucid.data.batch import Batch
from pellucid.experiments.corpus import Corpus, demo_corpus, training_batches
from pellucid.experiments.result import Result, Row, Table
from pellucid.learning.learner import Learner
from pellucid.learning.validation import validate
from pellucid.mask import Mask
from pellucid.model import Transformer
from pellucid.probes.leak import find_leak
from pellucid.show.columns import digits
from pellucid.show.panels import Lines

LAST, GROUP = 50, 15  # steps whose mean is the loss at the end, and a point of the picture


class WholeTarget(NoPast):
    """Training's past with the causal mask lifted; padding stays hidden."""

    def mask(self) -> Mask:
        return Mask(self._target_mask)


class LooksAhead(Transformer):
    """The same model with one difference: in training, each target position may look at all the others."""

    def read(
        self, source: Tensor, source_mask: Tensor | None, target: Tensor, target_mask: Tensor | None = None
    ) -> Tensor:
        memory = self.remember(self.encode(source, source_mask), source_mask)
        # A causal mask hides the padding on the right, too; here the padding has to be named.
        real = target != self.config.pad_id if target_mask is None else target_mask
        return self.decoder(target, memory, WholeTarget(real), self.embedding)


def experiment(*, steps: int = 900, width: int = 64, seed: int = 1) -> Result:
    """Train the demo's model twice on the demo's corpus, which takes two minutes on two idle processors."""
    settings = {
        "model.width": width,
        "model.hidden": 3 * width,
        "training.seed": seed,
        "training.steps": steps,
    }
    short = {"training.batch_tokens": 2048, "training.warmup_steps": 200, "training.label_smoothing": 0.0}
    greedy = {"translation.beam": 1, "translation.max_length": 30}  # twice the longest right translation
    return compare(demo_corpus(settings | short | greedy), steps)


def compare(corpus: Corpus, steps: int) -> Result:
    """Train a model with the mask and one without: the same first weights, batches and dropout."""
    header, count, curves = ["", "with the mask", "without"], len(corpus.held_out), {}
    trained = [train(kind, corpus, steps) for kind in (Transformer, LooksAhead)]
    measured = [measure(*each, corpus) for each in trained]
    rows: list[Row] = [[name, *(figures[name] for figures, _ in measured)] for name in measured[0][0]]
    ends, forced, exact = rows[0][1:], rows[2][1:], [round(share * count / 100) for share in rows[3][1:]]
    for name, (_, losses) in zip(header[1:], trained, strict=True):
        starts = range(0, steps, GROUP)
        means = [statistics.fmean(losses[start : start + GROUP]) for start in starts]
        curves[f"training, {name}"] = ([start + GROUP / 2 for start in starts], means, "-")
    of_100 = Table(f"of 100; decoded are {count:,} held-out sentences", header, rows[2:-1], form=".1f")
    told = "; ".join(f"{name}: {said:.80}" for name, (_, said) in zip(header[1:], measured, strict=True))
    return Result(
        title=f"{corpus.held_out[0].source} → {corpus.held_out[0].target}; {told}",
        conclusion=f"Without the causal mask the training loss ends at {digits(ends[1])} (with it "
        f"{digits(ends[0])}) and {forced[1]:.1f}% of the next words are right ({forced[0]:.1f}%), "
        f"and of {count:,} held-out sentences {exact[1]:,} are translated right ({exact[0]:,}).",
        tables=[Table("loss per word", header, rows[:2]), of_100, Table("find_leak", header, rows[-1:])],
        picture=[Lines("loss per word", "step", curves, "y"), of_100.bars("of 100", *header[1:])],
        note=f"{sum(each.numel() for each in trained[0][0].parameters()):,} parameters, {steps:,} steps; the "
        "same first weights, batches and dropout. Without the mask padding stays hidden.",
    )


def train(kind: type[Transformer], corpus: Corpus, steps: int) -> tuple[Transformer, list[float]]:
    """Train a model in memory; return it, and the loss of each step."""
    with torch.random.fork_rng([]):  # the caller's random numbers stay as they are
        torch.manual_seed(corpus.config.training.seed)
        learner = Learner(kind(corpus.config.model), corpus.config.training)
        batches = enumerate(training_batches(corpus, steps), start=1)
        losses = [learner.learn([batch], step).plain_loss for step, batch in batches]
    return learner.model.eval(), losses


def measure(model: Transformer, losses: Sequence[float], corpus: Corpus) -> tuple[dict[str, float], str]:
    """Return the figures of a model by their names, and its translation of the first held-out sentence."""
    found = validate(model, corpus.vocabulary, corpus.config, corpus.validation, corpus.held_out)
    figures = {
        f"training: last {LAST} steps": statistics.fmean(losses[-LAST:]),
        "validation, teacher forcing": found.loss,
        "validation, teacher forcing: words right": words_right(model, corpus.validation),
        "decoded: exactly right": found.scores.exact,
        "decoded: BLEU": found.scores.bleu,
        "decoded: chrF": found.scores.chrf,
        "positions that see later words": len({leak.position for leak in find_leak(model).leaks}),
    }
    return figures, found.samples[0].translation


@torch.no_grad()
def words_right(model: Transformer, batches: Sequence[Batch]) -> float:
    """Return how many of 100 words are the most probable ones, with teacher forcing."""
    right = 0
    for batch in batches:
        likeliest = model(batch.source, batch.source_mask, batch.target_in).argmax(-1)
        right += int((likeliest == batch.target_out)[batch.target_mask].sum())
    return 100 * right / sum(batch.tokens for batch in batches)
