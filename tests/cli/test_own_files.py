"""A folder full of a user's files, and every verb that writes into a folder: nothing in it ever changes."""

import gzip
import hashlib
from pathlib import Path
from typing import Any

import foreign
import numpy as np
import pytest
import toy
from command import Command

from pellucid import experiments
from pellucid.data.catalog import CORPORA, Corpus, File
from pellucid.data.phrasebook import texts
from pellucid.learning.claim import LOCK, WRITTEN

TEXT = "".join(f"Sentence {n}.\tFrase {n}.\n" for n in range(20)).encode()
RUN = (*WRITTEN, LOCK, ".part", ".writable", ".again", ".manifest", "metrics.tmp", "log.txt")
IN_FOLDERS = (
    *(
        f"{folder}/{name}"
        for folder in ("last", "averaged", ".new")
        for name in ("config.toml", ".new/x", "x")
    ),
    *("checkpoints/step-0/state.json", "checkpoints/step-5/tensors.safetensors", "checkpoints/.again/x"),
    "averaging/checkpoints/step-3/MANIFEST.json",
)
CORPUS = [f"{part}.{side}" for part in ("train", "validation", "test") for side in ("en", "es")]
PICTURES = [f"{name}.{ending}" for name in experiments.NAMES for ending in ("json", "png")]
OTHERS = [
    "README.txt",
    "how-are-you.html",
    "how-it-learned.html",
    "page.html",
    "thesis.txt",
    ".hidden",
    "looked.png",
    "words.png",
]
FILES = [
    *(name for name in RUN if not any(path.startswith(f"{name}/") for path in IN_FOLDERS)),
    *(*IN_FOLDERS, *CORPUS, *PICTURES, *OTHERS, "spa.txt"),
]


@pytest.fixture
def full(tmp_path: Path) -> Path:
    """The folder: for each name that Pellucid ever chose, a file; and in data/ and model/ the demo's."""
    folder = tmp_path / "mine"
    for name in FILES:
        foreign.put(folder / name)
        foreign.put(folder / "model" / name)
    for name in texts():
        foreign.put(folder / "data" / name)
    foreign.put(folder / "a link", "link")
    foreign.put(folder / "an empty folder", "folder")
    return folder


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A mirror with a corpus called toy."""
    file = File("spa.txt", "http://127.0.0.1:9/", "toy/spa.txt.gz", hashlib.sha256(TEXT).hexdigest())
    monkeypatch.setitem(CORPORA, "toy", Corpus("a test", "ours", ("en", "es"), (file,), 3, 4))
    (tmp_path / "mirror" / "toy").mkdir(parents=True)
    (tmp_path / "mirror" / "toy" / "spa.txt.gz").write_bytes(gzip.compress(TEXT))
    return tmp_path / "mirror"


VERBS: dict[str, tuple[tuple[Any, ...], str, str]] = {
    "train": (("train", "CONFIG"), "--out", "MANIFEST.json"),
    "train again": (("train", "CONFIG", "--resume"), "--out", "MANIFEST.json"),
    "demo": (("demo",), "--out", "how-are-you.html"),
    "demo without training": (("demo", "--no-train"), "--out", "how-are-you.html"),
    "data": (("data", "toy", "--mirror", "MIRROR"), "--out", "spa.txt"),
    "experiment": (("experiment", "float16"), "--out", "float16.json"),
    "explain": (("explain", "demo", "I like cats", "--to", "es"), "--png", "looked.png"),
}


@pytest.mark.parametrize("verb", VERBS)
def test_no_verb_changes_what_it_did_not_write(
    verb: str, full: Path, mirror: Path, tmp_path: Path, pellucid: Command
) -> None:
    words, option, named = VERBS[verb]
    places = {"CONFIG": toy.write(tmp_path / "corpus"), "MIRROR": mirror}
    before = foreign.everything(full)
    outcome = pellucid(*(places.get(word, word) for word in words), option, full)
    assert foreign.everything(full) == before
    assert outcome.code != 0
    assert str(full / named) in outcome.err and "Traceback" not in outcome.err


NAMED = {
    "--html": ("explain", "demo", "I like cats", "--to", "es"),
    "--json": ("explain", "demo", "I like cats", "--to", "es"),
    "--npz": ("explain", "demo", "I like cats", "--to", "es"),
    "example --html": ("example", "004-self"),
}


@pytest.mark.parametrize("option", NAMED)
def test_a_file_that_is_named_is_replaced_if_it_is_ours(
    option: str, toy_model: Path, tmp_path: Path, pellucid: Command
) -> None:
    """Over a model's weights, over another program's file of that kind, over an empty file, over our own."""
    words, ending = (*NAMED[option], option.split()[-1]), option.split("--")[-1]
    file = tmp_path / f"file.{ending}"
    np.savez(tmp_path / "other.npz", a=np.zeros(2))
    others = (tmp_path / "other.npz").read_bytes(), b"<title>mine</title>", b'{"schema": 1}'
    for content in ((toy_model / "weights.safetensors").read_bytes(), *others):
        file.write_bytes(content)
        outcome = pellucid(*words, file)
        assert (outcome.code, file.read_bytes()) == (1, content)
        assert outcome.err == (
            f"pellucid: {file} already exists, and Pellucid did not write it: it was not changed, and "
            "nothing was written. Move it away, or choose another name or folder.\n"
        )
    file.write_bytes(b"")
    for _ in range(2):
        assert pellucid(*words, file).code == 0 and file.stat().st_size > 1000


@pytest.mark.parametrize(
    ("verb", "name"), [("demo without training", "data/held-out.en-fr.tsv"), ("data", "README.txt")]
)
def test_nor_when_only_the_last_of_its_names_is_taken(
    verb: str, name: str, mirror: Path, tmp_path: Path, pellucid: Command
) -> None:
    foreign.put(tmp_path / "mine" / name)
    before = foreign.everything(tmp_path / "mine")
    words = (mirror if word == "MIRROR" else word for word in VERBS[verb][0])
    outcome = pellucid(*words, "--out", tmp_path / "mine")
    assert outcome.code == 1
    assert f"{tmp_path / 'mine' / name} already exists with other content" in outcome.err
    assert foreign.everything(tmp_path / "mine") == before
