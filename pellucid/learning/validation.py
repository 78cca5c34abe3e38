"""Validation: the loss on held-out pairs, and the quality of their translations."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from pellucid.config import Config
from pellucid.data.batch import Batch
from pellucid.data.corpus import Pair, by_language, target_language
from pellucid.learning.loss import loss_of
from pellucid.model import Transformer
from pellucid.preparation import prepare, restore, stays_tokenised
from pellucid.translate.decoding import evaluating
from pellucid.translate.evaluate import evaluate
from pellucid.translate.translator import Translator
from pellucid.vocabulary import Vocabulary


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
) -> Validation:
    """Teacher-forced loss over `batches`, then translations of `pairs` as the configuration translates."""
    with evaluating(model):
        loss = validation_loss(model, batches)
        hypotheses = _translations(Translator(model, vocabulary, config), config, pairs)
    scores = evaluate(hypotheses, references_of(pairs, config), tokenize=tokenizer_for(config))
    return Validation(loss, math.exp(min(loss, 100.0)), **vars(scores))


def _translations(translator: Translator, config: Config, pairs: Sequence[Pair]) -> list[str]:
    """What the model says to each source, in the language of its target."""
    said = [""] * len(pairs)
    for to, places in by_language(pairs, config.data.languages).items():
        translations = translator.translate([pairs[place].source for place in places], to=to)
        for place, translation in zip(places, translations, strict=True):
            said[place] = translation.text
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
