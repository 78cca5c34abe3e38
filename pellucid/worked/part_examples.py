"""Worked examples of what stands around an attention: embeddings with positions, a feed-forward, Add & Norm.

Small numbers through the model's own parts, in float64; the names are those of a trace.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from pellucid.config.schema import ModelConfig
from pellucid.model import Decoder, FeedForward, Residual, embed
from pellucid.seeing.records import Record
from pellucid.seeing.trace import trace
from pellucid.seeing.watching import name_parts
from pellucid.worked.reporting import shown_digits
from pellucid.worked.stages import product, size

Row = tuple[str, list[str]]  # a label, cells

FOLDER = resources.files("pellucid.worked.examples") / "parts"


@dataclass(frozen=True)
class PartExample:
    """What is given and every stage of a part of the model, with its words."""

    name: str
    about: str
    note: str
    lines: str
    tokens: list[str]
    called: Mapping[str, str]  # the note's names
    given: Mapping[str, Tensor]  # matrices; vectors as one row
    stages: Mapping[str, Record]
    shapes: Mapping[str, str]

    def to_html(self, path: str | Path) -> None:
        """One page that needs no network and no script: what is given, and each stage as a table."""
        from pellucid.folder.whole_file import write
        from pellucid.page.part_document import part_page

        write(path, part_page(self).encode("utf-8", "replace"))


def given_rows(example: PartExample, name: str) -> list[Row]:
    """What is given, with a label for each row: the tokens where there are as many, nothing for a vector."""
    matrix = example.given[name]
    labels = (
        example.tokens if len(matrix) == len(example.tokens) else [str(row) for row in range(len(matrix))]
    )
    numbers = [[f"{number:g}".replace("-", "−") for number in row] for row in matrix.tolist()]
    return list(zip(labels if len(matrix) > 1 else [""], numbers, strict=True))


def stage_rows(example: PartExample, name: str) -> list[Row]:
    """A stage's numbers, with the token of each row."""
    record = example.stages[name]
    matrix = record.tensor[0] if record.axes.startswith("B") else record.tensor
    matrix = matrix if matrix.dim() == 2 else matrix[:, None]
    return [
        (token, [shown_digits(number) for number in row])
        for token, row in zip(example.tokens, matrix.tolist(), strict=True)
    ]


def part_names() -> list[str]:
    """The examples of this kind that come with the package."""
    return sorted(file.name.removesuffix(".toml") for file in FOLDER.iterdir())


def part_example(name: str) -> PartExample:
    """An example that comes with the package."""
    table = _table(name)
    given = {key: torch.tensor(value, dtype=torch.float64) for key, value in table["given"].items()}
    if "ids" in given:
        stages, shapes = _embedding(given, table)
    else:
        stages, shapes = _layer(given)
    rows = {key: tensor if tensor.dim() == 2 else tensor[None] for key, tensor in given.items()}
    texts = {key: table[key] for key in ("about", "note", "lines", "tokens", "called")}
    return PartExample(name, given=rows, stages=stages, shapes=shapes, **texts)


def _table(name: str) -> dict[str, Any]:
    table = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    return {**_table(table["like"]), **table} if "like" in table else table


def _embedding(
    given: Mapping[str, Tensor], table: Mapping[str, Any]
) -> tuple[dict[str, Record], dict[str, str]]:
    """Rows looked up, and the same by one-hot rows times W_E, where all of it is there; then positions."""
    ids, rows = given["ids"].long(), given["w_embedding"]
    vocabulary, width = table.get("vocabulary", len(rows)), rows.shape[1]
    matrix = rows
    if vocabulary > len(rows):
        matrix = torch.full((vocabulary, width), torch.nan, dtype=torch.float64).index_copy(0, ids, rows)
    config = ModelConfig(
        vocabulary, width, heads=1, hidden=1, decoder_layers=1, scale_embeddings=table["scaled"]
    )
    decoder = Decoder(config, own_embedding=True).double().eval()
    assert decoder.embedding is not None
    decoder.embedding.weight.data = matrix
    decoder.path = "decoder"
    with torch.no_grad(), trace(decoder) as seen:
        embed(decoder, ids[None], None, first=0)
    one_hot = torch.nn.functional.one_hot(ids, vocabulary).double()
    looked_up = f"rows {', '.join(map(str, ids.tolist()))} of W_E ({vocabulary}×{width})"
    shapes = {
        "decoder.token_embeddings": looked_up + (f", times √{width}" if table["scaled"] else ""),
        "decoder.positions": f"({len(ids)}×{width})",
        "decoder.embedded": "({0}) + ({0}) = ({0})".format(f"{len(ids)}×{width}"),
    }
    if vocabulary > len(rows):
        return dict(seen), shapes
    by_product = one_hot @ matrix
    first = {
        "one_hot": Record("one_hot", "LV", one_hot),
        "one_hot · W_E": Record("one_hot · W_E", "LD", by_product),
    }
    told = {
        "one_hot": f"({size(one_hot)})",
        "one_hot · W_E": product(size(one_hot), size(matrix), size(by_product)),
    }
    return first | dict(seen), told | shapes


def _layer(given: Mapping[str, Tensor]) -> tuple[dict[str, Record], dict[str, str]]:
    """A sublayer's output, given or that of a feed-forward, with the residual connection and the norm."""
    inputs = given["inputs"]
    hidden = given["w_1"].shape[1] if "w_1" in given else 1
    config = ModelConfig(width=inputs.shape[1], heads=1, hidden=hidden, dropout=0.0)
    parts = nn.ModuleDict({"feed_forward": FeedForward(config), "residual": Residual(config)}).double().eval()
    weights = {"residual.norm.weight": given["norm_weight"], "residual.norm.bias": given["norm_bias"]}
    if "w_1" in given:
        inner, outer = (("inner", "1"), ("outer", "2"))
        for name, place in (inner, outer):
            weights[f"feed_forward.{name}.weight"] = given[f"w_{place}"].T  # nn.Linear keeps out × in
            weights[f"feed_forward.{name}.bias"] = given[f"b_{place}"]
    parts.load_state_dict(weights, strict=False)
    name_parts(parts)
    sublayer = parts["feed_forward"] if "w_1" in given else lambda _: given["sublayer"][None]
    with torch.no_grad(), trace(parts) as seen:
        parts["residual"](inputs[None], sublayer)
    return dict(seen), _layer_shapes(given, seen)


def _layer_shapes(given: Mapping[str, Tensor], seen: Mapping[str, Record]) -> dict[str, str]:
    whole = size(given["inputs"])
    shapes = {name: f"({size(record.tensor)})" for name, record in seen.items()}
    rows = len(given["inputs"])
    shapes |= {"residual.norm.mean": f"({rows})", "residual.norm.variance": f"({rows})"}
    shapes["residual.sum"] = f"({whole}) + ({whole}) = ({whole})"
    if "w_1" in given:
        inner = size(seen["feed_forward.hidden"].tensor)
        shapes["feed_forward.hidden"] = product(whole, size(given["w_1"]), inner) + ", plus b_1"
        shapes["feed_forward.output"] = product(inner, size(given["w_2"]), whole) + ", plus b_2"
    return shapes
