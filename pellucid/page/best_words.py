"""The best words of each position, for a vocabulary that is too big to carry all its numbers."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor

from pellucid.page.blocks import Blocks
from pellucid.text.vocabulary import Vocabulary

BEST = 20
KEPT = ("decoder.logits", "decoder.probabilities")


def best_words(
    logits_BLV: Tensor,
    probabilities_BLV: Tensor,
    target_ids: Sequence[int],
    vocabulary: Vocabulary,
    blocks: Blocks,
) -> dict[str, dict[str, Any]]:
    """Return logits and probabilities as the header has them: for each position the best words, the best
    first (of equal ones the lower id first), then the expected word; and the log of the sum of exp(logit)
    over all words."""
    best = logits_BLV[0].sort(descending=True, stable=True).indices[:, :BEST].tolist()
    chosen = [[*ids, expected] for ids, expected in zip(best, target_ids, strict=True)]
    rows = np.arange(len(chosen))[:, None]
    kept = {
        "size": logits_BLV.shape[-1],
        "tokens": [vocabulary.target_tokens(ids) for ids in chosen],
        "ids": chosen,
        "log_sum_exp": logits_BLV[0].logsumexp(-1).tolist(),
    }
    numbers = [each[0].numpy()[rows, np.array(chosen)][None] for each in (logits_BLV, probabilities_BLV)]
    return {
        name: {"axes": "BLV", "shape": list(array.shape), "kept": kept} | place
        for name, array, place in zip(KEPT, numbers, blocks.put(numbers), strict=True)
    }
