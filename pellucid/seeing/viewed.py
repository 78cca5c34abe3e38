"""The registry of views. A view registers for the data that it shows, so that data never imports a view."""

import functools
import shutil
import sys
from collections.abc import Iterable
from typing import Any


@functools.singledispatch
def lines(shown: Any, width: int = 80, **options: Any) -> list[str]:
    """Write data as lines of text, at most `width` cells each."""
    raise TypeError(f"no view as text is registered for {type(shown).__name__}")


@functools.singledispatch
def html(shown: Any) -> str:
    """Write data as HTML for a notebook."""
    raise TypeError(f"no view as HTML is registered for {type(shown).__name__}")


@functools.singledispatch
def page(shown: Any, **options: Any) -> str:
    """Write data as a page of HTML, complete in one file."""
    raise TypeError(f"no page is registered for {type(shown).__name__}")


class Viewed:
    """Data that is shown as text, `show()` prints it and `lines(width)` returns it, and in a notebook."""

    def _repr_html_(self) -> str:
        return html(self)

    def lines(self, width: int = 80) -> list[str]:
        """Return the text, line by line."""
        return lines(self, width)

    def show(self) -> None:
        """Print the text, as wide as the terminal."""
        print_lines(self.lines(columns_of_terminal()))


def columns_of_terminal() -> int:
    """Return the width of the terminal in cells, or 80 where there is none."""
    return shutil.get_terminal_size().columns


def print_lines(text: Iterable[str]) -> None:
    """Print lines to standard output; replace each letter that it cannot write by a question mark."""
    encoding = sys.stdout.encoding or "utf-8"
    for line in text:
        print(line.encode(encoding, "replace").decode(encoding))
