"""residuals carry the words through: how probable the translation is when one is removed.

"We employ a residual connection around each of the two sub-layers, followed by layer normalization" (Vaswani
et al. 2017, section 3.1; He et al. 2016).
"""

from pellucid.experiments.result import Result, Row, Table, bars, probability, probability_in
from pellucid.explanation import Explanation
from pellucid.seeing.edits import ADDED, together, without_residual
from pellucid.show.columns import digits, short


def experiment(explanation: Explanation) -> Result:
    """Measure how probable the translation is without each residual connection, and without all of them: x +
    Sublayer(x) becomes Sublayer(x)."""
    trace, whole = explanation.trace, probability(explanation)
    parts = [name.removesuffix(".sum") for name in trace if name.endswith(".sum")]
    rows: list[Row] = []
    for part in parts:
        layer, _, number = part.rpartition(".residual_")
        sublayer = ADDED[part.partition(".")[0]][number]
        total, added = trace[f"{part}.sum"].tensor, trace[f"{layer}.{sublayer}.output"].tensor
        without = explanation.again(without_residual(part), only="decoder.*")
        before, after = trace["decoder.output"].tensor, without["decoder.output"].tensor
        vectors = (total - added, added, total, after - before, before)
        *lengths, change, length = (float(each.double().norm(dim=-1).mean()) for each in vectors)
        p = probability_in(without, explanation)
        rows.append([short(part), sublayer.replace("_", " "), *lengths, p, change / length])
    none = probability(explanation, together(*map(without_residual, parts)))
    header = ["residual", "around", "‖x‖", "‖added‖", "‖sum‖", "p without", "moved"]
    table = Table(header, rows, 2, form=["", "", ".2f", ".2f", ".2f", 4, ".0%"])
    costly = sum(p < whole / 2 for p in table.column("p without"))
    worst, mildest = min(rows, key=lambda row: row[5]), max(rows, key=lambda row: row[5])
    return Result(
        conclusion=f"{costly} of {len(rows)} residuals, each removed alone, "
        f"cost this translation more than half of its probability of {digits(whole)}: the most costly is "
        f"{worst[0]} ({digits(worst[5])} without it), the least {mildest[0]} ({digits(mildest[5])}); without "
        f"any it is {digits(none)}.",
        tables=[table],
        picture=[
            bars(table, f"probability without it ({whole:.4f} with all)", "p without"),
            bars(table, "mean length of the vectors", *header[2:5]),
        ],
        note="‖x‖: the length of the vectors that come in, ‖added‖: of what the sublayer adds, ‖sum‖: of "
        "both; without the residual ‖added‖ goes on alone. moved: how far the decoder's output lies from "
        "where it was, as a share of its length.",
    )
