"""pellucid exercise: the course's exercises, asked and checked."""

import argparse
from typing import TYPE_CHECKING

from pellucid.cli.arguments import Verbs, text, verb
from pellucid.errors import PellucidError, UsageError

if TYPE_CHECKING:
    from pellucid.exercises import Exercise

EXAMPLES = """
pellucid exercise --list
pellucid exercise masked-cells
pellucid exercise masked-cells 15
pellucid exercise shifted-right "<s> Me gustan los gatos"
pellucid exercise three-weights --solve
"""
NOTES = """
The exercises of docs/learn/. A number is right within half a unit of its last digit as written; words are
compared exactly. Exit code 0: right (or only asked); 1: wrong.
"""
PREFIX = "pellucid: "  # that an error has on its first line


def add(verbs: Verbs) -> None:
    """The verb and its arguments."""
    about = "ask an exercise of the course, and check an answer against the real thing"
    parser = verb(verbs, "exercise", about, run, EXAMPLES, NOTES)
    option = parser.add_argument
    option("name", metavar="NAME", nargs="?", type=text, help="an exercise that --list names")
    option("answer", metavar="ANSWER", nargs="*", type=text, help="numbers, or words in quotes")
    option("--list", action="store_true", help="the exercises by chapter")
    option("--solve", action="store_true", help="say the answer, and why")


def run(arguments: argparse.Namespace) -> None:
    """The question, or the verdict on an answer."""
    from pellucid.cli.lines import put
    from pellucid.seeing.viewed import columns_of_terminal
    from pellucid.show.columns import paragraph
    from pellucid.show.listings import exercises_by_chapter

    if arguments.list:
        for chapter, found in exercises_by_chapter().items():
            put([f"docs/learn/{chapter}.md", *(f"    {name:28}{about}" for name, about in found.items())])
        return
    if arguments.name is None:
        raise UsageError("exercise: give a NAME; --list says which there are.")
    if arguments.answer and arguments.solve:
        raise UsageError("exercise: an answer and --solve are both given. Leave one of the two out.")
    from pellucid import exercises  # here, after the wrong calls: it imports torch

    width = max(40, min(100, columns_of_terminal()))
    exercise = exercises.exercise(arguments.name)
    if arguments.solve:
        put([exercise.answer, *paragraph(exercise.why, width)])
        return
    if not arguments.answer:
        put(question(exercise, arguments.name, width))
        return
    verdict = exercises.judge(exercise, arguments.answer)
    if not verdict.is_right:
        told = "\n".join(paragraph(f"{PREFIX}not yet. {verdict.said}", width))
        raise PellucidError(told.removeprefix(PREFIX))
    put(paragraph(f"Right. {verdict.said}", width))


def question(exercise: "Exercise", name: str, width: int) -> list[str]:
    """What is asked, a hint, and how to answer."""
    from pellucid.show.columns import paragraph

    answer = " ".join("…" for _ in exercise.answers) if exercise.tells_count else "…"
    answer = f'"{answer}"' if exercise.is_words else answer
    return [
        *paragraph(exercise.question, width),
        "",
        *paragraph(f"Hint: {exercise.hint}", width),
        "",
        f"Answer ({exercise.wanted}): pellucid exercise {name} {answer}",
    ]
