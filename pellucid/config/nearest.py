"""Names like one that is not known: what an error offers."""

import difflib
from collections.abc import Iterable


def nearest(word: str, known: Iterable[str], n: int = 3, cutoff: float = 0.6) -> list[str]:
    """The known names most like a word, the most like first: at most `n`, each like it by `cutoff` (0 to 1)
    or more."""
    return difflib.get_close_matches(str(word), [str(name) for name in known], n=n, cutoff=cutoff)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """` Did you mean "x"?`, or nothing where nothing is near."""
    near = nearest(word, known, n=1)
    return f' Did you mean "{near[0]}"?' if near else ""
