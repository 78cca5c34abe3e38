"""Passes over a sentence as an explanation wants them: watched, in float32, without dropout or gradients."""

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch

from pellucid.device import device_of
from pellucid.model import Transformer
from pellucid.see import Edit, Trace, trace
from pellucid.translate.decoding import evaluating
from pellucid.vocabulary import Vocabulary


def in_float32(model: Transformer) -> Transformer:
    """The model itself, or a copy of it in float32: an explanation shows no rounding to fewer bits."""
    same = next(model.parameters()).dtype == torch.float32
    return model if same else copy.deepcopy(model).float()


@contextmanager
def quietly(model: Transformer) -> Iterator[None]:
    """Without dropout, without gradients, and in the precision that the model has."""
    with evaluating(model), torch.no_grad(), torch.autocast(device_of(model).type, enabled=False):
        yield


def watched_pass(
    model: Transformer,
    vocabulary: Vocabulary,
    source_ids: Sequence[int],
    target_ids: Sequence[int],
    edits: Mapping[str, Edit] | None = None,
) -> Trace:
    """Every tensor of one teacher-forced pass: the decoder reads the start token and the target but its
    last."""
    model, device = in_float32(model), device_of(model)
    source = torch.tensor([list(source_ids)], device=device)
    shifted = torch.tensor([[model.config.start_id, *target_ids[:-1]]], device=device)
    with quietly(model), trace(model, edits=edits, vocabulary=vocabulary) as seen:
        model(source, torch.ones_like(source, dtype=torch.bool), shifted)
    return seen
