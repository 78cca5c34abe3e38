"""Validation: the loss on pairs that are not used for training, and the quality of their translations."""

import dataclasses
import random
from collections.abc import Mapping, Sequence
from itertools import chain

import torch

from pellucid.config.schema import Config
from pellucid.config.toml_file import short_names
from pellucid.data.batch import Batch
from pellucid.data.corpus import Pair, target_language
from pellucid.decoding.pytorch import evaluating
from pellucid.learning.loss import Loss, loss_of
from pellucid.learning.step import Sample, Validation
from pellucid.model import Transformer
from pellucid.text.preparation import prepare, restore, stays_tokenised
from pellucid.text.vocabulary import Vocabulary
from pellucid.translate.evaluate import evaluate
from pellucid.translate.text_translator import TextTranslator

Corpora = Mapping[str, tuple[Sequence[Batch], Sequence[Pair]]]  # by name; a corpus has one target language


def validate(
    model: Transformer, vocabulary: Vocabulary, config: Config, corpora: Corpora, step: int = 0
) -> Validation:
    """Compute the loss of each corpus's batches, then translate the sources of its pairs and score the
    translations: of all together and, if there are several corpora, of each. The samples are the first two at
    step 0, and others at each later step."""
    parts: dict[str, tuple[list[Loss], list[Sample]]] = {}
    with torch.no_grad(), evaluating(model):
        translator = TextTranslator(model, vocabulary, config)
        for name, (batches, pairs) in corpora.items():
            losses = [loss_of(model, batch, smoothing=0.0) for batch in batches]
            sources, to = [pair.source for pair in pairs], target_language(pairs[0], config.data.languages)
            found = [translation.text for translation in translator.translate(sources, to=to)]
            parts[name] = losses, [*map(Sample, sources, references_of(pairs, config), found)]

    def judge(losses: list[Loss], samples: list[Sample]) -> Validation:
        mean = sum(float(each.plain) for each in losses) / max(sum(each.tokens for each in losses), 1)
        said, right = [each.translation for each in samples], [each.reference for each in samples]
        scores = evaluate(said, right, tokenize=tokenizer_for(config))
        shown = random.Random(step).sample(samples, min(2, len(samples))) if step else samples[:2]
        return Validation(mean, scores, tuple(shown))

    each = {name: judge(*part) for name, part in parts.items()} if len(parts) > 1 else {}
    losses, samples = (list(chain.from_iterable(kind)) for kind in zip(*parts.values(), strict=True))
    return dataclasses.replace(judge(losses, samples), corpora=each)


def corpora_of(pairs: Sequence[Pair], languages: Sequence[tuple[str, str]]) -> dict[str, list[Pair]]:
    """Return each corpus's pairs by its name, such as "news.en" or, with languages, "news.en to de"."""
    names, corpora = short_names(pair.file for pair in pairs), dict[str, list[Pair]]()
    for pair in pairs:
        to = target_language(pair, languages)
        corpora.setdefault(names[pair.file] + (f" to {to}" if to else ""), []).append(pair)
    return corpora


def references_of(pairs: Sequence[Pair], config: Config) -> list[str]:
    """Return the targets as references: prepared and restored as the model's translations are, so that both
    are comparable."""
    name, languages = config.data.preparation, config.data.languages
    both = [(pair.target, target_language(pair, languages)) for pair in pairs]
    return [restore(prepare(text, name, language), name, language) for text, language in both]


def tokenizer_for(config: Config) -> str:
    """Return the name of the sacreBLEU tokenizer that suits the model's output."""
    return "none" if stays_tokenised(config.data.preparation) else "13a"
