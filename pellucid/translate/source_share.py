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
from pellucid.seeing.edits import hold
from pellucid.seeing.trace import trace
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


def leaf(tensor: Tensor) -> Tensor:
    """Return a tensor with the same values at which gradients end."""
    return tensor.detach().requires_grad_()


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
    edits, kept = hold() | dict.fromkeys(READ, leaf), (*READ, "decoder.output")
    with evaluating(model), torch.enable_grad(), trace(model, kept, edits, gradients=True) as seen:
        output_BLD = model.read(source, source_mask, shifted, target_mask)
    with torch.enable_grad():  # of each position only the logit of its token, not of the vocabulary
        logits_BL = (output_BLD * model.projection_weight.detach()[target]).sum(-1)
    read, steps = [seen[name].tensor for name in READ], target.shape[1]
    # One backward pass for all sentences and several of their steps, S; a step's derivative is its own.
    wanted_SBL = torch.eye(steps, device=target.device)[:, None].expand(-1, len(pairs), -1).to(logits_BL)
    of_source, of_target = list[Tensor](), list[Tensor]()
    for some in wanted_SBL.split(max(1, IN_GRADIENTS // output_BLD.numel())):
        slopes = torch.autograd.grad(logits_BL, read, some, retain_graph=True, is_grads_batched=True)
        for sums, slope, embeddings in zip((of_source, of_target), slopes, read, strict=True):
            sums.append((slope * embeddings.detach()).sum(-1).abs().sum(-1))
    source_BL, target_BL = torch.cat(of_source).T, torch.cat(of_target).T
    return source_BL / (source_BL + target_BL)
