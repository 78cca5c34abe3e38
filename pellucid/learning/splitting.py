"""A step whose batches do not fit into memory, computed in smaller parts.

The gradient of a step is a sum over its pairs, so the sum over the parts is the same to rounding. Only
dropout draws other random numbers.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from pellucid.data.batch import Batch
from pellucid.learning.memory import OutOfMemory, is_out_of_memory

Result = TypeVar("Result")


class DoesNotFit(OutOfMemory):
    """A single pair is too large for the memory; nothing was updated."""


def compute_in_parts(
    batches: Sequence[Batch], compute: Callable[[Batch], Result], start_again: Callable[[], None]
) -> list[Result]:
    """The result of each batch, or of each of the parts into which the batches must be split.

    When one does not fit, it and all others as large are halved. Then `start_again` discards what was
    computed, for half a gradient may be in it, and everything is computed anew.
    """
    parts = list(batches)
    while True:
        results: list[Result] = []
        try:
            for part in parts:
                results.append(compute(part))
            return results
        except (MemoryError, RuntimeError) as error:
            if not is_out_of_memory(error):
                raise
        # Only here, after the error is gone, is the memory free that its traceback held.
        start_again()
        failed = parts[len(results)]
        if len(failed.origins) == 1:
            raise _does_not_fit(failed, batches)
        parts = [
            half for part in parts for half in (_halves(part) if _size(part) >= _size(failed) else [part])
        ]


def split_line(step: int, batches: Sequence[Batch], parts: int, batch_tokens: int) -> str:
    """What to tell the user of a step that was split, and how to avoid it."""
    largest = max(batches, key=_size)
    smaller = max(_length(largest), batch_tokens * len(batches) // parts)
    return (
        f"step {step:,} did not fit into memory: its batch of {_shape(largest)} was split, and the step was "
        f"computed in {parts} parts. The update is the same (but dropout draws other random numbers), and "
        "takes longer. Smaller batches need no splitting: "
        f"--resume --set training.batch_tokens={smaller} --accept training.batch_tokens"
    )


def _shape(batch: Batch) -> str:
    """A batch in words: its pairs, their length with padding, where the first of them stand."""
    lines = ", ".join(batch.origins[:3]) + (", ..." if len(batch.origins) > 3 else "")
    return f"{len(batch.origins):,} × {_length(batch):,} tokens ({lines})"


def _halves(batch: Batch) -> list[Batch]:
    """Two batches with half of the rows each; a batch of one row as it is."""
    middle = (len(batch.origins) + 1) // 2
    return [_rows(batch, rows) for rows in (slice(middle), slice(middle, None)) if batch.origins[rows]]


def _rows(batch: Batch, rows: slice) -> Batch:
    return replace(batch, **{name: value[rows] for name, value in vars(batch).items()})


def _length(batch: Batch) -> int:
    return max(batch.source.shape[1], batch.target_in.shape[1])


def _size(batch: Batch) -> int:
    return len(batch.origins) * _length(batch)


def _does_not_fit(pair: Batch, batches: Iterable[Batch]) -> DoesNotFit:
    whole = next(batch for batch in batches if set(pair.origins) <= set(batch.origins))
    source, target = int(pair.source_mask.sum()), int(pair.target_mask.sum())
    shorter = max(1, max(source, target) * 3 // 4)
    return DoesNotFit(
        f"out of memory: the batch of {_shape(whole)} was split as a smaller [training] batch_tokens would "
        f"split it, and {pair.origins[0]} alone does not fit, with {source:,} source and {target:,} target "
        "tokens. Free some memory, train a smaller model, or leave out such long pairs and go on: "
        f"--resume --set data.max_length={shorter} --accept data.max_length"
    )
