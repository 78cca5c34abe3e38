"""Pellucid: an encoder-decoder Transformer that people can train, run and see through."""

from pellucid.config import Config, ModelConfig
from pellucid.editing import editing
from pellucid.errors import PellucidError, UsageError
from pellucid.explain.experiments import experiment
from pellucid.explain.leak.find import find_leak
from pellucid.explain.tracing import edits
from pellucid.explain.tracing.gradients import gradients
from pellucid.explain.worked.attention import attention
from pellucid.model import Transformer
from pellucid.nonfinite import find_nonfinite
from pellucid.see import trace
from pellucid.trace_bytes import trace_bytes
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
    "editing",
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
