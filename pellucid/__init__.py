"""Pellucid: an encoder-decoder Transformer that people can train, run and see through.

Each public name is imported when it is first used: `pellucid --help` and a wrong command line need no torch.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pellucid.errors import PellucidError, UsageError
from pellucid.version import __version__

if TYPE_CHECKING:
    from pellucid.config import (
        Config,
        DataConfig,
        ModelConfig,
        TrainingConfig,
        TranslationConfig,
        VocabularyConfig,
    )
    from pellucid.config_file import read as read_config
    from pellucid.explain.experiments import experiment
    from pellucid.explain.explanation import Explanation
    from pellucid.explain.leak.find import find_leak
    from pellucid.explain.tracing import edits
    from pellucid.explain.tracing.gradients import gradients
    from pellucid.explain.worked.attention import attention
    from pellucid.learning.average import average
    from pellucid.learning.learner import Update
    from pellucid.learning.run import training
    from pellucid.learning.step import Step
    from pellucid.learning.train import train
    from pellucid.learning.validation import Validation
    from pellucid.model import Transformer
    from pellucid.records import Record
    from pellucid.see import Trace, trace
    from pellucid.seeing.editing import editing
    from pellucid.seeing.nonfinite import find_nonfinite
    from pellucid.seeing.sizes import trace_bytes
    from pellucid.translate.evaluate import evaluate
    from pellucid.translate.loading import load
    from pellucid.translate.score import Score
    from pellucid.translate.translation import Hypothesis, Translation
    from pellucid.translate.translator import Translator

# OpenMP's threads spin while they wait. Beside other busy processes two training threads are then slower than
# one: benchmarks/results/training_threads.md. OpenMP reads this when torch is imported.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# Where each name comes from; `edits` is a module, `read_config` is `read` there.
_HOMES = {
    "Config": "config",
    "DataConfig": "config",
    "Explanation": "explain.explanation",
    "Hypothesis": "translate.translation",
    "ModelConfig": "config",
    "Record": "records",
    "Score": "translate.score",
    "Step": "learning.step",
    "Trace": "see",
    "TrainingConfig": "config",
    "Transformer": "model",
    "Translation": "translate.translation",
    "TranslationConfig": "config",
    "Translator": "translate.translator",
    "Update": "learning.learner",
    "Validation": "learning.validation",
    "VocabularyConfig": "config",
    "attention": "explain.worked.attention",
    "average": "learning.average",
    "editing": "seeing.editing",
    "edits": "explain.tracing.edits",
    "evaluate": "translate.evaluate",
    "experiment": "explain.experiments",
    "find_leak": "explain.leak.find",
    "find_nonfinite": "seeing.nonfinite",
    "gradients": "explain.tracing.gradients",
    "load": "translate.loading",
    "read_config": "config_file",
    "trace": "see",
    "trace_bytes": "seeing.sizes",
    "train": "learning.train",
    "training": "learning.run",
}

__all__ = [
    "Config",
    "DataConfig",
    "Explanation",
    "Hypothesis",
    "ModelConfig",
    "PellucidError",
    "Record",
    "Score",
    "Step",
    "Trace",
    "TrainingConfig",
    "Transformer",
    "Translation",
    "TranslationConfig",
    "Translator",
    "Update",
    "UsageError",
    "Validation",
    "VocabularyConfig",
    "__version__",
    "attention",
    "average",
    "editing",
    "edits",
    "evaluate",
    "experiment",
    "find_leak",
    "find_nonfinite",
    "gradients",
    "load",
    "read_config",
    "trace",
    "trace_bytes",
    "train",
    "training",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'pellucid' has no attribute {name!r}")
    home = import_module(f"pellucid.{_HOMES[name]}")
    there = {"read_config": "read"}.get(name, name)
    globals()[name] = value = home if name == "edits" else getattr(home, there)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
