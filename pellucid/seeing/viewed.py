"""The registry of views: a view registers for the type of data that it shows, so that data never imports a
view."""

import functools
import shutil
import sys
from collections.abc import Iterable
from typing import Any


@functools.singledispatch
def lines(shown: Any, width: int = 80, **options: Any) -> list[str]:
    """Return what this data's view shows, as lines of text that are at most `width` cells wide."""
    raise TypeError(f"no view as text for {type(shown).__name__}: first import pellucid.show.registered")


@functools.singledispatch
def html(shown: Any) -> str:
    """Return what this data's view shows, as HTML for a notebook."""
    raise TypeError(f"no view as HTML for {type(shown).__name__}: first import pellucid.show.registered")


@functools.singledispatch
def page(shown: Any, **options: Any) -> str:
    """Return the page of this data: complete HTML in one file."""
    raise TypeError(f"no page for {type(shown).__name__}: first import pellucid.page.worked_document")


class Viewed:
    """A base class for data that can be shown: as text by `show()` and `lines(width)`, and in a notebook."""

    def _repr_html_(self) -> str:
        return html(self)

    def lines(self, width: int = 80) -> list[str]:
        """Return the text as lines that are at most `width` cells wide."""
        return lines(self, width)

    def show(self) -> None:
        """Print the text, fitted to the width of the terminal."""
        print_lines(self.lines(columns_of_terminal()))


def columns_of_terminal() -> int:
    """Return the width of the terminal in cells, or 80 if there is no terminal."""
    return shutil.get_terminal_size().columns


def print_lines(text: Iterable[str]) -> None:
    """Print lines to standard output. A letter that its encoding lacks becomes a question mark."""
    encoding = sys.stdout.encoding or "utf-8"
    for line in text:
        print(line.encode(encoding, "replace").decode(encoding))
