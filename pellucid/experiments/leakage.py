"""without the causal mask training and teacher forcing look excellent, and decoding fails.

The same small model is trained with the mask and without it. Without the mask each position sees the word
that it is to predict, one place to the right in what the decoder reads. So the model learns to copy it, and
not to translate; nothing in training shows that, and validation with teacher forcing neither.
"""

import dataclasses
from collections.abc import Sequence

import torch
from torch import Tensor

from pellucid.cache import GrowingPast, Mask, NoPast, Past
from pellucid.data.batch import pad
from pellucid.data.corpus import by_language
from pellucid.experiments.corpus import Corpus, demo_corpus, training_batches
from pellucid.experiments.result import Bars, Lines, Result, Table
from pellucid.learning.learner import Learner
from pellucid.learning.validation import validation_loss
from pellucid.model import Transformer
from pellucid.probes.leak import find_leak
from pellucid.show.columns import digits
from pellucid.translate.decoding import evaluating
from pellucid.translate.evaluate import evaluate
from pellucid.translate.request import forbidden_ids
from pellucid.translate.sentences import read_source

LAST = 50  # steps whose mean is the training loss at the end
LONGEST = 30  # tokens of a translation; the demo's longest right one has half of that


class WholeTarget(NoPast):
    """Training's past with the causal mask lifted; padding stays hidden."""

    def mask(self) -> Mask:
        return Mask(self._target_mask)


class LooksAhead(Transformer):
    """The same model in all but one thing: in training each target position may look at all the others."""

    def read(
        self, source: Tensor, source_mask: Tensor | None, target: Tensor, target_mask: Tensor | None = None
    ) -> Tensor:
        memory = self.remember(self.encode(source, source_mask), source_mask)
        # A causal mask hides the padding on the right, too; here the padding has to be named.
        real = target != self.config.pad_id if target_mask is None else target_mask
        return self.decoder(target, memory, WholeTarget(real), self.embedding)


@dataclasses.dataclass(frozen=True)
class Trained:
    """A model, the loss of each step, its validations (step, loss, share of right words), what it says."""

    model: Transformer
    losses: list[float]
    validations: list[tuple[int, float, float]]
    said: list[str]  # with a cache, as translators do
    anew: list[str]  # the whole prefix read again in each step


def experiment(*, steps: int = 900, width: int = 64, seed: int = 1) -> Result:
    """Train the demo's model twice on the demo's corpus, which takes two minutes on two idle processors."""
    settings = {"model.width": width, "model.hidden": 3 * width, "training.seed": seed}
    short = {"training.batch_tokens": 2048, "training.warmup_steps": 200, "training.label_smoothing": 0.0}
    return compare(demo_corpus(settings | short), steps)


def compare(corpus: Corpus, steps: int) -> Result:
    """Train a model with the mask and one without: the same first weights, batches and dropout."""
    both = [train(kind, corpus, steps) for kind in (Transformer, LooksAhead)]
    names, right = ["with the mask", "without"], [pair.target for pair in corpus.held_out]
    exact = [sum(map(str.__eq__, each.said, right)) for each in both]
    loss = [sum(each.losses[-LAST:]) / len(each.losses[-LAST:]) for each in both]
    of_100 = _of_100(both, right)
    words = of_100["validation, teacher forcing: words right"]
    losses = {
        f"training: last {LAST} steps": loss,
        "validation, teacher forcing": [each.validations[-1][1] for each in both],
    }
    leaks = [len({leak.position for leak in find_leak(each.model).leaks}) for each in both]
    return Result(
        title=f"{corpus.held_out[0].source} → {right[0]}; "
        + "; ".join(f"{name}: {each.said[0]:.80}" for name, each in zip(names, both, strict=True)),
        conclusion=f"Without the causal mask the training loss ends at {digits(loss[1])} (with it "
        f"{digits(loss[0])}) and {words[1]:.1f}% of the next words are right ({words[0]:.1f}%), and of "
        f"{len(right):,} held-out sentences {exact[1]:,} are translated right ({exact[0]:,}).",
        tables=[
            Table("loss per word", ["", *names], [[name, *each] for name, each in losses.items()]),
            Table(
                f"of 100; decoded are {len(right):,} held-out sentences",
                ["", *names],
                [[name, *each] for name, each in of_100.items()],
                form=".1f",
            ),
            Table("find_leak", ["", *names], [["positions that see later words", *leaks]]),
        ],
        picture=[
            Lines("loss per word", "step", _curves(both[0], names[0]) | _curves(both[1], names[1]), "y"),
            Bars("of 100", list(of_100), dict(zip(names, zip(*of_100.values(), strict=True), strict=True))),
        ],
        note=f"{sum(each.numel() for each in both[0].model.parameters()):,} parameters, {steps:,} steps; the "
        "same first weights, batches and dropout. Without the mask padding stays hidden.",
    )


