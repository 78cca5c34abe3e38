"""What follows from a reading, as text: where heads looked, words, the search, each step, two targets."""

from collections.abc import Iterator
from itertools import groupby

from pellucid.reading.against import INSIDE, ROUNDING, Difference
from pellucid.reading.beam_path import GOES_ON, BeamPath, BeamStep, Candidate
from pellucid.reading.looking import HeadLook, Look
from pellucid.reading.merging import Merged
from pellucid.reading.stepwise import Stepwise
from pellucid.reading.words import visible
from pellucid.seeing.viewed import lines
from pellucid.show.columns import columns, digits, known, paragraph, short_share

BESIDE, BEATEN = 1, 2  # other candidates of a step that are named: followed further, dropped
CHANGES = 10  # tensors of a difference that are named


@lines.register
def against_lines(difference: Difference, width: int) -> list[str]:
    """Two targets step by step, where they part, and which tensors differ most."""
    return [*_parting_lines(difference, width), "", *_change_lines(difference, width)]


def _parting_lines(difference: Difference, width: int) -> Iterator[str]:
    for which, each in (("A", difference.ours), ("B", difference.theirs)):
        total = -sum(step.loss for step in each.steps)
        text = f"{which}: {visible(each.translation.text)} (log-probability {known(total, '.4f')}"
        yield from paragraph(f"{text}, {'given' if each.forced else 'found by the search'})", width)
    yield ""
    rows = []
    for number, (ours, theirs) in enumerate(difference.steps):
        cells = [[step.expected, digits(step.probability)] if step else ["", ""] for step in (ours, theirs)]
        mark = "← they part" if number == difference.parts_at else ""
        rows.append([str(number + 1), cells[0][0], cells[1][0], cells[0][1], cells[1][1], mark])
    yield from columns(["step", "A", "B", "p(A)", "p(B)", ""], rows, width, left=3)
    yield ""
    yield from paragraph(f"{difference.parting} {difference.verdict}", width)
    for search in difference.searches:
        yield from paragraph(search, width)


def _change_lines(difference: Difference, width: int) -> Iterator[str]:
    same = [change for change in difference.changes if change.relative == 0]
    rounded = [change for change in difference.changes if 0 < change.relative < ROUNDING]
    shown = [change for change in difference.changes if not change.name.endswith(INSIDE)][:CHANGES]
    shown = [change for change in shown if change.relative >= ROUNDING]
    alike = f"Of {len(difference.changes)} tensors, on the positions that both have, {len(same)} are the same"
    alike += f" to the bit, and {len(rounded)} but for rounding" if rounded else " to the bit"
    if not shown:
        yield from paragraph(f"{alike}. No tensor differs by more.", width)
        return
    yield from paragraph(f"{alike}. Most differ (the length of the difference / the mean length):", width)
    most = [[change.name, f"{change.relative:.3f}", f"{change.largest:.3g}"] for change in shown]
    yield from columns(["tensor", "relative", "largest"], most, width, longest=width - 24)


@lines.register
def beam_lines(path: BeamPath, width: int) -> list[str]:
    """The path through the search: at each step its rank, and the best of what was dropped."""
    header = ["step", "says", "  log p", "  sum", "rank", "beside it; dropped (✗); their sums"]
    rows = [_beam_row(number, step, path) for number, step in enumerate(path.steps, start=1)]
    endings = [
        f"{number}. {visible(each.text)} (score {each.score:.4f}{'' if each.finished else ', not finished'})"
        for number, each in enumerate(path.endings, start=1)
    ]
    title = f"The search with beam {path.beam}: one path, step by step, and what it beat"
    table = columns(header, rows, width, left=len(header) if width >= 66 else 2, longest=max(24, width - 42))
    out = [line for ending in endings for line in paragraph(ending, width)]
    out = ["What came out, best first:", *out]
    return [*paragraph(title, width), "", *table, "", *paragraph(path.verdict, width), *out]


