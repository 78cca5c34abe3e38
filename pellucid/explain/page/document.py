"""The page of a translation: what stands in the file, the script that brings it to life, and its numbers."""

from html import escape
from typing import TYPE_CHECKING

from pellucid.explain.page.assembly import html_page, styles
from pellucid.explain.page.chapters import TRANSLATION_PAGE, script
from pellucid.explain.page.own_payload import examples_payload
from pellucid.explain.page.payload import payload
from pellucid.explain.page.summary import alignment_table, headline, steps_table
from pellucid.explain.words import visible
from pellucid.version import __version__

if TYPE_CHECKING:
    from pellucid.explain.explanation import Explanation

STYLES = ("style.css", "drawing.css", "stage.css", "dock.css", "plates.css", "own.css", "tour.css")


def page(
    explanation: "Explanation",
    beside: "Explanation | None" = None,
    names: tuple[str, str] = ("this one", "the other"),
) -> str:
    """The whole page as HTML; with another explanation, both in one page, under these names."""
    carried = payload([explanation] if beside is None else [explanation, beside])
    for run, name in zip(carried.header["runs"], names, strict=False):
        run["name"] = visible(name)
    carried.header["examples"] = examples_payload()
    title, body = explanation.title, _body(explanation)
    return html_page(title, body, styles(STYLES), script(TRANSLATION_PAGE), carried.html())


def _body(explanation: "Explanation") -> str:
    what = "Given, not found by the model: every number" if explanation.forced else "Every number"
    return f"""<div id=tour-place hidden></div>
<main id=page>
<header class=masthead>
<p class=brand>Pellucid <span>{what} of one translation</span></p>
{headline(explanation)}
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
{steps_table(explanation.steps)}</div></section>
<section id=looked><h2>Where each step looked</h2>
<p>Cross-attention of the decoder’s last layer, the mean of its heads: each row asks, and shares a whole 1.0
among the words of the source.</p>
<div class=wide-table tabindex=0 role=region aria-label="where each step looked">
{alignment_table(explanation)}</div></section>
<footer>Written by Pellucid {escape(__version__)}. {escape(explanation.difference)}
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
