"""Known corpora: where each lies, what its text must be, under which licence, and how it is split."""

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pellucid.data.download import File, obtain
from pellucid.errors import UsageError
from pellucid.folder.whole_file import making, write_new


@dataclass(frozen=True)
class Split:
    """How many English sentences are kept apart; the rest, with all their translations, is for training."""

    validation: int
    test: int


@dataclass(frozen=True)
class Corpus:
    """A known corpus."""

    about: str
    licence: str
    languages: tuple[str, str]
    files: tuple[File, ...]
    split: Split | None = None  # None where the corpus comes with its own


_RAW = "https://raw.githubusercontent.com"
_MULTI30K = f"{_RAW}/multi30k/dataset/a3d2e0d26b56f3846f66a952536ffed4e401d05a/data/task1"
_CC_BY = "CC BY 2.0 (https://creativecommons.org/licenses/by/2.0/): tatoeba.org and www.manythings.org/anki"
_CC_BY_FR = "CC BY 2.0 FR (https://creativecommons.org/licenses/by/2.0/fr/): tatoeba.org"

_MULTI30K_SHA256 = {
    "train.en": "460a15fbd157e34a7a9957ee388c1ca247fe47af3ef25fb50442af6c274e0fc6",
    "train.de": "2c2b73fd2b548fbcde3a875e0a78d6ee94d498bfdee6bd3eae3945779e9ddf72",
    "train.fr": "5925a3c18f1587b6b54b87743106e6e8ab93618edb6f65d19eac0621f853a10d",
    "val.en": "1f2a23d992769b5b3d209b0a10dd0b77c08cceb1f20dfb97ed0aafa49d107227",
    "val.de": "660e09eb7e1da2f856ea13ee5ad3cf6d36b3d5b0b733c857e94c5747a3dfc660",
    "val.fr": "5304e444d842e962b2dda4d816b70b22a1765b15401642b7ca37a67477e708dc",
    "test_2016_flickr.en": "399a4382932c1aadd3ceb9bef1008d388a64c76d4ae4e9d4728c6f4301cac182",
    "test_2016_flickr.de": "4be6b5b3236b79c25475c6bb829800a7ce559e9ba7a1f6c2394fe4d40be46d16",
    "test_2016_flickr.fr": "cb3160d69b002bb638e66cc7612fcd56cb0af82eadc9c142dedc438afb885ef6",
    "val.lc.norm.tok.de": "97232bd273eceb7207f689527386a97e4be2616b18ada47576bdaf96c8ae1f00",
    "val.lc.norm.tok.fr": "b303e301aa21fe7822a846b2b3fb2d5a1121ec807cd5b1d006fb7b2b5507168a",
    "test_2016_flickr.lc.norm.tok.de": "c6a33d39d48f9f510de147651316cd9d918e09ad0219df734a2f16b6baccacc4",
    "test_2016_flickr.lc.norm.tok.fr": "1463bd5960f9bfe098ec3cd752d3df0c49c84dc646fb518964a29232658cd836",
}


def _multi30k(target: str) -> Corpus:
    parts = ("train", "val", "test_2016_flickr")
    raw = [f"{part}.{language}" for part in parts for language in ("en", target)]
    references = [f"{part}.lc.norm.tok.{target}" for part in parts[1:]]
    files = [
        File(name, f"{_MULTI30K}/raw/{name}.gz", f"multi30k/raw/{name}.gz", _MULTI30K_SHA256[name])
        for name in raw
    ] + [
        File(name, f"{_MULTI30K}/tok/{name}", f"multi30k/tok/{name}", _MULTI30K_SHA256[name])
        for name in references
    ]
    return Corpus(
        "Multi30k task 1, captions of pictures: 29,000, 1,014 to validate and 1,000 to test; *.lc.norm.tok.* "
        "are the lower-cased, tokenised references that published BLEU is measured against",
        "captions for non-commercial research and education (https://github.com/multi30k/dataset)",
        ("en", target),
        tuple(files),
    )


def _tatoeba(target: str, name: str, pairs: str, address: str, sha256: str) -> Corpus:
    file = File(name, f"{_RAW}/{address}", f"tatoeba/{name}.gz", sha256)
    about = f"Tatoeba sentences as manythings.org/anki collected them, {pairs} pairs"
    return Corpus(about, _CC_BY, ("en", target), (file,), Split(validation=1000, test=2000))


def _tatoeba_hindi() -> Corpus:
    address = f"{_RAW}/Helsinki-NLP/OPUS-MT-testsets/ac0f19c0be3c/testsets/eng-hin"
    sides = {
        "eng": "84bf2824b56142d053a4603ceb0e2e7490945ccb01a61cc33f3264e94c4d6f12",
        "hin": "1bd48560ef1e57395c660c36f12c711f78487e0d750bd605fc3e1c9edd3c7f96",
    }
    files = [
        File(name, f"{address}/{name}", f"tatoeba/eng-hin/{name}.gz", sha256)
        for language, sha256 in sides.items()
        for name in [f"tatoeba-test-v2021-08-07.{language}"]
    ]
    about = "Tatoeba Challenge, the English-Hindi test set of 2021-08-07, 5,000 pairs"
    return Corpus(about, _CC_BY_FR, ("en", "hi"), tuple(files), Split(validation=250, test=500))


