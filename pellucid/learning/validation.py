"""Validation: the loss on pairs that are not used for training, and the quality of their translations."""

import random
from collections.abc import Sequence

import torch

from pellucid.config.schema import Config
from pellucid.data.batch import Batch
from pellucid.data.corpus import Pair, by_language, target_language
from pellucid.learning.loss import loss_of
from pellucid.learning.step import Sample, Validation
from pellucid.model import Transformer
from pellucid.text.preparation import prepare, restore, stays_tokenised
from pellucid.text.vocabulary import Vocabulary
from pellucid.translate.decoding import evaluating
from pellucid.translate.evaluate import evaluate
from pellucid.translate.text_translator import TextTranslator


def validate(
    model: Transformer,
    vocabulary: Vocabulary,
    config: Config,
    batches: Sequence[Batch],
    pairs: Sequence[Pair],
    step: int = 0,
) -> Validation:
    """Compute the loss of `batches`, then translate the sources of `pairs` and score the translations. The
    samples are the first two at step 0, and others at each later step."""
    translations = [""] * len(pairs)
    with evaluating(model):
        loss, translator = validation_loss(model, batches), TextTranslator(model, vocabulary, config)
        for to, places in by_language(pairs, config.data.languages).items():
            found = translator.translate([pairs[place].source for place in places], to=to)
            for place, translation in zip(places, found, strict=True):
                translations[place] = translation.text
    references = references_of(pairs, config)
    scores = evaluate(translations, references, tokenize=tokenizer_for(config))
    order, count = list(range(len(pairs))), min(2, len(pairs))
    shown = random.Random(step).sample(order, count) if step else order[:count]
    samples = [Sample(pairs[place].source, references[place], translations[place]) for place in shown]
    return Validation(loss, scores, tuple(samples))


@torch.no_grad()
def validation_loss(model: Transformer, batches: Sequence[Batch]) -> float:
    """Return the mean of -log p(token) over all real target tokens."""
    total, tokens = 0.0, 0
    for batch in batches:
        loss = loss_of(model, batch, smoothing=0.0)
        total, tokens = total + float(loss.plain), tokens + loss.tokens
    return total / max(tokens, 1)


def references_of(pairs: Sequence[Pair], config: Config) -> list[str]:
    """Return the targets as references: prepared and restored as the model's translations are, so that both
    are comparable."""
    name, references = config.data.preparation, []
    for pair in pairs:
        language = target_language(pair, config.data.languages)
        references.append(restore(prepare(pair.target, name, language), name, language))
    return references


def tokenizer_for(config: Config) -> str:
    """Return the name of the sacreBLEU tokenizer that suits the model's output."""
    return "none" if stays_tokenised(config.data.preparation) else "13a"
