"""Pellucid: an encoder-decoder Transformer that people can train, run and see through.

Each public name is imported when it is first used: `pellucid --help` and a wrong command line need no torch.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pellucid.errors import PellucidError as PellucidError
from pellucid.errors import UsageError as UsageError
from pellucid.folder.version import __version__ as __version__

if TYPE_CHECKING:  # an alias that repeats the name tells a type checker that it is public
    from pellucid.config import toml_file
    from pellucid.config.schema import Config as Config
    from pellucid.config.schema import DataConfig as DataConfig
    from pellucid.config.schema import ModelConfig as ModelConfig
    from pellucid.config.schema import TrainingConfig as TrainingConfig
    from pellucid.config.schema import TranslationConfig as TranslationConfig
    from pellucid.config.schema import VocabularyConfig as VocabularyConfig
    from pellucid.experiments import experiment as experiment
    from pellucid.explanation import Explanation as Explanation
    from pellucid.explanation import Movie as Movie
    from pellucid.learning.run import train as train
    from pellucid.learning.run import training as training
    from pellucid.learning.saving import average as average
    from pellucid.learning.step import Step as Step
    from pellucid.learning.step import Update as Update
    from pellucid.learning.step import Validation as Validation
    from pellucid.model import Transformer as Transformer
    from pellucid.probes.leak import find_leak as find_leak
    from pellucid.seeing import edits as edits
    from pellucid.seeing.gradients import gradients as gradients
    from pellucid.seeing.nonfinite import find_nonfinite as find_nonfinite
    from pellucid.seeing.records import Record as Record
    from pellucid.seeing.trace import Trace as Trace
    from pellucid.seeing.trace import editing as editing
    from pellucid.seeing.trace import trace as trace
    from pellucid.translate.evaluate import evaluate as evaluate
    from pellucid.translate.likelihood import Score as Score
    from pellucid.translate.significance import Difference as Difference
    from pellucid.translate.significance import significance as significance
    from pellucid.translate.translation import Hypothesis as Hypothesis
    from pellucid.translate.translation import Translation as Translation
    from pellucid.translator import Translator as Translator
    from pellucid.translator import load as load
    from pellucid.translator import movie as movie
    from pellucid.worked.attention import attention as attention

    read_config = toml_file.read

# OpenMP's threads spin while they wait. Beside other busy processes two training threads are then slower than
# one: benchmarks/results/training_threads.md. OpenMP reads this when torch is imported.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# Where the public names come from. `edits` is a module, `read_config` is `read` there.
_ROOMS = {
    "config.schema": "Config DataConfig ModelConfig TrainingConfig TranslationConfig VocabularyConfig",
    "config.toml_file": "read_config",
    "experiments": "experiment",
    "explanation": "Explanation Movie",
    "learning.run": "train training",
    "learning.saving": "average",
    "learning.step": "Step Update Validation",
    "model": "Transformer",
    "probes.leak": "find_leak",
    "seeing.edits": "edits",
    "seeing.gradients": "gradients",
    "seeing.nonfinite": "find_nonfinite",
    "seeing.records": "Record",
    "seeing.trace": "Trace editing trace",
    "translate.evaluate": "evaluate",
    "translate.likelihood": "Score",
    "translate.significance": "Difference significance",
    "translate.translation": "Hypothesis Translation",
    "translator": "Translator load movie",
    "worked.attention": "attention",
}
_HOMES = {name: room for room, names in _ROOMS.items() for name in names.split()}

__all__ = ["PellucidError", "UsageError", "__version__", *_HOMES]


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
