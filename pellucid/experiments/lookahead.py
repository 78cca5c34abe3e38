"""A Transformer whose decoder sees the words to come: what training is without the causal mask."""

from collections.abc import Sequence

import torch
from torch import Tensor

from pellucid.cache import Mask, NoPast
from pellucid.data.batch import pad
from pellucid.model import Transformer
from pellucid.translate.decoding import evaluating


class WholeTarget(NoPast):
    """Training's past with the causal mask lifted; padding stays hidden."""

    def mask(self) -> Mask:
        return Mask(self._target_mask)


class LooksAhead(Transformer):
    """The same model in all but one thing: in training each target position may look at all the others."""

    def read(
        self, source: Tensor, source_mask: Tensor | None, target: Tensor, target_mask: Tensor | None = None
    ) -> Tensor:
        memory = self.remember(self.encode(source, source_mask), source_mask)
        # A causal mask hides the padding on the right, too; here somebody has to say where it is.
        real = target != self.config.pad_id if target_mask is None else target_mask
        return self.decoder(target, memory, WholeTarget(real), self.embedding)


@torch.no_grad()
def decode_anew(
    model: Transformer, sources: Sequence[Sequence[int]], forbidden: Sequence[int], longest: int
) -> list[list[int]]:
    """Greedy decoding without a cache: each step reads the whole prefix as this model's training reads a
    target, and takes the most probable token after its last one. Ids without start, with the end token."""
    config, device = model.config, model.projection_weight.device
    source, source_mask = pad(sources, config.pad_id, device)
    target = source.new_full((len(sources), 1), config.start_id)
    past = WholeTarget() if isinstance(model, LooksAhead) else NoPast()
    with evaluating(model):
        memory = model.remember(model.encode(source, source_mask), source_mask)
        while target.shape[1] <= longest and not bool((target == config.end_id).any(1).all()):
            output = model.decoder(target, memory, past, model.embedding)
            logits = model.logits(output[:, -1])
            logits[:, list(forbidden)] = -torch.inf
            target = torch.cat((target, logits.argmax(-1, keepdim=True)), dim=1)
    rows = [row[1:] for row in target.tolist()]
    ends = [row.index(config.end_id) + 1 if config.end_id in row else len(row) for row in rows]
    return [row[:end] for row, end in zip(rows, ends, strict=True)]
