"""The model's output for one step of the search."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray


@dataclass(frozen=True)
class NextTokens:
    """Log-probabilities of the next token of each row (hypothesis), for all V tokens or for the C likeliest.

    log_p: a tensor, rows x V, or an array, rows x C.
    ids: rows x C, the ids of the likeliest allowed tokens, ascending; None if log_p has all tokens.
    required: for each row, the log-probability of the token that must come next, if there is one.
    all: a function that returns all log-probabilities, for when the likeliest tokens are not enough.
    logits: a function that returns the logits of all tokens during this step, if log_p has all tokens.
    """

    log_p: Any
    ids: NDArray[Any] | None = None
    required: Any = None
    all: "Callable[[], NextTokens] | None" = None
    logits: Callable[[], Any] | None = None
