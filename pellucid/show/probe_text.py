"""The results of two probes as text: how a word differs between two sentences, and which predictions depend
on tokens that they must not know."""

from collections.abc import Sequence

from pellucid.probes.compare import Comparison, LayerChange
from pellucid.probes.leak import LeakReport
from pellucid.probes.pairs import EMPTY, SEED, PairsReport
from pellucid.probes.verify import Sheet
from pellucid.show.tables import Note, Part, Table, view

NAMED = 6  # movers of a layer
LEAKS = 12  # with a line of their own
EFFECTS = (
    "position: the same sentence, but the word has the positional encodings of its place in the other one. "
    "context: the other sentence, same encodings. by: an effect's share of the change; the two sum to 1."
)
MOVED = (
    "moved by: each word's share of the change of the attention's output, by head; together they are 1. "
    "in: the sentences that contain it. From layer 1 on, a word's values already contain other words."
)


@view(Comparison)
def compare_parts(comparison: Comparison, width: int) -> list[Part]:
    """Show both sentences with their translations, a verdict, the cosine of the word's two vectors after each
    stage, and for each layer which words moved it."""
    parts: list[Part] = []
    pairs = zip((comparison.first, comparison.second), comparison.renderings, strict=True)
    for which, (occurrence, rendering) in zip(("first ", "second"), pairs, strict=True):
        marked = [word.text for word in occurrence.words if not word.special]
        marked[occurrence.number] = f"[{marked[occurrence.number]}]"
        aligned = " ".join(rendering.words) or "no word of it"
        translated = f"{rendering.text}  ({occurrence.word}: {aligned})"
        parts.append(f"{which}  {' '.join(marked)}  →  {translated}")
    header = ["after", "cosine", "position", "context", "by pos.", "by cont.", "distance"]
    rows = []
    for stage in comparison.stages:
        shares = (stage.position_share, stage.context_share) if stage.distance else "––"
        cosines = stage.cosine, stage.position, stage.context
        rows.append([stage.title, *cosines, *shares, stage.distance])
    form = ["", ".4f", ".4f", ".4f", ".2f", ".2f", ".3f"]
    parts += ["", verdict(comparison), "", Table(header, rows, form=form), EFFECTS]
    for layer in comparison.layers:
        parts += ["", _movers(layer)]
    return [*parts, "", MOVED]


def verdict(comparison: Comparison) -> str:
    """Say how similar the word's two vectors are before and after the encoder, and what made them differ."""
    first, last = comparison.stages[0], comparison.stages[-1]
    if not last.distance:
        return f"Nothing parts the two: {comparison.word!r} has the same vector everywhere."
    text = (
        f"{comparison.word!r}: cosine {first.cosine:.2f} before the encoder, {last.cosine:.2f} after it; "
        f"{last.context_share:.0%} of the change by context, {last.position_share:.0%} by position."
    )
    others = [mover for mover in comparison.layers[-1].movers if not mover.itself and mover.share >= 0.1]
    if others:
        movers = ", ".join(f"{mover.word} ({mover.share:.0%})" for mover in others[:3])
        text += f" Of the other words, these moved it most towards that in the last layer: {movers}."
    one, other = (" ".join(each.tokens) for each in (comparison.first, comparison.second))
    if one != other:
        text += f" Its tokens are not the same, {one} and {other}: their difference counts as context."
    return text


def _movers(layer: LayerChange) -> Table:
    named = [mover for mover in layer.movers if abs(mover.share) >= 0.005][:NAMED]
    rows = []
    for mover in named:
        word = f"{mover.word} itself" if mover.itself else mover.word
        rows.append([word, mover.sentences, *map(_write_signed, (mover.share, *mover.shares))])
    others = [mover for mover in layer.movers if mover not in named]
    if others:
        rest = [sum(shares) for shares in zip(*(mover.shares for mover in others), strict=True)]
        count = f"{len(others)} other{'s' * (len(others) != 1)}"
        rows.append([count, "", *map(_write_signed, (sum(rest), *rest))])
    heads = [f"head {head}" for head in range(len(layer.movers[0].shares))]
    title = f"{layer.attention}: its output at the word changes by {layer.distance:.3f}"
    return Table(["moved by", "in", "all", *heads], rows, left=2, title=title)


