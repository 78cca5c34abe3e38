"""The source meter: how much of each word that a model says comes from the source, and how much from the
words that it said before.

With attention weights, norms and gates held at their values, a word's logit is a sum over every source token
and every earlier target token (`pellucid.edits.hold`). The share of the source is the sum of the absolute
values of its terms, divided by that of all terms. It is low where a model invents.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from pellucid.data.batch import pad
from pellucid.decoding.pytorch import evaluating
from pellucid.folder.load import device_of
from pellucid.model import Transformer
from pellucid.seeing.trace import Trace, trace
from pellucid.translate.held import HELD, go_back
from pellucid.translate.likelihood import batches

# Positions times width, so many that they stay in a core's cache: of a batch, and of the gradients that are
# computed together, a batch's positions for each of its steps.
IN_BATCH, IN_GRADIENTS = 2**15, 2**17
READ = ("encoder.token_embeddings", "decoder.token_embeddings")


class UsualShare(NamedTuple):
    """The source's share in a model's translations of its validation text: nine of ten sentences have a mean
    share from `low` to `high`."""

    low: float
    median: float
    high: float


def usual_share(shares: Sequence[float]) -> UsualShare:
    """Return the 5th, 50th and 95th percentile of some sentences' mean shares."""
    return UsualShare(*torch.tensor(shares).quantile(torch.tensor([0.05, 0.5, 0.95])).tolist())


def source_shares(
    model: Transformer, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]
) -> list[list[float]]:
    """Return, for each pair of source ids and target ids, the share of the source in each target token, from
    0 to 1; the rest is the share of the target so far."""
    shares: list[list[float]] = [[] for _ in pairs]
    some = [place for place, (_, target) in enumerate(pairs) if target]
    for group in batches([max(map(len, pairs[place])) for place in some], IN_BATCH // model.config.width):
        places = [some[each] for each in group]
        for place, row in zip(places, _of_batch(model, [pairs[place] for place in places]), strict=True):
            shares[place] = row[: len(pairs[place][1])].tolist()
    return shares


def _of_batch(model: Transformer, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> Tensor:
    """Return the source's share in each target token, B L."""
    padding = model.config.pad_id, device_of(model)
    (source, source_mask), (target, target_mask) = (pad(side, *padding) for side in zip(*pairs, strict=True))
    shifted = torch.cat((torch.full_like(target[:, :1], model.config.start_id), target[:, :-1]), 1)
    with torch.no_grad(), evaluating(model), trace(model, (*HELD, *READ), gradients=True) as seen:
        model.read(source, source_mask, shifted, target_mask)
        slope_BLD = model.projection_weight[target]  # of the logit of each position's token
        together = max(1, IN_GRADIENTS // slope_BLD.numel())
        firsts = range(0, target.shape[1], together)
        parts = [_of_steps(model, seen, slope_BLD, slice(first, first + together)) for first in firsts]
    return torch.cat(parts, 1)


def _of_steps(model: Transformer, seen: Trace, slope_BLD: Tensor, steps: slice) -> Tensor:
    """Return the source's share in the target tokens of these steps, B S."""
    of_source, of_target = (
        (slope @ seen[name].tensor[:, : slope.shape[1], :, None]).squeeze(-1).abs().sum(1)
        for name, slope in zip(READ, go_back(model, seen, slope_BLD, steps), strict=True)
    )
    return of_source / (of_source + of_target)
