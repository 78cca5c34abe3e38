"""How many bytes a trace will hold, told before it is made."""

import fnmatch

import torch
from torch import Tensor

from pellucid.errors import UsageError
from pellucid.model import Transformer
from pellucid.see import no_such_name, watching


def trace_bytes(
    model: Transformer, source_length: int, target_length: int, sentences: int = 1, only: str = "*"
) -> int:
    """The bytes of all tensors that `trace(model, only)` would keep of one pass over so many sentences of so
    many tokens, padding and end token counted. Nothing is computed: shapes alone run through the model."""
    return sum(tensor_bytes(model, source_length, target_length, sentences, only).values())


def tensor_bytes(
    model: Transformer, source_length: int, target_length: int, sentences: int = 1, only: str = "*"
) -> dict[str, int]:
    """As `trace_bytes`, for each tensor by its name."""
    if not isinstance(model, Transformer):
        raise UsageError(
            f"model is a {type(model).__name__} and must be a Transformer: of a translator, its .model."
        )
    lengths = {"source_length": source_length, "target_length": target_length, "sentences": sentences}
    for name, value in lengths.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise UsageError(f"{name} = {value!r} must be a whole number, 1 or more.")
    sizes = _sizes(model, (sentences, source_length), (sentences, target_length))
    found = {name: size for name, size in sizes.items() if fnmatch.fnmatchcase(name, only)}
    if not found:
        raise UsageError(f"only: {no_such_name(only, sizes)}")
    return found


def _sizes(model: Transformer, source: tuple[int, int], target: tuple[int, int]) -> dict[str, int]:
    """The bytes of each tensor, by its name."""
    sizes: dict[str, int] = {}

    def measure(path: str, name: str, axes: str, tensor: Tensor) -> Tensor:
        sizes[f"{path}.{name}"] = tensor.numel() * tensor.element_size()
        return tensor

    with torch.device("meta"):  # where tensors have a shape and a type, and no values
        same_shape = Transformer(model.config).to(next(model.parameters()).dtype).eval()
        ids = [torch.zeros(shape, dtype=torch.long) for shape in (source, target)]
        with torch.no_grad(), watching(measure):
            same_shape(ids[0], None, ids[1])
    return sizes
