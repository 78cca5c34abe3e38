"""What is asked of the search: a sentence, and the rules for its translation."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pellucid.search.options import Options


@dataclass(frozen=True)
class Request:
    """A sentence to decode, with its limit, its prefix and its rules."""

    number: int  # in the caller's list
    max_length: int  # the end token included
    prefix: Sequence[int] = ()  # what its translation must begin with
    source: Sequence[int] = ()
    tags: int = 0  # tokens of the prefix that name the language, and do not count in the score
    options: Options = Options()  # noqa: RUF009 - they are frozen
    deadline: float = math.inf  # of time.monotonic(): then its hypotheses end as they are


@dataclass(frozen=True)
class SpecialIds:
    """The ids that mean the same for every request: the start, the end, and those that are never produced.
    Leaving these out does not renormalise."""

    start: int
    end: int
    forbidden: Sequence[int] = ()
