"""An explanation in a terminal, or in a file that a terminal's output goes to: tables that fit the width.

A share of attention is a number and a block (░ ▒ ▓ █), so that nothing is said by colour alone.
"""

import fnmatch
import math
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from pellucid.errors import PellucidError, UsageError
from pellucid.explain.columns import BLOCKS, columns_of_terminal, known, paragraph, print_lines, short_share
from pellucid.explain.looking import heads_lines
from pellucid.explain.merging import merged_lines
from pellucid.explain.record_text import record_lines
from pellucid.explain.steps import Step
from pellucid.explain.words import visible
from pellucid.records import UnknownTensor, no_such_name

if TYPE_CHECKING:
    from pellucid.explain.explanation import Explanation

COLOURS = ("", "on #e9e1f7", "on #c9b6ec", "on #9c7ddb", "on #6b43bd")  # with black text, white on the last
NAMED = 3  # alternatives that have a place beside the expected token
PAIRS = 8  # of aligned words that are named
STEPWISE = 1e10  # rows times parameters that are computed again for a line: some seconds
NOT_A_NUMBER = (
    "what is shown as ? is not a number. pellucid.find_nonfinite(model) names the first such tensor."
)
SHARE = 5  # columns that ".97▓" and a space take


def show(explanation: "Explanation", more: bool = False) -> None:
    """Print the translation, its steps, where each of them looked in the source, and with `more` every table
    that is only summed up otherwise."""
    console = Console()
    if console.encoding.startswith("utf"):
        console.print(Printed(explanation))
    else:
        with console.capture() as captured:  # a letter that this output cannot write becomes a question mark
            console.print(Printed(explanation))
        sys.stdout.write(captured.get().encode(console.encoding, "replace").decode(console.encoding))
    if more:
        print_lines(more_lines(explanation, columns_of_terminal()))


def show_tensors(explanation: "Explanation", name: Any, head: int | None = None) -> None:
    """Print the matrices of a tensor, of a part (its weights or its output), or of all that match a glob."""
    print_lines(tensor_lines(explanation, name, columns_of_terminal(), head))


def tensor_lines(explanation: "Explanation", name: Any, width: int, head: int | None = None) -> list[str]:
    """A matrix for each head of each, with the tokens along its axes."""
    trace, vocabulary = explanation.trace, explanation.vocabulary
    if not isinstance(name, str):
        given = "no tensor is named for it" if name is None else f"tensor = {name!r:.60} is no text"
        asked = f"head = {head!r:.60}: " if name is None else ""
        raise UsageError(
            f"{asked}{given}. Give the name of a tensor, or a glob of names, such as "
            f'"{explanation.watched_layer}.weights" or "decoder.*.weights".'
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


def more_lines(explanation: "Explanation", width: int) -> list[str]:
    """Every table that `show` sums up in a line."""
    lines = ["", *heads_lines(explanation.looked_at(), width)]
    merged = explanation.merged()
    if any(len(word.places) > 1 for word in (*merged.source, *merged.target)):
        lines += ["", *merged_lines(merged, f"{explanation.watched_layer}.weights", width)]
    try:
        lines += ["", *explanation.beam_path.lines(width)]
    except PellucidError as error:  # of a model that computes NaN
        lines += paragraph(f"No search: {error}", width)
    return [*lines, "", *explanation.stepwise.lines(width)]


class Printed:
    """What `show` prints, for any rich console."""

    def __init__(self, explanation: "Explanation") -> None:
        self.explanation = explanation

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        explanation = self.explanation
        title = "forced" if explanation.forced else explanation.to or ""
        translation = explanation.translation
        yield Text.assemble(_word(translation.source), "  →  ", _word(translation.text))
        total = sum(step.loss for step in explanation.steps)
        score = f"score {known(translation.score, '.4f')}, loss {known(total, '.4f')}"
        score = f"{score} in {len(explanation.steps)} steps"
        yield Text(f"{title + ': ' if title else ''}{score}\n", style="dim")
        yield _steps(explanation.steps)
        yield Text()
        yield from _cross_attention(explanation, options.max_width)
        yield Text()
        yield _brief(explanation)
        yield Text(f"{len(explanation.trace)} tensors are in the trace, and all in the page.", style="dim")


def _brief(explanation: "Explanation") -> Table:
    """A line or two for each of what has tables of its own."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold", ratio=1)
    for name, text, where in summaries(explanation):
        table.add_row(name, Text.assemble(visible(text), (f"  {where}" if where else "", "dim")))
    return table


def summaries(explanation: "Explanation") -> Iterator[tuple[str, str, str]]:
    """What, in words, and how to see more of it."""
    if any(math.isnan(step.loss) for step in explanation.steps):
        yield "NaN", NOT_A_NUMBER, ""
    alignment = explanation.alignment()
    pairs = [
        f"{alignment.source_words[link.source]}–{alignment.target_words[link.target]}"
        for link in alignment.links[:PAIRS]
    ]
    more = f", … {len(alignment.links) - PAIRS} more" if len(alignment.links) > PAIRS else ""
    yield "words", f"{', '.join(pairs) or 'none to align'}{more}.", "explanation.alignment()"
    looks = explanation.looked_at(explanation.watched_layer)
    bits = ", ".join(f"{look.head}: {known(look.entropy, '.2f')}" for look in looks)
    most = math.log2(len(explanation.source_tokens))
    about = f"entropy in bits, 0 for one word alone, {most:.2f} for all alike"
    yield "heads", f"of {explanation.watched_layer}, {about}: {bits}.", "explanation.looked_at()"
    yield "search", _search(explanation), "explanation.beam_path"
    count, parameters = len(explanation.steps), explanation.translator.model.parameters()
    if count * (count + 1) / 2 * sum(each.numel() for each in parameters) <= STEPWISE:
        yield "steps", str(explanation.stepwise), "explanation.stepwise"
    else:
        yield "steps", "not decoded again one by one, which would take long.", "explanation.stepwise"
    yield "served", explanation.difference, ""
    ways = "explanation.show(more=True), or --more: these as tables; show(tensor=NAME), or --tensor: a matrix"
    yield "more", f"{ways}; --html: every number.", ""


def _search(explanation: "Explanation") -> str:
    """What the search did, or why there is none."""
    try:
        path = explanation.beam_path
    except PellucidError as error:  # of a model that computes NaN
        return f"none: {error}"
    rivals = [each for each in path.endings if each.token_ids != explanation.target_ids]
    rival = f" The next is {rivals[0].text!r}, score {rivals[0].score:.4f}." if rivals else ""
    return f"beam {path.beam}. {path.verdict}{rival}"


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


def _cross_attention(explanation: "Explanation", width: int) -> Iterator[RenderableType]:
    """One table, or several below each other where the source has more words than the width has room for."""
    shares = explanation.attention_to_source().tolist()
    heads = explanation.trace[f"{explanation.watched_layer}.weights"].tensor.shape[1]
    yield Text(f"{explanation.watched_layer}.weights, the mean of {heads} heads", style="bold")
    yield Text("rows: what the decoder read, which asks · columns: the source, attended to", style="dim")
    words = [visible(token) for token in explanation.source_tokens]
    first = max(cell_len(visible(step.input)) for step in explanation.steps) + 2
    for start, end in _groups(words, width - min(first, width // 3)):
        table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
        table.add_column("", overflow="fold", max_width=width // 3)
        for word in words[start:end]:
            table.add_column(Text(word), justify="right", no_wrap=True, min_width=SHARE - 1)
        for step, row in zip(explanation.steps, shares, strict=True):
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
