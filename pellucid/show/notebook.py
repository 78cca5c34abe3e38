"""Lines of text in a notebook."""

from collections.abc import Iterable
from html import escape

from pellucid.reading.words import visible


def preformatted(lines: Iterable[str]) -> str:
    """Write lines of text as HTML that keeps them as they stand in a terminal."""
    return f"<pre style='line-height:1.25'>{escape(chr(10).join(map(visible, lines)))}</pre>"
