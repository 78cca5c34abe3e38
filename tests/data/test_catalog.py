"""The catalogue: verified text from a mirror or a server, split so that no test sentence was trained on."""

import gzip
import hashlib
import io
import os
import re
import threading
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path

import pytest

from pellucid.data import catalog
from pellucid.data.catalog import CORPORA, Corpus, File, fetch, split_pairs
from pellucid.errors import PellucidError, UsageError

needs_mirror = pytest.mark.skipif("PELLUCID_MIRROR" not in os.environ, reason="PELLUCID_MIRROR is not set")

TEXT = "".join(
    f"Sentence {n}.\tFrase\u00a0{n}.\nSentence {n}!\tOtra frase\u202f{n}.\n" for n in range(20)
).encode()


class Handler(SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        self.server.requests.append(self.path)  # type: ignore[attr-defined]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadingHTTPServer]:
    """Serves tmp_path/site on this machine; nothing of the environment takes part."""
    monkeypatch.delenv("PELLUCID_MIRROR", raising=False)
    monkeypatch.setenv("no_proxy", "*")
    (tmp_path / "site").mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(tmp_path / "site"))) as server:
        server.requests = []  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def packed(name: str, text: bytes) -> bytes:
    if name.endswith(".zip"):
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as writer:
            writer.writestr("spa-eng/_about.txt", "about")
            writer.writestr("spa-eng/spa.txt", text)
        return archive.getvalue()
    return gzip.compress(text) if name.endswith(".gz") else text


def corpus_at(address: str) -> Corpus:
    file = File("spa.txt", address, "tatoeba/spa.txt.gz", hashlib.sha256(TEXT).hexdigest())
    return Corpus("a test", "CC BY", ("en", "es"), (file,), validation=3, test=4)


@pytest.mark.parametrize("name", ["spa.txt", "spa.txt.gz", "spa-eng.zip"])
def test_a_download_is_verified_split_and_not_repeated(
    name: str, server: ThreadingHTTPServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "site" / name).write_bytes(packed(name, TEXT))
    monkeypatch.setitem(CORPORA, "toy", corpus_at(f"http://127.0.0.1:{server.server_port}/{name}"))
    monkeypatch.chdir(tmp_path)
    folder = fetch("toy")
    assert folder == Path("data/toy")
    sides = {path.name: path.read_bytes().decode().split("\n")[:-1] for path in folder.iterdir()}
    assert sides.keys() == {
        *("train.en", "train.es", "validation.en", "validation.es", "test.en", "test.es"),
        *("spa.txt", "README.txt"),
    }
    assert [len(sides[f"{part}.en"]) for part in ("train", "validation", "test")] == [26, 3, 4]
    for part in ("train", "validation", "test"):
        for english, spanish in zip(sides[f"{part}.en"], sides[f"{part}.es"], strict=True):
            assert f"{english}\t{spanish}\n".encode() in TEXT
    assert "Licence: CC BY." in sides["README.txt"]
    before = {path: path.read_bytes() for path in folder.iterdir()}
    assert fetch("toy") == folder
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    assert server.requests == [f"/{name}"]  # type: ignore[attr-defined]


