"""Which worked examples there are, read from their files: importing them would take torch."""

import tomllib
from importlib import resources
from typing import NamedTuple


class Listed(NamedTuple):
    """A worked example in the list."""

    name: str
    about: str
    note: str
    lines: str


def worked_examples() -> list[Listed]:
    """Return the worked examples, those of parts of the model too, by their names."""
    folder = resources.files("pellucid") / "worked" / "examples"
    files = [file for place in (folder, folder / "parts") for file in place.iterdir()]
    found = []
    for file in files:
        if file.name.endswith(".toml"):
            table = tomllib.loads(file.read_text("utf-8"))
            texts = [str(table.get(key, "")) for key in ("about", "note", "lines")]
            found.append(Listed(file.name.removesuffix(".toml"), *texts))
    return sorted(found)
