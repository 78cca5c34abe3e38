"""What sealing writes: values as JSON can say them, and files that are whole or not there."""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import foreign
import pytest

from pellucid.errors import PellucidError
from pellucid.folder import whole_file
from pellucid.folder.checkpoint import recover
from pellucid.folder.manifest import is_sealed, remove, sealing
from pellucid.folder.whole_file import MARKS, copy, making, refuse_foreign, write_new, write_whole


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("link", [False, True])
def test_a_file_is_as_it_was_until_the_new_one_is_whole_and_a_link_stays_a_link(
    tmp_path: Path, link: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = given = tmp_path / "out.json"
    if link:
        given = tmp_path / "link"
        given.symlink_to("out.json")
        write_whole(given, b"first")  # the link leads to nothing yet
    path.write_bytes(b"old")
    path.chmod(0o640)
    replace, found = os.replace, list[bytes]()

    def watched(source: Path, target: Path) -> None:
        found.extend((path.read_bytes(), source.read_bytes()))
        replace(source, target)

    monkeypatch.setattr(os, "replace", watched)
    write_whole(given, b"new")
    assert found == [b"old", b"new"]
    assert path.read_bytes() == b"new" and given.is_symlink() == link
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert names(tmp_path) == (["link", "out.json"] if link else ["out.json"])


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_what_goes_wrong_leaves_nothing_behind(
    tmp_path: Path, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out.json"
    path.write_bytes(b"old")

    def fail(*_: object) -> None:
        raise error

    with monkeypatch.context() as patch, pytest.raises(error):
        patch.setattr(whole_file, "to_disk", fail)
        write_whole(path, b"new")
    with pytest.raises((error, PellucidError)), sealing(tmp_path / "model", "model", {}) as folder:
        (folder / "weights").write_bytes(b"half")
        raise error
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["out.json"]


# What a power failure leaves: only what was synced


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, bytes]]]:
    """Each fsync and each rename as it happens, with the files that were synced by then as they were."""
    events: list[tuple[str, dict[str, bytes]]] = []
    safe: dict[str, bytes] = {}
    fsync, replace = os.fsync, os.replace

    def sync(handle: int) -> None:
        fsync(handle)
        path = Path(os.readlink(f"/proc/self/fd/{handle}"))
        if path.is_file():
            safe[path.name] = path.read_bytes()
        events.append((f"sync {path.name}", dict(safe)))

    def rename(source: Path, target: Path) -> None:
        replace(source, target)
        if source.name in safe:
            safe[target.name] = safe.pop(source.name)
        events.append((f"rename {source.name} {target.name}", dict(safe)))

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "replace", rename)
    return events


on_linux = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="only Linux names what is synced")


@on_linux
def test_the_manifest_appears_when_all_else_is_on_the_disk(
    tmp_path: Path, synced: list[tuple[str, dict[str, bytes]]]
) -> None:
    with sealing(tmp_path / "model", "model", {}) as folder:
        (folder / "weights").write_bytes(b"all")
        (folder / "config").write_bytes(b"some")
    names = [name for name, _ in synced]
    sealed_at = names.index("rename .manifest MANIFEST.json")
    _, safe = synced[sealed_at]
    assert {"weights", "config", "MANIFEST.json"} == safe.keys()
    assert safe["MANIFEST.json"] == (tmp_path / "model" / "MANIFEST.json").read_bytes()
    assert (safe["weights"], safe["config"]) == (b"all", b"some")
    assert "sync model" in names[:sealed_at]  # their names
    assert names[sealed_at + 1 :] == [
        "sync model",
        f"sync {tmp_path.name}",
    ]  # the manifest's, and the folder's


