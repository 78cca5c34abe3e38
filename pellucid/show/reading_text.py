"""A translation and its recorded pass as notes and tables: the steps, where heads looked, the search,
decoding step by step, and two targets side by side."""

import math
from collections.abc import Callable
from typing import Any

from pellucid.errors import PellucidError
from pellucid.reading.against import Difference
from pellucid.reading.beam_path import LOST, BeamPath, BeamStep
from pellucid.reading.looking import align, find_looks
from pellucid.reading.reading import Reading, Step
from pellucid.reading.stepwise import Stepwise
from pellucid.reading.words import number_text
from pellucid.seeing.records import find_names
from pellucid.show.columns import short_share
from pellucid.show.record_text import record_parts
from pellucid.show.tables import Cell, Note, Part, Table, view

NAMED = 3  # the most probable tokens that a step shows
BESIDE = 3  # other candidates of a step that are named
NOT_A_NUMBER = (
    "What is shown as ? is not a number. pellucid.find_nonfinite(model) names the first such tensor."
)
FURTHER = "Leave out steps=True, or --steps, to see where each step looked and what else can be shown."
MORE = (
    "explanation.show(more=True), or --more: alignment, search, each step; show(tensor=NAME), or "
    "--tensor: a matrix; to_html(FILE), or --html: every number."
)


@view(Reading)
def reading_parts(reading: Reading, width: int) -> list[Part]:
    """Show the translation, its steps, and where each step looked in the source."""
    layer = reading.watched_layer
    looks = find_looks(reading, layer)
    shares: list[list[str | Cell]] = [
        [step.input, *(Cell(short_share(share), share) for share in row)]
        for step, row in zip(reading.steps, reading.attention_to_source().tolist(), strict=True)
    ]
    bits = ", ".join(f"{look.head}: {number_text(look.entropy, '.2f')}" for look in looks)
    most = math.log2(len(reading.source_tokens))
    return [
        *_steps_parts(reading),
        "",
        Note(f"{layer}.weights, the mean of {len(looks)} heads", "bold"),
        Note("rows: what the decoder read, which asks · columns: the source, attended to", "dim"),
        Table(["", *reading.source_tokens], shares, gap=1),
        "",
        *([NOT_A_NUMBER] if any(math.isnan(step.loss) for step in reading.steps) else []),
        f"Entropy of each head in bits, from 0 (one word alone) to {most:.2f} (all words alike): {bits}.",
        reading.difference,
        f"{len(reading.trace)} tensors are in the trace. {MORE}",
    ]


def brief_parts(reading: Reading) -> list[Part]:
    """Show the translation, its steps, and in one line the source token that each step looked at most."""
    most = reading.attention_to_source().argmax(-1).tolist()
    looked = ", ".join(
        f"{step.expected} at {reading.source_tokens[place]}"
        for step, place in zip(reading.steps, most, strict=True)
    )
    return [*_steps_parts(reading), "", f"Looked most, to say {looked}.", FURTHER]


def _steps_parts(reading: Reading) -> list[Part]:
    """Show the title, the score, and a row for each step."""
    by = "forced: " if reading.forced else f"{reading.to}: " if reading.to else ""
    score = number_text(reading.translation.score, ".4f")
    loss = number_text(sum(step.loss for step in reading.steps), ".4f")
    steps = [_step(number, step) for number, step in enumerate(reading.steps, start=1)]
    header = ["", "input", "expected", "probability", "loss", "most probable", *[""] * (NAMED - 1)]
    return [
        Note(reading.title, "bold"),
        Note(f"{by}score {score}, loss {loss} in {len(steps)} step{'s' * (len(steps) != 1)}", "dim"),
        "",
        Table(header, steps, left=3, form=".4f"),
    ]


def _step(number: int, step: Step) -> list[Any]:
    expected = Cell(step.expected, style="bold" if step.predicted == step.expected else "bold red")
    best = [f"{token} {short_share(share)}" for token, share in step.alternatives[:NAMED]]
    missing = [""] * (NAMED - len(best))
    return [number, step.input, expected, step.probability, step.loss, *best, *missing]


def more_parts(
    reading: Reading, path: Callable[[], BeamPath], steps: Callable[[], Stepwise], width: int
) -> list[Part]:
    """Show the alignment, the path through the search, and step-by-step decoding with and without a cache.
    `path` and `steps` are called to compute them."""
    aligned = align(reading)
    pairs = [
        f"{aligned.source_words[each.source]}–{aligned.target_words[each.target]}" for each in aligned.links
    ]
    try:
        search = beam_parts(path(), width)
    except PellucidError as error:  # the model computes NaN
        search = [f"No search: {error}"]
    words = f"Words aligned: {', '.join(pairs) or 'none'}."
    return ["", words, "", *search, "", *stepwise_parts(steps(), width)]


