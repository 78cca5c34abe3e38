"""Freeze a part of a model: it stays as it is while the rest learns."""

import fnmatch
from collections.abc import Sequence

from torch import nn

from pellucid.errors import UsageError
from pellucid.seeing.records import check_found


def freeze(model: nn.Module, globs: Sequence[str]) -> None:
    """Freeze the parameters whose names match one of the globs, such as "encoder.*". Raise an error if a glob
    matches no name, or if nothing is left to learn."""
    parameters = dict(model.named_parameters())
    check_found("[training] frozen", globs, parameters)
    for name, parameter in parameters.items():
        if any(fnmatch.fnmatchcase(name, glob) for glob in globs):
            parameter.requires_grad_(False)
    if not any(each.requires_grad for name, each in parameters.items() if is_trained(name)):
        raise UsageError(f"[training] frozen = {[*globs]}: then nothing is left to learn. Freeze less.")


def is_trained(name: str) -> bool:
    """Return whether a parameter of this name is trained.

    The bias of the keys is not: it adds the same number to all scores of a query, which softmax ignores. Its
    gradient is 0 up to rounding, and Adam would turn the rounding into a random walk.
    """
    return not name.endswith(".key.bias")
