"""The output of a model for the search at one step."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray


@dataclass(frozen=True)
class NextTokens:
    """Log-probabilities of each row's next tokens: of all tokens, or of the likeliest.

    log_p: rows x V, a tensor if PyTorch computes; or rows x C, an array.
    ids: rows x C, the likeliest tokens that are not forbidden, ascending; None if log_p has all tokens.
    required: rows, the log-probability of the token that must come next, if there is one.
    all: a function that returns all log-probabilities, for when the likeliest tokens do not decide.
    """

    log_p: Any
    ids: NDArray[Any] | None = None
    required: Any = None
    all: "Callable[[], NextTokens] | None" = None
