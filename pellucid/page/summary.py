"""The part of a page that needs no script: the sentence, the steps and the alignment as HTML tables."""

from collections.abc import Sequence
from html import escape

from pellucid.config.schema import ModelConfig
from pellucid.reading.reading import Reading
from pellucid.reading.steps import Step
from pellucid.reading.words import visible


def number(value: float) -> str:
    """Write a number with four decimals, as every table does."""
    return f"{value:z.4f}"


def word(token: str) -> str:
    """Return a token as HTML; the text direction of an Arabic or Hebrew token stays inside it."""
    return f"<bdi>{escape(visible(token))}</bdi>"


def headline(reading: Reading) -> str:
    """Return the heading: the sentence and its translation."""
    translation, to = reading.translation, reading.to or ""
    language = f" lang={to}" if to.isalnum() and to.isascii() else ""
    return f"""<h1 id=sentence><bdi>{escape(visible(translation.source))}</bdi>
<span class=arrow role=img aria-label=becomes>→</span>
<bdi class=said-sentence{language}>{escape(visible(translation.text))}</bdi></h1>"""


def purpose(config: ModelConfig) -> str:
    """Say in a line what the page shows and what to do."""
    return (
        f"A Transformer of {config.encoder_layers} + {config.decoder_layers} layers made this. "
        "Press ▶ to watch it write, or open any block."
    )


def steps_table(steps: Sequence[Step]) -> str:
    """Return a table with input, expected word, probability, loss and alternatives of each position."""
    rows = "".join(_step(place, step) for place, step in enumerate(steps))
    total = sum(step.loss for step in steps)
    return f"""<table class=steps><caption>The losses add up to {number(total)}.</caption>
<thead><tr><th scope=col>step<th scope=col>input<th scope=col>expected<th scope=col>probability
<th scope=col>loss<th scope=col>most probable<tbody>{rows}</table>"""


def _step(place: int, step: Step) -> str:
    best = " ".join(
        f"<span class=choice>{word(token)} <span class=share>{number(probability)}</span></span>"
        for token, probability in step.alternatives
    )
    right = step.predicted == step.expected
    mark = "" if right else f"<small class=miss>more probable: {word(step.predicted)}</small>"
    return (
        f"<tr><th scope=row>{place + 1}<td data-label=input>{word(step.input)}"
        f"<td data-label=expected class=expected>{word(step.expected)}{mark}"
        f"<td data-label=probability class=number>{number(step.probability)}"
        f"<td data-label=loss class=number>{number(step.loss)}"
        f"<td data-label='most probable'><div>{best}</div>"
    )


def alignment_table(reading: Reading) -> str:
    """Return a table of where each step looked: the mean of the heads of the last cross-attention."""
    columns = "".join(f"<th scope=col>{word(token)}" for token in reading.source_tokens)
    rows = "".join(
        f"<tr><th scope=row>{word(step.input)} <small>→ {word(step.expected)}</small>"
        + "".join(f"<td>{number(share)}" for share in shares)
        for step, shares in zip(reading.steps, reading.attention_to_source().tolist(), strict=True)
    )
    return f"""<table class=alignment><thead><tr><td class=corner>asks ↓<br>attended to →{columns}
<tbody>{rows}</table>"""
