"""A translator with a handful of words, several languages and random weights: enough to look inside."""

from typing import Any

import torch

from pellucid.config.schema import Config, DataConfig, ModelConfig, TranslationConfig, VocabularyConfig
from pellucid.model import Transformer
from pellucid.text.vocabulary_training import train_vocabulary
from pellucid.translator import Translator

HOSTILE = "</title><script>alert(1)</script>"
PAIRS = [
    ("How are you ?", "आप कैसे हैं ?", "hi"),
    ("I like cats", "Me gustan los gatos", "es"),
    ("le chat est sur le tapis", "The cat sat on the mat", "en"),
    (f'{HOSTILE} "a" & b', "<b onclick='x'>", "es"),
]
LANGUAGES = (("en", "hi"), ("en", "es"), ("fr", "en"))


def translator(
    kind: str = "word", joint: bool = True, max_length: int = 30, precision: str = "auto", **model: Any
) -> Translator:
    """The same one every time."""
    data = DataConfig(languages=LANGUAGES)
    words = VocabularyConfig(size=60 if joint else 40, kind=kind, joint=joint)
    sources, targets, to = zip(*PAIRS, strict=True)
    vocabulary = train_vocabulary(sources, targets, words, data, to=to)
    shape: dict[str, Any] = dict(width=8, heads=2, hidden=12, encoder_layers=1, decoder_layers=2, dropout=0.3)
    sizes = {"vocabulary": vocabulary.source_size} | (
        {} if joint else {"target_vocabulary": vocabulary.target_size}
    )
    config = ModelConfig(**(shape | sizes | model))
    torch.manual_seed(4)
    transformer = Transformer(config).eval()
    translation = TranslationConfig(max_length=max_length)
    return Translator(
        transformer, vocabulary, Config(data, words, config, translation=translation), precision
    )
