"""How an error of Python's functions reads on the command line: --top-k 3 for top_k = 3, --sample for
sample=True."""

import functools
import re
from collections.abc import Iterable

# After "[translation] " or "translation." a name is a setting of a configuration, and stays as it is.
_OPTION = r"(?<!\] )(?<![\w.-])"
_VALUE = r"""(?<==)\([^)]*\)|'[^']*'|"[^"]*"|[\w.+-]*\w"""


def spelled(message: str, names: Iterable[str]) -> str:
    """The message with these names of options as the command line has them."""
    for name in names:
        option = f"--{name.replace('_', '-')}"
        given = functools.partial(_given, option)
        message = re.sub(rf"{_OPTION}{name} ?= ?({_VALUE})", given, message)
        message = re.sub(rf"(?<=[Ll]eave ){name}(?= out)|^{name}(?=:)", option, message)
        if "_" in name:  # else it may be an English word
            message = re.sub(rf"{_OPTION}{name}\b", option, message)
    return message


def _given(option: str, found: re.Match[str]) -> str:
    """An option with its value as one types it."""
    if found[1] == "True":
        return option
    return " ".join((option, *re.sub(r"""[(),'"]""", " ", found[1]).split()))
