"""Exercises of docs/learn/: questions in exercises.toml, and a judge for the reader's answers.

A test computes every answer from the model or from the equations.
"""

import functools
import tomllib
from importlib.resources import files

from pellucid.config.nearest import nearest
from pellucid.errors import UsageError
from pellucid.exercises.judging import Exercise, Remark, Verdict, judge

__all__ = ["Exercise", "Remark", "Verdict", "chapters", "exercise", "exercises", "judge"]

HOMEWORK = files(__name__).joinpath("homework.toml")  # a file that an exercise is about


@functools.cache
def exercises() -> dict[str, Exercise]:
    """Return the exercises by name, in the order of the course."""
    text = files(__name__).joinpath("exercises.toml").read_text("utf-8").replace("HOMEWORK", str(HOMEWORK))
    found = [
        Exercise(**table | {"remarks": [Remark(**remark) for remark in table["remarks"]]})
        for table in tomllib.loads(text)["exercise"]
    ]
    return {each.name: each for each in found}


def chapters() -> dict[str, list[Exercise]]:
    """Return the exercises of each chapter, in the order of the course."""
    found: dict[str, list[Exercise]] = {}
    for each in exercises().values():
        found.setdefault(each.chapter, []).append(each)
    return found


def exercise(name: str) -> Exercise:
    """Return the exercise of this name."""
    known = exercises()
    if name not in known:
        near = nearest(name, known, cutoff=0.4)
        hint = f"Nearest: {', '.join(near)}. " if near else ""
        raise UsageError(f'no exercise is called "{name}". {hint}All: pellucid exercise --list.')
    return known[name]
