"""Experiments: what is only claimed of the Transformer, measured on your own model and sentence.

A module of this package is an experiment: its first line says what it shows, and its function `experiment`
measures it. The function takes an explanation, a translator or nothing, and then its settings.
"""

import importlib
import inspect
import math
from pathlib import Path
from types import ModuleType
from typing import Any

from pellucid.config.nearest import nearest
from pellucid.config.whole import is_whole
from pellucid.errors import PellucidError, UsageError
from pellucid.experiments.result import Result
from pellucid.explanation import Explanation, explain
from pellucid.show.columns import paragraph
from pellucid.translator import Translator, load

NAMES = [
    "attribution",
    "dimensions",
    "feedback",
    "float16",
    "heads",
    "layers",
    "leakage",
    "masks",
    "norms",
    "parallel",
    "positions",
    "residuals",
    "rollout",
    "scale",
]
NEEDED = {
    "sentence": 'a model and a sentence, such as demo and "I like cats"',
    "model": "a model, such as demo",
    "nothing": "neither a model nor a sentence",
}


def described(name: str, width: int) -> list[str]:
    """Say what an experiment shows, what it needs and what can be set."""
    about = (_module(name).__doc__ or "").partition("\n")[0].rstrip(".")
    changeable = ", ".join(settings(name)) or "none"
    return paragraph(about, width) + paragraph(f"needs {NEEDED[needs(name)]}; settings: {changeable}", width)


def needs(name: str) -> str:
    """Return "sentence", "model" or "nothing"."""
    first = next(iter(inspect.signature(_module(name).experiment).parameters), "")
    return {"explanation": "sentence", "translator": "model"}.get(first, "nothing")


def settings(name: str) -> dict[str, Any]:
    """Return what can be set, and its values where nothing is set."""
    parameters = inspect.signature(_module(name).experiment).parameters.values()
    own = {each.name: each.default for each in parameters if each.kind is each.KEYWORD_ONLY}
    return {"target": None, **own} if needs(name) == "sentence" else own


def experiment(
    name: str,
    model: Translator | str | Path | None = None,
    text: str | None = None,
    to: str | None = None,
    **values: Any,
) -> Result:
    """Measure one claim: `experiment("heads", "demo", "I like cats", to="es")`; print it with .show(), draw it
    with .plot("heads.png"). `pellucid.experiments.NAMES` lists the experiments.

    model: a translator, a model folder, or "demo". target: the translation that an experiment with a sentence
    is to look at, in place of the model's own. Further values are the experiment's `settings`.
    """
    need, measure = needs(name), _module(name).experiment
    _check_inputs(name, need, model, text, to)
    values = {setting: _checked(name, setting, value) for setting, value in values.items()}
    if model is None:
        return _result(measure(**values))
    translator = model if isinstance(model, Translator) else load(model, precision="fp32")
    if need == "model":
        return _result(measure(translator, **values))
    return _result(measure(_explained(translator, str(text), to, values.pop("target", None)), **values))


def _explained(translator: Translator, text: str, to: str | None, target: str | None) -> Explanation:
    explanation = explain(translator, text, to, target)
    if any(math.isnan(step.loss) for step in explanation.steps):
        raise PellucidError(
            "the model computes NaN for this sentence, so there is nothing to measure. "
            "pellucid.find_nonfinite(model) names the first tensor that holds one."
        )
    return explanation


def _result(found: Any) -> Result:
    assert isinstance(found, Result)
    return found


def _module(name: str) -> ModuleType:
    if name not in NAMES:
        near = nearest(name, NAMES, cutoff=0.4)
        hint = f"Nearest: {', '.join(near)}. " if near else ""
        raise UsageError(f'no experiment is called "{name}". {hint}There are: {", ".join(NAMES)}.')
    return importlib.import_module(f"{__name__}.{name}")


def _check_inputs(name: str, need: str, model: Any, text: str | None, to: str | None) -> None:
    wanted = f"the experiment {name} needs {NEEDED[need]}"
    if (model is None and need != "nothing") or (text is None and need == "sentence"):
        raise UsageError(f"{wanted}. Give the {'model' if model is None else 'sentence'}.")
    unused = {"nothing": (model, text, to), "model": (text, to), "sentence": ()}[need]
    for value in unused:
        if value is not None:
            raise UsageError(f"{wanted}: {value} has no effect. Leave it out.")


def _checked(name: str, setting: str, value: Any) -> Any:
    """Return the value of a setting, where it is of the kind of the default value."""
    known = settings(name)
    if setting not in known:
        raise UsageError(
            f"the experiment {name} has no setting {setting!r}. It has: {', '.join(known) or 'none'}."
        )
    default = known[setting]
    if isinstance(default, tuple):
        several = [value] if isinstance(value, str) else value
        if isinstance(several, list | tuple | range) and len(several):
            return [_one(name, setting, each, default[0]) for each in several]
        raise UsageError(f"{setting} = {value!r:.60} must be a list, such as {list(default)}.")
    return _one(name, setting, value, default)


def _one(name: str, setting: str, value: Any, default: Any) -> Any:
    if default is None or isinstance(default, str):
        if isinstance(value, str | None):
            return value
        quoted = f'{setting}="{value!s:.60}"'
        raise UsageError(f"{setting} = {value!r:.60} must be text. In quotes: {quoted}, or --set '{quoted}'.")
    if isinstance(default, int):
        if is_whole(value, min(default, 1)):
            return int(value)
        raise UsageError(f"{setting} = {value!r:.60} must be a whole number from {min(default, 1)} up.")
    if (isinstance(value, float) and not math.isnan(value)) or is_whole(value):
        return float(value)
    raise UsageError(f"{setting} = {value!r:.60} must be a number.")
