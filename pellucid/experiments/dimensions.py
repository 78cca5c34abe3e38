"""Dimensions: every matrix of a pass with its symbols, and the numbers that they have in one's own run.

"To facilitate these residual connections, all sub-layers in the model, as well as the embedding layers,
produce outputs of dimension d_model" (Vaswani et al. 2017, section 3.1); "d_k = d_v = d_model / h" (3.2.2).
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pellucid.experiments.said import Said, said
from pellucid.show.columns import columns, paragraph, stacked
from pellucid.show.drawing import PALE_PURPLE, PURPLE, drawing

if TYPE_CHECKING:
    from matplotlib.patches import Rectangle

    from pellucid.translator import Translator

ABOUT = "the table of dimensions, filled in for a run of one's own: component, shape, numbers, meaning"
NEEDS = "sentence"

CROSS, OWN = "decoder.layers.0.cross_attention", "decoder.layers.0.self_attention"
# Title; then component, symbols, the tensor (* stands for one head) or parameter, meaning.
TABLES: dict[str, list[tuple[str, str, str, str]]] = {
    "encoder-decoder attention": [
        ("encoder output", "T_enc × d_model", "encoder.output", "a vector for each source word"),
        ("decoder query", "T_dec × d_model", "decoder.layers.0.residual_1.output", "what asks"),
        ("attention scores", "T_dec × T_enc", f"{CROSS}.scores", "Q Kᵀ of one head"),
        ("attention weights", "T_dec × T_enc", f"{CROSS}.weights", "how much of each source word"),
        ("context", "T_dec × d_model", f"{CROSS}.concatenated", "weights · V, heads side by side"),
        ("attention output", "T_dec × d_model", f"{CROSS}.output", "the context times W^O"),
    ],
    "decoder self-attention, with heads": [
        ("input embeddings", "T_dec × d_model", "decoder.embedded", "the target, with positions"),
        ("queries of a head", "T_dec × d_k", f"{OWN}.queries", "what a position looks for"),
        ("keys of a head", "T_dec × d_k", f"{OWN}.keys", "what it can be found by"),
        ("values of a head", "T_dec × d_v", f"{OWN}.values", "what it gives"),
        ("mask", "T_dec × T_dec", f"{OWN}.mask", "0, or −∞ for later positions"),
        ("output of a head", "T_dec × d_v", f"{OWN}.context", "weights · values"),
        ("concatenated", "T_dec × d_model", f"{OWN}.concatenated", "the heads side by side"),
    ],
    "parameters of one attention (x · W, as the notes write it)": [
        ("W^Q", "d_model × d_model", f"{OWN}.query.weight", "all heads' queries, h × d_k"),
        ("W^K", "d_model × d_model", f"{OWN}.key.weight", "all heads' keys"),
        ("W^V", "d_model × d_model", f"{OWN}.value.weight", "all heads' values, h × d_v"),
        ("W^O", "d_model × d_model", f"{OWN}.output.weight", "mixes the heads, h × d_v rows"),
    ],
    "feed-forward and words": [
        ("W_1", "d_model × d_ff", "decoder.layers.0.feed_forward.inner.weight", "each position alone"),
        ("hidden", "T_dec × d_ff", "decoder.layers.0.feed_forward.hidden", "before the activation"),
        ("W_2", "d_ff × d_model", "decoder.layers.0.feed_forward.outer.weight", "back to the stream"),
        ("decoder output", "T_dec × d_model", "decoder.output", "what leaves the last block"),
        ("logits", "T_dec × V", "decoder.logits", "a number for each known word"),
    ],
}


@dataclass(frozen=True)
class Component:
    """One matrix: its symbols, and its numbers here."""

    name: str
    symbols: str
    numbers: tuple[int, ...]  # of one sentence and one head, rows first
    tensor: str  # its name in the trace, or in the state_dict
    meaning: str


@dataclass(frozen=True)
class Dimensions:
    """The tables of a run."""

    title: str
    sizes: dict[str, int]  # T_enc, T_dec, d_model, h, d_k, d_v, d_ff, V
    tables: dict[str, list[Component]]

    @property
    def conclusion(self) -> str:
        """The sizes of this run."""
        sizes = self.sizes
        return (
            f"Here T_enc = {sizes['T_enc']} source tokens and T_dec = {sizes['T_dec']} target tokens; "
            f"d_model = {sizes['d_model']} is shared among h = {sizes['h']} heads, so "
            f"d_k = d_v = {sizes['d_model']} / {sizes['h']} = {sizes['d_k']}."
        )

    def lines(self, width: int) -> list[str]:
        """The sizes, then each table: component, shape in symbols, in numbers, meaning."""
        tables = []
        for title, components in self.tables.items():
            rows = [
                [each.name, each.symbols, " × ".join(map(str, each.numbers)), each.meaning]
                for each in components
            ]
            header = ["component", "shape", "here", "meaning"]
            tables.append([title, *columns(header, rows, width, left=4, longest=32)])
        sizes = ", ".join(f"{symbol} = {size}" for symbol, size in self.sizes.items())
        names = "Of one sentence, and where it says so of one head: a trace has B and H in front."
        here = [*paragraph(self.title, width), *paragraph(sizes, width)]
        return stacked(width, self.conclusion, here, *tables, names)

    def plot(self, path: str | Path) -> None:
        """Each matrix as a rectangle, to scale."""
        components = [each for table in self.tables.values() for each in table]
        with drawing(path, "dimensions") as figure:
            across = 7
            down = -(-len(components) // across)
            figure.set_size_inches(1.7 * across, 2.0 * down)
            panels = figure.subplots(down, across, squeeze=False).flatten()
            most = max(self.sizes["d_model"], self.sizes["d_ff"])
            for axes, each in zip(panels, components, strict=False):
                rows, columns_ = (min(size, most) for size in each.numbers)
                axes.add_patch(_rectangle(columns_ / most, rows / most))
                axes.set_title(f"{each.name}\n{' × '.join(map(str, each.numbers))}", fontsize=7)
            for axes in panels:
                axes.set_xlim(-0.02, 1.02)
                axes.set_ylim(1.02, -0.02)
                axes.set_axis_off()


def experiment(
    translator: "Translator", text: str, to: str | None = None, *, target: str | None = None
) -> Dimensions:
    """Look up the shape of each matrix in the trace of a pass, and in the model's parameters."""
    pair = said(translator, text, to, target)
    queries = pair.trace[f"{OWN}.queries"].tensor
    values = pair.trace[f"{OWN}.values"].tensor
    sizes = {
        "T_enc": len(pair.explanation.source_ids),
        "T_dec": len(pair.explanation.target_ids),
        "d_model": pair.trace["decoder.output"].tensor.shape[-1],
        "h": queries.shape[1],
        "d_k": queries.shape[-1],
        "d_v": values.shape[-1],
        "d_ff": pair.trace["decoder.layers.0.feed_forward.hidden"].tensor.shape[-1],
        "V": pair.trace["decoder.logits"].tensor.shape[-1],
    }
    shape = _shapes(pair)
    tables = {
        title: [
            Component(name, symbols, shape(tensor), tensor, about) for name, symbols, tensor, about in rows
        ]
        for title, rows in TABLES.items()
    }
    return Dimensions(pair.title, sizes, tables)


def _shapes(pair: Said) -> Callable[[str], tuple[int, ...]]:
    """Rows and columns of a tensor of the trace, or of a parameter as x · W has it."""
    parameters = dict(pair.model.named_parameters())

    def shape(name: str) -> tuple[int, ...]:
        if name in parameters:
            return tuple(parameters[name].shape[::-1])  # nn.Linear keeps (out, in)
        return tuple(pair.trace[name].tensor.shape[-2:])

    return shape


def _rectangle(width: float, height: float) -> "Rectangle":
    from matplotlib.patches import Rectangle

    return Rectangle((0, 0), width, height, facecolor=PALE_PURPLE, edgecolor=PURPLE)
