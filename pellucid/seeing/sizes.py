"""How many bytes a trace will hold, computed from shapes alone."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from pellucid.seeing.records import check_found, globs, is_wanted
from pellucid.seeing.watching import parts_of, watching


def trace_bytes(
    model: nn.Module,
    source_length: int,
    target_length: int,
    sentences: int = 1,
    only: str | Sequence[str] = "*",
) -> int:
    """Return the bytes that `trace(model, only)` would keep of one pass over sentences of this many tokens,
    padding and end token counted. Only shapes run through the model, no numbers."""
    parts_of(model)
    sizes: dict[str, int] = {}

    def measure(path: str, name: str, axes: str, tensor: Tensor) -> Tensor:
        sizes[f"{path}.{name}"] = tensor.numel() * tensor.element_size()
        return tensor

    with torch.device("meta"):  # where tensors have a shape and a type, and no values
        same_shape = type(model)(model.config).to(next(model.parameters()).dtype).eval()
        source, target = (
            torch.zeros(int(sentences), int(length), dtype=torch.long)
            for length in (source_length, target_length)
        )
        with torch.no_grad(), watching(measure):
            same_shape(source, None, target)
    wanted = globs(only)
    check_found("only", wanted, sizes)
    return sum(size for name, size in sizes.items() if is_wanted(name, wanted))
