"""Errors that the user can mend: a message names the place, the value, the reason and the remedy."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Setting:
    """A setting in a message: `beam = 0` in Python. The command line writes its option, `--beam 0`.

    Without a value it is the name alone.
    """

    name: str
    value: object = ...

    def __str__(self) -> str:
        return self.name if self.value is ... else f"{self.name} = {self.value!r:.60}"


class PellucidError(ValueError):
    """Something failed that the user can mend. The command line prints the message alone and exits with
    `exit_code`.

    With parts, the message is a format: each part takes the place of a {}. Parts that are Settings reach each
    reader in the form to type. Texts of the user, which may contain braces, must be parts then.
    """

    exit_code = 1

    def __init__(self, message: str, *parts: object) -> None:
        super().__init__(message.format(*parts) if parts else message)
        self.message, self.parts = message, parts


class UsageError(PellucidError):
    """A setting or an argument is wrong."""

    exit_code = 2


# PyTorch has an exception class for GPUs only; on a processor it raises a RuntimeError with such a message.
OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "not enough memory", "bad_alloc", "ALLOC_FAILED")


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether this error means too little memory, on a processor or on a GPU."""
    from_torch = isinstance(error, RuntimeError) and any(words in str(error) for words in OUT_OF_MEMORY)
    return isinstance(error, MemoryError) or from_torch