def _write_signed(share: float) -> str:
    """Write a share with its sign, +0.42, or 0 if it rounds to zero."""
    return f"{share:+.2f}" if abs(share) >= 0.005 else "0"


@view(LeakReport)
def leak_parts(report: LeakReport, width: int) -> list[Part]:
    """Show the verdict, the first leaks, what was tried, and the largest difference due to rounding."""
    count = len({leak.position for leak in report.leaks})
    verdict = "nothing leaks: no prediction changed with a token that it must not know"
    if report.leaks:
        depend = "positions depend" if count > 1 else "position depends"
        verdict = f"it leaks: {count} {depend} on what must be hidden"
        if all(leak.modes == ("training",) for leak in report.leaks):
            verdict += ", in training mode only"
    shown = [*map(str, report.leaks[:LEAKS])]
    shown += [f"… and {len(report.leaks) - LEAKS} more"] if len(report.leaks) > LEAKS else []
    leaks, tried = (_indent(*([line] for line in lines)) for lines in (shown, report.tried))
    rounding = f"{report.rounding:.1e}" if report.rounding else 0
    last = f"largest difference taken for rounding: {rounding}"
    return [verdict, *([leaks] if shown else []), "tried:", tried, last]


def _indent(*rows: Sequence[str], title: str = "") -> Table:
    return Table([""], [["", *row] for row in rows], left=3, title=title, longest=1000)


@view(PairsReport)
def pairs_parts(report: PairsReport, width: int) -> list[Part]:
    """Show the mean score by place, where it changes, the suspicious pairs by kind, and the worst ones."""
    is_whole = report.scored + len(report.kinds[EMPTY]) == report.pairs
    drawn = "" if is_whole else f" (drawn at random, seed {SEED})"
    rows = [[f"{first:,}-{last:,}", score] for first, last, score in report.parts]
    changed = "The scores change at no line."
    if report.change:
        changed = (
            "The scores change at line {:,}: {:.2f} before it, {:.2f} from there on. If the text is of one "
            "kind, a line was lost or added there on one side: look at the lines around it."
        ).format(*report.change)
    parts: list[Part] = [
        f"{report.pairs:,} pairs, {report.scored:,} of them scored{drawn}. A score is the mean "
        "log-probability of a target's tokens: 0 is certain.",
        *("", Table(["lines", "score"], rows, form=2), "", changed),
    ]
    for kind, lines in report.kinds.items():
        if lines:
            listed = ", ".join(f"{line:,}" for line in lines[:NAMED]) + ", …" * (len(lines) > NAMED)
            parts.append(f"{len(lines):,} pairs {kind}: line {listed}")
    if report.prefers_copy is not None:
        share = f"{report.prefers_copy:.0%}"
        parts.append(f"Of the other sources, the model would rather copy {share} than translate.")
    parts += ["", "the worst"]
    for pair, score, said in report.worst:
        texts = {"source": pair.source, "target": pair.target, "model": said}
        parts.append(sentence_table(f"line {pair.line:,}: {score:.2f}", **texts))
    return parts


def sentence_table(title: str, **texts: str) -> Table:
    """Return texts that belong to one sentence as a table, each with its name."""
    return _indent(*texts.items(), title=title)


@view(Sheet)
def sheet_parts(sheet: Sheet, width: int) -> list[Part]:
    """Show each check with what was found, then the verdict."""
    parts: list[Part] = [sheet.model, ""]
    for check in sheet.checks:
        style = {"FAULT": "bold", "not tried": "dim"}.get(check.found, "")
        parts.append(Note(f"{check.found:10}{check.name}: {check.said}", style))
    verdict = "nothing contradicts" if not sheet.faults else f"the first fault is in: {sheet.faults[0].name}"
    tried = sum(check.found != "not tried" for check in sheet.checks)
    return [*parts, "", f"{tried} check{'s' * (tried > 1)} in {sheet.seconds:.0f} s: {verdict}"]
