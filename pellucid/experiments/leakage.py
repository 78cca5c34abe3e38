"""without the causal mask training and teacher forcing look excellent, and decoding fails.

The same small model is trained with the mask and without it. Without the mask each position sees the word
that it is to predict, one place to the right in what the decoder reads. So the model learns to copy it, and
not to translate; nothing in training shows that, and validation with teacher forcing neither. In decoding the
word is not there.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from pellucid.cache import Mask, NoPast
from pellucid.data.batch import pad
from pellucid.data.corpus import by_language
from pellucid.experiments.result import Bars, Lines, Result, Table
from pellucid.experiments.training import Corpus, demo_corpus, trained
from pellucid.learning.validation import validation_loss
from pellucid.model import Transformer
from pellucid.probes.leak.find import find_leak
from pellucid.show.columns import digits
from pellucid.translate.base import never_said
from pellucid.translate.decoding import evaluating
from pellucid.translate.evaluate import evaluate
from pellucid.translate.sentences import read_source
from pellucid.translator import Translator

LAST = 50  # steps whose mean is the training loss at the end
VALIDATIONS = 18
LONGEST = 30  # tokens of a translation; the demo's longest right one has half of that

SHOWN = 20  # words of a translation
FIGURES = (
    f"training: last {LAST} steps",
    "validation, teacher forcing",
    "validation, teacher forcing: words right",
    "decoded: exactly right",
    "decoded: BLEU",
    "decoded: chrF",
    "prefix read anew each step: exactly right",
    "prefix read anew each step: BLEU",
    "prefix read anew each step: chrF",
)


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


def experiment(*, steps: int = 900, width: int = 64, seed: int = 1) -> Result:
    """Train the demo's model twice on the demo's corpus, which takes two minutes on two idle processors."""
    settings = {"model.width": width, "model.hidden": 3 * width, "training.seed": seed}
    short = {"training.batch_tokens": 2048, "training.warmup_steps": 200, "training.label_smoothing": 0.0}
    return compare(demo_corpus(settings | short), steps)


def compare(corpus: Corpus, steps: int) -> Result:
    """Train a model with the mask and one without: the same first weights, batches and dropout."""
    every, models = max(1, steps // VALIDATIONS), {"with the mask": Transformer, "without": LooksAhead}
    curves: dict[str, tuple[Sequence[float], Sequence[float], str]] = {}
    columns: dict[str, list[float]] = {}
    said, leaking = {}, []
    for name, style in zip(models, ("-", "--"), strict=True):
        judged: list[tuple[int, float, float]] = []

        def judge(step: int, model: Transformer, judged: list[tuple[int, float, float]] = judged) -> None:
            if step % every == 0 or step == steps:
                judged.append((step, *teacher_forced(model, corpus)))

        learner, losses = trained(models[name], corpus, steps, judge)
        model = learner.model.eval()
        said[name], anew = _decoded(model, corpus), _decoded_anew(model, corpus)
        loss = sum(losses[-LAST:]) / len(losses[-LAST:])
        quality = [*_quality(said[name], corpus), *_quality(anew, corpus)]
        columns[name] = [loss, judged[-1][1], 100 * judged[-1][2], *quality]
        leaking.append(str(len({leak.position for leak in find_leak(model).leaks})))
        curves |= _curves(name, style, losses, judged)
    names, first, count = list(columns), corpus.held_out[0], len(corpus.held_out)
    rows = [
        [figure, *each] for figure, each in zip(FIGURES, zip(*columns.values(), strict=True), strict=True)
    ]
    (_, masked, unmasked), right, exact = rows[0], rows[2], rows[3]
    bars = {name: [each[2], each[3], each[5]] for name, each in columns.items()}
    texts = "; ".join(f"{name}: {_beginning(texts[0])}" for name, texts in said.items())
    return Result(
        title=f"{first.source} → {first.target}; {texts}",
        conclusion=f"Without the causal mask the training loss ends at {digits(unmasked)} (with it "
        f"{digits(masked)}) and {right[2]:.1f}% of the next words are right ({right[1]:.1f}%), and of "
        f"{count:,} held-out sentences {round(exact[2] * count / 100):,} are translated right "
        f"({round(exact[1] * count / 100):,}).",
        tables=[
            Table("loss per word", ["", *names], rows[:2]),
            Table(f"of 100; decoded are {count:,} held-out sentences", ["", *names], rows[2:], form=".1f"),
            Table("find_leak", ["", *names], [["positions that see later words", *leaking]]),
        ],
        picture=[
            Lines("loss per target word (teacher forcing)", curves, "step", "y"),
            Bars(
                "of 100",
                ["next words right,\nteacher forcing", "sentences right,\ndecoded", "chrF,\ndecoded"],
                bars,
            ),
        ],
        note=f"{sum(each.numel() for each in model.parameters()):,} parameters, {steps:,} steps; the same first "
        "weights, batches and dropout. Without the mask padding stays hidden.",
    )


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


def _decoded(model: Transformer, corpus: Corpus) -> list[str]:
    """What the model says to each held-out sentence, as any translation is made: with a cache."""
    translator = Translator(model, corpus.vocabulary, corpus.config)

    def say(sources: list[str], to: str | None) -> list[str]:
        return [each.text for each in translator.translate(sources, to, beam=1, max_length=LONGEST)]

    return _each_language(corpus, say)


def _decoded_anew(model: Transformer, corpus: Corpus) -> list[str]:
    """The same without a cache: each step reads the whole prefix as this model's training reads a target."""
    vocabulary, forbidden = corpus.vocabulary, never_said(model, corpus.vocabulary)

    def say(sources: list[str], to: str | None) -> list[str]:
        ids = [read_source(source, to, vocabulary, LONGEST).ids for source in sources]
        return [vocabulary.decode_target(each, to) for each in decode_anew(model, ids, forbidden, LONGEST)]

    return _each_language(corpus, say)


