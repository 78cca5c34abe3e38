"""The drawings of docs/learn that are no plot: the model, and three steps in time.

What is in them, the layers, shapes, tokens, numbers and which rows are new, comes from the demo model; only
the places are chosen here."""

from collections.abc import Iterator
from html import escape

from torch import Tensor

from pellucid.explanation import Explanation

INK, PALE, NEW, LINE = "#1b1f24", "#6b7280", "#b45309", "#9ca3af"
HEAD = (
    '<?xml version="1.0" encoding="utf-8"?>\n<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" '
    'width="{0}" height="{1}" font-family="DejaVu Sans, Noto Sans Devanagari, sans-serif" font-size="12">\n'
    '<rect width="{0}" height="{1}" fill="white"/>\n'
)
CELL = 7  # the width of a number in a strip
Drawn = Iterator[str]


def svg(width: int, height: int, parts: Drawn) -> str:
    """Return a drawing as a file's text."""
    return HEAD.format(width, height) + "\n".join(parts) + "\n</svg>\n"


def text(x: float, y: float, words: str, colour: str = INK, anchor: str = "start", size: int = 12) -> str:
    style = f'fill="{colour}" text-anchor="{anchor}" font-size="{size}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(words)}</text>'


def box(x: float, y: float, width: float, height: float, words: str, fill: str = "#f3f4f6") -> Drawn:
    """Draw a part of the model, with its name."""
    yield f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="4" fill="{fill}" stroke="{LINE}"/>'
    yield text(x + width / 2, y + height / 2 + 4, words, anchor="middle", size=11)


def arrow(x: float, y: float, to_x: float, to_y: float, colour: str = INK) -> Drawn:
    yield f'<path d="M{x} {y} L{to_x} {to_y}" stroke="{colour}" fill="none"/>'
    yield f'<circle cx="{to_x}" cy="{to_y}" r="2.5" fill="{colour}"/>'


def strip(x: float, y: float, numbers: Tensor, most: float, pale: bool = False) -> Drawn:
    """Draw a row of numbers as colours: blue below 0, orange above; pale if it is not new."""
    for place, number in enumerate(numbers.tolist()):
        share = min(1.0, abs(number) / most)
        colour = "#c2410c" if number > 0 else "#1d4ed8"
        shade = f'fill="{colour}" fill-opacity="{share * (0.45 if pale else 1.0):.2f}"'
        yield f'<rect x="{x + place * CELL:.1f}" y="{y}" width="{CELL}" height="11" {shade}/>'


def architecture(explanation: Explanation) -> str:
    """Draw the encoder at the left, the memory, the decoder at the right, and the words that it predicts."""
    config = explanation.translator.model.config
    encoder = ["self_attention", "residual_1", "feed_forward", "residual_2"]
    decoder = ["self_attention", "residual_1", "cross_attention", "residual_2", "feed_forward", "residual_3"]
    layers = max(config.encoder_layers, config.decoder_layers)
    height = 150 + 28 * 6 * layers + 46 * layers
    return svg(760, height, _whole(explanation, encoder, decoder, height))


NAMES = {
    "encoder.self_attention": "self-attention",
    "decoder.self_attention": "masked self-attention",
    "decoder.cross_attention": "cross-attention",
    "feed_forward": "feed-forward",
    "residual": "Add & Norm",
}


def _named(stack: str, part: str) -> str:
    return NAMES.get(f"{stack}.{part}") or NAMES[part.rstrip("_123")]


def _size(explanation: Explanation, name: str) -> str:
    return "×".join(map(str, explanation.trace[name].tensor.shape[1:]))


def _stack(explanation: Explanation, stack: str, parts: list[str], x: float, bottom: float) -> Drawn:
    """Draw the layers of a stack from the bottom up, with the size of each output."""
    config, y = explanation.translator.model.config, bottom
    ids = "encoder" if stack == "encoder" else "decoder"
    layers = config.encoder_layers if stack == "encoder" else config.decoder_layers
    yield from arrow(x + 85, bottom, x + 85, bottom - layers * (24 + 28 * len(parts)) + 4, LINE)
    yield from box(x, y, 170, 22, "embedding + positions", "#e0f2fe")
    yield text(x + 176, y + 15, _size(explanation, f"{ids}.embedded"), PALE, size=10)
    for layer in range(layers):
        yield text(x, y - 10, f"{stack} layer {layer}", PALE, size=10)
        y -= 16
        for part in parts:
            y -= 28
            fill = {"residual": "#fef9c3", "feed": "#ecfccb"}.get(part.split("_")[0], "#ede9fe")
            yield from box(x, y, 170, 22, _named(stack, part), fill)
            size = _size(explanation, f"{stack}.layers.{layer}.{part}.output")
            yield text(x + 176, y + 15, size, PALE, size=10)
            if part.startswith("residual"):  # what came in goes past the sublayer
                yield f'<path d="M{x + 85} {y + 54} H{x - 8} V{y + 11} H{x}" stroke="{LINE}" fill="none"/>'
        y -= 8


