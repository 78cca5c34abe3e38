"""The demo's phrasebook: one right answer each, the notes' own sentences, and a split that is not memory."""

import gzip
import itertools
import unicodedata
from pathlib import Path

import pytest

from pellucid.data import phrasebook
from pellucid.data.phrasebook import DIRECTIONS, NOTES, Phrase, variants, write
from tools.phrasebook.page import page
from tools.phrasebook.parts import split, summary, table

SEED = 1
ROOT = Path(__file__).parents[2]
NAMES = [f"{source}-{target}" for source, target in DIRECTIONS]
PARTS = phrasebook.split()
PHRASES = tuple(itertools.chain.from_iterable(PARTS.values()))


def of(part: tuple[Phrase, ...], direction: str) -> list[Phrase]:
    return [phrase for phrase in part if phrase.direction == direction]


def plain(text: str) -> tuple[str, ...]:
    """The words without case and punctuation; l'eau is two."""
    return tuple(
        "".join(c if c.isalnum() or unicodedata.category(c)[0] == "M" else " " for c in text.lower()).split()
    )


@pytest.mark.parametrize("direction", NAMES)
def test_every_source_has_one_right_answer(direction: str) -> None:
    answers: dict[str, str] = {}
    for phrase in PHRASES:
        if phrase.direction == direction:
            for source, target in variants(phrase):
                assert answers.setdefault(source, target) == target
    sources = [phrase.source for phrase in PHRASES if phrase.direction == direction]
    assert len(sources) == len(set(sources)) > 2000


@pytest.fixture(scope="module")
def counts() -> dict[str, dict[str, int]]:
    """The number of phrases in each part of each direction."""
    return summary(PARTS)


@pytest.mark.parametrize("direction", NAMES)
def test_held_out_is_never_seen_and_mostly_far(direction: str, counts: dict[str, dict[str, int]]) -> None:
    training = {plain(source) for phrase in of(PARTS["train"], direction) for source, _ in variants(phrase)}
    held_out = [plain(phrase.source) for phrase in of(PARTS["held-out"], direction)]
    assert len(held_out) == len(set(held_out)) == counts[direction]["held-out"] == 250
    assert training.isdisjoint(held_out)
    assert training.isdisjoint(plain(phrase.source) for phrase in of(PARTS["validation"], direction))
    assert counts[direction]["held_out_far"] >= 130
    assert len(of(PARTS["train"], direction)) == counts[direction]["train"] > 2500


def test_texts_are_clean() -> None:
    for phrase in PHRASES:
        for source, target in variants(phrase):
            for text in (source, target):
                assert unicodedata.is_normalized("NFC", text)
                assert text == text.strip() and "  " not in text and "\t" not in text
                assert "-" not in text.split()  # a word form that the lexicon says is not used
            first = target.lstrip("¿¡")[0]
            assert first == first.upper()
    assert all("'" not in phrase.source for phrase in PHRASES if phrase.source_language == "en")


@pytest.mark.slow  # 20 seconds, and only a change of the grammar can fail it
def test_the_packages_file_and_the_page_are_what_the_grammar_writes() -> None:
    packed, remedy = ROOT / "pellucid" / "data" / "phrasebook.tsv.gz", "run python -m tools.phrasebook"
    assert gzip.decompress(packed.read_bytes()).decode() == table(SEED), remedy
    assert split(SEED) == PARTS
    assert (ROOT / "docs" / "phrasebook.md").read_text(encoding="utf-8") == page(), remedy


def test_written_files_hold_the_split_and_the_notes_sentences_as_they_stand(
    tmp_path: Path, counts: dict[str, dict[str, int]]
) -> None:
    write(tmp_path / "phrasebook")
    paths = {path.name: path for path in (tmp_path / "phrasebook").iterdir()}
    assert {*paths} == {
        f"{part}.{name}.tsv" for part in ("train", "validation", "held-out") for name in NAMES
    }
    rows = {name: path.read_bytes().decode().split("\n")[:-1] for name, path in paths.items()}
    for name in NAMES:
        learned = {"\t".join(pair) for phrase in of(PARTS["train"], name) for pair in variants(phrase)}
        assert set(rows[f"train.{name}.tsv"]) == learned and len(learned) > 4 * counts[name]["train"]
        assert len(rows[f"validation.{name}.tsv"]) == counts[name]["validation"]
        assert len(rows[f"held-out.{name}.tsv"]) == counts[name]["held-out"]
    assert all(line.count("\t") == 1 and "\r" not in line for lines in rows.values() for line in lines)
    for note in NOTES:
        assert f"{note.source}\t{note.target}" in rows[f"train.{note.direction}.tsv"]
    assert "How are you?\tआप कैसे हैं?" in rows["train.en-hi.tsv"]
    assert "i like cats.\tMe gustan los gatos." in rows["train.en-es.tsv"]
    assert "I like cats!\t¡Me gustan los gatos!" in rows["train.en-es.tsv"]
    assert {"I don't know\tJe ne sais pas", "i'm a student\tJe suis étudiant"} <= {*rows["train.en-fr.tsv"]}
