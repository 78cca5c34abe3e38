"""Experiments: claims about the Transformer, measured on your own model and sentence.

Each module except `catalogue` (heads over a text), `corpus` and `result` is an experiment: its first line
says what it shows, and its function `experiment` measures it. The function takes an explanation, a translator
or nothing, and then its settings.
"""

import dataclasses
import importlib
import inspect
import pkgutil
import typing
from pathlib import Path
from typing import Any

from pellucid.config.settings import convert, plain
from pellucid.errors import UsageError, did_you_mean
from pellucid.experiments.result import Result
from pellucid.show.columns import paragraph
from pellucid.translator import Translator, load

SHARED = {"catalogue", "corpus", "result"}
NAMES = sorted({module.name for module in pkgutil.iter_modules(__path__)} - SHARED)
NEEDED = {
    "explanation": 'a model and a sentence, such as demo and "I like cats"',
    "translator": "a model, such as demo",
    "nothing": "neither a model nor a sentence",
}


def experiment(
    name: str,
    model: Translator | str | Path | None = None,
    text: str | None = None,
    /,
    to: str | None = None,
    **values: Any,
) -> Result:
    """Run one experiment: `experiment("heads", "demo", "I like cats", to="es")`. Print the result with
    .show(), draw it with .plot("heads.png"). `pellucid.experiments.NAMES` lists the experiments.

    model: a translator, a model folder, or "demo". text: the sentence, if the experiment needs one. to: the
    target language. Other keyword arguments are the experiment's settings; with a sentence, also `target`: a
    translation to examine instead of the model's own.
    """
    need, known = needs(name), settings(name)
    if unknown := values.keys() - known.keys():
        has = ", ".join(known) or "none"
        raise UsageError(f"the experiment {name} has no setting {min(unknown)!r}. It has: {has}.")
    measure = _module(name).experiment
    kinds = {"target": str | None} | typing.get_type_hints(measure)
    values = {each: convert(each, plain(value), kinds[each], {"low": 1}) for each, value in values.items()}
    given = (model is not None, text is not None, to is not None and need != "explanation")
    if given != (need != "nothing", need == "explanation", False):
        raise UsageError(f"the experiment {name} needs {NEEDED[need]}. Give that, and nothing else.")
    if model is None:
        return measure(**values)
    translator = model if isinstance(model, Translator) else load(model, precision="fp32")
    if text is None:
        return measure(translator, **values)
    explanation = translator.explain(text, to, values.pop("target", None))
    result = measure(explanation, **values)
    return dataclasses.replace(result, title=result.title or explanation.title)


def needs(name: str) -> str:
    """Return what an experiment needs: an "explanation", a "translator" or "nothing"."""
    parameters = inspect.signature(_module(name).experiment).parameters
    return next((each for each in parameters if each in NEEDED), "nothing")


def settings(name: str) -> dict[str, Any]:
    """Return the names of an experiment's settings with their default values."""
    own = _module(name).experiment.__kwdefaults__ or {}
    return {"target": None} | own if needs(name) == "explanation" else own


def describe(name: str, width: int) -> list[str]:
    """Return lines of at most `width` columns: what an experiment shows, what it needs, and its settings."""
    about = (_module(name).__doc__ or "").partition("\n")[0].rstrip(".")
    needed = f"needs {NEEDED[needs(name)]}; settings: {', '.join(settings(name)) or 'none'}"
    return paragraph(about, width) + paragraph(needed, width)


def _module(name: str) -> Any:
    if name not in NAMES:
        near = did_you_mean(name, NAMES)
        raise UsageError(f'no experiment is called "{name}".{near} There are: {", ".join(NAMES)}.')
    return importlib.import_module(f"{__name__}.{name}")
