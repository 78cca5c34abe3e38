"""Pellucid: an encoder-decoder Transformer that people can train, run and see through."""

from pellucid.config import Config, ModelConfig
from pellucid.errors import PellucidError, UsageError
from pellucid.model import Transformer
from pellucid.see import trace

__all__ = ["Config", "ModelConfig", "PellucidError", "Transformer", "UsageError", "trace"]
