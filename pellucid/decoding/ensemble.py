"""Ensembles: several models translate together; the probability of a token is the mean of the models'
probabilities."""

import math
from collections.abc import Sequence
from contextlib import ExitStack, closing

import torch
from torch import Tensor

from pellucid.decoding.decoder import Decoder
from pellucid.decoding.room import Array, Room
from pellucid.errors import UsageError
from pellucid.model import Transformer
from pellucid.search.next_tokens import AllTokens
from pellucid.search.request import Request
from pellucid.search.session import Decoding
from pellucid.text.vocabulary import Vocabulary


class Ensemble:
    """Several models that decode together, as if they were one."""

    def __init__(self, decoders: Sequence[Decoder]) -> None:
        self._decoders, self.config = decoders, decoders[0].config
        self.together = min(each.together for each in decoders)

    @property
    def apart(self) -> int:
        """Return what the first model says now: it changes while other processes use the CPU."""
        return self._decoders[0].apart

    def room_bytes(self, room: Room) -> int:
        """Return the most memory that decoding in this room takes, without the weights."""
        return sum(each.room_bytes(room) for each in self._decoders)

    def open(self, room: Room) -> "EnsembleDecoding":
        """Return a decoding with this room in each model."""
        with ExitStack() as all_or_none:
            each = [all_or_none.enter_context(closing(one.open(room))) for one in self._decoders]
            return EnsembleDecoding(each, all_or_none.pop_all())


class EnsembleDecoding(Decoding):
    """Several models that decode the same sentences."""

    def __init__(self, decodings: Sequence[Decoding], closing: ExitStack) -> None:
        self._decodings, self.rows, self._closing = decodings, decodings[0].rows, closing

    def join(self, requests: Sequence[Request]) -> int:
        (count,) = {each.join(requests) for each in self._decodings}  # one number, for their rooms are equal
        return count

    def step(self, tokens: Array, required: Array | None, candidates: int) -> AllTokens:
        log_p = log_of_mean([each.step(tokens, required, 0).all.log_p for each in self._decodings])
        return AllTokens(log_p, log_p.clone)

    def select(self, rows: Array, sentences: Array | None) -> None:
        for each in self._decodings:
            each.select(rows, sentences)

    def close(self) -> None:
        self._closing.close()


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