def _each_language(corpus: Corpus, say: Callable[[list[str], str | None], list[str]]) -> list[str]:
    said = [""] * len(corpus.held_out)
    for to, places in by_language(corpus.held_out, corpus.config.data.languages).items():
        texts = say([corpus.held_out[place].source for place in places], to)
        for place, text in zip(places, texts, strict=True):
            said[place] = text
    return said


@torch.no_grad()
def decode_anew(
    model: Transformer, sources: Sequence[Sequence[int]], forbidden: Sequence[int], longest: int
) -> list[list[int]]:
    """Take the most probable token after each prefix, which is read anew; ids without start, with the end."""
    config, past = model.config, WholeTarget() if isinstance(model, LooksAhead) else NoPast()
    source, source_mask = pad(sources, config.pad_id, model.projection_weight.device)
    target = source.new_full((len(sources), 1), config.start_id)
    with evaluating(model):
        memory = model.remember(model.encode(source, source_mask), source_mask)
        while target.shape[1] <= longest and not bool((target == config.end_id).any(1).all()):
            logits = model.logits(model.decoder(target, memory, past, model.embedding)[:, -1])
            logits[:, list(forbidden)] = -torch.inf
            target = torch.cat((target, logits.argmax(-1, keepdim=True)), dim=1)
    rows = [row[1:] for row in target.tolist()]
    ends = [row.index(config.end_id) + 1 if config.end_id in row else len(row) for row in rows]
    return [row[:end] for row, end in zip(rows, ends, strict=True)]


def _quality(said: list[str], corpus: Corpus) -> list[float]:
    """The percentage that is exactly right, BLEU and chrF."""
    right = [pair.target for pair in corpus.held_out]
    scores = evaluate(said, right)
    exact = sum(one == other for one, other in zip(said, right, strict=True))
    return [100 * exact / len(right), scores.bleu, scores.chrf]


def _curves(
    name: str, style: str, losses: list[float], judged: list[tuple[int, float, float]]
) -> dict[str, tuple[Sequence[float], Sequence[float], str]]:
    """Means of some steps, for a step's own loss jumps; and the validations as points."""
    group = max(1, len(losses) // 60)
    starts = range(0, len(losses) - group + 1, group)
    means = [sum(losses[start : start + group]) / group for start in starts]
    steps, loss, _ = zip(*judged, strict=True)
    middles = [start + group / 2 for start in starts]
    return {f"training, {name}": (middles, means, style), f"validation, {name}": (steps, loss, ".")}


def _beginning(said: str) -> str:
    """Its first words: a model that has learned to copy may say one word without end."""
    words = said.split(" ")
    return said if len(words) <= SHOWN else f"{' '.join(words[:SHOWN])} … ({len(words)} words)"
