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
from pellucid.data.batch import Batch, pad
from pellucid.data.corpus import by_language
from pellucid.experiments.corpus import Corpus, demo_corpus, training_batches
from pellucid.experiments.result import Result, Row, Table
from pellucid.learning.learner import Learner
from pellucid.learning.validation import validation_loss
from pellucid.mask import Mask
from pellucid.model import Transformer
from pellucid.probes.leak import find_leak
from pellucid.show.columns import digits
from pellucid.show.panels import Lines
from pellucid.translate.evaluate import evaluate
from pellucid.translate.request import forbidden_ids
from pellucid.translate.sentences import read_source
from pellucid.translator import Translator

LAST, GROUP = 50, 15  # steps whose mean is the loss at the end, and a point of the picture
LONGEST = 30  # tokens of a translation; the demo's longest right one has half of that


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
    return compare(demo_corpus(settings | short), steps)


def compare(corpus: Corpus, steps: int) -> Result:
    """Train a model with the mask and one without: the same first weights, batches and dropout."""
    header, count, curves = ["", "with the mask", "without"], len(corpus.held_out), {}
    trained = [train(kind, corpus, steps) for kind in (Transformer, LooksAhead)]
    said = [translate(model, corpus, anew=False) for model, _ in trained]
    figures = [measure(*each, corpus, texts) for each, texts in zip(trained, said, strict=True)]
    rows: list[Row] = [[name, *(each[name] for each in figures)] for name in figures[0]]
    ends, forced, exact = rows[0][1:], rows[2][1:], [round(share * count / 100) for share in rows[3][1:]]
    for name, (_, losses) in zip(header[1:], trained, strict=True):
        starts = range(0, steps, GROUP)
        means = [statistics.fmean(losses[start : start + GROUP]) for start in starts]
        curves[f"training, {name}"] = ([start + GROUP / 2 for start in starts], means, "-")
    of_100 = Table(f"of 100; decoded are {count:,} held-out sentences", header, rows[2:-1], form=".1f")
    told = "; ".join(f"{name}: {texts[0]:.80}" for name, texts in zip(header[1:], said, strict=True))
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


def measure(
    model: Transformer, losses: Sequence[float], corpus: Corpus, said: Sequence[str]
) -> dict[str, float]:
    """Return the figures of a model by their names; `said` are its translations of the held-out sentences."""
    right = [pair.target for pair in corpus.held_out]
    scores, anew = (evaluate(texts, right) for texts in (said, translate(model, corpus, anew=True)))
    return {
        f"training: last {LAST} steps": statistics.fmean(losses[-LAST:]),
        "validation, teacher forcing": validation_loss(model, corpus.validation),
        "validation, teacher forcing: words right": words_right(model, corpus.validation),
        "decoded: exactly right": scores.exact,
        "decoded: BLEU": scores.bleu,
        "decoded: chrF": scores.chrf,
        "prefix read anew each step: exactly right": anew.exact,
        "positions that see later words": len({leak.position for leak in find_leak(model).leaks}),
    }


def train(kind: type[Transformer], corpus: Corpus, steps: int) -> tuple[Transformer, list[float]]:
    """Train a model in memory; return it, and the loss of each step."""
    with torch.random.fork_rng([]):  # the caller's random numbers stay as they are
        torch.manual_seed(corpus.config.training.seed)
        learner = Learner(kind(corpus.config.model), corpus.config.training)
        batches = enumerate(training_batches(corpus, steps), start=1)
        losses = [learner.learn([batch], step).plain_loss for step, batch in batches]
    return learner.model.eval(), losses


@torch.no_grad()
def words_right(model: Transformer, batches: Sequence[Batch]) -> float:
    """Return how many of 100 words are the most probable ones, with teacher forcing."""
    right = 0
    for batch in batches:
        likeliest = model(batch.source, batch.source_mask, batch.target_in).argmax(-1)
        right += int((likeliest == batch.target_out)[batch.target_mask].sum())
    return 100 * right / sum(batch.tokens for batch in batches)


def translate(model: Transformer, corpus: Corpus, anew: bool) -> list[str]:
    """Translate the held-out sentences greedily: with a cache, or with the prefix read anew each step."""
    vocabulary, texts = corpus.vocabulary, [""] * len(corpus.held_out)
    for to, places in by_language(corpus.held_out, corpus.config.data.languages).items():
        sources = [read_source(corpus.held_out[at].source, to, vocabulary, LONGEST).ids for at in places]
        if anew:
            found = decode(model, sources, forbidden_ids(model, vocabulary))
        else:
            translator = Translator(model, vocabulary, corpus.config)
            translations = translator.translate_ids(sources, to, beam=1, max_length=LONGEST)
            found = [each.hypotheses[0].token_ids for each in translations]
        for place, ids in zip(places, found, strict=True):
            texts[place] = vocabulary.decode_target(ids, to)
    return texts


@torch.no_grad()
def decode(model: Transformer, sources: Sequence[Sequence[int]], forbidden: list[int]) -> list[list[int]]:
    """Take the most probable token at each step, from the whole prefix, as training reads it; return ids
    without start, with the end token."""
    source, mask = pad(sources, model.config.pad_id)
    target, end = source.new_full((len(sources), 1), model.config.start_id), model.config.end_id
    while target.shape[1] <= LONGEST and not bool((target == end).any(1).all()):
        logits = model(source, mask, target)[:, -1]
        logits[:, forbidden] = -torch.inf
        target = torch.cat((target, logits.argmax(-1, keepdim=True)), dim=1)
    rows = [row[1:] for row in target.tolist()]
    return [row[: row.index(end) + 1] if end in row else row for row in rows]
