"""Rules against repetition, as transformers has them: no sequence of tokens comes twice, and tokens that came
before become less probable. What came before is the start token, the prefix and what was said since."""

import numpy as np
import torch

from pellucid.engine.next_tokens import NextTokens
from pellucid.translate.hypotheses import Array, Hypotheses


def repeating(hypotheses: Hypotheses, size: int) -> tuple[Array, Array]:
    """Return the rows and the ids of the tokens that would complete a sequence of `size` tokens that their
    hypothesis already contains."""
    history = hypotheses.tokens.reshape(-1, hypotheses.tokens.shape[-1])
    last = history.shape[1] - size  # where the last sequence begins
    if last < 0:
        return np.zeros(0, int), np.zeros(0, int)
    sequences = np.lib.stride_tricks.sliding_window_view(history, size, axis=1)
    same = (sequences[..., :-1] == history[:, None, last + 1 :]).all(-1)
    begins = np.repeat(history.shape[1] - 1 - hypotheses.lengths, hypotheses.totals.shape[1])
    rows, places = (same & (np.arange(last + 1) >= begins[:, None])).nonzero()
    return rows, sequences[rows, places, -1]


def penalise_repeated(likely: NextTokens, hypotheses: Hypotheses, penalty: float, by_logits: bool) -> None:
    """Multiply the log-probabilities of the tokens that came before by `penalty`, in place.

    by_logits: change their logits instead, and take the softmax anew. A positive logit is divided, so that it
    becomes smaller too.
    """
    assert likely.logits is not None
    scores = likely.logits() if by_logits else likely.log_p
    history = hypotheses.tokens.reshape(len(scores), -1)
    before = torch.from_numpy(history).to(scores.device)
    said = scores.gather(1, before)
    scores = scores.scatter(1, before, torch.where(said < 0, said * penalty, said / penalty))
    likely.log_p.copy_(scores.log_softmax(-1) if by_logits else scores)
