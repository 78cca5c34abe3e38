"""The ledger of one word as text: its three sums, what happens without each term; and the source meter."""

import math
from collections.abc import Sequence

from pellucid.reading.causal_map import CausalMap
from pellucid.reading.ledger import Ledger
from pellucid.reading.reading import Reading
from pellucid.show.columns import short, short_share
from pellucid.show.tables import Cell, Note, Part, Table, view
from pellucid.translate.source_share import UsualShare

SHOWN = 12  # terms of a long reading: the largest, and the sum of the others
WAYS = {"zero": "with 0", "mean": "with mean", "absent": "without it"}  # as in the page
NO_CAUSE = (
    "A ledger is not a cause: a share says what a term adds while attention, norms and gates stay as they "
    "are; the columns beside it say how much the logit falls when the term is really taken out and all is "
    "computed again."
)


@view(Ledger)
def ledger_parts(ledger: Ledger, width: int) -> list[Part]:
    """Show the three readings as tables, the largest terms of the long ones first."""
    why = f"{ledger.word} at step {ledger.step + 1}?"
    what = f"Its logit, {ledger.logit:.4f}, is a sum"
    if ledger.against is not None:
        why = f"{ledger.word} and not {ledger.against} at step {ledger.step + 1}?"
        what = f"The difference of their logits, {ledger.logit:.4f}, is a sum"
    ways = {WAYS["zero"]: ledger.zero, WAYS["mean"]: ledger.mean}
    ranks = ", ".join(
        f"{WAYS[way]}: {rank:.2f}" for way, rank in ledger.agreement.items() if not math.isnan(rank)
    )
    return [
        Note(f"Why {why} {what}, in three readings.", "bold"),
        "",
        _table("What each word read adds, over all paths", ledger.by_input, {WAYS["absent"]: ledger.absent}),
        "",
        _table("What each part of the decoder adds at this step", ledger.by_part, ways, SHOWN),
        "",
        _table("The same, each head by where it looked", ledger.by_position, {}, SHOWN),
        "",
        f"Each reading adds up to the logit within {ledger.gap:.1e}. {NO_CAUSE}",
        "Without it: nothing else looks at the word; with 0, with mean: the part's vector here is 0, or its "
        "mean over the positions. Rank correlation of the shares and the falls (1: the same order): "
        f"{ranks or 'none'}.",
    ]


def _table(
    title: str,
    terms: Sequence[tuple[str, float]],
    ways: dict[str, list[float | None]],
    most: int | None = None,
) -> Table:
    """Show terms in their order or, if `most` is given, the largest ones and the sum of the others."""
    lines = list(zip(terms, *ways.values(), strict=True))
    if most is not None:
        lines.sort(key=lambda line: -abs(line[0][1]))
    largest = max(abs(share) for _, share in terms) or 1
    rows = [
        [_short(label), Cell(f"{share:.4f}", abs(share) / largest), *falls]
        for (label, share), *falls in lines[:most]
    ]
    if others := [share for (_, share), *_ in lines[len(rows) :]]:
        rows.append([f"the other {len(others)} together", f"{math.fsum(others):.4f}", *[None] * len(ways)])
    return Table([title, "share", *ways], rows, longest=60)


def _short(label: str) -> str:
    """Shorten the path that a label may begin with."""
    path, space, rest = label.partition(" ")
    return f"{short(path) if path.startswith('decoder.layers.') else path}{space}{rest}"


def share_parts(reading: Reading, shares: Sequence[float], usual: UsualShare | None) -> list[Part]:
    """Say how much of each word comes from the source, and what is usual for the model."""
    words = ", ".join(
        f"{step.expected} {short_share(each)}" for step, each in zip(reading.steps, shares, strict=True)
    )
    mean, known = math.fsum(shares) / max(len(shares), 1), ""
    if usual is not None:
        low, high = short_share(usual.low), short_share(usual.high)
        known = f" (in nine of ten translations of this model from {low} to {high})"
    return ["", f"From the source, not from the words before: {words}; mean {short_share(mean)}{known}."]


@view(CausalMap)
def map_parts(found: CausalMap, width: int) -> list[Part]:
    """Show the share of the lost probability that comes back, a table for each stack."""
    told = "How much comes back with one vector as it was:"
    if found.says_little:
        told = (
            "So little is lost that the shares below say nothing: choose another word, or another --target."
        )
    parts: list[Part] = [
        Note(
            f"{found.word} at step {found.step + 1} has probability {found.clean:.4f}, and "
            f"{found.corrupt:.4f} if {found.corrupted} is made unreadable. {told}",
            "bold",
        )
    ]
    for stack, tokens in found.positions.items():
        rows = []
        for name, row in found.returned.items():
            if name.startswith(stack):
                cells = [Cell(f"{share:z.2f}", min(max(share, 0.0), 1.0)) for share in row]
                rows.append([short(name).removesuffix(" output"), *cells])
        parts += ["", Table([stack, *tokens], rows)]
    return parts