def test_what_cannot_be_had_names_the_address_and_the_way_out(
    server: ThreadingHTTPServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, found = (
        f"http://127.0.0.1:{server.server_port}/spa.txt.gz",
        hashlib.sha256(TEXT + b"!").hexdigest(),
    )
    monkeypatch.setitem(CORPORA, "toy", corpus_at(address))
    changed = (
        f"the SHA-256 of its text is {found}, expected {hashlib.sha256(TEXT).hexdigest()}. It was changed"
    )
    missing = (
        "the download failed: HTTP Error 404: File not found. Check the network, or give a folder that has "
    )
    for content, message in {
        None: f"{missing}tatoeba/spa.txt.gz: --mirror DIR.",
        gzip.compress(TEXT + b"!"): f"{changed} or damaged on the way. Try again, or use another --mirror.",
        gzip.compress(TEXT)[:-30]: "damaged or cut short ",
    }.items():
        if content is not None:
            (tmp_path / "site/spa.txt.gz").write_bytes(content)
        with pytest.raises(PellucidError, match=f"^{re.escape(f'{address}: {message}')}"):
            fetch("toy", tmp_path / "out")
        assert [path.name for path in tmp_path.iterdir()] == ["site"]  # and no empty folder
    with pytest.raises(UsageError, match=r"there is no corpus 'multi30k' in the catalogue\. Known: multi"):
        fetch("multi30k")


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The toy corpus in a mirror; the network must not be asked."""
    monkeypatch.setitem(CORPORA, "toy", corpus_at("http://127.0.0.1:9/unreachable"))
    monkeypatch.setattr(catalog, "_download", lambda file: pytest.fail("the network was asked"))
    (tmp_path / "mirror/tatoeba").mkdir(parents=True)
    (tmp_path / "mirror/tatoeba/spa.txt.gz").write_bytes(gzip.compress(TEXT))
    return tmp_path / "mirror"


def test_a_mirror_takes_the_place_of_the_network(
    tmp_path: Path, mirror: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (fetch("toy", tmp_path / "out", mirror) / "spa.txt").read_bytes() == TEXT
    monkeypatch.setenv("PELLUCID_MIRROR", str(mirror))
    assert (fetch("toy", tmp_path / "again") / "test.es").exists()
    with pytest.raises(PellucidError, match=r"tatoeba.spa\.txt\.gz: the mirror does not have this file"):
        fetch("toy", tmp_path / "third", tmp_path / "nowhere")


def test_the_split_is_by_english_sentence_shuffled_and_the_same_everywhere() -> None:
    """Neighbours in the source (a subject, a translation of the same sentence) are no neighbours in train."""
    pairs = [
        (f"Sentence {n}{'!.'[n % 2]}", f"{which} frase {n}.") for n in range(300) for which in ("Una", "Otra")
    ]
    pairs += [("¡", "a"), ("?", "b"), ("SENTENCE 7", "Frase 7.")]
    parts = split_pairs(pairs, validation=30, test=30)
    keys = {part: {catalog._key(english) for english, _ in chosen} for part, chosen in parts.items()}
    assert sum(map(len, keys.values())) == len(set.union(*keys.values())) == 302  # none is in two parts
    assert [len(parts[part]) for part in ("validation", "test")] == [30, 30]
    for part, chosen in parts.items():
        order = [pairs.index(pair) for pair in chosen]
        near = sum(abs(left - right) < 6 for left, right in pairwise(order))
        assert near < len(order) / 10, f"{part} is in the order of the source"
        assert max(order) > 500 and min(order) < 100  # from all over the source
    assert parts["train"] == split_pairs(pairs[::-1], validation=30, test=30)["train"]


@pytest.mark.mirror
@needs_mirror
@pytest.mark.parametrize("name", CORPORA)
def test_every_known_corpus_comes_out_of_the_mirror(name: str, tmp_path: Path) -> None:
    folder, corpus = fetch(name, tmp_path), CORPORA[name]

    def lines(part: str) -> list[list[str]]:
        files = [folder / f"{part}.{language}" for language in corpus.languages]
        return [file.read_bytes().decode().split("\n")[:-1] for file in files]

    if not corpus.test:
        parts = {"train": 29_000, "val": 1_014, "test_2016_flickr": 1_000}
        assert {part: [*map(len, lines(part))] for part in parts} == {
            part: [n] * 2 for part, n in parts.items()
        }
        return
    kept_apart = {"validation": corpus.validation, "test": corpus.test}
    trained = {catalog._key(line) for line in lines("train")[0]}
    for part, count in kept_apart.items():
        assert [*map(len, lines(part))] == [count] * 2
        assert trained.isdisjoint(map(catalog._key, lines(part)[0]))


@pytest.mark.parametrize("separator", ["\u2028", "\x85", "\x0c"])
def test_a_text_is_split_at_line_feeds_alone(
    mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, separator: str
) -> None:
    text = TEXT.replace("\u00a0".encode(), separator.encode())
    file = File("spa.txt", "nowhere", "tatoeba/own.txt.gz", hashlib.sha256(text).hexdigest())
    monkeypatch.setitem(CORPORA, "own", Corpus("a test", "ours", ("en", "es"), (file,), 3, 4))
    (mirror / "tatoeba").mkdir(parents=True, exist_ok=True)
    (mirror / "tatoeba" / "own.txt.gz").write_bytes(gzip.compress(text))
    folder = fetch("own", tmp_path / "out", mirror)
    for english, spanish in zip(
        *((folder / f"train.{side}").read_text("utf-8").split("\n")[:-1] for side in ("en", "es")),
        strict=True,
    ):
        assert f"{english}\t{spanish}\n" in text.decode()


def test_validation_and_test_have_the_first_translation() -> None:
    pairs = [
        (f"Sentence {n}.", translation) for n in range(9) for translation in (f"first {n}", f"second {n}")
    ]
    parts = split_pairs(pairs, 3, 3)
    for part in ("validation", "test"):
        assert all(target.startswith("first ") for _, target in parts[part])


def test_a_file_that_is_there_is_verified(mirror: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "spa.txt").write_bytes(b"changed")
    with pytest.raises(
        PellucidError, match=r"spa\.txt: the SHA-256 of its text is .* Move it away to have it"
    ):
        fetch("toy", tmp_path / "out", mirror)
