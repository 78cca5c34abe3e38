"""Several models that translate together: the probability of a token is the mean of their probabilities."""

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
    """The same sources, read by several models; search sees one model."""

    def __init__(self, decodings: Sequence[Decoding]) -> None:
        self._decodings = decodings

    def step(self, tokens: Array) -> Tensor:
        """The last token of each row -> the log of the mean probability of its next token, rows x V."""
        return log_of_mean([log_probabilities(each.step(tokens)).log_p for each in self._decodings])

    def select(self, rows: Array, sentences: Array | None) -> None:
        """Go on with these rows, which belong to these sentences (None: to all, as before)."""
        for each in self._decodings:
            each.select(rows, sentences)


def log_of_mean(log_p: Sequence[Tensor]) -> Tensor:
    """The log-probabilities of several models -> those of the ensemble."""
    return torch.stack(tuple(log_p)).logsumexp(0) - math.log(len(log_p))


def check_same_vocabulary(names: Sequence[object], vocabularies: Sequence[Vocabulary]) -> None:
    """Raises unless an id means the same token in all models."""
    for name, vocabulary in zip(names, vocabularies, strict=True):
        if not vocabulary.same_as(vocabularies[0]):
            raise UsageError(
                f"{name}: its vocabulary, languages or preparation are not those of {names[0]}, but an "
                "ensemble needs models that say the same tokens. Train the second with the same [data] and "
                f"with [vocabulary] model = the vocabulary.model of {names[0]}."
            )


def only_one(models: Sequence[Transformer]) -> Transformer:
    """The model, for what an ensemble cannot do."""
    if len(models) > 1:
        raise UsageError(
            f"an ensemble of {len(models)} models translates and scores, but has no single model to look "
            "into. Load one of them."
        )
    return models[0]
