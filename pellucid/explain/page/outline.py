"""The order of the page: the trace's tensors by stack, layer and part, as the pass computed them."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

PARTS = {
    "self_attention": "Self-attention",
    "cross_attention": "Cross-attention",
    "feed_forward": "Feed-forward",
    "embedding": "Embedding and positions",
    "word": "Which word comes next",
}


@dataclass(frozen=True)
class Block:
    """Tensors that are shown together: one part of a layer."""

    title: str
    names: tuple[str, ...]

    @property
    def anchor(self) -> str:
        """Its place in the page."""
        return f"{self.names[0]}-block"


@dataclass(frozen=True)
class Section:
    """A layer of a stack, or what comes before or after its layers."""

    stack: str
    title: str
    blocks: tuple[Block, ...]


def outline(names: Iterable[str]) -> list[Section]:
    """The sections of these tensors, in the order of computation."""
    sections = []
    for (stack, title), of_section in groupby(names, key=_section):
        blocks = [tuple(of_block) for _, of_block in groupby(of_section, key=_part)]
        sections.append(Section(stack, title, tuple(Block(_title(block), block) for block in blocks)))
    return sections


def _section(name: str) -> tuple[str, str]:
    stack, *rest = name.split(".")
    if rest[0] == "layers":
        return stack, f"Layer {rest[1]}"
    return stack, {"embedding": "Input", "word": "Prediction"}.get(_part(name), "Output")


def _part(name: str) -> str:
    rest = name.split(".")[1:]
    if rest[0] == "layers":
        return rest[2]
    if rest[0] in ("token_embeddings", "positions", "embedded"):
        return "embedding"
    return "word" if rest[0] in ("logits", "probabilities") else "output"


def _title(names: tuple[str, ...]) -> str:
    part = _part(names[0])
    if part == "self_attention" and names[0].startswith("decoder"):
        return "Masked self-attention"
    if part.startswith("residual"):
        adds = any(name.endswith(f"{part}.sum") for name in names)
        norms = any(".norm." in name for name in names)
        return "Add & Norm" if adds and norms else "Add" if adds else "Norm"
    if names[0] == "encoder.output" or names[-1] == "encoder.output":
        return "Output: the memory"
    return PARTS[part] if part != "output" else "Output of the stack"