@on_linux
def test_a_copy_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, synced: list[tuple[str, dict[str, bytes]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "weights").write_bytes(b"new and longer")
    (tmp_path / "weights").write_bytes(b"old")

    def half(source: Path, target: Path) -> None:
        Path(target).write_bytes(source.read_bytes()[:5])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(shutil, "copyfile", half)
        copy(tmp_path / "new" / "weights", tmp_path / "weights")
    assert (tmp_path / "weights").read_bytes() == b"old"
    copy(tmp_path / "new" / "weights", tmp_path / "weights")
    assert [name for name, _ in synced] == ["sync .part", "rename .part weights"]
    assert synced[-1][1] == {"weights": b"new and longer"}


@on_linux
def test_a_folder_that_is_removed_loses_its_manifest_first(
    tmp_path: Path, synced: list[tuple[str, dict[str, bytes]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with sealing(tmp_path / "model", "model", {}) as folder:
        (folder / "weights").write_bytes(b"all")
    before = len(synced)

    def cut_off(path: Path) -> None:
        assert [name for name, _ in synced[before:]] == ["sync model"]
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(shutil, "rmtree", cut_off)
        remove(folder)
    assert not is_sealed(folder) and (folder / "weights").exists()


@on_linux
def test_a_replacement_is_on_the_disk_before_its_manifest_and_its_name_before_the_old_one_goes(
    tmp_path: Path, synced: list[tuple[str, dict[str, bytes]]]
) -> None:
    checkpoints = tmp_path / "checkpoints"
    checkpoints.mkdir()
    for folder, kind, about in (
        (tmp_path / ".new", "model", {}),
        (checkpoints / ".again", "training state", {"step": 5}),
    ):
        with sealing(folder, kind, about):
            (folder / "weights").write_bytes(b"all")
    before = len(synced)
    recover(tmp_path)
    assert [name for name, _ in synced[before:]] == [
        *("sync .part", "rename .part weights", f"sync {tmp_path.name}"),
        *("sync .part", "rename .part MANIFEST.json", f"sync {tmp_path.name}", "sync .new"),
        *("rename .again step-5", "sync checkpoints"),
    ]


# Files into a folder that may hold others


@pytest.mark.parametrize("kind", ["file", "folder", "link"])
@pytest.mark.parametrize("ending", MARKS)
def test_only_a_file_of_ours_is_replaced(tmp_path: Path, ending: str, kind: str) -> None:
    ours, path = (tmp_path / f"{name}{ending}" for name in ("ours", "theirs"))
    ours.write_bytes(b"<title>" + MARKS[ending])
    foreign.put(path, kind)
    (tmp_path / f"empty{ending}").touch()
    refuse_foreign([ours, tmp_path / f"new{ending}", tmp_path / f"empty{ending}"])
    with pytest.raises(PellucidError) as error:
        refuse_foreign([ours, path])
    assert str(error.value) == (
        f"{path} already exists, and Pellucid did not write it: it was not changed, and nothing was "
        "written. Move it away, or choose another name or folder."
    )


def test_new_files_are_all_written_or_none(tmp_path: Path) -> None:
    foreign.put(tmp_path / "there" / "b")
    foreign.put(tmp_path / "there" / "c", "link")
    before = foreign.everything(tmp_path)
    for name in "bc":
        with pytest.raises(PellucidError, match=f"there/{name} already exists with other content"):
            write_new(tmp_path / "there", {"a": b"1", name: b"2"})
        assert foreign.everything(tmp_path) == before
    for other in "bc":
        write_new(tmp_path / "new" / "deep", {"a": b"1", other: b"2"})
    assert names(tmp_path / "new" / "deep") == ["a", "b", "c"]
    with pytest.raises(KeyboardInterrupt), making(tmp_path / "in" / "vain"):
        raise KeyboardInterrupt
    assert names(tmp_path) == ["new", "there"]


def test_a_pipe_is_written_to_and_never_replaced(tmp_path: Path) -> None:
    pipe, link, read = tmp_path / "pipe", tmp_path / "link", list[bytes]()
    os.mkfifo(pipe)
    link.symlink_to("pipe")
    for path in (pipe, link):
        reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
        reader.start()
        write_whole(path, b"through the pipe")
        reader.join()
    assert read == [b"through the pipe"] * 2
    assert stat.S_ISFIFO(pipe.lstat().st_mode) and link.is_symlink()
    assert names(tmp_path) == ["link", "pipe"]


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="this system has no /dev/shm")
def test_shared_memory_is_a_folder_like_others() -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        path = Path(folder) / "file"
        for content in (b"first", b"second"):
            write_whole(path, content)
            assert path.read_bytes() == content


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="this system has no /dev/stdout")
@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1"])
def test_the_file_behind_standard_output_stays_the_same_file(tmp_path: Path, name: str) -> None:
    out = tmp_path / "out"
    code = (
        "from pathlib import Path; from pellucid.folder.whole_file import write_whole; "
        f"write_whole(Path({name!r}), b'new')"
    )
    with out.open("wb", buffering=0) as stream:
        stream.write(b"first, ")
        before = os.fstat(stream.fileno()).st_ino
        subprocess.run([sys.executable, "-c", code], cwd=tmp_path, stdout=stream, check=True, timeout=60)
    assert out.read_bytes() == b"first, new"
    assert out.stat().st_ino == before
