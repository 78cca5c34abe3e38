"""An explanation in a terminal, or in a file that a terminal's output goes to: tables that fit the width.

A share of attention is a number and a block (░ ▒ ▓ █), so that nothing is said by colour alone.
"""

import fnmatch
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from pellucid.errors import PellucidError, UsageError
from pellucid.reading.alignment import alignment
from pellucid.reading.beam_path import BeamPath
from pellucid.reading.looking import looked_at
from pellucid.reading.merging import merged
from pellucid.reading.reading import Reading
from pellucid.reading.steps import Step
from pellucid.reading.stepwise import Stepwise
from pellucid.reading.words import visible
from pellucid.seeing.records import UnknownTensor, no_such_name
from pellucid.seeing.viewed import columns_of_terminal, print_lines
from pellucid.show.columns import BLOCKS, known, paragraph, short_share
from pellucid.show.reading_text import heads_lines, merged_lines
from pellucid.show.record_text import record_lines

COLOURS = ("", "on #e9e1f7", "on #c9b6ec", "on #9c7ddb", "on #6b43bd")  # with black text, white on the last
NAMED = 3  # alternatives that have a place beside the expected token
NOT_A_NUMBER = (
    "what is shown as ? is not a number. pellucid.find_nonfinite(model) names the first such tensor."
)
SHARE = 5  # columns that ".97▓" and a space take


def show(reading: Reading) -> None:
    """Print the translation, its steps, and where each of them looked in the source."""
    console = Console()
    if console.encoding.startswith("utf"):
        console.print(Printed(reading))
    else:
        with console.capture() as captured:  # a letter that this output cannot write becomes a question mark
            console.print(Printed(reading))
        sys.stdout.write(captured.get().encode(console.encoding, "replace").decode(console.encoding))


def show_more(reading: Reading, path: Callable[[], BeamPath], steps: Callable[[], Stepwise]) -> None:
    """Print the heads, the words, the alignment, the search and the steps with a cache and without."""
    print_lines(more_lines(reading, path, steps, columns_of_terminal()))


def show_tensors(reading: Reading, name: Any, head: int | None = None) -> None:
    """Print the matrices of a tensor, of a part (its weights or its output), or of all that match a glob."""
    print_lines(tensor_lines(reading, name, columns_of_terminal(), head))


def tensor_lines(reading: Reading, name: Any, width: int, head: int | None = None) -> list[str]:
    """A matrix for each head of each, with the tokens along its axes."""
    trace, vocabulary = reading.trace, reading.vocabulary
    if not isinstance(name, str):
        given = "no tensor is named for it" if name is None else f"tensor = {name!r:.60} is no text"
        asked = f"head = {head!r:.60}: " if name is None else ""
        raise UsageError(
            f"{asked}{given}. Give the name of a tensor, or a glob of names, such as "
            f'"{reading.watched_layer}.weights" or "decoder.*.weights".'
        )
    names = (
        fnmatch.filter(trace, name)
        or [full for full in (f"{name}.weights", f"{name}.output") if full in trace][:1]
    )
    if not names:
        raise UnknownTensor(no_such_name(name, trace))
    with_heads = [full for full in names if "H" in trace[full].axes]
    words = vocabulary.target_tokens(range(vocabulary.target_size))
    lines: list[str] = []
    for full in names if head is None else with_heads or names:
        lines += ["", *record_lines(trace[full], width, head, words)]
    return lines[1:]


def more_lines(
    reading: Reading, path: Callable[[], BeamPath], steps: Callable[[], Stepwise], width: int
) -> list[str]:
    """Every table that a reading has beside its steps."""
    lines = ["", *heads_lines(looked_at(reading), width)]
    words, aligned = merged(reading), alignment(reading)
    if any(len(word.places) > 1 for word in (*words.source, *words.target)):
        lines += ["", *merged_lines(words, f"{reading.watched_layer}.weights", width)]
    pairs = [
        f"{aligned.source_words[each.source]}–{aligned.target_words[each.target]}" for each in aligned.links
    ]
    lines += ["", *paragraph(f"Words aligned: {', '.join(pairs) or 'none'}.", width)]
    try:
        lines += ["", *path().lines(width)]
    except PellucidError as error:  # of a model that computes NaN
        lines += paragraph(f"No search: {error}", width)
    return [*lines, "", *steps().lines(width)]