def tensor_parts(reading: Reading, name: str, width: int, head: int | None = None) -> list[Part]:
    """Show the matrices of a tensor, of a module (its weights, or its output if it has none), or of all
    tensors that match a glob. With `head`, show that head alone."""
    trace, vocabulary = reading.trace, reading.vocabulary
    of_part = [full for full in (f"{name}.weights", f"{name}.output") if full in trace]
    names = of_part[:1] or find_names(name, trace)
    with_heads = [full for full in names if "H" in trace[full].axes]
    words = vocabulary.target_tokens(range(vocabulary.target_size))
    shown = names if head is None else with_heads or names
    return [part for full in shown for part in ["", *record_parts(trace[full], width, head, words)]][1:]


@view(BeamPath)
def beam_parts(path: BeamPath, width: int) -> list[Part]:
    """Show the path of one target in the search: its rank at each step, and the best other candidates."""
    header = ["step", "says", "  log p", "  sum", "rank", "other candidates (✗: dropped), their sums"]
    rows = [_beam_row(number, step, path) for number, step in enumerate(path.steps, start=1)]
    left = len(header) if width >= 66 else 2
    endings = [
        f"{number}. {each.text} (score {each.score:.4f}{'' if each.finished else ', not finished'})"
        for number, each in enumerate(path.endings, start=1)
    ]
    return [
        Note(f"The search with beam {path.beam}: one path, step by step, and what it beat", "bold"),
        "",
        Table(header, rows, left, longest=max(24, width - 42)),
        "",
        path.verdict,
        "What came out, best first:",
        *endings,
    ]


def _beam_row(number: int, step: BeamStep, path: BeamPath) -> list[str]:
    survivor = step.survivor
    others = [each for each in step.candidates if each is not survivor][:BESIDE]
    marked = [("✗" if each.fate in LOST else "", each.tokens[-1], each.total) for each in others]
    rivals = "  ".join(f"{mark}{token} {total:.2f}" for mark, token, total in marked)
    if survivor is None:
        inside = number <= len(path.target)  # the search may go on after a hypothesis has ended
        token, place = (path.target[number - 1], "lost") if inside else ("", "out")
        return [str(number), token, "", "", place, rivals]
    rank = f"{(step.place or 0) + 1}/{len(step.candidates)}" + (" ✗" if survivor.fate == "dropped" else "")
    numbers = [f"{survivor.log_probability:7.4f}", f"{survivor.total:5.2f}", rank]
    return [str(number), survivor.tokens[-1], *numbers, rivals]


@view(Stepwise)
def stepwise_parts(steps: Stepwise, width: int) -> list[Part]:
    """Show each step with a cache and without one: how many rows it computes, and its difference from the
    parallel pass."""
    header = ["step", "reads", "cache: rows", "differs", "none: rows", "differs"]
    rows: list[list[Any]] = [
        [number, step.input, 1, step.cached.difference, number, step.whole.difference]
        for number, step in enumerate(steps.steps, start=1)
    ]
    rows.append(["all", None, steps.cached_rows, None, steps.whole_rows, None])
    title = (
        "Step by step with a cache, a new row each; and without one, all rows of the prefix again. In both "
        "the source's keys and values are computed once, for all steps."
    )
    return [title, "", Table(header, rows, left=2, form=".1e"), "", str(steps)]


@view(Difference)
def difference_parts(difference: Difference, width: int) -> list[Part]:
    """Show two targets step by step, and where they first differ."""
    parts: list[Part] = []
    for name, each in (("A", difference.ours), ("B", difference.theirs)):
        total = number_text(-sum(step.loss for step in each.steps), ".4f")
        by = "given" if each.forced else "found by the search"
        parts.append(f"{name}: {each.translation.text} (log-probability {total}, {by})")
    rows = []
    for number, both in enumerate(difference.steps):
        tokens = [step.expected if step else None for step in both]
        shares = [step.probability if step else None for step in both]
        mark = "← they part" if number == difference.parts_at else ""
        rows.append([number + 1, *tokens, *shares, mark])
    table = Table(["step", "A", "B", "p(A)", "p(B)", ""], rows, left=3)
    asked = [NOT_A_NUMBER] if math.isnan(difference.log_ratio) else []
    return [*parts, "", table, "", difference.verdict, *asked, *difference.searches]
