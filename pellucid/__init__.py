"""Pellucid: an encoder-decoder Transformer that people can train, run and see through.

Each public name is imported when it is first used: `pellucid --help` and a wrong command line need no torch.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pellucid.errors import PellucidError, UsageError
from pellucid.folder.version import __version__

if TYPE_CHECKING:
    from pellucid.config.schema import (
        Config,
        DataConfig,
        ModelConfig,
        TrainingConfig,
        TranslationConfig,
        VocabularyConfig,
    )
    from pellucid.config.toml_file import read as read_config
    from pellucid.experiments import experiment
    from pellucid.explanation import Explanation
    from pellucid.learning.finished import average
    from pellucid.learning.run import train, training
    from pellucid.learning.step import Step, Update, Validation
    from pellucid.model import Transformer
    from pellucid.probes.leak import find_leak
    from pellucid.seeing import edits
    from pellucid.seeing.gradients import gradients
    from pellucid.seeing.nonfinite import find_nonfinite
    from pellucid.seeing.records import Record
    from pellucid.seeing.sizes import trace_bytes
    from pellucid.seeing.trace import Trace, editing, trace
    from pellucid.translate.evaluate import evaluate
    from pellucid.translate.score import Score
    from pellucid.translate.translation import Hypothesis, Translation
    from pellucid.translator import Translator, load
    from pellucid.worked.attention import attention

# OpenMP's threads spin while they wait. Beside other busy processes two training threads are then slower than
# one: benchmarks/results/training_threads.md. OpenMP reads this when torch is imported.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# Where each name comes from; `edits` is a module, `read_config` is `read` there.
_HOMES = {
    "Config": "config.schema",
    "DataConfig": "config.schema",
    "Explanation": "explanation",
    "Hypothesis": "translate.translation",
    "ModelConfig": "config.schema",
    "Record": "seeing.records",
    "Score": "translate.score",
    "Step": "learning.step",
    "Trace": "seeing.trace",
    "TrainingConfig": "config.schema",
    "Transformer": "model",
    "Translation": "translate.translation",
    "TranslationConfig": "config.schema",
    "Translator": "translator",
    "Update": "learning.step",
    "Validation": "learning.step",
    "VocabularyConfig": "config.schema",
    "attention": "worked.attention",
    "average": "learning.finished",
    "editing": "seeing.trace",
    "edits": "seeing.edits",
    "evaluate": "translate.evaluate",
    "experiment": "experiments",
    "find_leak": "probes.leak",
    "find_nonfinite": "seeing.nonfinite",
    "gradients": "seeing.gradients",
    "load": "translator",
    "read_config": "config.toml_file",
    "trace": "seeing.trace",
    "trace_bytes": "seeing.sizes",
    "train": "learning.run",
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
    if not _HOMES[name].startswith("config"):
        import_module("pellucid.show.registered")  # so that what the name returns can be shown
    if name == "attention":
        import_module("pellucid.page.worked_document")  # and written as a page
    there = {"read_config": "read"}.get(name, name)
    globals()[name] = value = home if name == "edits" else getattr(home, there)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
