"""Validation: the loss on held-out pairs, and the quality of their translations."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from pellucid.config.schema import Config
from pellucid.data.batch import Batch
from pellucid.data.corpus import Pair, by_language, target_language
from pellucid.learning.loss import loss_of
from pellucid.model import Transformer
from pellucid.text.preparation import prepare, restore, stays_tokenised
from pellucid.text.vocabulary import Vocabulary
from pellucid.translate.base import BaseTranslator
from pellucid.translate.decoding import evaluating
from pellucid.translate.evaluate import evaluate

TOGETHER = 200  # sentences that are translated between two reports of progress


@dataclass(frozen=True)
class Sample:
    """A translation beside its reference."""

    source: str
    reference: str
    translation: str


@dataclass(frozen=True)
class Validation:
    """How good a model is on the validation pairs: loss per token (no smoothing), perplexity, BLEU and chrF
    with signatures, and the percentage of exactly right translations."""

    loss: float
    perplexity: float
    bleu: float
    chrf: float
    exact: float
    sentences: int
    bleu_signature: str
    chrf_signature: str
    samples: tuple[Sample, ...] = field(default=(), repr=False)

    def figures(self) -> dict[str, Any]:
        """All of it as a table, without the samples."""
        return {name: value for name, value in vars(self).items() if name != "samples"}

    def __str__(self) -> str:
        return (
            f"loss {self.loss:.3f}, perplexity {self.perplexity:.2f}, BLEU {self.bleu:.2f}, "
            f"chrF {self.chrf:.2f}, exact {self.exact:.2f}"
        )

    def score(self, metric: str) -> float:
        """The figure that decides which model is best; larger is better."""
        if metric == "loss":
            return -self.loss if math.isfinite(self.loss) else -math.inf
        return float(getattr(self, metric))


def validate(
    model: Transformer,
    vocabulary: Vocabulary,
    config: Config,
    batches: Sequence[Batch],
    pairs: Sequence[Pair],
    progress: Callable[[int], None] = lambda done: None,
) -> Validation:
    """Teacher-forced loss over `batches`, then translations of `pairs` as the configuration translates.

    progress: takes the number of sentences that are translated, now and then.
    """
    with evaluating(model):
        loss = validation_loss(model, batches)
        hypotheses = _translations(BaseTranslator(model, vocabulary, config), config, pairs, progress)
    references = references_of(pairs, config)
    scores = evaluate(hypotheses, references, tokenize=tokenizer_for(config))
    samples = tuple(
        Sample(pairs[place].source, references[place], hypotheses[place])
        for place in sorted({0, len(pairs) // 2})
    )
    return Validation(loss, math.exp(min(loss, 100.0)), **vars(scores), samples=samples)


def _translations(
    translator: BaseTranslator, config: Config, pairs: Sequence[Pair], progress: Callable[[int], None]
) -> list[str]:
    """What the model says to each source, in the language of its target; the long ones first, so that those
    that are translated together are of one length."""
    said, done = [""] * len(pairs), 0
    for to, places in by_language(pairs, config.data.languages).items():
        places = sorted(places, key=lambda place: -len(pairs[place].source))
        for start in range(0, len(places), TOGETHER):
            some = places[start : start + TOGETHER]
            translations = translator.translate([pairs[place].source for place in some], to=to)
            for place, translation in zip(some, translations, strict=True):
                said[place] = translation.text
            done += len(some)
            progress(done)
    return said


@torch.no_grad()
def validation_loss(model: Transformer, batches: Sequence[Batch]) -> float:
    """-log p(token), the mean over all real target tokens."""
    total, tokens = 0.0, 0
    for batch in batches:
        loss = loss_of(model, batch, smoothing=0.0)
        total, tokens = total + float(loss.plain), tokens + loss.tokens
    return total / max(tokens, 1)


def references_of(pairs: Sequence[Pair], config: Config) -> list[str]:
    """The targets of pairs as the model would say them."""
    languages = config.data.languages
    return [prepared(pair.target, config, target_language(pair, languages)) for pair in pairs]


def tokenizer_for(config: Config) -> str:
    """The one of sacreBLEU that fits what the model says."""
    return "none" if stays_tokenised(config.data.preparation) else "13a"


def prepared(text: str, config: Config, language: str | None) -> str:
    """A reference as the model would say it: prepared and restored like its own output."""
    name = config.data.preparation
    return restore(prepare(text, name, language), name, language)
