"""The page: the sentence and its translation, the steps, where they looked, the model, and every matrix.

One script of a few lines opens what a link leads to; its policy allows nothing else, from nowhere.
"""

import base64
import hashlib
from functools import cache
from html import escape
from importlib.resources import files

from pellucid.explain.explanation import Explanation, Step
from pellucid.explain.page.matrix import FIRST, LAST, box, figure, number, table, word
from pellucid.explain.page.outline import Block, Section, outline
from pellucid.explain.words import visible
from pellucid.version import __version__

CELLS = 300_000  # numbers that a page shows in full: some six megabytes


def page(explanation: Explanation) -> str:
    """The whole page as HTML."""
    translation, style, script = explanation.translation, _file("style.css"), _file("reveal.js")
    policy = f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'"
    title = f"{visible(translation.source)} → {visible(translation.text)}"
    sections = outline(explanation.trace)
    return f"""<!doctype html>
<html lang=en>
<meta charset=utf-8>
<meta http-equiv=Content-Security-Policy content="{policy}; form-action 'none'">
<meta name=viewport content="width=device-width, initial-scale=1">
<title>{escape(title)} · Pellucid</title>
<style>{style}</style>
<main>
{_headline(explanation)}
{_steps(explanation)}
{_looked(explanation)}
{_model(sections)}
{_matrices(explanation, sections)}
<footer>Written by Pellucid {escape(__version__)}. {escape(explanation.difference)}
Every number is as the pass recorded it in float32, rounded here to four decimals.</footer>
</main>
<script>{script}</script>
</html>
"""


def _headline(explanation: Explanation) -> str:
    translation = explanation.translation
    to = explanation.to or ""
    language = f" lang={to}" if to.isalnum() else ""
    what = "A target that was given" if explanation.forced else "A translation"
    return f"""<header>
<p class=brand>Pellucid <span>every number of one translation</span></p>
<h1><bdi>{escape(visible(translation.source))}</bdi> <span class=arrow aria-label="becomes">→</span>
<bdi class=target{language}>{escape(visible(translation.text))}</bdi></h1>
<p class=lead>{what}, seen from inside: the encoder reads the source, the decoder says one word after another,
and below is every matrix on the way.</p>
<nav class=jump aria-label="this page"><a href="#steps">Steps</a><a href="#looked">Attention</a>
<a href="#model">Model</a><a href="#matrices">All matrices</a></nav>
</header>"""


def _steps(explanation: Explanation) -> str:
    rows = "".join(_step(place, step) for place, step in enumerate(explanation.steps))
    total = sum(step.loss for step in explanation.steps)
    return f"""<section id=steps><h2>Step by step</h2>
<p>At each step the decoder has read the target up to its input (the target shifted right by one), and gives
each word of its vocabulary a probability. All steps were computed at once, as in training. The loss, the
negative logarithm of the expected word’s probability, adds up to {number(total)}.</p>
<table class=steps><thead><tr><th scope=col>step<th scope=col>input<th scope=col>expected
<th scope=col>probability<th scope=col>loss<th scope=col>most probable<tbody>{rows}</table></section>"""


def _step(place: int, step: Step) -> str:
    bar = f"<rect width={100 * step.probability:.2f} height=6 />"
    bar = f"<svg viewBox='0 0 100 6' preserveAspectRatio=none aria-hidden=true>{bar}</svg>"
    best = " ".join(
        f"<span class=choice>{word(token)} <span class=share>{number(probability)}</span></span>"
        for token, probability in step.alternatives
    )
    right = step.predicted == step.expected
    mark = "" if right else f" <small class=miss>more probable: {word(step.predicted)}</small>"
    return (
        f"<tr><th scope=row>{place + 1}<td data-label=input>{word(step.input)}"
        f"<td data-label=expected class=expected>{word(step.expected)}{mark}"
        f"<td data-label=probability class=number>{number(step.probability)}{bar}"
        f"<td data-label=loss class=number>{number(step.loss)}"
        f"<td data-label='most probable'><div>{best}</div>"
    )


def _looked(explanation: Explanation) -> str:
    """The summary that most people look for: which source words each step looked at."""
    name = f"{explanation.watched_layer}.weights"
    heads = explanation.trace[name].tensor.shape[1]
    rows = [f"{word(step.input)} <small>→ {word(step.expected)}</small>" for step in explanation.steps]
    columns = [word(token) for token in explanation.source_tokens]
    shares = explanation.attention_to_source().numpy()
    inside = table(rows, columns, shares.astype(object), 1.0, "asks ↓<br>attended to →")
    link = f'<a href="#{escape(name)}"><code>{escape(name)}</code></a>'
    return f"""<section id=looked><h2>Where each step looked</h2>
<p>Cross-attention of the decoder’s last layer: each row asks, and shares a whole 1.0 among the words of the
source. This is the mean of its {heads} heads, derived from {link}.</p>
<div class="m w">{box("where each step looked", inside)}</div></section>"""


def _model(sections: list[Section]) -> str:
    """The table of contents, drawn as the model: encoder beside decoder, in the order of computation."""
    stacks = "".join(
        f"<nav class=stack aria-label={stack}><h3>{stack.capitalize()} <small>{reads}</small></h3>"
        + "".join(_layer(section) for section in sections if section.stack == stack)
        + "</nav>"
        for stack, reads in (("encoder", "reads the source"), ("decoder", "says the target"))
    )
    return f"""<section id=model><h2>The model</h2>
<p>From the top down, as it is computed. Each part leads to its matrices.</p>
<div class=drawing>{stacks}</div></section>"""


def _layer(section: Section) -> str:
    links = "".join(f"<li>{_link(block)}" for block in section.blocks)
    return f"<div class=layer><h4>{section.title}</h4><ul>{links}</ul></div>"


def _link(block: Block) -> str:
    bridge = {"Cross-attention": " class=bridge", "Output: the memory": " class=memory"}.get(block.title, "")
    note = " <small>looks at the memory</small>" if block.title == "Cross-attention" else ""
    return f'<a href="#{escape(block.anchor)}"{bridge}>{escape(block.title)}{note}</a>'


def _matrices(explanation: Explanation, sections: list[Section]) -> str:
    trace = explanation.trace
    cells = sum(record.tensor.numel() for record in trace.values() if record.axes[-1] != "V")
    abridged = cells > CELLS
    note = (
        f" They are {cells:,} numbers, more than a page can hold: an axis longer than {FIRST + LAST} shows "
        f"its first {FIRST} and its last {LAST}. All of them are in the files that to_npz and to_json write."
    )
    html = "".join(_section(explanation, section, abridged) for section in sections)
    return f"""<section id=matrices><h2>All matrices</h2>
<p>The {len(trace)} tensors of one pass, with the names that they have in a trace. Layers and heads are
counted from 0, as in the code. B is the sentence; there is one.{note if abridged else ""}</p>
{html}</section>"""


def _section(explanation: Explanation, section: Section, abridged: bool) -> str:
    blocks = "".join(
        f"<details><summary>{escape(block.title)} <small>{len(block.names)} matrices</small></summary>"
        f'<div class=block id="{escape(block.anchor)}">'
        + "".join(figure(explanation, explanation.trace[name], abridged) for name in block.names)
        + "</div></details>\n"
        for block in section.blocks
    )
    title = f"{section.stack.capitalize()} · {section.title}"
    return f"<details class=layer><summary>{title}</summary>{blocks}</details>\n"


@cache
def _file(name: str) -> str:
    return (files("pellucid.explain.page") / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
