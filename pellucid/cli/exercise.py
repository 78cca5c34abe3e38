"""pellucid exercise: ask the exercises of the course, and check answers."""

import argparse
from itertools import groupby

from pellucid import exercises
from pellucid.cli.lines import put
from pellucid.errors import PellucidError, UsageError
from pellucid.seeing.viewed import columns_of_terminal
from pellucid.show.columns import paragraph

PREFIX = "pellucid: "  # that an error has on its first line


def run(arguments: argparse.Namespace) -> None:
    """Print an exercise's question; with an answer, print whether it is right; with --solve, the solution."""
    if arguments.list:
        for chapter, found in groupby(exercises.exercises().values(), lambda each: each.chapter):
            put([f"docs/learn/{chapter}.md", *(f"    {each.name:28}{each.about}" for each in found)])
        return
    if arguments.answer and arguments.solve:
        raise UsageError("exercise: an answer and --solve are both given. Leave one of the two out.")
    width, asked = max(40, min(100, columns_of_terminal())), exercises.exercise(arguments.name)
    if arguments.solve:
        put([asked.written(asked.answer), *paragraph(asked.why, width)])
    elif arguments.answer:
        verdict = exercises.judge(asked, " ".join(arguments.answer))
        if not verdict.is_right:
            told = "\n".join(paragraph(f"{PREFIX}not yet. {verdict.text}", width))
            raise PellucidError(told.removeprefix(PREFIX))
        put(paragraph(f"Right. {verdict.text}", width))
    else:
        room = "…" if asked.any_order else " ".join("…" for _ in asked.answer)
        answer = f"Answer ({asked.wanted}): pellucid exercise {asked.name} "
        answer += f'"{room}"' if asked.is_words else room
        put([*paragraph(asked.question, width), "", *paragraph(f"Hint: {asked.hint}", width), "", answer])
