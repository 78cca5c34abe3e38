"""Rules against repetition, as transformers has them: no sequence of tokens comes twice, and tokens that came
before become less probable. What came before is the start token, the prefix and what was said since."""

import numpy as np
import torch

from pellucid.search.hypotheses import Array, Hypotheses
from pellucid.search.next_tokens import AllTokens
from pellucid.search.options import Options


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


def penalise_repeated(likely: AllTokens, hypotheses: Hypotheses, options: Options) -> None:
    """Multiply the log-probabilities of the tokens that came before by the repetition penalty, in place.

    In greedy search and sampling, change their logits instead, and take the softmax anew. A positive logit is
    divided, so that it becomes smaller too.
    """
    by_logits, penalty = options.sample or options.beam == 1, options.repetition_penalty
    scores = likely.logits() if by_logits else likely.log_p
    history = hypotheses.tokens.reshape(len(scores), -1)
    before = torch.from_numpy(history).to(scores.device)
    said = scores.gather(1, before)
    scores = scores.scatter(1, before, torch.where(said < 0, said * penalty, said / penalty))
    likely.log_p.copy_(scores.log_softmax(-1) if by_logits else scores)
