"""attention rollout: which source words would reach each position (derived, not in the model).

Abnar and Zuidema 2020, Quantifying Attention Flow in Transformers: how much of each source word would have
reached each position if vectors were only mixed by the attention weights. It is defined for the encoder. We
add the product of the last decoder layer's mean cross-attention and the rollout.
"""

import torch

from pellucid.experiments.result import Result, matrix, shades
from pellucid.explanation import Explanation
from pellucid.seeing.records import attentions


def experiment(explanation: Explanation) -> Result:
    """Multiply (A + I) / 2 over the layers of the encoder: A is the mean attention of a layer's heads, I
    stands for the residual."""
    source, expected = explanation.source_tokens, [step.expected for step in explanation.steps]
    rolled = unit = torch.eye(len(source), dtype=torch.float64)
    for part in attentions(explanation.trace):
        mean = explanation.trace[f"{part}.weights"].tensor[0].double().mean(0)
        if part.startswith("encoder"):
            rolled = (mean + unit) / 2 @ rolled
    through = mean @ rolled  # the last attention is the last layer's cross-attention
    title, direct = "last cross-attention, as it is: rows are the words to be said", mean
    tables = [
        matrix("encoder output: what each position would be made of", source, source, rolled, ".2f"),
        matrix(title, expected, source, direct, ".2f"),
        matrix("last cross-attention, through the rollout", expected, source, through, ".2f"),
    ]
    changed = int((direct.argmax(-1) != through.argmax(-1)).sum())
    return Result(
        conclusion="Rolled out through the encoder's layers, a position holds "
        f"{rolled.diagonal().mean():.2f} of its own word on average and others for the rest; so at {changed} "
        f"of {len(expected)} target positions the word that counts most, if one asks what the vectors looked "
        "at are made of, is another than the one looked at.",
        tables=tables,
        picture=[shades(table, most=1.0) for table in tables],
        note="Derived, not in the model: mean of the heads, half for the residual, nothing of values, norms "
        "and feed-forward layers (Abnar and Zuidema 2020). The cross-attention through it is ours.",
    )