# The site's own Tatoeba files change, so these are copies of the 2018/19 editions in versioned repositories.
CORPORA = {
    "multi30k-en-de": _multi30k("de"),
    "multi30k-en-fr": _multi30k("fr"),
    "tatoeba-en-es": _tatoeba(
        "es",
        "spa.txt",
        "118,121",
        "kikhofua/18.065/5dbba87757654413108e04b46ac7cbae399f9ec9/data/spa-eng.zip",
        "a2c37762eb7d9a7bf1aa0958bec55f2016ec6aaab6f7c1503822341587df2ba6",
    ),
    "tatoeba-en-fr": _tatoeba(
        "fr",
        "fra.txt",
        "167,130",
        "modelexlab/data/adddaf33ac35572bcfeb421efec29435e7ea9332/fra-eng.zip",
        "0bb85dbaa1c896844649094d7eaf2e34bee34e84fe362b26ce7e8f2e12aae104",
    ),
    "tatoeba-en-de": _tatoeba(
        "de",
        "deu.txt",
        "169,197",
        "jhamburg/dats6450_nlp/83156f25185f60cf9da6ff347e4b2c09a4cfab86/deu-eng.zip",
        "7a363bf8587f1a9f895583574c7195071b02f9dfdf4d0d6605947c6b5e0c25a8",
    ),
    "tatoeba-en-hi": _tatoeba_hindi(),
}


def fetch(name: str, out: str | Path | None = None, mirror: str | Path | None = None) -> Path:
    """The folder with the corpus, verified and split; data/NAME unless `out` names another.

    It comes from the mirror folder, or the one that PELLUCID_MIRROR names, or else from the network.
    A file that is there already and has the right hash is not fetched again. If a file of another content has
    the name of one of the corpus, it is left alone, and nothing is written.
    """
    if name not in CORPORA:
        raise UsageError(f"there is no corpus {name!r} in the catalogue. Known: {', '.join(CORPORA)}.")
    corpus = CORPORA[name]
    folder = Path(out) if out else Path("data") / name
    mirror = mirror or os.environ.get("PELLUCID_MIRROR")
    with making(folder):  # before the download: a folder that cannot be is known at once
        texts = [obtain(file, folder, Path(mirror) if mirror else None) for file in corpus.files]
        contents = {file.name: text for file, text in zip(corpus.files, texts, strict=True)}
        contents |= _parts(corpus, texts) | {"README.txt": _notice(name, corpus).encode()}
        write_new(folder, contents)
    return folder


def _parts(corpus: Corpus, texts: Sequence[bytes]) -> dict[str, bytes]:
    """The files of train, validation and test by their names; none where the corpus comes with its own."""
    if corpus.split is None:
        return {}
    return {
        f"{part}.{language}": "".join(f"{pair[side]}\n" for pair in pairs).encode()
        for part, pairs in split_pairs(_pairs(texts), corpus.split).items()
        for side, language in enumerate(corpus.languages)
    }


def split_pairs(pairs: Sequence[tuple[str, str]], split: Split) -> dict[str, list[tuple[str, str]]]:
    """Train, validation and test by English sentence, so that no test sentence was seen in training.

    Sentences that differ only in case and punctuation are the same. Validation and test have one translation
    of each; train has all, shuffled. The order is by a hash of the text: the same everywhere.
    """
    groups: dict[str, list[tuple[str, str]]] = {}
    for pair in pairs:
        groups.setdefault(_key(pair[0]), []).append(pair)
    order = sorted(groups, key=_order)
    test, validation = order[: split.test], order[split.test : split.test + split.validation]
    train = [pair for key in order[split.test + split.validation :] for pair in groups[key]]
    return {
        "train": sorted(train, key=lambda pair: _order("\t".join(pair))),
        "validation": [groups[key][0] for key in validation],
        "test": [groups[key][0] for key in test],
    }


def _key(english: str) -> str:
    """A sentence without case and punctuation, or as it is where that leaves nothing."""
    letters = "".join(character if character.isalnum() else " " for character in english.casefold())
    return " ".join(letters.split()) or english


def _order(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _pairs(texts: Sequence[bytes]) -> list[tuple[str, str]]:
    """The pairs of one text with tabs, or of two texts line by line; split on line feeds alone."""
    sides = [text.decode().removesuffix("\n").split("\n") for text in texts]
    rows: Iterable[Sequence[str]] = (
        (line.split("\t") for line in sides[0]) if len(sides) == 1 else zip(*sides, strict=True)
    )
    return [(row[0], row[1]) for row in rows]


def _notice(name: str, corpus: Corpus) -> str:
    lines = [
        f"{name}: {corpus.about}.",
        f"Licence: {corpus.licence}.",
        "",
        "From (SHA-256 of the unpacked text):",
    ]
    lines += [f"{file.sha256}  {file.name}  {file.address}" for file in corpus.files]
    if split := corpus.split:
        lines += [
            "",
            "train, validation and test were made from it, by English sentence, case and punctuation apart.",
            f"test has {split.test:,}, validation {split.validation:,}, with one translation each;",
            "train has the others with all their translations, shuffled.",
        ]
    return "\n".join(lines) + "\n"
