"""without the causal mask training and teacher forcing look excellent, and decoding fails.

The same small model is trained with the mask and without it. Without the mask each position sees the word
that it is to predict, one place to the right in what the decoder reads. So the model learns to copy it, and
not to translate; nothing in training shows that, and validation with teacher forcing neither.
"""

import dataclasses
from collections.abc import Sequence

import torch
from torch import Tensor

from pellucid.cache import GrowingPast, NoPast, Past
from pellucid.data.batch import pad
from pellucid.data.corpus import by_language
from pellucid.experiments.corpus import Corpus, demo_corpus, training_batches
from pellucid.experiments.result import Result, Row, Table
from pellucid.learning.learner import Learner
from pellucid.learning.validation import validation_loss
from pellucid.mask import Mask
from pellucid.model import Transformer
from pellucid.probes.leak import find_leak
from pellucid.show.columns import digits
from pellucid.show.panels import Bars, Lines
from pellucid.translate.decoding import evaluating
from pellucid.translate.evaluate import evaluate
from pellucid.translate.request import forbidden_ids
from pellucid.translate.sentences import read_source

LAST = 50  # steps whose mean is the training loss at the end
LONGEST = 30  # tokens of a translation; the demo's longest right one has half of that
GROUP = 15  # steps whose mean is a point of the picture, for a step's own loss jumps


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
    """A model, the loss of each step, its validation, and its translations of the held-out sentences."""

    model: Transformer
    losses: list[float]
    validation: float  # loss per word
    right: float  # share of the validation's words, with teacher forcing
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
    header, right = ["", "with the mask", "without"], [pair.target for pair in corpus.held_out]
    exact = [sum(map(str.__eq__, each.said, right)) for each in both]
    anew = [sum(map(str.__eq__, each.anew, right)) for each in both]
    scores = [evaluate(each.said, right) for each in both]
    losses: list[Row] = [
        [f"training: last {LAST} steps", *(_mean(each.losses[-LAST:]) for each in both)],
        ["validation, teacher forcing", *(each.validation for each in both)],
    ]
    of_100: list[Row] = [
        ["validation, teacher forcing: words right", *(100 * each.right for each in both)],
        ["decoded: exactly right", *(100 * count / len(right) for count in exact)],
        ["decoded: BLEU", *(each.bleu for each in scores)],
        ["decoded: chrF", *(each.chrf for each in scores)],
        ["prefix read anew each step: exactly right", *(100 * count / len(right) for count in anew)],
    ]
    leaks = [len({leak.position for leak in find_leak(each.model).leaks}) for each in both]
    labels, *columns = zip(*of_100, strict=True)
    curves = {f"training, {name}": _curve(each) for name, each in zip(header[1:], both, strict=True)}
    said = [f"{name}: {each.said[0]:.80}" for name, each in zip(header[1:], both, strict=True)]
    return Result(
        title=f"{corpus.held_out[0].source} → {right[0]}; {'; '.join(said)}",
        conclusion=f"Without the causal mask the training loss ends at {digits(losses[0][2])} (with it "
        f"{digits(losses[0][1])}) and {of_100[0][2]:.1f}% of the next words are right ({of_100[0][1]:.1f}%), "
        f"and of {len(right):,} held-out sentences {exact[1]:,} are translated right ({exact[0]:,}).",
        tables=[
            Table("loss per word", header, losses),
            Table(f"of 100; decoded are {len(right):,} held-out sentences", header, of_100, form=".1f"),
            Table("find_leak", header, [["positions that see later words", *leaks]]),
        ],
        picture=[
            Lines("loss per word", "step", curves, "y"),
            Bars("of 100", labels, dict(zip(header[1:], columns, strict=True))),
        ],
        note=f"{sum(each.numel() for each in both[0].model.parameters()):,} parameters, {steps:,} steps; the "
        "same first weights, batches and dropout. Without the mask padding stays hidden.",
    )


def train(kind: type[Transformer], corpus: Corpus, steps: int) -> Trained:
    """Train a model, validate it, and have it translate the held-out sentences."""
    with torch.random.fork_rng([]):  # the caller's random numbers stay as they are
        torch.manual_seed(corpus.config.training.seed)
        learner = Learner(kind(corpus.config.model), corpus.config.training)
        batches = enumerate(training_batches(corpus, steps), start=1)
        losses = [learner.learn([batch], step).plain_loss for step, batch in batches]
    model = learner.model.eval()
    loss, right = validation_loss(model, corpus.validation), _words_right(model, corpus)
    anew = WholeTarget if kind is LooksAhead else NoPast
    said = [_translations(model, corpus, past) for past in (GrowingPast, anew)]
    return Trained(model, losses, loss, right, *said)


@torch.no_grad()
def _words_right(model: Transformer, corpus: Corpus) -> float:
    """Return the share of the validation's words that are the most probable ones, with teacher forcing."""
    right = words = 0
    with evaluating(model):
        for batch in corpus.validation:
            likeliest = model(batch.source, batch.source_mask, batch.target_in).argmax(-1)
            right += int((likeliest == batch.target_out)[batch.target_mask].sum())
            words += batch.tokens
    return right / words


def _translations(model: Transformer, corpus: Corpus, past: type[Past]) -> list[str]:
    texts, vocabulary = [""] * len(corpus.held_out), corpus.vocabulary
    for to, places in by_language(corpus.held_out, corpus.config.data.languages).items():
        sources = [read_source(corpus.held_out[at].source, to, vocabulary, LONGEST).ids for at in places]
        found = decode(model, sources, past(), forbidden_ids(model, vocabulary), LONGEST)
        for place, ids in zip(places, found, strict=True):
            texts[place] = vocabulary.decode_target(ids, to)
    return texts


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


def _curve(trained: Trained) -> tuple[Sequence[float], Sequence[float], str]:
    starts = range(0, len(trained.losses), GROUP)
    means = [_mean(trained.losses[start : start + GROUP]) for start in starts]
    return [start + GROUP / 2 for start in starts], means, "-"


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)
