"""Random models whose outputs differ from sentence to sentence, as those of first weights do not."""

import torch

from pellucid.model import Transformer


@torch.no_grad()
def enlarged(model: Transformer) -> Transformer:
    """The model with what begins small (embeddings, projection, last matrices) four times as large."""
    small = ("embedding.weight", "projection.weight", ".output.weight", ".outer.weight")
    for name, parameter in model.named_parameters():
        if name.endswith(small):
            parameter.mul_(4)
    return model.eval()
