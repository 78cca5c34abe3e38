"""What a model tells the search at a step."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray


@dataclass(frozen=True)
class NextTokens:
    """Log-probabilities of each row's next tokens: of all of them, or of the likeliest.

    log_p: rows x V, a tensor where the model computes; or rows x C, an array.
    ids: rows x C, the likeliest tokens that are not forbidden, ascending; None where log_p has all.
    required: rows, of the token that must come next, where one must.
    all: what gives all of them where the likeliest do not decide.
    """

    log_p: Any
    ids: NDArray[Any] | None = None
    required: Any = None
    all: "Callable[[], NextTokens] | None" = None
