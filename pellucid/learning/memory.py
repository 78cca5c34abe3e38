"""When memory is full: split the batches of a step, and tell the user what helps.

The gradient of a step is a sum over its pairs. A sum over smaller parts is the same up to rounding; only
dropout draws other random numbers.
"""

import ctypes
from collections.abc import Sequence
from contextlib import suppress

from torch import nn

from pellucid.data.batch import Batch
from pellucid.errors import PellucidError, Setting
from pellucid.model import Transformer

# Steps between two calls of `trim_heap`. With 10, asking for the memory again takes a twentieth of a step;
# with 60, a training takes a tenth more of it.
TRIM_EVERY = 40


class DoesNotFit(PellucidError):
    """A single pair is too large for the memory; the weights were not updated."""


def model_memory(model: nn.Module, precision: str) -> str:
    """Describe the memory that a model takes in training: weights in float32 and, of what is not frozen,
    gradients and AdamW's two moments; in bf16 also a copy, and gradients in bf16 until AdamW needs them."""
    parameters = sum(each.numel() for each in model.parameters())
    trained = sum(each.numel() for each in model.parameters() if each.requires_grad)
    copies, gradients = (6, 10) if precision == "bf16" else (4, 12)
    megabytes = (parameters * copies + trained * gradients) / 1e6
    return f"{megabytes:,.0f} MB with gradients and AdamW's moments"


def split_further(parts: Sequence[Batch], failed: Batch, model: Transformer, precision: str) -> list[Batch]:
    """Halve the part that failed, and all other parts that are at least as large; return all parts. Raise
    DoesNotFit if the failed part is a single pair."""
    if len(failed.origins) == 1:
        source, target = int(failed.source_mask.sum()), int(failed.target_mask.sum())
        if max(source, target) < model.config.width:  # such a pair takes less memory than the model
            raise DoesNotFit(
                f"out of memory: the model takes {model_memory(model, precision)}, and not even "
                f"a pair of {source:,} source and {target:,} target tokens fits beside it. Free some memory, "
                "or train a smaller model: lower [model] width, hidden or layers, or [vocabulary] size."
            )
        shorter = max(1, max(source, target) * 3 // 4)
        raise DoesNotFit(
            f"out of memory: {{}} alone does not fit, with {source:,} source and {target:,} target tokens. "
            "Free some memory, train a smaller model, or leave out such long pairs: resume with [data] "
            f"max_length = {shorter}, {{}} and {{}} (a prepared text must be prepared anew with it).",
            failed.origins[0],
            Setting("resume", True),
            Setting("accept", ("data.max_length",)),
        )
    limit = _size(failed)
    return [half for part in parts for half in (halves(part) if _size(part) >= limit else [part])]


def split_message(step: int, batches: Sequence[Batch], parts: int, batch_tokens: int, longest: int) -> str:
    """Return a message that says that a step was split, and how to avoid this. longest: tokens of the longest
    text of all, which must fit into a batch."""
    largest = max(batches, key=_size)
    smaller = max(longest, batch_tokens * len(batches) // parts)
    return (
        f"step {step:,} did not fit into memory: its batch of {len(largest.origins):,} × "
        f"{_length(largest):,} tokens was split, and the step was computed in {parts} parts. The update "
        "is the same (but dropout draws other random numbers). Smaller batches need no splitting: "
        f"resume with [training] batch_tokens = {smaller}, and accept training.batch_tokens."
    )


def halves(batch: Batch) -> list[Batch]:
    """Split the rows of a batch into two batches; return a batch of one row unchanged, in a list."""
    count = len(batch.origins)
    middle = (count + 1) // 2
    return [batch.rows(slice(middle)), batch.rows(slice(middle, count))][: min(count, 2)]


def _length(batch: Batch) -> int:
    return max(batch.source.shape[1], batch.target_in.shape[1])


def _size(batch: Batch) -> int:
    return len(batch.origins) * _length(batch)


def trim_heap() -> None:
    """Return free memory to the system, if the C library is glibc; elsewhere do nothing.

    Batches of many different shapes fragment the heap: it grows although most of it is free. docs/training.md
    has the measurements.
    """
    with suppress(AttributeError, OSError, TypeError):  # another C library; TypeError on Windows
        ctypes.CDLL(None).malloc_trim(0)
