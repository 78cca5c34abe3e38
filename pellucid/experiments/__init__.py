"""Experiments: what is only claimed of the Transformer, measured on one's own model and sentence.

Each module of this package is one: ABOUT says it in a sentence, NEEDS what it is given ("sentence": a model
and a sentence, "model", or "nothing"), and `experiment` measures. A new file is a new experiment.
"""

import importlib
import inspect
import os
import pkgutil
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from pellucid.config.nearest import nearest
from pellucid.errors import UsageError
from pellucid.translator import Translator, load

NEEDED = {
    "sentence": 'a model and a sentence, such as demo and "I like cats"',
    "model": "a model, such as demo",
    "nothing": "neither a model nor a sentence",
}


class Result(Protocol):
    """What an experiment found: plain data, which can be printed and drawn."""

    @property
    def conclusion(self) -> str:
        """What came out, in a sentence."""
        ...

    def lines(self, width: int) -> list[str]:
        """The conclusion, and below it the numbers, in lines of at most `width` cells."""
        ...

    def plot(self, path: str | Path) -> None:
        """A picture: .png, .svg or .pdf; needs pip install "pellucid[plot]"."""
        ...


def names() -> list[str]:
    """Every experiment's name."""
    return sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__))


def about(name: str) -> str:
    """What an experiment shows, in a sentence."""
    return str(_module(name).ABOUT)


def needs(name: str) -> str:
    """ "sentence", "model" or "nothing"."""
    return str(_module(name).NEEDS)


def settings(name: str) -> list[str]:
    """What of an experiment can be set."""
    return list(_settings(name))


def _settings(name: str) -> dict[str, inspect.Parameter]:
    parameters = inspect.signature(_module(name).experiment).parameters
    return {each.name: each for each in parameters.values() if each.kind is each.KEYWORD_ONLY}


def experiment(
    name: str,
    model: Translator | str | Path | None = None,
    text: str | None = None,
    to: str | None = None,
    **given: Any,
) -> Any:
    """Measures one claim: `experiment("heads", "demo", "I like cats", to="es")`; print its .lines(80)
    or draw it with .plot("heads.png"). `names()` lists what there is.

    model: a translator, a model folder, or "demo". Further arguments are the experiment's `settings`.
    """
    module = _module(name)
    _check_given(name, module.NEEDS, model, text, to)
    _check_settings(name, given)
    if isinstance(model, str | os.PathLike):
        model = load(model, precision="fp32")
    if model is not None and not isinstance(model, Translator):
        raise UsageError(f'model = {model!r:.60} must be a translator, a model folder, or "demo".')
    needed = {"sentence": (model, text, to), "model": (model,), "nothing": ()}[module.NEEDS]
    return module.experiment(*needed, **given)


def _module(name: str) -> ModuleType:
    known = names()
    if name not in known:
        near = nearest(name, known, cutoff=0.4)
        hint = f"Nearest: {', '.join(near)}. " if near else ""
        raise UsageError(f'no experiment is called "{name}". {hint}There are: {", ".join(known)}.')
    return importlib.import_module(f"{__name__}.{name.replace('-', '_')}")


def _check_given(name: str, need: str, model: Any, text: str | None, to: str | None) -> None:
    wanted = f"the experiment {name} needs {NEEDED[need]}"
    if model is None and need != "nothing":
        raise UsageError(f"{wanted}. Give it one.")
    if text is None and need == "sentence":
        raise UsageError(f"{wanted}, and there is no sentence. Give it one.")
    shown = "that is given" if isinstance(model, Translator) else model
    given = {"model": shown if need == "nothing" else None, "sentence": text, "language": to}
    if need != "sentence":
        for what, value in given.items():
            if value is not None:
                raise UsageError(f"{wanted}: the {what} {value} has no effect. Leave it out.")


def _check_settings(name: str, given: Mapping[str, Any]) -> None:
    known = _settings(name)
    for setting, value in given.items():
        if setting not in known:
            may = f"It has: {', '.join(known)}." if known else "It has none."
            raise UsageError(f"the experiment {name} has no setting {setting!r}. {may}")
        if known[setting].annotation == str | None and not isinstance(value, str | None):
            quoted = f'{setting}="{value!s:.60}"'
            raise UsageError(
                f"{setting} = {value!r:.60} must be text. In quotes it is: {quoted}, or --set '{quoted}'."
            )
