"""Exercises of docs/learn/: each answer is computed from the real thing, when it is asked for.

A module of this package is a chapter: CHAPTER names its page in docs/learn, EXERCISES are functions, whose
first line of docstring says what each is about, and whose name, with hyphens, is the exercise's.
"""

import importlib
import pkgutil
from collections.abc import Callable, Mapping

from pellucid.config.nearest import nearest
from pellucid.errors import UsageError
from pellucid.exercises.judging import Exercise, Verdict, judge

__all__ = ["Exercise", "Verdict", "chapters", "exercise", "judge", "names"]


def chapters() -> dict[str, list[str]]:
    """The names of the exercises by chapter, in the order of the course."""
    return {chapter: list(found) for chapter, found in _chapters().items()}


def names() -> list[str]:
    """Every exercise's name, in the order of the course."""
    return [name for found in _chapters().values() for name in found]


def exercise(name: str) -> Exercise:
    """The exercise with its answer, computed now."""
    return _function(name)()


def _chapters() -> Mapping[str, dict[str, Callable[[], Exercise]]]:
    modules = [
        importlib.import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__)
    ]
    found = {
        module.CHAPTER: {each.__name__.replace("_", "-"): each for each in module.EXERCISES}
        for module in modules
        if hasattr(module, "CHAPTER")
    }
    return {chapter: found[chapter] for chapter in sorted(found)}


def _function(name: str) -> Callable[[], Exercise]:
    found = {known: make for each in _chapters().values() for known, make in each.items()}
    if name not in found:
        near = nearest(name, found, cutoff=0.4)
        hint = f"Nearest: {', '.join(near)}. " if near else ""
        raise UsageError(f'no exercise is called "{name}". {hint}All: pellucid exercise --list.')
    return found[name]
