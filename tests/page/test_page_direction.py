"""Words written from the right: each from right to left, and the tokens of a matrix still in their order."""

from pathlib import Path

import pytest
import torch
from browser import chromium
from test_page_views import Opened

from pellucid.config.schema import Config, DataConfig, ModelConfig, VocabularyConfig
from pellucid.model import Transformer
from pellucid.text.vocabulary_training import train_vocabulary
from pellucid.translator import Translator

pytestmark = pytest.mark.browser

SOURCE, TARGET = "كيف حالك اليوم", "שלום לך (2) today"
# Each word that is found in a place: its text, how it is written, where it begins.
WORDS = """(place) => [...document.querySelectorAll(`${place} bdi`)].map((word) =>
  [word.textContent, getComputedStyle(word).direction, Math.round(word.getBoundingClientRect().x)])"""


def test_right_to_left(tmp_path: Path) -> None:
    words = VocabularyConfig(kind="word", size=40)
    vocabulary = train_vocabulary([SOURCE], [TARGET], words, DataConfig())
    shape = dict(width=8, heads=2, hidden=12, encoder_layers=1, decoder_layers=1)
    config = ModelConfig(vocabulary=vocabulary.source_size, **shape)  # type: ignore[arg-type]
    torch.manual_seed(1)
    translator = Translator(Transformer(config).eval(), vocabulary, Config(DataConfig(), words, config))
    explanation = translator.explain(SOURCE, target=TARGET)
    explanation.to_html(tmp_path / "page.html")
    name = "decoder.layers.0.cross_attention.weights"
    with chromium() as browser, Opened(browser, tmp_path / "page.html") as opened:
        (source, _, _), (target, _, _) = opened.page.evaluate(WORDS, "h1")[:2]
        assert (source, target) == (SOURCE, TARGET)
        assert {direction for _, direction, _ in opened.page.evaluate(WORDS, "h1")} == {"rtl"}
        opened.go(f"#{name}?cell=1,0")
        grid = ".opened [role=columnheader]"
        columns = [each for each in opened.page.evaluate(WORDS, grid) if each[0] in explanation.source_tokens]
        assert [text for text, _, _ in columns] == list(explanation.source_tokens)
        assert [x for _, _, x in columns] == sorted(x for _, _, x in columns)
        assert [direction for _, direction, _ in columns] == ["rtl", "rtl", "rtl", "ltr"]
        rows = opened.page.evaluate(WORDS, ".opened [role=rowheader]")
        assert [text for text, _, _ in rows] == list(explanation.target_tokens)
        assert [direction for _, direction, _ in rows][1:3] == ["rtl", "rtl"]
        first = explanation.trace[name].tensor[0, 0, 1, 0].item()
        assert f"{first:.4f}" in opened.text(".opened .readout")
