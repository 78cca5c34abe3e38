"""Records: the tensors of a pass, each with its name, the meaning of its axes, and the tokens along them."""

import fnmatch
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from pellucid.errors import UsageError, nearest
from pellucid.seeing.viewed import Viewed, columns_of_terminal, lines, print_lines

AXES = {
    "B": "sentence",
    "L": "position that asks (query)",
    "M": "position that is attended to (key)",
    "H": "head",
    "D": "model width",
    "K": "dimension of a head's queries and keys",
    "U": "dimension of a head's values",
    "F": "feed-forward",
    "V": "vocabulary",
}


@dataclass(frozen=True)
class Record(Viewed):
    """One tensor of a pass: its name, its axes ("BHLM"), its values, and the tokens along L and M."""

    name: str
    axes: str
    tensor: Tensor
    tokens: Mapping[str, list[list[str]]] = field(default_factory=dict, repr=False)

    def labels(self, axis: str, sentence: int = 0) -> list[str]:
        """Return the labels along an axis: tokens for L and M, numbers for the other axes."""
        sizes, rows = dict(zip(self.axes, self.tensor.shape, strict=True)), self.tokens.get(axis, [])
        if axis not in sizes:
            legend = ", ".join(f"{letter} {AXES[letter]}" for letter in self.axes)
            raise UsageError(f'{self.name} has no axis "{axis}". Its axes are {self.axes}: {legend}.')
        if rows and len(rows[sentence]) == sizes[axis]:
            return rows[sentence]
        return [str(index) for index in range(sizes[axis])]

    @property
    def sides(self) -> str:
        """Return the letters of its matrices: rows and columns ("LM"), or rows alone if it is a vector."""
        return self.axes.lstrip("BH")

    @property
    def matrices(self) -> Tensor:
        """Return the matrices of the first sentence, H × rows × columns. A vector is one column."""
        first = self.tensor.detach().cpu()
        first = first[0] if self.axes.startswith("B") else first
        heads = first if "H" in self.axes else first[None]
        return heads if len(self.sides) > 1 else heads[..., None]

    @property
    def is_shares(self) -> bool:
        """Tell whether each row consists of shares that sum to 1: attention weights or probabilities."""
        return self.name.rpartition(".")[2] in ("weights", "probabilities")

    def show(self, head: int | None = None) -> None:
        """Print the matrix of each head, or of one, with the tokens of its rows and columns."""
        print_lines(lines(self, columns_of_terminal(), head=head))


class UnknownTensor(UsageError, KeyError):
    """The error for a name or glob that matches no tensor of a trace."""

    # That of KeyError would put the message in quotation marks.
    __str__ = Exception.__str__


class Records(dict[str, Record]):
    """A mapping from names to records, in the order of computation; an unknown name raises UnknownTensor."""

    def __missing__(self, name: str) -> Record:
        raise UnknownTensor(no_such_name(name, self))

    def __repr__(self) -> str:
        between = f", {next(iter(self))} … {next(reversed(self))}" if self else ""
        return f"<{type(self).__name__} of {len(self)} tensors{between}>"

    def matching(self, glob: str) -> dict[str, Record]:
        """Return the records whose names match a glob such as "decoder.*.weights"; raise an error if none
        do."""
        return {name: self[name] for name in find_names(glob, self)}


def find_names(glob: str, known: Collection[str]) -> list[str]:
    """Return the known names that match a glob; raise an error if there are none."""
    found = fnmatch.filter(known, glob)
    if not found:
        raise UnknownTensor(no_such_name(glob, known))
    return found


def check_found(setting: str, globs: Iterable[str], known: Collection[str]) -> None:
    """Raise an error if a glob of this setting matches none of the known names."""
    for glob in globs:
        if not fnmatch.filter(known, glob):
            raise UsageError(f"{setting}: {no_such_name(glob, known)}")


def no_such_name(name: str, known: Any) -> str:
    """Return the error message for a missing name, with the most similar names."""
    last = str(name).rpartition(".")[2]
    near = nearest(name, known, n=3, cutoff=0.5)
    near += [full for full in known if full.rpartition(".")[2] == last][: 3 - len(near)]
    if "*" in str(name) and fnmatch.filter(known, str(name)):
        return f'"{name}" is a glob, and this takes one name. All that match: .matching("{name}").'
    there = f"There are {len(known)}, such as {[*known][-1]}." if known else "There are none."
    if near:
        there = f"Nearest: {', '.join(dict.fromkeys(near))}."
    return f'no tensor is called "{name}". {there}'


def stack_of(name: str, axis: str) -> str:
    """Return whose tokens a tensor has along L or M: "encoder" (the source) or "decoder" (the target)."""
    reads_source = name.startswith("encoder.") or (axis == "M" and ".cross_attention." in name)
    return "encoder" if reads_source else "decoder"


def attentions(names: Iterable[str], kind: str = "") -> list[str]:
    """Return the paths of the attentions in a trace, in order: all, or of one kind ("self" or "cross")."""
    ending = f"{kind}_attention.weights"
    return [name.removesuffix(".weights") for name in names if name.endswith(ending)]
