"""Names of files that say nothing of the disk they lie on."""

from collections.abc import Iterable
from pathlib import Path


def short_names(paths: Iterable[str]) -> dict[str, str]:
    """The name of each file, with as many of the folders above it as tell it from the others."""
    parts = {path: Path(path).parts[bool(Path(path).anchor) :] for path in paths}
    names = {}
    for path, own in parts.items():
        others = [other for other in parts.values() if other != own]
        enough = (n for n in range(1, len(own)) if all(other[-n:] != own[-n:] for other in others))
        names[path] = "/".join(own[-next(enough, len(own)) :])
    return names
