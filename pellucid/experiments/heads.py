"""heads differ: how sharply each looks, at what, and how probable the translation is without it.

"Multi-head attention allows the model to jointly attend to information from different representation
subspaces at different positions" (Vaswani et al. 2017, 3.2.2). Silencing: Voita et al., Michel et al. 2019.
"""

from collections import Counter
from collections.abc import Sequence

import torch

from pellucid.experiments.result import Result, Row, Table, probability
from pellucid.explanation import Explanation
from pellucid.reading.looking import entropies
from pellucid.seeing.edits import HOW, silence
from pellucid.seeing.records import attentions
from pellucid.show.columns import digits, short
from pellucid.show.panels import Shades


def experiment(explanation: Explanation) -> Result:
    """Measure where each head looks, and how probable the translation is with this head silenced in three
    ways: its context zero or its mean, or its weights uniform."""
    parts, whole = attentions(explanation.trace), probability(explanation)
    rows: list[Row] = []
    for part in parts:
        record = explanation.trace[f"{part}.weights"]
        for head, weights_LM in enumerate(record.tensor[0].double()):
            shares: Counter[str] = Counter()  # a word that stands there twice is one word
            for word, share in zip(record.labels("M"), weights_LM.mean(0).tolist(), strict=True):
                shares[word] += share
            places, others = (torch.arange(size) for size in weights_LM.shape)
            apart = float((weights_LM * (places[:, None] - others).abs()).sum(-1).mean())
            looks = [*shares.most_common(1)[0], float(entropies(weights_LM).mean())]
            silenced = [probability(explanation, silence(part, head, each)) for each in HOW]
            rows.append([f"{short(part)} {head}", *looks, None if "cross" in part else apart, *silenced])
    header, forms = ["head", "looks most at", "share", "bits", "apart", *HOW], ["", "", ".2f", ".2f", ".1f"]
    table = Table(header, rows, 2, form=[*forms, *[4] * len(HOW)])
    worst, (sharp, *_, even) = min(rows, key=lambda row: row[5]), sorted(rows, key=lambda row: row[3])
    slight = sum(abs(row[5] - whole) < 0.01 for row in rows)
    return Result(
        conclusion=f"Heads differ: of {len(rows)} heads {worst[0]} matters most here: silenced ({HOW[0]}), "
        f"the translation's probability goes from {digits(whole)} to {digits(worst[5])}; {slight} change it "
        f"by less than 0.01. The sharpest, {sharp[0]}, has {sharp[3]:.2f} bits and looks most at "
        f"{sharp[1]!r}; the most even, {even[0]}, {even[3]:.2f}.",
        tables=[table],
        picture=[_panel(table, name, parts) for name in ("bits", *HOW)],
        note="share: of all its attention. bits: the entropy of its weights. apart: positions between who "
        f"asks and what it looks at. {', '.join(HOW)}: the translation's probability with the head silenced "
        f"({digits(whole)} with none): its context zero or its mean, or its weights uniform.",
    )


def _panel(table: Table, name: str, parts: Sequence[str]) -> Shades:
    """Draw one column of the table as a grid, with a row for each attention and a column for each head."""
    grid = torch.tensor(table.column(name)).view(len(parts), -1).tolist()
    written = [[f"{number:.2f}" for number in row] for row in grid]
    title, most = ("entropy, bits", None) if name == "bits" else (f"p, silenced: {name}", 1.0)
    heads = [f"head {head}" for head in range(len(grid[0]))]
    return Shades(title, grid, [short(part) for part in parts], heads, written, most)
