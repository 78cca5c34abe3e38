"""Hold pairs out of the training text to validate on, by a rule that depends on the text only."""

import hashlib
from collections.abc import Sequence

from pellucid.data.corpus import Pair
from pellucid.errors import UsageError


def hold_out(pairs: Sequence[Pair], count: int) -> tuple[list[Pair], list[Pair]]:
    """Return the pairs to learn from, and up to `count` others; no source is in both.

    Take sources in the order of their hashes, without white space and case, each with all of its pairs.
    """
    places: dict[str, list[int]] = {}
    for place, pair in enumerate(pairs):
        places.setdefault(" ".join(pair.source.casefold().split()), []).append(place)
    chosen: set[int] = set()

    def order(source: str) -> bytes:
        return hashlib.blake2b(source.encode(errors="surrogatepass"), digest_size=16).digest()

    for source in sorted(places, key=order):
        if len(chosen) == count:
            break
        if len(chosen) + len(places[source]) <= count:
            chosen.update(places[source])
    if not chosen or len(chosen) == len(pairs):
        raise UsageError(
            f"[data] held_out = {count}: the training text has {len(pairs):,} pairs with "
            f"{len(places):,} different sources, too few to hold out some and to learn from others. "
            "Set another number, or name files in validation."
        )
    kept = [pair for place, pair in enumerate(pairs) if place not in chosen]
    return kept, [pairs[place] for place in sorted(chosen)]
