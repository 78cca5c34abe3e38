"""Compute how probable given translations are: one teacher-forced pass computes all positions at once."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from pellucid.cache import NoPast
from pellucid.data.batch import pad
from pellucid.decoding.ensemble import log_of_mean
from pellucid.decoding.model_state import is_hidden
from pellucid.decoding.pytorch import evaluating
from pellucid.errors import SentenceError
from pellucid.folder.load import device_of
from pellucid.model import Transformer
from pellucid.text.vocabulary import Vocabulary
from pellucid.translate.sentences import Sentence

TOGETHER = 4096  # tokens of sources or of targets that are scored together
POSITIONS = 1024  # rows of probabilities over the whole vocabulary that are in memory at once
Along = Callable[[list[list[int]]], Iterable[list[int]]]  # takes batches, yields them: shows how far it is


@dataclass(frozen=True)
class Score:
    """How probable a target is: the log-probability of each token, end token included, and their sum. A
    language token that a target must begin with is given: 0."""

    total: float
    per_token: list[float]
    tokens: list[str]
    unknown: Sequence[str] = ()  # words or characters of either side that the vocabulary does not have


def score_texts(
    models: Sequence[Transformer],
    pairs: Sequence[tuple[Sentence, Sentence]],
    vocabulary: Vocabulary,
    along: Along = iter,
) -> list[Score]:
    """Return the score of each (source, target) pair. Several models form an ensemble."""
    sources, targets = ([pair[side].ids for pair in pairs] for side in (0, 1))
    scores = []
    found = log_probabilities(models, sources, targets, TOGETHER, along)
    for (source, target), log_p in zip(pairs, found, strict=True):
        # An empty line is always translated as an empty line, so this pair is certain.
        tags = vocabulary.count_tags(target.ids)
        per_token = [] if source.empty and target.empty else [*[0.0] * tags, *log_p[tags:]]
        tokens = vocabulary.target_tokens(target.ids[: len(per_token)])
        unknown = (*source.unknown, *target.unknown)
        scores.append(Score(sum(per_token), per_token, tokens, unknown))
    return scores


def log_probabilities(
    models: Sequence[Transformer],
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    batch_tokens: int,
    along: Along = iter,
) -> list[list[float]]:
    """Return, for each target, the log-probability (natural) of each token, end token included."""
    scores: list[list[float]] = [[] for _ in sources]
    lengths = [max(len(source), len(target)) for source, target in zip(sources, targets, strict=True)]
    with evaluating(*models), torch.no_grad():
        for group in along([*batches(lengths, batch_tokens)]):
            some_sources, some_targets = ([side[place] for place in group] for side in (sources, targets))
            of_models = [_of_batch(model, some_sources, some_targets).double() for model in models]
            mean = log_of_mean(of_models).split([len(target) for target in some_targets])
            for place, log_p in zip(group, mean, strict=True):
                scores[place] = log_p.tolist()
    for place, each in enumerate(scores):
        if wrong := next((step for step, value in enumerate(each, 1) if math.isnan(value)), None):
            reason = "the token's probability is not a number, because logits are NaN or infinite."
            raise SentenceError(place, wrong, f"{reason} Use weights from an earlier checkpoint.")
    return scores


def _of_batch(
    model: Transformer, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
) -> Tensor:
    """Return the log-probability of each target token of a batch, all sentences in one vector."""
    config, device = model.config, device_of(model)
    source, source_mask = pad(sources, config.pad_id, device)
    target, target_mask = pad(targets, config.pad_id, device)
    shifted = torch.cat((torch.full_like(target[:, :1], config.start_id), target[:, :-1]), 1)
    memory = model.remember(model.encode(source, source_mask), source_mask)
    outputs = model.decoder(shifted, memory, NoPast(target_mask), model.embedding)[target_mask]
    outputs[is_hidden(model, memory)[:, None].expand_as(target_mask)[target_mask]] = math.nan
    log_p = []
    for some, ids in zip(outputs.split(POSITIONS), target[target_mask].split(POSITIONS), strict=True):
        log_p_RV = model.logits(some[None])[0].float().log_softmax(-1)
        log_p.append(log_p_RV.gather(1, ids[:, None])[:, 0])
    return torch.cat(log_p).cpu()


def batches(lengths: Sequence[int], batch_tokens: int) -> Iterator[list[int]]:
    """Yield groups of indices, longest sentences first. A group has at most `batch_tokens` tokens, padding
    included; a longer sentence is a group of its own."""
    group: list[int] = []
    for place in sorted(range(len(lengths)), key=lambda place: -lengths[place]):
        if group and (len(group) + 1) * lengths[group[0]] > batch_tokens:
            yield group
            group = []
        group.append(place)
    if group:
        yield group
