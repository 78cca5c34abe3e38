"""Masks: which position may look at which (section 3.2.3)."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Mask:
    """Which query may look at which key. A matrix of 0 and -inf is only made where one is needed.

    allowed_BM: True where a key is a real token; None if all are.
    first_query: None, or, for a causal mask, the position of the first query. Query i may look at the keys up
    to and including position i.
    some_row_is_empty: whether some query may look at no key, because its sentence has no real token. None:
    the mask finds out itself.
    """

    allowed_BM: Tensor | None = None
    first_query: int | None = None
    some_row_is_empty: bool | None = None

    def __post_init__(self) -> None:
        # Computed once: every layer asks, and on a GPU the answer waits for all earlier work.
        if self.some_row_is_empty is None:
            object.__setattr__(self, "some_row_is_empty", self._some_row_is_empty())

    def _some_row_is_empty(self) -> bool:
        if self.allowed_BM is None:
            return False
        # A causal row sees at least its first keys: it is empty only where the first key is padding.
        seen = self.allowed_BM.any(-1) if self.first_query is None else self.allowed_BM[:, 0]
        return not bool(seen.all())

    def may_look(self, queries: int, keys: int, device: torch.device) -> Tensor | None:
        """Return the mask as bools (True: may look) that broadcast to B x 1 x L x M; None if every query may
        look at every key."""
        allowed = None if self.allowed_BM is None else self.allowed_BM[:, None, None, :]
        if self.first_query is None or keys <= self.first_query + 1:
            return allowed
        causal = torch.ones(queries, keys, dtype=torch.bool, device=device).tril(self.first_query)[None, None]
        return causal if allowed is None else causal & allowed
