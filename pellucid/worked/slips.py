"""Known slips: typical mistakes, such as dividing by d_k, each with the numbers that the mistake produces.

A verdict says that a number is wrong; a slip says what was done instead. slips.toml has a formula for each
slip. It starts from the claimed earlier stages, so it judges one step only. A slip counts if its numbers
match every claimed cell of the stage, and if at least two of these cells differ from the right numbers by
more than a unit of the last digit: a single cell may be a typing error. (One is enough if the slip changes no
other cell and ENOUGH cells are claimed.) If two slips fit, both are named; if more fit, none is.
"""

import ast
import math
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources
from typing import Any

import torch
from torch import Tensor

from pellucid.model import softmax_over_keys
from pellucid.worked.claims import Claim, is_near
from pellucid.worked.stages import WEIGHTS, Start, split

ENOUGH = 4  # claimed cells that convince where a slip shows in a single one
Tree = Any  # a name, a number, or a list of a function's name and its arguments

# Matrices are H × rows × columns. The page has the same functions: script/slips.js.
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "@": torch.matmul,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "sqrt": math.sqrt,
    "T": lambda x: x.mT,
    "softmax": lambda x: softmax_over_keys(x, True),
    "exp": torch.exp,
    "hide": lambda x, mask: x.masked_fill(mask == -math.inf, -math.inf),
    "zero": lambda x, mask: x.masked_fill(mask == -math.inf, 0.0),
    "inverse": lambda mask: torch.where(mask == -math.inf, 0.0, -math.inf),
    "later": lambda x, n: torch.where(torch.ones_like(x).triu(n) > 0, -math.inf, 0.0),  # n places on
    "row_sum": lambda x: x.sum(-1, keepdim=True),
    "uniform": lambda x: torch.full_like(x, 1 / x.shape[-1]),
    "together": lambda x: x.sum(0, keepdim=True).expand_as(x),
    "next": lambda x: x.roll(-1, 0),
    "reverse": lambda x: x.flip(0),
    "split": lambda x, heads: x if len(x) == heads else split(x[0], heads),
    "in_turn": lambda x, heads: x[0].unflatten(-1, (-1, heads)).permute(2, 0, 1),
    "reshape": lambda x, heads: x[0].reshape(heads, x.shape[1], -1),
    "join": lambda x: x.transpose(0, 1).flatten(1)[None],
    "take_turns": lambda x: x.permute(1, 2, 0).flatten(1)[None],
    "flatten": lambda x: x.reshape(1, x.shape[1], -1),
}
OPERATORS = {ast.MatMult: "@", ast.Mult: "*", ast.Div: "/"}


@cache
def slip_table() -> dict[str, list[tuple[str, Tree]]]:
    """Return the known slips of each stage: what was done, and its formula as a tree."""
    table = tomllib.loads((resources.files(__package__) / "slips.toml").read_text(encoding="utf-8"))
    return {stage: [(done, parse(formula)) for done, formula in rows] for stage, rows in table.items()}


def parse(formula: str) -> Tree:
    """Read a formula: "T(weights) @ values" -> ["@", ["T", "weights"], "values"]."""
    return _tree(ast.parse(formula, mode="eval").body)


def _tree(node: ast.expr) -> Tree:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.BinOp(left=left, op=operator, right=right):
            return [OPERATORS[type(operator)], _tree(left), _tree(right)]
        case ast.Call(func=ast.Name(id=name), args=arguments) if name in FUNCTIONS:
            return [name, *map(_tree, arguments)]
    raise ValueError(
        f"a formula cannot have {ast.unparse(node)}. Use names, numbers, @ * / and {', '.join(FUNCTIONS)}."
    )


def evaluate(tree: Tree, names: Mapping[str, Any]) -> Any:
    """Compute a formula, given matrices and numbers by name."""
    if isinstance(tree, str):
        return names[tree]
    if not isinstance(tree, list):
        return tree
    function, *arguments = tree
    return FUNCTIONS[function](*(evaluate(each, names) for each in arguments))


def find_slip(start: Start, name: str, claim: Claim, used: Mapping[str, Tensor], right: Tensor) -> str | None:
    """Return what was done instead, if a known slip gives every claimed cell of a stage: "dividing by d_k
    gives this". If two slips fit, join them by "or". Return None if none or more than two fit, or if too few
    cells are claimed to be sure."""
    if name in start.arrays:
        return None
    names = _names(start, name, used)
    words = {key: f"{each:.6g}" if isinstance(each, float) else "" for key, each in names.items()}
    words |= {"source": start.sources.get(name, ""), "weight": WEIGHTS.get(name, "")}
    found = []
    for done, tree in slip_table().get("projection" if name in WEIGHTS else name, ()):
        try:
            numbers = evaluate(tree, names)
        except (KeyError, IndexError, RuntimeError):  # the example lacks a line, or shapes do not multiply
            continue
        if _gives(numbers, claim, right):
            found.append(done.format(**words))
    return f"{' or '.join(found)} gives this" if 0 < len(found) <= 2 else None


def _names(start: Start, name: str, used: Mapping[str, Tensor]) -> dict[str, Any]:
    """Return the matrices and numbers that a formula may use."""
    arrays = {key: each if each.dim() == 3 else each[None] for key, each in start.arrays.items()}
    names: dict[str, Any] = {**arrays, **used, "heads": start.heads}
    if "queries" in used:
        width = used["queries"].shape[-1]
        names |= {"d_k": float(width), "d_model": float(width * start.heads)}
    elif start.divisor is not None:
        names["square"] = start.divisor**2
    if start.divisor is not None:
        names["divisor"] = start.divisor
    if WEIGHTS.get(name) in arrays:
        names |= {"source": arrays[start.sources[name]], "weight": arrays[WEIGHTS[name]]}
    return names


def _gives(numbers: Tensor, claim: Claim, right: Tensor) -> bool:
    """Tell whether a slip's numbers match every claimed cell, and differ from the right ones in enough
    cells."""
    if numbers.shape != claim.numbers.shape:
        return False
    known = ~claim.numbers.isnan()
    halves = torch.where(known, claim.halves, claim.halves.max())
    is_off = ~is_near(numbers, right, 2 * halves)
    off = int(is_off[known].sum())
    is_only_one = off == 1 == int(is_off.sum()) and int(known.sum()) >= ENOUGH
    return bool(is_near(numbers, claim.numbers, halves)[known].all()) and (off > 1 or is_only_one)
