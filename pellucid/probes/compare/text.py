"""One word in two sentences, as lines of text: cosines, effects, what moved it, translations."""

from collections.abc import Iterator

from pellucid.probes.compare.comparison import Comparison, Stage
from pellucid.probes.compare.movers import LayerChange
from pellucid.probes.compare.occurrence import Occurrence
from pellucid.reading.words import visible
from pellucid.show.columns import columns, digits, paragraph

MOVERS = 6  # words of a layer that are named
EFFECTS = (
    "position: the same sentence, with the positional encodings that the word has in the other one, so "
    "position alone. context: the other sentence, with the same positional encodings, so context alone. "
    "by: the shares of both effects in the change; they sum to 1. distance: the length of the change."
)
LINEAR = (
    "moved by: each word's share of the change of the attention's output, head by head; all shares of a "
    "layer sum to 1. in: which of the sentences has it. Exact, for given its weights an attention is linear "
    "in its values. What is not linear (the weights themselves, the norm, the feed-forward) is not shared "
    "out. From layer 1 on a word's values already hold what it took from its own neighbours."
)


def lines(comparison: Comparison, width: int) -> list[str]:
    """The whole comparison within `width` columns."""
    return list(_lines(comparison, width))


def _lines(comparison: Comparison, width: int) -> Iterator[str]:
    pairs = zip((comparison.first, comparison.second), comparison.renderings, strict=True)
    for which, (occurrence, rendering) in zip(("first ", "second"), pairs, strict=True):
        text = " ".join(_marked(occurrence))
        said = " ".join(rendering.words) or "no word of it"
        yield from paragraph(f"{which}  {text}  →  {rendering.text}  ({occurrence.word}: {said})", width)
    yield from _probabilities(comparison, width)
    yield ""
    yield from paragraph(comparison.verdict, width)
    yield ""
    header = ["after", "cosine", "position", "context", "by pos.", "by cont.", "distance"]
    yield from columns(header, [_stage(stage) for stage in comparison.stages], width)
    yield from paragraph(EFFECTS, width)
    for layer in comparison.layers:
        yield ""
        yield from _layer(layer, width)
    yield ""
    yield from paragraph(LINEAR, width)


def _marked(occurrence: Occurrence) -> Iterator[str]:
    for word in occurrence.words:
        if not word.special:
            compared = set(occurrence.places) <= set(word.places)
            yield visible(f"[{word.text}]" if compared else word.text)


def _probabilities(comparison: Comparison, width: int) -> Iterator[str]:
    """How probable each sentence holds both words, where it says its own."""
    rows = [
        [which, *(digits(rate) for rate in rendering.probabilities.values())]
        for which, rendering in zip(("first", "second"), comparison.renderings, strict=True)
        if rendering.probabilities
    ]
    if len(rows) == 2:
        words = list(comparison.renderings[0].probabilities)
        yield ""
        yield from columns(["probability there of", *words], rows, width)


def _stage(stage: Stage) -> list[str]:
    shares = [stage.position_share, stage.context_share]
    changed = [f"{share:.2f}" if stage.distance else "–" for share in shares]
    cosines = [f"{cosine:.4f}" for cosine in (stage.cosine, stage.position, stage.context)]
    return [stage.title, *cosines, *changed, f"{stage.distance:.3f}"]


def _layer(layer: LayerChange, width: int) -> Iterator[str]:
    yield from paragraph(f"{layer.attention}: its output at the word changes by {layer.distance:.3f}", width)
    named = [mover for mover in layer.movers if abs(mover.share) >= 0.005][:MOVERS]
    rows = []
    for mover in named:
        word = f"{mover.word} itself" if mover.itself else mover.word
        rows.append([word, mover.sentences, *map(_signed, (mover.share, *mover.shares))])
    others = [mover for mover in layer.movers if mover not in named]
    if others:
        rest = [sum(shares) for shares in zip(*(mover.shares for mover in others), strict=True)]
        rows.append([f"{len(others)} others", "", *map(_signed, (sum(rest), *rest))])
    heads = [f"head {head}" for head in range(len(layer.movers[0].shares))]
    yield from columns(["moved by", "in", "all", *heads], rows, width, left=2)
    yield from paragraph(
        f"Of the change of the first Add's sum {layer.attention_share:.2f} is this attention's, the rest was "
        f"there before; of the second Add's, {layer.feed_forward_share:.2f} is the feed-forward's.",
        width,
    )


def _signed(share: float) -> str:
    """+0.42, and 0 for what rounds to nothing."""
    return f"{share:+.2f}" if abs(share) >= 0.005 else "0"
