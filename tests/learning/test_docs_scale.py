"""What fits where, in docs/scale.md, is what the memory plan says."""

import pytest
from documents import ROOT

from pellucid.config.schema import PRESETS, ModelConfig
from pellucid.learning.cost import plan

NLLB = dict(width=1024, heads=16, hidden=4096, encoder_layers=12, decoder_layers=12, vocabulary=256_206)
SHAPES = {
    "`base`, 32,000 tokens in its vocabulary": PRESETS["base"] | {"vocabulary": 32_000},
    "`big`, 32,000": PRESETS["big"] | {"vocabulary": 32_000},
    "NLLB-600M's shape": NLLB,
    "NLLB-3.3B's shape": NLLB | dict(width=2048, hidden=8192, encoder_layers=24, decoder_layers=24),
}
CARDS, TOKENS, LENGTH = (16, 24, 40, 80), 8192, 64


def table() -> str:
    """For each shape: parameters, memory of a process alone and of one of 8 with sharded = true, and the
    smallest card that has a tenth more."""
    lines = []
    for name, shape in SHAPES.items():
        config, cells = ModelConfig(**shape), list[str]()
        for shares in (1, 8):
            size = sum(plan(config, TOKENS, LENGTH, "bf16", shares)) / 1e9
            card = next((f"{each} GB" for each in CARDS if 1.1 * size < each), "none of these")
            cells += [f"{size:.1f} GB", card]
        lines.append(f"| {name} | {config.parameters / 1e6:,.0f} million | {' | '.join(cells)} |\n")
    return "".join(lines)


@pytest.mark.slow  # the largest takes a while, though only shapes are computed
def test_the_table_of_what_fits_is_the_plan_s() -> None:
    assert table() in (ROOT / "docs" / "scale.md").read_text("utf-8"), table()
