"""Validation: the loss on pairs that are not used for training, and the quality of their translations."""

import random
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import torch

from pellucid.config.file_names import short_names
from pellucid.config.schema import Config
from pellucid.data.batch import Batch
from pellucid.data.corpus import Pair, by_language, target_language
from pellucid.learning.loss import loss_of
from pellucid.learning.step import Sample, Validation
from pellucid.model import Transformer
from pellucid.text.preparation import prepare, restore, stays_tokenised
from pellucid.text.vocabulary import Vocabulary
from pellucid.translate.decoding import evaluating
from pellucid.translate.evaluate import Scores, evaluate
from pellucid.translate.text_translator import TextTranslator

Parts = Mapping[str, tuple[slice, Sequence[int]]]  # of the batches and of the pairs, by a corpus's name


def validate(
    model: Transformer,
    vocabulary: Vocabulary,
    config: Config,
    batches: Sequence[Batch],
    pairs: Sequence[Pair],
    step: int = 0,
    corpora: Parts = MappingProxyType({}),
) -> Validation:
    """Compute the loss of `batches`, then translate the sources of `pairs` and score the translations: of
    all, and of each corpus. The samples are the first two at step 0, and others at each later step."""
    translations = [""] * len(pairs)
    with evaluating(model):
        losses, translator = losses_of(model, batches), TextTranslator(model, vocabulary, config)
        for to, places in by_language(pairs, config.data.languages).items():
            found = translator.translate([pairs[place].source for place in places], to=to)
            for place, translation in zip(places, found, strict=True):
                translations[place] = translation.text
    references, order = references_of(pairs, config), list(range(len(pairs)))

    def judge(rows: slice, places: Sequence[int]) -> tuple[float, Scores]:
        said, right = ([texts[place] for place in places] for texts in (translations, references))
        return mean_loss(losses[rows]), evaluate(said, right, tokenize=tokenizer_for(config))

    count = min(2, len(pairs))
    shown = random.Random(step).sample(order, count) if step else order[:count]
    samples = [Sample(pairs[place].source, references[place], translations[place]) for place in shown]
    each = {name: Validation(*judge(*part)) for name, part in corpora.items()}
    return Validation(*judge(slice(None), order), tuple(samples), each)


def corpora_of(pairs: Sequence[Pair], languages: Sequence[tuple[str, str]]) -> dict[str, list[int]]:
    """Return the places of each corpus's pairs by its name, such as "news.en" or, with languages, "news.en to
    de"."""
    names, places = short_names(pair.file for pair in pairs), dict[str, list[int]]()
    for place, pair in enumerate(pairs):
        to = target_language(pair, languages)
        places.setdefault(names[pair.file] + (f" to {to}" if to else ""), []).append(place)
    return places


@torch.no_grad()
def losses_of(model: Transformer, batches: Sequence[Batch]) -> list[tuple[float, int]]:
    """Return the sum of -log p(token) over the real target tokens of each batch, and their number."""
    losses = (loss_of(model, batch, smoothing=0.0) for batch in batches)
    return [(float(loss.plain), loss.tokens) for loss in losses]


def mean_loss(losses: Sequence[tuple[float, int]]) -> float:
    """Return the mean of -log p(token) over the tokens of all batches."""
    return sum(total for total, _ in losses) / max(sum(tokens for _, tokens in losses), 1)


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
