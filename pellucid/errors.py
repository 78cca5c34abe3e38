"""What goes wrong in a way that the user can mend: the message names the place, the value, the reason and the
remedy."""


class PellucidError(ValueError):
    """Something failed that the user can mend; the command line prints the message alone and exits with
    `exit_code`."""

    exit_code = 1


class UsageError(PellucidError):
    """A setting or an argument is wrong."""

    exit_code = 2


# PyTorch has an exception class for GPUs only; on a processor it raises a RuntimeError with such a message.
OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "not enough memory", "bad_alloc", "ALLOC_FAILED")


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether this error means too little memory, on a processor or on a GPU."""
    from_torch = isinstance(error, RuntimeError) and any(words in str(error) for words in OUT_OF_MEMORY)
    return isinstance(error, MemoryError) or from_torch
