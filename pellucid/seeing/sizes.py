"""How many bytes a trace will hold, told before it is made."""

import fnmatch
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from pellucid.config.whole import is_whole
from pellucid.errors import UsageError
from pellucid.seeing.records import globs, no_such_name
from pellucid.seeing.watching import parts_of, watching

MOST = 2**31 - 1  # of tokens, or of sentences


def trace_bytes(
    model: nn.Module,
    source_length: int,
    target_length: int,
    sentences: int = 1,
    only: str | Sequence[str] = "*",
) -> int:
    """The bytes of all tensors that `trace(model, only)` would keep of one pass over so many sentences of so
    many tokens, padding and end token counted. Nothing is computed: shapes alone run through the model."""
    return sum(tensor_bytes(model, source_length, target_length, sentences, only).values())


def tensor_bytes(
    model: nn.Module,
    source_length: int,
    target_length: int,
    sentences: int = 1,
    only: str | Sequence[str] = "*",
) -> dict[str, int]:
    """As `trace_bytes`, for each tensor by its name."""
    parts_of(model)
    lengths = {"source_length": source_length, "target_length": target_length, "sentences": sentences}
    for name, value in lengths.items():
        if not is_whole(value, 1, MOST):
            raise UsageError(f"{name} = {value!r:.60} must be a whole number from 1 to {MOST:,}.")
    wanted = globs(only)
    source, target = (int(sentences), int(source_length)), (int(sentences), int(target_length))
    try:
        sizes = _sizes(model, source, target)
    except RuntimeError as error:
        if "overflow" not in str(error):
            raise
        raise UsageError(
            f"a pass over {sentences:,} × {source_length:,} source and {sentences:,} × {target_length:,} "
            "target tokens has more bytes than can be counted. Give smaller numbers."
        ) from None
    for glob in wanted:
        if not fnmatch.filter(sizes, glob):
            raise UsageError(f"only: {no_such_name(glob, sizes)}")
    return {name: size for name, size in sizes.items() if any(fnmatch.fnmatchcase(name, g) for g in wanted)}


def _sizes(model: nn.Module, source: tuple[int, int], target: tuple[int, int]) -> dict[str, int]:
    """The bytes of each tensor, by its name."""
    sizes: dict[str, int] = {}

    def measure(path: str, name: str, axes: str, tensor: Tensor) -> Tensor:
        sizes[f"{path}.{name}"] = tensor.numel() * tensor.element_size()
        return tensor

    with torch.device("meta"):  # where tensors have a shape and a type, and no values
        same_shape = type(model)(model.config).to(next(model.parameters()).dtype).eval()
        ids = [torch.zeros(shape, dtype=torch.long) for shape in (source, target)]
        with torch.no_grad(), watching(measure):
            same_shape(ids[0], None, ids[1])
    return sizes
