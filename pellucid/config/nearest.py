"""Known names that look like an unknown one, for errors to offer."""

import difflib
from collections.abc import Iterable, Sequence

LISTED = 20  # names that a message lists


def nearest(word: str, known: Iterable[str], n: int = 3, cutoff: float = 0.6) -> list[str]:
    """Return the known names most like a word, the nearest first; `cutoff`, 0 to 1, is the least likeness."""
    return difflib.get_close_matches(str(word), [str(name) for name in known], n=n, cutoff=cutoff)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ` Did you mean "x"?`, or "" if no known name is near."""
    near = nearest(word, known, n=1)
    return f' Did you mean "{near[0]}"?' if near else ""


def listed(known: Sequence[str], word: str | None = None) -> str:
    """Return the known names for a message; of very many, those most like a word, or else the first ones."""
    if len(known) <= LISTED:
        return ", ".join(known)
    shown = nearest(word, known, n=LISTED, cutoff=0.0) if word else known[:LISTED]
    return f"{', '.join(shown)} and {len(known) - LISTED} more"
