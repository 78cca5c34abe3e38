"""The page's script: ES modules in layers, joined into one script."""

import re
from posixpath import dirname, join, normpath
from textwrap import wrap

from pellucid.page.assembly import page_file

# From the bottom up: a module imports from its own folder and from those above it in this list.
LAYERS = {
    "base": "numbers, matrices, elements of HTML",
    "model": "the model of pellucid/model.py again, and how it searches for a translation",
    "words": "text to tokens, and back",
    "runs": "a pass with its tensors by name: recorded, computed with switches, or worked out",
    "matrices": "one matrix: a grid of cells or a painted picture, its colours, its twin to copy",
    "cells": "how one cell was made",
    "stages": "a part from inside: its stages, the matrices of one, and the inspector",
    "own": "one's own matrices: a form, and at once what comes of it",
    "view": "what is on the screen: the state, its address, its time",
    "shown": "the page of a translation: headline, drawing, switches, tour",
    "served": "pages that ask: a server, as one types and to look inside its models, or a notebook's Python",
}
TRANSLATION_PAGE = "shown/recorded_page.js"
NOTEBOOK_PAGE = "served/notebook_page.js"
EXAMPLE_PAGE = "own/worked_page.js"
IMPORT = re.compile(r'^import \{([^}]*)\} from "([^"]+)";\n', re.MULTILINE)


def script(*entries: str) -> str:
    """Return these modules and all that they import as one script, which begins with a table of contents."""
    names: list[str] = []
    for entry in entries:
        _collect(entry, names, ())
    parts = [f"// {'=' * 20} {name} {'=' * 20}\n{_without_imports(name)}" for name in names]
    return "\n".join(['"use strict";', *_contents(names), *parts])


def imports(name: str) -> list[str]:
    """Return the modules that a module imports, such as "base/numbers.js"."""
    found = IMPORT.finditer(page_file(f"script/{name}"))
    return [normpath(join(dirname(name), each[2])) for each in found]


def _collect(name: str, names: list[str], within: tuple[str, ...]) -> None:
    """Add the imports of a module, then the module; raise an error if imports form a circle."""
    if name in within:
        raise ValueError(f"a circle of imports: {' → '.join([*within, name])}")
    if name in names:
        return
    for each in imports(name):
        _collect(each, names, (*within, name))
    names.append(name)


def _without_imports(name: str) -> str:
    text = IMPORT.sub("", page_file(f"script/{name}"))
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"^export ", "", text, flags=re.MULTILINE))


def _contents(names: list[str]) -> list[str]:
    lines = ["// Pellucid's page, to be read: its modules in layers. Search for a file's name."]
    for layer, about in LAYERS.items():
        files = ", ".join(name for name in names if dirname(name) == layer)
        lines += [f"// {about}:", *wrap(files, 100, initial_indent="//    ", subsequent_indent="//    ")]
    return [*lines, ""]