class Printed:
    """What `show` prints, for any rich console."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        reading = self.reading
        title = "forced" if reading.forced else reading.to or ""
        translation = reading.translation
        yield Text.assemble(_word(translation.source), "  →  ", _word(translation.text))
        total = sum(step.loss for step in reading.steps)
        score = f"score {known(translation.score, '.4f')}, loss {known(total, '.4f')}"
        score = f"{score} in {len(reading.steps)} steps"
        yield Text(f"{title + ': ' if title else ''}{score}\n", style="dim")
        yield _steps(reading.steps)
        yield Text()
        yield from _cross_attention(reading, options.max_width)
        yield Text()
        yield _brief(reading)
        yield Text(f"{len(reading.trace)} tensors are in the trace, and all in the page.", style="dim")


def _brief(reading: Reading) -> Table:
    """A line or two for each of what has tables of its own."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold", ratio=1)
    for name, text, where in summaries(reading):
        table.add_row(name, Text.assemble(visible(text), (f"  {where}" if where else "", "dim")))
    return table


def summaries(reading: Reading) -> Iterator[tuple[str, str, str]]:
    """What, in words, and how to see more of it."""
    if any(math.isnan(step.loss) for step in reading.steps):
        yield "NaN", NOT_A_NUMBER, ""
    looks = looked_at(reading, reading.watched_layer)
    bits = ", ".join(f"{look.head}: {known(look.entropy, '.2f')}" for look in looks)
    most = math.log2(len(reading.source_tokens))
    about = f"entropy in bits, 0 for one word alone, {most:.2f} for all alike"
    yield "heads", f"of {reading.watched_layer}, {about}: {bits}.", "explanation.looked_at()"
    yield "served", reading.difference, ""
    ways = "explanation.show(more=True), or --more: heads, words, search, each step; show(tensor=NAME), or "
    yield "more", f"{ways}--tensor: a matrix; --html: every number.", ""


def _steps(steps: Sequence[Step]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False)
    table.add_column("", justify="right", style="dim")
    for title in ("input", "expected"):
        table.add_column(title, overflow="fold", min_width=4)
    for title in ("probability", "loss"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("most probable", overflow="fold", ratio=1)
    for number, step in enumerate(steps, start=1):
        right = step.predicted == step.expected
        expected = _word(step.expected, "bold" if right else "bold red")
        best = Text("  ").join(_alternative(*each) for each in step.alternatives[:NAMED])
        row: list[RenderableType] = [str(number), _word(step.input), expected]
        table.add_row(*row, known(step.probability, ".4f"), known(step.loss, ".4f"), best)
    return table


def _alternative(token: str, probability: float) -> Text:
    return Text.assemble(_word(token), (f" {short_share(probability)}", "dim"))


def _cross_attention(reading: Reading, width: int) -> Iterator[RenderableType]:
    """One table, or several below each other where the source has more words than the width has room for."""
    shares = reading.attention_to_source().tolist()
    heads = reading.trace[f"{reading.watched_layer}.weights"].tensor.shape[1]
    yield Text(f"{reading.watched_layer}.weights, the mean of {heads} heads", style="bold")
    yield Text("rows: what the decoder read, which asks · columns: the source, attended to", style="dim")
    words = [visible(token) for token in reading.source_tokens]
    first = max(cell_len(visible(step.input)) for step in reading.steps) + 2
    for start, end in _groups(words, width - min(first, width // 3)):
        table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
        table.add_column("", overflow="fold", max_width=width // 3)
        for word in words[start:end]:
            table.add_column(Text(word), justify="right", no_wrap=True, min_width=SHARE - 1)
        for step, row in zip(reading.steps, shares, strict=True):
            table.add_row(_word(step.input, "bold"), *map(_share, row[start:end]))
        yield table


def _groups(words: Sequence[str], width: int) -> Iterator[tuple[int, int]]:
    """The first and the last (exclusive) of the words whose columns fit side by side."""
    start, used = 0, 0
    for place, word in enumerate(words):
        wanted = max(cell_len(word) + 1, SHARE)
        if place > start and used + wanted > width:
            yield start, place
            start, used = place, 0
        used += wanted
    yield start, len(words)


def _share(weight: float) -> Text:
    level = 0 if math.isnan(weight) else min(len(BLOCKS) - 1, round(weight * (len(BLOCKS) - 1)))
    colour = COLOURS[level] and f"{'white' if level == len(BLOCKS) - 1 else 'black'} {COLOURS[level]}"
    return Text.assemble((short_share(weight), colour), (BLOCKS[level], "#6b43bd" if level else ""))


def _word(token: str, style: str = "") -> Text:
    return Text(visible(token), style)
