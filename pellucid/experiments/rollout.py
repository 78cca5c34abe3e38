"""attention rollout: which source words would reach each position (derived, not in the model).

Abnar and Zuidema 2020, Quantifying Attention Flow in Transformers: how much of each source word would have
reached each position if vectors were only mixed by the attention weights. The heads' weights are averaged,
the residual counts as half, and values, W^O, norms and feed-forward layers are left out. It is defined for
the encoder; the mean cross-attention of the last decoder layer through it is our addition.
"""

import torch
from torch import Tensor

from pellucid.experiments.result import Result, Table
from pellucid.explanation import Explanation
from pellucid.seeing.records import attentions


def experiment(explanation: Explanation) -> Result:
    """Multiply the encoder's mean attention weights layer by layer, the residual counted as half."""
    trace, source = explanation.trace, explanation.source_tokens
    rolled = torch.eye(len(source), dtype=torch.float64)
    for part in [each for each in attentions(trace) if each.startswith("encoder")]:
        rolled = (trace[f"{part}.weights"].tensor[0].double().mean(0) + torch.eye(len(source))) / 2 @ rolled
    direct = trace[f"{explanation.watched_layer}.weights"].tensor[0].double().mean(0)
    through = direct @ rolled
    changed = int((direct.argmax(-1) != through.argmax(-1)).sum())
    expected = [step.expected for step in explanation.steps]

    def table(title: str, names: list[str], shares_LM: Tensor) -> Table:
        rows = [[name, *row] for name, row in zip(names, shares_LM.tolist(), strict=True)]
        return Table(title, ["", *source], rows, form=".2f")

    tables = [
        table("encoder output: what each position would be made of", source, rolled),
        table("last cross-attention, as it is: rows are the words to be said", expected, direct),
        table("last cross-attention, through the rollout", expected, through),
    ]
    return Result(
        title=explanation.title,
        conclusion=f"Rolled out through the encoder's layers, a position holds {rolled.diagonal().mean():.2f} "
        f"of its own word on average and others for the rest; so at {changed} of {len(expected)} target "
        "positions the word that counts most, if one asks what the vectors looked at are made of, is another "
        "than the one looked at.",
        tables=tables,
        picture=[each.shades(most=1.0) for each in tables],
        note="Derived, not in the model: mean of the heads, half for the residual, nothing of values, norms "
        "and feed-forward layers (Abnar and Zuidema 2020). The cross-attention through it is ours.",
    )
