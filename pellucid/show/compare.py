"""One word in two sentences, as text, for a notebook, and as a picture: cosines, movers, translations."""

from collections.abc import Iterator
from pathlib import Path

from pellucid.probes.compare import Comparison, LayerChange, Stage
from pellucid.reading.words import visible
from pellucid.seeing.viewed import html, lines, plot
from pellucid.show.columns import columns, digits, paragraph
from pellucid.show.drawing import drawing, shade
from pellucid.show.notebook import preformatted

NAMED, DRAWN = 6, 8  # movers of a layer in the text, in the picture
ACROSS = 4  # panels of the picture beside each other
COSINES = {"as it is": ("cosine", "o-"), "position": ("position", "s--"), "context": ("context", "^:")}
EFFECTS = (
    "position: the same sentence, but the word has the positional encodings of its place in the other one. "
    "context: the other sentence, same encodings. by: an effect's share of the change; the two sum to 1."
)
MOVED = (
    "moved by: each word's share of the change of the attention's output, by head; together they are 1. "
    "in: the sentences that contain it. From layer 1 on, a word's values already contain other words."
)


@lines.register
def compare_lines(comparison: Comparison, width: int = 80) -> list[str]:
    """The sentences and their translations, the verdict, a table of the stages, a table for each layer."""
    text = []
    pairs = zip((comparison.first, comparison.second), comparison.renderings, strict=True)
    for which, (occurrence, rendering) in zip(("first ", "second"), pairs, strict=True):
        plain = [word for word in occurrence.words if not word.special]
        compared = [set(occurrence.places) <= set(word.places) for word in plain]
        marked = [f"[{word.text}]" if same else word.text for word, same in zip(plain, compared, strict=True)]
        aligned = " ".join(rendering.words) or "no word of it"
        translated = f"{rendering.text}  ({occurrence.word}: {aligned})"
        text += paragraph(f"{which}  {' '.join(marked)}  →  {translated}", width)
    text += [*_probabilities(comparison, width), "", *paragraph(verdict(comparison), width), ""]
    header = ["after", "cosine", "position", "context", "by pos.", "by cont.", "distance"]
    text += columns(header, [_stage_row(stage) for stage in comparison.stages], width)
    text += paragraph(EFFECTS, width)
    for layer in comparison.layers:
        text += ["", *_layer_lines(layer, width)]
    return [*text, "", *paragraph(MOVED, width)]


@html.register
def compare_html(comparison: Comparison) -> str:
    """The text, as it stands in a terminal."""
    return preformatted(compare_lines(comparison, 100))


def verdict(comparison: Comparison) -> str:
    """Sum the comparison up in a sentence or two."""
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
        text += f" In the last layer it was moved most by {movers}."
    one, other = (" ".join(each.tokens) for each in (comparison.first, comparison.second))
    if one != other:
        text += f" Its tokens are not the same, {one} and {other}: their difference counts as context."
    return text


def _probabilities(comparison: Comparison, width: int) -> Iterator[str]:
    """The probability of both words in each sentence, at the step of its own word."""
    each = zip(("first", "second"), comparison.renderings, strict=True)
    rows = [
        [which, *map(digits, rendering.probabilities.values())]
        for which, rendering in each
        if rendering.probabilities
    ]
    if len(rows) == 2:
        words = list(comparison.renderings[0].probabilities)
        yield from ["", *columns(["probability there of", *words], rows, width)]


def _stage_row(stage: Stage) -> list[str]:
    shares = [stage.position_share, stage.context_share]
    changed = [f"{share:.2f}" if stage.distance else "–" for share in shares]
    cosines = [f"{cosine:.4f}" for cosine in (stage.cosine, stage.position, stage.context)]
    return [stage.title, *cosines, *changed, f"{stage.distance:.3f}"]


def _layer_lines(layer: LayerChange, width: int) -> Iterator[str]:
    yield from paragraph(f"{layer.attention}: its output at the word changes by {layer.distance:.3f}", width)
    named = [mover for mover in layer.movers if abs(mover.share) >= 0.005][:NAMED]
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


def _signed(share: float) -> str:
    """+0.42, and 0 for what rounds to nothing."""
    return f"{share:+.2f}" if abs(share) >= 0.005 else "0"


@plot.register
def compare_plot(comparison: Comparison, path: str | Path) -> None:
    """The cosines at the left, then each layer's movers by head."""
    texts = [visible(each.text) for each in (comparison.first, comparison.second)]
    letters = "".join(texts) + "".join(mover.word for layer in comparison.layers for mover in layer.movers)
    with drawing(path, comparison.word, letters) as figure:
        count = 1 + len(comparison.layers)
        down = -(-count // ACROSS)
        across = -(-count // down)
        figure.set_size_inches(4.2 * across, 4.2 * down)
        figure.suptitle(f"{visible(comparison.word)}: {texts[0]} · {texts[1]}", fontsize=10)
        axes, *panels = figure.subplots(down, across, squeeze=False).flatten()
        titles = [stage.title for stage in comparison.stages]
        for label, (name, style) in COSINES.items():
            axes.plot(titles, [getattr(stage, name) for stage in comparison.stages], style, label=label)
        axes.tick_params("x", rotation=30)
        axes.set_ylim(min(0.0, *(stage.cosine for stage in comparison.stages)), 1.05)
        axes.set_title("cosine of its two vectors", fontsize=9)
        axes.legend(fontsize=8)
        for panel, layer in zip(panels, comparison.layers, strict=False):
            shares = [mover.shares for mover in layer.movers[:DRAWN]]
            most = max(abs(share) for row in shares for share in row) or 1e-9
            rows = [f"{visible(mover.word)} ({mover.sentences})" for mover in layer.movers[:DRAWN]]
            heads = [f"head {head}" for head in range(len(shares[0]))]
            cells = [[f"{share:+.2f}" for share in row] for row in shares]
            shade(panel, shares, most, signed=True, rows=rows, columns=heads, written=cells)
            panel.set_title(f"moved by: {layer.attention}", fontsize=9)
        for panel in panels[len(comparison.layers) :]:
            panel.remove()
