"""What a training costs: the memory that it will take, the operations of a step, and how much of what the
device can do is used."""

import functools
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd.graph import saved_tensors_hooks

from pellucid.config.schema import ModelConfig
from pellucid.data.batch import Batch
from pellucid.learning.learner import Learner
from pellucid.learning.loss import ROWS
from pellucid.learning.ranks import Ranks
from pellucid.learning.step import Cost
from pellucid.model import Transformer, round_up, sinusoids

TIMES = 3  # products to find the peak; the fastest counts
SIZE = {"cpu": 1024, "cuda": 8192}  # of their matrices


class Plan(NamedTuple):
    """The bytes that a training takes in a process, beside the program and the text."""

    model: int  # weights, gradients and AdamW's moments
    activations: int  # what the backward pass needs of a batch
    logits: int  # of the positions whose loss is computed together, and the gradients of the projection
    buffers: int  # of the backward pass and of the libraries, as measured

    def __str__(self) -> str:
        parts = (f"{name} {size / 1e6:,.0f}" for name, size in self._asdict().items())
        return f"about {sum(self) / 1e6:,.0f} MB ({', '.join(parts)})"


def plan(config: ModelConfig, tokens: int, length: int, precision: str, shares: int = 1) -> Plan:
    """Return the memory for batches of this many tokens a side, in pairs of this length a side.

    shares: the processes among which the weights, gradients and moments are divided (FSDP).
    """
    kind, size = (torch.bfloat16, 2) if precision == "bf16" else (torch.float32, 4)
    shape = max(1, tokens // length), length
    kept = dict[int, Tensor]()

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        kept[storage._cdata] = tensor  # held, so that no other takes its place
        return tensor

    # The model keeps its positions for later calls, so they must be real.
    sinusoids(round_up(length), config.width, kind, torch.device("cpu"), config.positions)
    with FakeTensorMode(allow_non_fake_inputs=True):  # shapes only: nothing is computed, and no memory taken
        model = Transformer(config).train()
        for each in model.parameters():
            each.data = each.data.to(kind)
        own = {each.untyped_storage()._cdata for each in model.parameters()}
        ids = torch.zeros(shape, dtype=torch.int64)
        with saved_tensors_hooks(keep, lambda tensor: tensor):
            output = model.read(ids, None, ids)
        del output
        saved = sum(each.untyped_storage().nbytes() for name, each in kept.items() if name not in own)
    parameters = sum(each.numel() for each in model.parameters())
    if precision == "bf16":  # when gradients become float32, the activations are gone
        saved = max(saved, 4 * parameters // shares)
    matrix = config.width * config.target_size
    logits = 3 * min(ROWS, tokens) * config.target_size * size + (4 + size) * matrix
    return Plan(16 * parameters // shares, saved, logits, 70_000_000 + int(0.3 * saved))


def operations(config: ModelConfig, batch: Batch) -> float:
    """Return the operations of matrix products that a training step on a batch needs: two for a
    multiplication and an addition, in the forward pass, and twice as many in the backward pass. Padding needs
    none."""
    m, n = (mask.sum(1, dtype=torch.float64) for mask in (batch.source_mask, batch.target_mask))
    square, feed_forward = config.width**2, 2 * config.width * config.hidden
    encoder = m * (4 * square + feed_forward) + 2 * config.width * m * m
    decoder = n * (6 * square + feed_forward) + m * 2 * square + 2 * config.width * (n * n + n * m)
    layers = config.encoder_layers * encoder + config.decoder_layers * decoder
    return 6 * float((layers + n * config.width * config.target_size).sum())


def cost_of(batches: Sequence[Batch], seconds: float, learner: Learner, ranks: Ranks) -> Cost:
    """Return what a step on these batches cost, if it took so long. All processes call this together."""
    masks = [mask for batch in batches for mask in (batch.source_mask, batch.target_mask)]
    real, places = sum(int(mask.sum()) for mask in masks), sum(mask.numel() for mask in masks)
    own = sum(int(batch.target_mask[ranks.number :: ranks.count].sum()) for batch in batches) / seconds
    mine = [number == ranks.number for number in range(ranks.count)]
    known = ranks.add_up(
        *(own * each for each in mine), *(memory_used(learner.device) * each for each in mine)
    )
    paces, memory = known[: ranks.count], max(known[ranks.count :])
    done = sum(operations(learner.model.config, batch) for batch in batches)
    done *= 2 if learner.training.consistency else 1
    most = peak(learner.device, learner.precision, torch.get_num_threads()) * ranks.count
    return Cost(sum(paces), tuple(paces), 1 - real / places, done / seconds / most, int(memory))


@functools.lru_cache
def peak(device: torch.device, precision: str, threads: int) -> float:
    """Measure how many operations of matrix products this device does in a second."""
    size = SIZE.get(device.type, 1024)
    matrix = torch.ones(
        size, size, device=device, dtype=torch.bfloat16 if precision == "bf16" else torch.float32
    )
    seconds = []
    for _ in range(1 + TIMES):
        began = time.perf_counter()
        product = matrix @ matrix
        float(product[0, 0])  # waits for it
        seconds.append(time.perf_counter() - began)
    return 2 * size**3 / min(seconds[1:])


def memory_used(device: torch.device) -> int:
    """Return the most megabytes that this process has held so far: on a GPU, its tensors there; else resident
    memory, which Linux tells (elsewhere 0)."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) // 10**6
    with suppress(OSError):
        return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) * 1024 // 10**6
    return 0