def _beam_row(number: int, step: BeamStep, path: BeamPath) -> list[str]:
    survivor = step.survivor
    others = [each for each in step.candidates if each is not survivor]
    named = [each for each in others if each.fate in GOES_ON][:BESIDE]
    named += [each for each in others if each.fate not in GOES_ON][:BEATEN]
    rivals = "  ".join(_rival(each, survivor) for each in named)
    if survivor is None:
        inside = number <= len(path.target)  # the search may go on after a hypothesis has ended
        return [
            str(number),
            path.target[number - 1] if inside else "",
            "",
            "",
            "lost" if inside else "out",
            rivals,
        ]
    rank = f"{(step.place or 0) + 1}/{len(step.candidates)}" + (" ✗" if survivor.fate == "dropped" else "")
    numbers = [f"{survivor.log_probability:7.4f}", f"{survivor.total:5.2f}", rank]
    return [str(number), survivor.tokens[-1], *numbers, rivals]


def _rival(candidate: Candidate, survivor: Candidate | None) -> str:
    """Its last token, after … where it goes on from another beginning than the survivor."""
    same = survivor is not None and candidate.token_ids[:-1] == survivor.token_ids[:-1]
    mark = "" if candidate.fate in GOES_ON else "✗"
    return f"{mark}{'' if same else '…'}{candidate.tokens[-1]} {candidate.total:.2f}"


@lines.register
def stepwise_lines(steps: Stepwise, width: int) -> list[str]:
    """With a cache and without, side by side: rows, time, and the largest difference from the pass."""
    header = ["step", "reads", "cache: rows", "ms", "differs", "none: rows", "ms", "differs"]
    rows = []
    for step in steps.steps:
        ways = [
            [str(way.rows), f"{1000 * way.seconds:.2f}", f"{way.difference:.1e}"]
            for way in (step.cached, step.whole)
        ]
        rows.append([str(step.number + 1), step.input, *ways[0], *ways[1]])
    totals = [str(steps.cached_rows), f"{1000 * steps.cached_seconds:.2f}", ""]
    totals += [str(steps.whole_rows), f"{1000 * steps.whole_seconds:.2f}", ""]
    table = columns(header, [*rows, ["all", "", *totals]], width, left=2)
    title = (
        "Step by step with a cache, a new row each; and without one, all rows of the prefix again. In both "
        "the source's keys and values are computed once, for all steps."
    )
    return [*paragraph(title, width), "", *table, "", *paragraph(str(steps), width)]


def heads_lines(looks: list[HeadLook], width: int) -> list[str]:
    """For each layer, what each position of each head looked at most."""
    lines: list[str] = []
    for part, heads in groupby(looks, key=lambda look: look.part):
        group = list(heads)
        header = ["reads", "to say"] if group[0].looks[0].expected is not None else ["reads"]
        rows = []
        for place, look in enumerate(group[0].looks):
            who = [look.asks, *([look.expected] if look.expected is not None else [])]
            rows.append([*who, *(_most(head.looks[place]) for head in group)])
        bits = ["bits", *([""] if len(header) == 2 else []), *(known(head.entropy, ".2f") for head in group)]
        titles = [*header, *(f"head {head.head}" for head in group)]
        about = "the word that each position of each head looked at most, with its share"
        lines += ["", part, *paragraph(about, width)]
        lines += columns(titles, [*rows, bits], width, left=len(header), longest=16)
    return lines[1:]


def _most(look: Look) -> str:
    if not look.words:
        return look.most
    word, share = look.words[0]
    return f"{word} {short_share(share)}"


def merged_lines(merged: Merged, name: str, width: int) -> list[str]:
    """The mean of an attention's heads between words."""
    record = merged[name]
    shares = record.tensor[0].mean(0).tolist()
    rows = [
        [word, *(known(share, ".2f") for share in row)]
        for word, row in zip(record.labels("L"), shares, strict=True)
    ]
    heads = record.tensor.shape[1]
    return [
        *paragraph(f"{name} between words, the mean of {heads} heads", width),
        *columns(["", *record.labels("M")], rows, width),
    ]
