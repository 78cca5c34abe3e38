"""Out of memory: how such an error is recognised, and what the user reads in its place."""

from collections.abc import Iterator
from contextlib import contextmanager

from pellucid.errors import PellucidError

# PyTorch has a class of its own for a GPU only; elsewhere a RuntimeError says it in words.
WORDS = ("out of memory", "can't allocate memory", "not enough memory", "bad_alloc", "ALLOC_FAILED")


class OutOfMemory(PellucidError):
    """Memory does not suffice, and there is no way around it."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether this error means that memory does not suffice, on a processor or on a GPU."""
    said = isinstance(error, RuntimeError) and any(words in str(error) for words in WORDS)
    return isinstance(error, MemoryError) or said


@contextmanager
def needing_memory(what: str, remedy: str) -> Iterator[None]:
    """Turn an error that means too little memory into OutOfMemory: what was being done, and the remedy."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        raise OutOfMemory(f"out of memory {what}. {remedy}") from None
