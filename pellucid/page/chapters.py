"""The page's script as a book: its files in chapters, in reading order, and a table of contents."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from textwrap import wrap

from pellucid.page.assembly import page_file


@dataclass(frozen=True)
class Chapter:
    """Scripts about one subject."""

    about: str
    files: tuple[str, ...]


MODEL = Chapter(
    "the model of pellucid/model.py again, and how it searches for a translation",
    ("model.js", "cache.js", "matrix.js", "search.js"),
)
WORDS = Chapter(
    "text to tokens, and back",
    ("vocabulary.js", "preparation.js", "pieces.js"),
)
RUN = Chapter(
    "what is shown: a run with its tensors by name, and the view that the address says",
    ("runs.js", "numbers.js", "parts.js", "nearest.js", "state.js", "elements.js"),
)
CARRIED = Chapter(
    "where a run comes from: recorded in the file, derived, or computed here with its switches",
    ("recorded.js", "blocks.js", "derived.js", "computed.js", "switches.js", "stepping.js"),
)
MATRIX = Chapter(
    "one matrix: a grid of cells or a painted picture, its colours, its twin to copy",
    ("grid.js", "grid_table.js", "canvas.js", "scales.js", "copying.js", "scripted.js"),
)
CELL = Chapter(
    "how one cell was made",
    (
        *("lineage.js", "making.js", "softmax_steps.js", "strips.js"),
        *("makings_attention.js", "makings.js", "show_making.js"),
    ),
)
EQUATION = Chapter(
    "the equation of a part, in plates",
    (
        *("plates.js", "plate_equations.js", "attention_equations.js", "vocabulary_plates.js"),
        *("plate_specs.js", "plate.js", "heads.js", "opened.js"),
    ),
)
WORKED = Chapter(
    "worked examples, and claims about them",
    ("worked.js", "slips.js", "judge.js"),
)
OWN = Chapter(
    "one's own matrices: a form, and at once what comes of it",
    ("typed_matrix.js", "own_state.js", "own.js", "own_fields.js", "own_results.js"),
)
TRANSLATION = Chapter(
    "the page of a translation: sentence, drawing, stage, time and switches, tour",
    (
        *("sentence.js", "drawing.js", "lighting.js", "strands.js", "stage.js", "layer.js", "time.js"),
        *("panel.js", "both_ways.js", "effect.js", "typing.js", "offers.js", "given.js", "beside.js"),
        *("keys.js", "tour_stops.js", "tour.js", "main.js"),
    ),
)
EXAMPLE = Chapter("the page of a worked example", ("worked_page.js",))

TRANSLATION_PAGE = (MODEL, WORDS, RUN, CARRIED, MATRIX, CELL, EQUATION, WORKED, OWN, TRANSLATION)
EXAMPLE_PAGE = (MODEL, RUN, MATRIX, CELL, EQUATION, WORKED, OWN, EXAMPLE)


def script(chapters: Sequence[Chapter]) -> str:
    """Return the files of these chapters as one script, which begins with its table of contents."""
    files = [
        f"// {'=' * 20} {name} {'=' * 20}\n{page_file(f'script/{name}')}"
        for chapter in chapters
        for name in chapter.files
    ]
    return "\n".join(['"use strict";', *_contents(chapters), *files])


def every_script() -> str:
    """Return all scripts of both pages, to be checked as one: they share one scope."""
    return script((*TRANSLATION_PAGE, EXAMPLE))


def _contents(chapters: Iterable[Chapter]) -> list[str]:
    lines = [
        "// Pellucid's page, to be read: one script of many files, one idea each. Their names at the top",
        "// level are known to each other. Search for a file's name to find where it begins.",
    ]
    for number, chapter in enumerate(chapters, 1):
        lines.append(f"// {number}. {chapter.about}")
        lines += wrap(", ".join(chapter.files), 100, initial_indent="//    ", subsequent_indent="//    ")
    return [*lines, ""]
