"""A translator with a handful of words, several languages and random weights: enough to look inside."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from enlarged import enlarged

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


SHAPE: dict[str, Any] = dict(width=8, heads=2, hidden=12, encoder_layers=1, decoder_layers=2, dropout=0.3)


def translator(
    kind: str = "word", joint: bool = True, max_length: int = 30, precision: str = "auto", **model: Any
) -> Translator:
    """The same one every time."""
    words = VocabularyConfig(size=60 if joint else 40, kind=kind, joint=joint)
    sources, targets, to = zip(*PAIRS, strict=True)
    config = Config(
        DataConfig(languages=LANGUAGES), words, translation=TranslationConfig(max_length=max_length)
    )
    return untrained(sources, targets, config, to, precision, **model)


def untrained(
    sources: Sequence[str],
    targets: Sequence[str],
    config: Config,
    to: Sequence[str] | None = None,
    precision: str = "auto",
    **model: Any,
) -> Translator:
    """A translator whose vocabulary is learned from these lines, with random weights: always the same."""
    vocabulary = train_vocabulary(sources, targets, config.vocabulary, config.data, to=to)
    sizes = {"vocabulary": vocabulary.source_size}
    if not config.vocabulary.joint:
        sizes["target_vocabulary"] = vocabulary.target_size
    config = replace(config, model=ModelConfig(**(SHAPE | sizes | model)))
    torch.manual_seed(4)
    return Translator(enlarged(Transformer(config.model)), vocabulary, config, precision)
