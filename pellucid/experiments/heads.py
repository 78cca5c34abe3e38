"""heads differ: how sharply each looks, at what, and how probable the translation is without it.

"Multi-head attention allows the model to jointly attend to information from different representation
subspaces at different positions" (Vaswani et al. 2017, section 3.2.2). Silencing a head: Voita et al. 2019,
Michel et al. 2019.
"""

from collections import Counter
from collections.abc import Sequence

import torch

from pellucid.experiments.probability import probability
from pellucid.experiments.result import Result, Shades, Table
from pellucid.explanation import Explanation
from pellucid.reading.looking import entropies
from pellucid.seeing.edits import HOW, silence
from pellucid.seeing.records import attentions
from pellucid.show.columns import digits, short


def experiment(explanation: Explanation, *, how: Sequence[str] = HOW) -> Result:
    """Look where each head looks, then silence it in each of these ways."""
    parts, whole, rows = attentions(explanation.trace), probability(explanation), []
    for part in parts:
        weights = explanation.trace[f"{part}.weights"]
        for head, weights_LM in enumerate(weights.tensor[0].double()):
            shares: Counter[str] = Counter()  # a word that stands there twice is one word
            for word, share in zip(weights.labels("M"), weights_LM.mean(0).tolist(), strict=True):
                shares[word] += share
            places = torch.arange(len(weights_LM))
            apart = None
            if "cross" not in part:
                apart = float((weights_LM * (places[:, None] - places).abs()).sum(-1).mean())
            silenced = [probability(explanation, silence(part, head, each)) for each in how]
            bits = float(entropies(weights_LM).mean())
            rows.append([f"{short(part)} {head}", *shares.most_common(1)[0], bits, apart, *silenced])
    header = ["head", "looks most at", "share", "bits", "apart", *how]
    table = Table("", header, rows, form=[0, 0, ".2f", ".2f", ".1f", *[4] * len(how)], left=2)
    grids = {"entropy, bits": "bits", **{f"p, silenced: {each}": each for each in how}}
    return Result(
        title=explanation.title,
        conclusion=_conclusion(table, whole, how[0]),
        tables=[table],
        picture=[_shades(table, title, column, parts) for title, column in grids.items()],
        note="Heads count from 0. share: of all its attention. bits: the entropy of its weights, 0 for one "
        "word alone. apart: positions between the word that asks and what it looks at. "
        f"{', '.join(how)}: the probability of this translation with the head silenced ({digits(whole)} with "
        "none): its context zero, its mean over the positions, or its weights uniform over what it may look "
        "at.",
    )


def _conclusion(table: Table, whole: float, how: str) -> str:
    names, silenced, bits = (table.column(name) for name in ("head", how, "bits"))
    worst, sharp, even = silenced.index(min(silenced)), bits.index(min(bits)), bits.index(max(bits))
    most = f"no head of {len(names)}, silenced ({how}), makes this translation less probable"
    if silenced[worst] < whole:
        most = (
            f"of {len(names)} heads {names[worst]} matters most here: silenced ({how}), the translation's "
            f"probability falls from {digits(whole)} to {digits(silenced[worst])}"
        )
    idle = sum(abs(each - whole) < 0.01 for each in silenced)
    return (
        f"Heads differ: {most}; {idle} change it by less than 0.01. The sharpest, {names[sharp]}, has "
        f"{bits[sharp]:.2f} bits and looks most at {table.column('looks most at')[sharp]!r}; the most even, "
        f"{names[even]}, {bits[even]:.2f}."
    )


def _shades(table: Table, title: str, column: str, parts: Sequence[str]) -> Shades:
    grid = torch.tensor(table.column(column)).view(len(parts), -1).tolist()
    written = [[f"{number:.2f}" for number in row] for row in grid]
    heads = [f"head {head}" for head in range(len(grid[0]))]
    most = None if column == "bits" else 1.0
    return Shades(title, grid, [short(part) for part in parts], heads, written, most)
