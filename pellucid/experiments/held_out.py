"""How good a model in training looks, and how good it is: teacher forcing, and held-out sentences decoded."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from pellucid.data.corpus import Pair, by_language
from pellucid.experiments.lookahead import decode_anew
from pellucid.experiments.short_training import Material
from pellucid.learning.validation import validation_loss
from pellucid.model import Transformer
from pellucid.translate.decoding import evaluating
from pellucid.translate.evaluate import evaluate
from pellucid.translate.request import forbidden_ids
from pellucid.translate.sentences import read_source
from pellucid.translator import Translator

LONGEST = 30  # tokens of a translation; the demo's longest right one has half of that

Say = Callable[[Sequence[Pair], str | None], list[str]]


@dataclass(frozen=True)
class Decoding:
    """The quality of what a model says to held-out sentences, greedily, a word a step."""

    exactly_right: int
    bleu: float
    chrf: float
    first: str  # what it says to the first sentence


@torch.no_grad()
def teacher_forced(model: Transformer, lessons: Material) -> tuple[float, float]:
    """The validation pairs' loss per word, and the share of the words that are the most probable ones."""
    right = words = 0
    with evaluating(model):
        for batch in lessons.validation:
            likeliest = model(batch.source, batch.source_mask, batch.target_in).argmax(-1)
            right += int((likeliest == batch.target_out)[batch.target_mask].sum())
            words += batch.tokens
        return validation_loss(model, lessons.validation), right / words


def decoded(model: Transformer, lessons: Material) -> Decoding:
    """As any translation is made: each step adds a word's keys and values to a cache."""
    translator = Translator(model, lessons.vocabulary, lessons.config)

    def say(pairs: Sequence[Pair], to: str | None) -> list[str]:
        sources = [pair.source for pair in pairs]
        return [each.text for each in translator.translate(sources, to, beam=1, max_length=LONGEST)]

    return _judged(lessons, say)


def decoded_anew(model: Transformer, lessons: Material) -> Decoding:
    """Without a cache: each step reads the whole prefix as training reads a target."""
    vocabulary = lessons.vocabulary

    def say(pairs: Sequence[Pair], to: str | None) -> list[str]:
        sources = [read_source(pair.source, to, vocabulary, LONGEST).ids for pair in pairs]
        said = decode_anew(model, sources, forbidden_ids(model, vocabulary), LONGEST)
        return [vocabulary.decode_target(each, to) for each in said]

    return _judged(lessons, say)


def _judged(lessons: Material, say: Say) -> Decoding:
    """What is said to each held-out sentence, language by language, against the right translations."""
    pairs = lessons.held_out
    said = [""] * len(pairs)
    for to, places in by_language(pairs, lessons.config.data.languages).items():
        for place, text in zip(places, say([pairs[place] for place in places], to), strict=True):
            said[place] = text
    right = [pair.target for pair in pairs]
    scores = evaluate(said, right)
    exact = sum(one == other for one, other in zip(said, right, strict=True))
    return Decoding(exact, scores.bleu, scores.chrf, said[0])