def _of_100(both: Sequence[Trained], right: Sequence[str]) -> dict[str, list[float]]:
    """What is measured in percent: of the words with teacher forcing, and of the sentences decoded."""
    scores, percent = [evaluate(each.said, right) for each in both], 100 / len(right)
    return {
        "validation, teacher forcing: words right": [100 * each.validations[-1][2] for each in both],
        "decoded: exactly right": [
            100 * sum(map(str.__eq__, each.said, right)) / len(right) for each in both
        ],
        "decoded: BLEU": [each.bleu for each in scores],
        "decoded: chrF": [each.chrf for each in scores],
        "prefix read anew each step: exactly right": [
            percent * sum(map(str.__eq__, each.anew, right)) for each in both
        ],
        "prefix read anew each step: chrF": [evaluate(each.anew, right).chrf for each in both],
    }


def train(kind: type[Transformer], corpus: Corpus, steps: int) -> Trained:
    """Train a model, validate it now and then, and have it translate the held-out sentences."""
    losses, validations, every = [], [], max(1, steps // 18)
    with torch.random.fork_rng([]):  # the caller's random numbers stay as they are
        torch.manual_seed(corpus.config.training.seed)
        learner = Learner(kind(corpus.config.model), corpus.config.training)
        for step, batch in enumerate(training_batches(corpus, steps), start=1):
            losses.append(learner.learn([batch], step).plain_loss)
            if step % every == 0 or step == steps:
                validations.append((step, *teacher_forced(learner.model, corpus)))
    model = learner.model.eval()
    anew = WholeTarget if kind is LooksAhead else NoPast
    return Trained(model, losses, validations, *(_said(model, corpus, past) for past in (GrowingPast, anew)))


@torch.no_grad()
def teacher_forced(model: Transformer, corpus: Corpus) -> tuple[float, float]:
    """The validation pairs' loss per word, and the share of the words that are the most probable ones."""
    right = words = 0
    with evaluating(model):
        for batch in corpus.validation:
            likeliest = model(batch.source, batch.source_mask, batch.target_in).argmax(-1)
            right += int((likeliest == batch.target_out)[batch.target_mask].sum())
            words += batch.tokens
        return validation_loss(model, corpus.validation), right / words


def _said(model: Transformer, corpus: Corpus, past: type[Past]) -> list[str]:
    said, vocabulary = [""] * len(corpus.held_out), corpus.vocabulary
    for to, places in by_language(corpus.held_out, corpus.config.data.languages).items():
        sources = [read_source(corpus.held_out[at].source, to, vocabulary, LONGEST).ids for at in places]
        found = decode(model, sources, past(), forbidden_ids(model, vocabulary), LONGEST)
        for place, ids in zip(places, found, strict=True):
            said[place] = vocabulary.decode_target(ids, to)
    return said


@torch.no_grad()
def decode(
    model: Transformer, sources: Sequence[Sequence[int]], past: Past, forbidden: Sequence[int], longest: int
) -> list[list[int]]:
    """Take the most probable token at each step; return ids without start, with the end token.

    With a growing past a step reads the last token, with another one the whole prefix as in training.
    """
    config = model.config
    source, source_mask = pad(sources, config.pad_id, model.projection_weight.device)
    target = source.new_full((len(sources), 1), config.start_id)
    memory = model.remember(model.encode(source, source_mask), source_mask)
    while target.shape[1] <= longest and not bool((target == config.end_id).any(1).all()):
        read = target[:, -1:] if isinstance(past, GrowingPast) else target
        logits = model.logits(model.decoder(read, memory, past, model.embedding)[:, -1])
        logits[:, list(forbidden)] = -torch.inf
        target = torch.cat((target, logits.argmax(-1, keepdim=True)), dim=1)
    rows = [row[1:] for row in target.tolist()]
    return [row[: row.index(config.end_id) + 1] if config.end_id in row else row for row in rows]


def _curves(trained: Trained, name: str) -> dict[str, tuple[Sequence[float], Sequence[float], str]]:
    """Means of some steps, for a step's own loss jumps; and the validations as points."""
    group = max(1, len(trained.losses) // 60)
    parts = [trained.losses[start : start + group] for start in range(0, len(trained.losses), group)]
    middles = [group * (place + 0.5) for place in range(len(parts))]
    steps, losses, _ = zip(*trained.validations, strict=True)
    means = [sum(part) / len(part) for part in parts]
    return {f"training, {name}": (middles, means, "-"), f"validation, {name}": (steps, losses, ".")}
