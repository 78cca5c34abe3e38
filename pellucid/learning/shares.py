"""Gradients of which each process computes a share, by DistributedDataParallel, with the batches that one
process would have.

It stands behind the same four verbs as `Workers`.
"""

import gc
import random
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method
from torch.distributed.tensor import DTensor, distribute_tensor
from torch.nn.parallel import DistributedDataParallel

from pellucid.config.schema import TrainingConfig
from pellucid.data.batch import Batch
from pellucid.errors import PellucidError, is_out_of_memory
from pellucid.folder.load import device_of
from pellucid.learning.loss import loss_of
from pellucid.learning.ranks import Ranks
from pellucid.model import Transformer


class Losses(nn.Module):
    """A model whose forward pass ends with the loss, so that what wraps it sees the whole pass."""

    def __init__(self, model: Transformer, training: TrainingConfig) -> None:
        super().__init__()
        self.model, self._how = model, (training.label_smoothing, training.consistency)

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the sums of the smoothed and of the plain loss."""
        loss = loss_of(self.model, batch, *self._how)
        return loss.smoothed, loss.plain


def shard(module: nn.Module, model: Transformer, ranks: Ranks) -> None:
    """Leave to each process a share of each parameter (FSDP2). The layers of the model are gathered when they
    compute, the rest when `module` does: the model, or what contains it."""
    mesh = init_device_mesh(device_of(model).type, (ranks.count,))
    across: list[Any] = [layer.cross_attention for layer in model.decoder.layers]
    for part in (*across, *model.encoder.layers, *model.decoder.layers, module):
        fully_shard(part, mesh=mesh)
    for attention in across:
        register_fsdp_forward_method(attention, "remember")  # of the encoded source, before its layer


def whole(tensor: Tensor) -> Tensor:
    """Return a tensor of which each process may keep a share only. All processes call this together."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def shared_like(tensor: Tensor, other: Tensor) -> Tensor:
    """Return the share of a whole tensor that this process keeps of another one, or the whole one."""
    tensor = tensor.to(other.device)
    if not isinstance(other, DTensor):
        return tensor
    return distribute_tensor(tensor, other.device_mesh, other.placements)


class Shares:
    """The gradient of a step, of which this process computes the share of its rank."""

    def __init__(self, losses: Losses, training: TrainingConfig, ranks: Ranks) -> None:
        self._ranks, self._seed, self._is_sharded = ranks, training.seed, training.sharded
        self._losses = losses if training.sharded else DistributedDataParallel(losses)
        self._seeds, self._fits, self._is_summed = random.Random(training.seed), 0, False

    def begin(self, step: int) -> None:
        """Seed the dropout of all processes but the first from the training's seed and the step, so that a
        resumed training draws the same random numbers."""
        self._seeds = random.Random(f"{self._seed} {step}")

    def add(self, batch: Batch, tokens: int, is_last: bool) -> tuple[float, float]:
        """Add the gradient of this process's rows of a batch. Return the batch's smoothed and plain loss.
        Raise MemoryError if memory is full in any process.

        is_last: whether this batch completes the step. Its gradients are then summed over the processes while
        they are computed; but a batch that is larger than all before may fail in one of them, for which the
        others would wait, so that it is summed later.
        """
        ranks, size = self._ranks, max(batch.source.numel(), batch.target_in.numel())
        rows, weight = slice(ranks.number, None, ranks.count), 1.0
        if ranks.number >= len(batch.origins):  # no row is left, but all must take part
            rows, weight = slice(1), 0.0
        seeds = [self._seeds.getrandbits(62) for _ in range(min(ranks.count, len(batch.origins)) - 1)]
        if 0 < ranks.number <= len(seeds):
            torch.manual_seed(seeds[ranks.number - 1])
        self._is_summed, found = is_last and (self._is_sharded or size <= self._fits), [0.0, 0.0, 1.0]
        try:
            with self._summing():
                smoothed, plain = self._losses(batch.rows(rows))
                # DistributedDataParallel takes the mean over the processes; a step's gradient is a sum.
                (smoothed * (weight * ranks.count / tokens)).backward()
            found = [weight * float(smoothed.detach()), weight * float(plain), 0.0]
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
            if self._is_summed or self._is_sharded:  # the others wait for its sums already
                raise PellucidError(
                    f"rank {ranks.number} of {ranks.count} has no memory for the batch with the lines "
                    f"{', '.join(batch.origins[:3])}, ... Go on from the last checkpoint with --resume; if "
                    "it happens again, lower [training] batch_tokens and raise accumulate."
                ) from None
        *losses, failed = ranks.add_up(*found)
        if failed:
            raise MemoryError
        self._fits = max(self._fits, size)
        return losses[0], losses[1]

    def collect(self) -> Sequence[Sequence[Tensor]]:
        """Leave the sum over all processes in each process's gradients. There are no others to add."""
        gradients = [each.grad for each in self._losses.parameters() if each.grad is not None]
        if gradients and not self._is_summed:  # there are none before a step is computed again, in parts
            summed = torch._utils._flatten_dense_tensors(gradients)
            dist.all_reduce(summed)
            torch._foreach_copy_(gradients, torch._utils._unflatten_dense_tensors(summed, gradients))
            torch._foreach_div_(gradients, self._ranks.count)
        return ()

    def _summing(self) -> AbstractContextManager[Any]:
        if isinstance(self._losses, DistributedDataParallel):
            return nullcontext() if self._is_summed else self._losses.no_sync()
        self._losses.set_requires_gradient_sync(self._is_summed)  # type: ignore[operator]
        return nullcontext()

    def close(self) -> None:
        """Give up the gradients' memory, before the processes part: later, it would wait for threads of gloo
        that wait for Python's lock."""
        del self._losses
        gc.collect()
