"""Short names of files, without folders where possible."""

from collections.abc import Iterable
from pathlib import Path


def short_names(paths: Iterable[str]) -> dict[str, str]:
    """Return {path: short name}. Folders are part of the short name only if two files have the same name."""
    parts = {path: Path(path).parts[bool(Path(path).anchor) :] for path in paths}
    names = {}
    for path, own in parts.items():
        others = [other for other in parts.values() if other != own]
        enough = (n for n in range(1, len(own)) if all(other[-n:] != own[-n:] for other in others))
        names[path] = "/".join(own[-next(enough, len(own)) :])
    return names
