"""Watched passes over a sentence: in float32, without dropout, and without gradients unless asked for."""

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from pellucid.config.device import device_of
from pellucid.data.batch import pad
from pellucid.model import Transformer
from pellucid.seeing.trace import Edit, Trace, trace
from pellucid.text.vocabulary import Vocabulary
from pellucid.translate.decoding import evaluating


def in_float32(model: Transformer) -> Transformer:
    """Return the model, or a copy of it in float32, so that an explanation shows no coarser rounding."""
    same = next(model.parameters()).dtype == torch.float32
    return model if same else copy.deepcopy(model).float()


@contextmanager
def quietly(model: Transformer, gradients: bool = False) -> Iterator[None]:
    """Run the model without dropout, without gradients (unless asked for) and without autocast."""
    autocast = torch.autocast(device_of(model).type, enabled=False)
    with evaluating(model), torch.set_grad_enabled(gradients), autocast:
        yield


def as_read(
    model: Transformer, source_ids: Sequence[int], target_ids: Sequence[int]
) -> tuple[Tensor, Tensor]:
    """Return the ids that the encoder reads, 1 M, and the decoder, 1 L: the target shifted right."""
    batch = in_batch(model, [(source_ids, target_ids)])
    return batch["source"], batch["target"]


def in_batch(model: Transformer, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> dict[str, Any]:
    """Return what the model reads of several sentences and translations: padded ids, and their masks."""
    start, padding = model.config.start_id, (model.config.pad_id, device_of(model))
    source, source_mask = pad([source for source, _ in pairs], *padding)
    target, target_mask = pad([[start, *target[:-1]] for _, target in pairs], *padding)
    return {"source": source, "target": target, "source_mask": source_mask, "target_mask": target_mask}


def watch(
    model: Transformer,
    source: Tensor,
    target: Tensor,
    *,
    source_mask: Tensor | None = None,
    target_mask: Tensor | None = None,
    only: str | Sequence[str] = "*",
    edits: Mapping[str, Edit] | None = None,
    gradients: bool = False,
    vocabulary: Vocabulary | None = None,
) -> Trace:
    """Record one teacher-forced pass, with `edits` in effect. Without a mask all tokens are real."""
    model = in_float32(model)
    with quietly(model, gradients), trace(model, only, edits, gradients, vocabulary) as seen:
        model(source, source_mask, target, target_mask)
    return seen


def watched_pass(
    model: Transformer,
    vocabulary: Vocabulary,
    source_ids: Sequence[int],
    target_ids: Sequence[int],
    edits: Mapping[str, Edit] | None = None,
) -> Trace:
    """Record the pass over a sentence and its translation, both as ids."""
    return watch(model, *as_read(model, source_ids, target_ids), edits=edits, vocabulary=vocabulary)
