"""Errors that a user can fix. A message names the place, the value, the reason and the remedy."""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

LISTED = 20  # names that a message lists


@dataclass(frozen=True)
class Setting:
    """A setting in a message, written in the form that the user knows: `beam = 0` in Python, `--beam 0` on
    the command line.

    Without a value, only the name is written.
    """

    name: str
    value: object = ...

    def __str__(self) -> str:
        return self.name if self.value is ... else f"{self.name} = {self.value!r:.60}"


class PellucidError(ValueError):
    """An error that a user can fix. The command line prints only its message, and exits with `exit_code`.

    If `parts` are given, each of them replaces a {} in the message; a Setting is written as in Python or as a
    command-line option. Text from the user may contain braces, so give it as a part.
    """

    exit_code = 1

    def __init__(self, message: str, *parts: object) -> None:
        super().__init__(message.format(*parts) if parts else message)
        self.message, self.parts = message, parts


class UsageError(PellucidError):
    """A setting or an argument has a wrong value."""

    exit_code = 2


class SentenceError(PellucidError):
    """A sentence cannot be translated. `number` is its index in the list of the caller."""

    def __init__(self, number: int, step: int, reason: str) -> None:
        super().__init__(f"sentence {number + 1}, step {step}: {reason}")
        self.number = number


# PyTorch has an exception class for GPUs only; on a CPU it raises a RuntimeError with such a message.
OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "not enough memory", "bad_alloc", "ALLOC_FAILED")


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether the error means that the memory of the CPU or the GPU is full."""
    from_torch = isinstance(error, RuntimeError) and any(words in str(error) for words in OUT_OF_MEMORY)
    return isinstance(error, MemoryError) or from_torch


def nearest(word: str, known: Iterable[str], n: int = 3, cutoff: float = 0.6) -> list[str]:
    """Return the known names that are similar to a word, the most similar first.

    n: how many at most. cutoff: the smallest similarity, from 0 to 1.
    """
    return difflib.get_close_matches(str(word), [str(name) for name in known], n=n, cutoff=cutoff)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ` Did you mean "x"?`, or "" if no known name is similar."""
    near = nearest(word, known, n=1)
    return f' Did you mean "{near[0]}"?' if near else ""


def list_known(known: Sequence[str], word: str | None = None) -> str:
    """Return known names as text for a message. If there are many, list those similar to the word, or the
    first ones."""
    if len(known) <= LISTED:
        return ", ".join(known)
    shown = nearest(word, known, n=LISTED, cutoff=0.0) if word else known[:LISTED]
    return f"{', '.join(shown)} and {len(known) - LISTED} more"
