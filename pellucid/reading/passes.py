"""Passes over sentences that record their tensors: in float32, without dropout, and by default without
gradients."""

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor

from pellucid.data.batch import pad
from pellucid.decoding.pytorch import evaluating
from pellucid.folder.load import device_of
from pellucid.model import Transformer
from pellucid.seeing.trace import Edit, Trace, trace
from pellucid.text.vocabulary import Vocabulary

TOGETHER = 48  # rows, each with other edits, that are computed as one batch


def in_float32(model: Transformer) -> Transformer:
    """Return the model itself if it is in float32, otherwise a copy in float32, so that an explanation shows
    full precision."""
    same = next(model.parameters()).dtype == torch.float32
    return model if same else copy.deepcopy(model).float()


@contextmanager
def quietly(model: Transformer, gradients: bool = False) -> Iterator[None]:
    """Switch off dropout and autocast inside a `with` block, and also gradients unless `gradients` is set."""
    autocast = torch.autocast(device_of(model).type, enabled=False)
    with evaluating(model), torch.set_grad_enabled(gradients), autocast:
        yield


def in_batch(model: Transformer, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> dict[str, Any]:
    """Return the model's arguments for pairs of source ids and target ids: padded, with masks.

    The decoder's input is the start token, then each target without its last token.
    """
    start, padding = model.config.start_id, (model.config.pad_id, device_of(model))
    source, source_mask = pad([source for source, _ in pairs], *padding)
    target, target_mask = pad([[start, *target[:-1]] for _, target in pairs], *padding)
    return {"source": source, "target": target, "source_mask": source_mask, "target_mask": target_mask}


def watch(
    model: Transformer,
    batch: Mapping[str, Any],
    *,
    only: str | Sequence[str] = "*",
    edits: Mapping[str, Edit] | None = None,
    gradients: bool = False,
    vocabulary: Vocabulary | None = None,
) -> Trace:
    """Run a teacher-forced pass over `batch`, which `in_batch` made, with `edits`, and return its trace."""
    model = in_float32(model)
    with quietly(model, gradients), trace(model, only, edits, gradients, vocabulary) as seen:
        model(**batch)
    return seen


def try_each(
    model: Transformer,
    pair: tuple[Sequence[int], Sequence[int]],
    each: Sequence[Mapping[str, Edit]],
    only: str,
) -> Tensor:
    """Return the tensor `only` of passes over the pair, each with other edits: a row for each of them. Edits
    see one row of a tensor, which must have an axis B."""

    def edit(some: Sequence[Mapping[str, Edit]], name: str, tensor: Tensor) -> Tensor:
        for row, edits in enumerate(some):
            if name in edits:
                tensor[row : row + 1] = edits[name](tensor[row : row + 1])
        return tensor

    found = []
    for first in range(0, len(each), TOGETHER):
        some = each[first : first + TOGETHER]
        of_rows = {name: partial(edit, some, name) for edits in some for name in edits}
        found.append(watch(model, in_batch(model, [pair] * len(some)), only=only, edits=of_rows)[only].tensor)
    return torch.cat(found)
