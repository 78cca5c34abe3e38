"""Ensembles: several models translate together; the probability of a token is the mean of the models'
probabilities."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from pellucid.errors import UsageError
from pellucid.model import Transformer
from pellucid.text.vocabulary import Vocabulary
from pellucid.translate.hypotheses import Array
from pellucid.translate.search import Decoding, log_probabilities


class EnsembleDecoding:
    """Several models that decode the same sources. The search uses them as if they were one model."""

    def __init__(self, decodings: Sequence[Decoding]) -> None:
        self._decodings = decodings

    def join(self, places: Sequence[int]) -> None:
        """Encode these sources with each model."""
        for each in self._decodings:
            each.join(places)

    def step(self, tokens: Array, required: Array | None) -> Tensor:
        """Decode a step with each model. Return the log of the mean probability of each token, rows x V."""
        return log_of_mean([log_probabilities(each.step(tokens, required)).log_p for each in self._decodings])

    def select(self, rows: Array, sentences: Array | None) -> None:
        """Continue with the rows at these indices, in this order. `sentences` are the indices of the
        sentences that continue; None: all do."""
        for each in self._decodings:
            each.select(rows, sentences)


def log_of_mean(log_p: Sequence[Tensor]) -> Tensor:
    """Return the logarithm of the mean probability, given the log-probabilities of several models."""
    return torch.stack(tuple(log_p)).logsumexp(0) - math.log(len(log_p))


def check_same_vocabulary(names: Sequence[object], vocabularies: Sequence[Vocabulary]) -> None:
    """Raise an error unless every id means the same token in all models."""
    for name, vocabulary in zip(names, vocabularies, strict=True):
        if not vocabulary.same_as(vocabularies[0]):
            raise UsageError(
                f"{name}: its vocabulary, languages or preparation differ from those of {names[0]}, but the "
                "models of an ensemble must have the same tokens. Train the second with the same [data] and "
                f"with [vocabulary] model = the vocabulary.model of {names[0]}."
            )


def only_one(models: Sequence[Transformer]) -> Transformer:
    """Return the model if there is only one; raise an error for an ensemble."""
    if len(models) > 1:
        raise UsageError(
            f"an ensemble of {len(models)} models translates and scores, but has no single model to look "
            "into. Load one of them."
        )
    return models[0]
