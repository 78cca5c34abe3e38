"""Find known names that are similar to an unknown one, for error messages."""

import difflib
from collections.abc import Iterable, Sequence

LISTED = 20  # names that a message lists


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
