"""The page of a translation: what stands in the file, the script that brings it to life, and its numbers."""

from collections.abc import Sequence
from html import escape

from pellucid.folder.version import __version__
from pellucid.page.assembly import html_page, styles
from pellucid.page.chapters import TRANSLATION_PAGE, script
from pellucid.page.payload import payload
from pellucid.page.summary import alignment_table, headline, steps_table
from pellucid.page.worked_document import own_payload
from pellucid.reading.reading import Reading
from pellucid.reading.words import visible
from pellucid.translate.base import BaseTranslator

STYLES = ("style.css", "drawing.css", "stage.css", "dock.css", "plates.css", "own.css", "tour.css")


def page(
    shown: Sequence[tuple[Reading, BaseTranslator]],
    names: Sequence[str] = ("this one", "the other"),
) -> str:
    """The whole page as HTML: one reading with its translator, or two side by side under these names."""
    reading, carried = shown[0][0], payload(shown)
    for run, name in zip(carried.header["runs"], names, strict=False):
        run["name"] = visible(name)
    carried.header["own"] = own_payload()
    title, body = reading.title, _body(reading)
    return html_page(title, body, styles(STYLES), script(TRANSLATION_PAGE), carried.html())


def _body(reading: Reading) -> str:
    what = "Given, not found by the model: every number" if reading.forced else "Every number"
    return f"""<div id=tour-place hidden></div>
<main id=page>
<header class=masthead>
<p class=brand>Pellucid <span>{what} of one translation</span></p>
{headline(reading)}
<div class=actions>
<button id=open-tour class=primary aria-expanded=false>Show me how</button>
<button id=open-own aria-expanded=false>Your own matrices</button>
<div id=runs class=chooser role=group aria-label=explanations hidden></div>
</div>
<div id=typing></div>
<p id=given class=note hidden></p>
<noscript><p class=note>This browser runs no scripts: below are the steps and where each looked. The drawing
of the model, and every matrix, need them.</p></noscript>
<p id=fault class=error role=alert hidden></p>
</header>
<div id=own-place hidden></div>
<section id=drawing-place aria-label="the model" hidden>
<div id=drawing></div>
</section>
<section id=stage aria-label="a part of the model" hidden>
<div class=stage-map role=group aria-label="the whole model"></div>
<div class=stage-way></div>
<div class=stage-row></div>
<div class=stage-plates></div>
</section>
<section id=beside aria-label="side by side" hidden></section>
<section id=both-ways aria-label="with a cache and without" hidden></section>
<section id=steps><h2>Step by step</h2>
<p>At each step the decoder has read the target up to its input, the target shifted right by one, and gives
each word of its vocabulary a probability. All steps were computed at once, as in training. The loss is the
negative logarithm of the expected word’s probability.</p>
<div class=wide-table tabindex=0 role=region aria-label="the steps">
{steps_table(reading.steps)}</div></section>
<section id=looked><h2>Where each step looked</h2>
<p>Cross-attention of the decoder’s last layer, the mean of its heads: each row asks, and shares a whole 1.0
among the words of the source.</p>
<div class=wide-table tabindex=0 role=region aria-label="where each step looked">
{alignment_table(reading)}</div></section>
<footer>Written by Pellucid {escape(__version__)}. {escape(reading.difference)}
Recorded numbers are those of the pass, in float32.
<span class=keys>By keyboard: Tab from region to region, arrows within one, Enter a level down, Escape a level
up; <kbd>[</kbd> <kbd>]</kbd> heads, <kbd>,</kbd> <kbd>.</kbd> layers, space plays.</span></footer>
</main>
<aside id=dock aria-label="time and switches" hidden>
<div id=effect hidden></div>
<div id=switches role=group aria-label=switches hidden></div>
<div class=dock-bar><div id=time role=group aria-label=time></div><div id=moment></div>
<button id=unfold aria-expanded=false aria-controls=switches>Switches <span class=count></span></button></div>
</aside>
<div id=said class=unseen role=status aria-live=polite></div>"""