def _whole(explanation: Explanation, encoder: list[str], decoder: list[str], height: int) -> Drawn:
    bottom = height - 76
    yield from _stack(explanation, "encoder", encoder, 20, bottom)
    yield from _stack(explanation, "decoder", decoder, 470, bottom)
    yield text(20, bottom + 44, "reads the source, once", PALE, size=10)
    yield text(20, bottom + 62, "  ".join(explanation.source_tokens))
    yield text(470, bottom + 44, "reads what was said", PALE, size=10)
    yield text(470, bottom + 62, "  ".join(explanation.target_tokens))
    memory = explanation.trace["encoder.output"].tensor[0]
    top = bottom - 28 * len(encoder) * explanation.translator.model.config.encoder_layers - 40
    yield text(258, top, f"memory {len(memory)}×{memory.shape[1]} (16 shown)", PALE, size=10)
    for row, (token, numbers) in enumerate(zip(explanation.source_tokens, memory, strict=True)):
        yield from strip(258, top + 8 + 15 * row, numbers[:16], float(memory.abs().max()))
        yield text(376, top + 17 + 15 * row, token, size=10)
    yield f'<path d="M105 {top} V{top - 14} H236 V{top + 40} H252" stroke="{INK}" fill="none"/>'
    crossing = decoder.index("cross_attention") + 1
    for layer in range(explanation.translator.model.config.decoder_layers):
        y = bottom - (16 + 28 * len(decoder) + 8) * layer - 16 - 28 * crossing + 11
        yield from arrow(420, top + 40, 468, y)
    yield text(440, top + 36, "K, V", PALE, "end", 10)
    yield from _said(explanation)


def _said(explanation: Explanation) -> Drawn:
    """Draw the words that the decoder predicts, with their probabilities as bars."""
    yield text(470, 20, "linear and softmax: the next word after each", PALE, size=10)
    for row, step in enumerate(explanation.steps):
        y = 26 + 14 * row
        yield f'<rect x="560" y="{y}" width="{110 * step.probability:.1f}" height="10" fill="#fdba74"/>'
        yield text(470, y + 9, f"{step.input} → {step.expected}", size=11)
        yield text(676, y + 9, f"{step.probability:.2f}", PALE, size=10)


def time(explanation: Explanation, steps: int = 3) -> str:
    """Draw steps side by side: the new row, the rows in the cache, and the source's keys and values."""
    return svg(760, 360, (line for step in range(steps) for line in _step(explanation, step)))


def _step(explanation: Explanation, step: int) -> Drawn:
    trace, x = explanation.trace, 10 + 252 * step
    reads = explanation.target_tokens
    found = explanation.stepwise.steps[step]
    yield text(x, 20, f"step {step + 1}: reads {found.input}", size=13)
    new = f"computes 1 row; without a cache {step + 1}"
    yield text(x, 36, new, NEW, size=10)
    y = 60.0
    for name, label in (
        ("self_attention.keys", "its own K, by token read"),
        ("self_attention.values", "its own V"),
    ):
        rows = trace[f"decoder.layers.0.{name}"].tensor[0, 0]
        yield text(x, y, label, PALE, size=10)
        for row in range(step + 1):
            y += 15
            is_new = row == step
            yield from strip(x, y - 9, rows[row], float(rows.abs().max()), pale=not is_new)
            yield text(
                x + 118, y, f"{reads[row]}  {'new' if is_new else 'kept'}", NEW if is_new else PALE, size=10
            )
        y += 20
    y = 190.0
    for name, label in (
        ("cross_attention.keys", "K of the source"),
        ("cross_attention.values", "V of the source"),
    ):
        rows = trace[f"decoder.layers.0.{name}"].tensor[0, 0]
        made = "made now, once" if step == 0 else "the same"
        yield text(x, y, f"{label}: {made}", NEW if step == 0 else PALE, size=10)
        for row, token in enumerate(explanation.source_tokens):
            yield from strip(x, y + 4 + 12 * row, rows[row], float(rows.abs().max()), pale=step > 0)
            if name.endswith("keys"):
                yield text(x + 118, y + 13 + 12 * row, token, PALE, size=9)
        y += 24 + 12 * len(explanation.source_tokens)
    yield text(x, 352, f"says {explanation.steps[step].expected}", size=13)
