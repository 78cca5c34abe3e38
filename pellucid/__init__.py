"""Pellucid: an encoder-decoder Transformer that people can train, run and see through."""

from pellucid.config import Config, ModelConfig
from pellucid.errors import PellucidError, UsageError
from pellucid.explain import edits
from pellucid.explain.attention import attention
from pellucid.explain.experiments import experiment
from pellucid.explain.gradients import gradients
from pellucid.explain.leak import find_leak
from pellucid.explain.nonfinite import find_nonfinite
from pellucid.explain.trace_bytes import trace_bytes
from pellucid.model import Transformer
from pellucid.see import trace
from pellucid.train.run import train, training
from pellucid.translate.translator import Translator, load
from pellucid.version import __version__

__all__ = [
    "Config",
    "ModelConfig",
    "PellucidError",
    "Transformer",
    "Translator",
    "UsageError",
    "__version__",
    "attention",
    "edits",
    "experiment",
    "find_leak",
    "find_nonfinite",
    "gradients",
    "load",
    "trace",
    "trace_bytes",
    "train",
    "training",
]
