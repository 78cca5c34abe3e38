"""residuals carry the words through: how probable the translation is when one is removed.

"We employ a residual connection around each of the two sub-layers, followed by layer normalization" (Vaswani
et al. 2017, section 3.1; He et al. 2016).
"""

from torch import Tensor

from pellucid.experiments.probability import probability, probability_in
from pellucid.experiments.result import Result, Row, Table
from pellucid.explanation import Explanation
from pellucid.seeing.edits import ADDED, together, without_residual
from pellucid.show.columns import digits, short
from pellucid.show.panels import Bars


def experiment(explanation: Explanation) -> Result:
    """Remove each residual in turn, so that a sublayer's output replaces the stream; then remove all."""
    trace, whole = explanation.trace, probability(explanation)
    rows: list[Row] = []
    parts = [name.removesuffix(".sum") for name in trace if name.endswith(".sum")]
    for part in parts:
        layer, _, number = part.rpartition(".residual_")
        sublayer = ADDED[part.partition(".")[0]][number]
        total, added = trace[f"{part}.sum"].tensor, trace[f"{layer}.{sublayer}.output"].tensor
        without = explanation.again(without_residual(part), only="decoder.*")
        before, after = trace["decoder.output"].tensor, without["decoder.output"].tensor
        lengths = [_length(total - added), _length(added), _length(total)]
        moved = _length(after - before) / _length(before)
        p = probability_in(without, explanation)
        rows.append([short(part), sublayer.replace("_", " "), *lengths, p, moved])
    none = probability(explanation, together(*(without_residual(part) for part in parts)))
    header = ["residual", "around", "‖x‖", "‖added‖", "‖sum‖", "p without", "moved"]
    table = Table("", header, rows, form=["", "", ".2f", ".2f", ".2f", 4, ".0%"], left=2)
    names, p_without = table.column("residual"), table.column("p without")
    worst, mildest = min(rows, key=lambda row: row[5]), max(rows, key=lambda row: row[5])
    return Result(
        conclusion=f"{sum(p < whole / 2 for p in p_without)} of {len(rows)} residuals, each removed alone, "
        f"cost this translation more than half of its probability of {digits(whole)}: the most costly is "
        f"{worst[0]} ({digits(worst[5])} without it), the least {mildest[0]} ({digits(mildest[5])}); without "
        f"any it is {digits(none)}.",
        tables=[table],
        picture=[
            Bars(f"probability without it ({whole:.4f} with all)", names, {"p": p_without}),
            Bars("mean length of the vectors", names, {name: table.column(name) for name in header[2:5]}),
        ],
        note="‖x‖: the length of the vectors that come in, ‖added‖: of what the sublayer adds, ‖sum‖: of "
        "both; without the residual ‖added‖ goes on alone. moved: how far the decoder's output lies from "
        "where it was, as a share of its length.",
    )


def _length(vectors_BLD: Tensor) -> float:
    return float(vectors_BLD.double().norm(dim=-1).mean())
