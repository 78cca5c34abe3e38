"""The module against the paper's equations, written again as loops over heads and positions in float64."""

from typing import Any

import pytest
import torch
from by_hand import ByHand, Changes
from small_models import small_model

from pellucid.seeing.trace import trace

VARIANTS: dict[str, dict[str, Any]] = {
    "as the paper": {},
    "norm first": dict(norm="first"),
    "silu, norm first": dict(activation="silu", norm="first"),
    "two vocabularies": dict(target_vocabulary=9, activation="gelu"),
    "two vocabularies, untied, output bias": dict(target_vocabulary=9, tied=False, output_bias=True),
    "embeddings not scaled": dict(scale_embeddings=False),
    "deep encoder": dict(encoder_layers=3, decoder_layers=1),
    "deep decoder": dict(encoder_layers=1, decoder_layers=3, norm="first", heads=4),
    "one head": dict(heads=1),
}

# Source lengths 6, 4, 1; target lengths 5, 2, 4. Padding (id 0) is on the right; it is computed too.
SOURCE = [[5, 7, 4, 8, 6, 3], [9, 12, 4, 3, 0, 0], [3, 0, 0, 0, 0, 0]]
TARGET = [[2, 5, 8, 6, 7], [2, 8, 0, 0, 0], [2, 4, 4, 5, 0]]


@torch.no_grad()
@pytest.mark.parametrize("settings", VARIANTS.values(), ids=VARIANTS.keys())
def test_the_logits_and_every_traced_tensor_are_those_of_the_loops(settings: dict[str, Any]) -> None:
    model = small_model(**{"encoder_layers": 2, "vocabulary": 13} | settings).double()
    source, target = torch.tensor(SOURCE), torch.tensor(TARGET)
    logits = model(source, source != 0, target)
    with trace(model) as seen:
        model(source, source != 0, target)
    loops = ByHand(model.config, model.state_dict(), Changes())
    expected = loops.logits(source, source != 0, target, torch.ones_like(target, dtype=torch.bool))
    assert (logits - expected).abs().max() < 1e-9
    assert set(loops.traced) == set(seen)  # nothing is shown that is not recomputed here
    for name, record in seen.items():
        wanted = torch.stack(loops.traced[name]) if "B" in record.axes else loops.traced[name][0]
        torch.testing.assert_close(
            record.tensor, wanted, rtol=0, atol=1e-9, msg=lambda text, name=name: f"{name}: {text}"
        )
