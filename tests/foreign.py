"""A user's own files, and whether all of them are as they were."""

import os
from pathlib import Path


def put(path: Path, kind: str = "file") -> None:
    """Something under this name that no program would expect there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "folder":
        path.mkdir()
    elif kind == "link":
        path.symlink_to("leads nowhere")
    else:
        path.write_bytes(f"{path.name}: mine, ünïcode\r\n\0 and no line feed".encode())


def everything(folder: Path) -> dict[str, object]:
    """All that lies in a folder, by its path: a file's bytes and when it was written, a link's target."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            found[name] = os.readlink(path)
        elif path.is_dir():
            found[name] = "folder"
        else:
            found[name] = (path.read_bytes(), path.stat().st_mtime_ns)
    return found
