"""The sentences that a search for leaks tries: those that are given, checked, and random ids for the rest."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from pellucid.config.whole import whole_setting
from pellucid.errors import UsageError
from pellucid.model import Transformer
from pellucid.probes.leak.probes import Predict
from pellucid.probes.leak.steady import repeatable, steady

SENTENCES, SOURCE, TARGET = 2, 6, 8  # how many, and of how many tokens, where none are given
PADDED = 2  # tokens of the last of these sources are padding
LARGEST = 2**31 - 1  # id
COUNTS = "so many ids there are for a target"

Ids = Tensor | np.ndarray[Any, Any] | list[list[int]]


def sentences(
    call: Predict,
    module: nn.Module | None,
    given: tuple[Ids | None, Ids | None, Ids | None],
    vocabulary: int | None,
    seed: int,
) -> tuple[Tensor, Tensor, Tensor, int]:
    """Source, source mask and target, filled in where they are not given, and the size of the vocabulary."""
    tensors = [
        *(each for each in given if isinstance(each, Tensor)),
        *(module.parameters() if module else ()),
    ]
    device = tensors[0].device if tensors else torch.device("cpu")
    names = ("source", "source_mask", "target")
    source, source_mask, target = (_read(*each, device) for each in zip(names, given, strict=True))
    random = torch.Generator().manual_seed(seed)
    rows = next((len(each) for each in (source, source_mask, target) if each is not None), SENTENCES)
    ours = module.config if isinstance(module, Transformer) else None
    if source is None:
        # Every vocabulary has id 1; what the source says hardly matters here.
        lowest, highest = (0, ours.vocabulary) if ours else (1, 2)
        shape = (rows, SOURCE) if source_mask is None else source_mask.shape
        source = torch.randint(lowest, highest, shape, generator=random).to(device)
        if source_mask is None and rows > 1:
            source_mask = torch.ones_like(source, dtype=torch.bool)
            source_mask[-1, -PADDED:] = False
    if source_mask is None:
        source_mask = torch.ones_like(source, dtype=torch.bool)
    if vocabulary is None:
        example = source.new_ones(rows, TARGET) if target is None else target
        vocabulary = ours.target_size if ours else _size_of_logits(call, module, source, source_mask, example)
    vocabulary = whole_setting("vocabulary", vocabulary, 2, ours.target_size if ours else LARGEST, COUNTS)
    if target is None:
        target = torch.randint(0, vocabulary, (rows, TARGET), generator=random).to(device)
    _check_shapes(source, source_mask, target)
    _check_range("source", source, ours.vocabulary if ours else LARGEST)
    _check_range("target", target, vocabulary)
    return source, source_mask, target, vocabulary


def _read(name: str, given: Any, device: torch.device) -> Tensor | None:
    """A tensor, an array or a list of rows as a tensor: of ids, or of bools for a mask."""
    if given is None:
        return None
    kinds, what = ("b", "bools, True at real tokens") if name == "source_mask" else ("iu", "ids, from 0 on")
    try:
        numbers = given.detach().cpu().numpy() if isinstance(given, Tensor) else np.asarray(given)
    except (TypeError, ValueError):  # bfloat16; rows of unequal length
        numbers = np.asarray(None)
    if numbers.dtype.kind not in kinds or numbers.ndim != 2 or not numbers.size or numbers.min() < 0:
        shown = f"{tuple(given.shape)} of {given.dtype}" if hasattr(given, "dtype") else f"{given!r:.60}"
        raise UsageError(
            f"{name} is {shown}. It must be {what}, in equally long rows, one for each sentence, of which "
            "there is at least one."
        )
    if isinstance(given, Tensor):
        return given if name == "source_mask" else given.long()
    return torch.as_tensor(numbers if name == "source_mask" else numbers.astype(np.int64)).to(device)


def _size_of_logits(
    call: Predict, module: nn.Module | None, source: Tensor, source_mask: Tensor, target: Tensor
) -> int:
    """V of what comes out."""
    with steady(module, training=False):
        numbers, _ = repeatable(lambda: call(source, source_mask, target), module, seed=0)
    if not isinstance(numbers, Tensor) or numbers.dim() != 3:
        came = f"{tuple(numbers.shape)}" if isinstance(numbers, Tensor) else type(numbers).__name__
        raise UsageError(
            f"vocabulary is not given, and no logits come out that would tell it, but {came}. Set "
            "vocabulary= to the number of ids that a target may hold."
        )
    return numbers.shape[-1]


def _check_shapes(source: Tensor, source_mask: Tensor, target: Tensor) -> None:
    shapes = [tuple(each.shape) for each in (source, source_mask, target)]
    if shapes[0] != shapes[1] or shapes[0][0] != shapes[2][0]:
        raise UsageError(
            f"source, source_mask and target have the shapes {shapes[0]}, {shapes[1]} and {shapes[2]}. They "
            "must be B M, B M and B L: as many rows in all three."
        )
    if target.shape[1] < 2:
        raise UsageError(
            "a target of 1 token has nothing that comes after it. Give one of at least 2 tokens."
        )


def _check_range(name: str, ids: Tensor, size: int) -> None:
    lowest, highest = int(ids.min()), int(ids.max())
    if highest >= size:
        raise UsageError(
            f"the {name}'s ids go from {lowest} to {highest}, and the vocabulary has {size:,}: give ids from "
            f"0 to {size - 1:,}."
        )
