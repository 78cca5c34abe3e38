"""The demo's phrasebook: one right answer each, the notes' own sentences, and a split that is not memory."""

import gzip
import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

from pellucid.data import phrasebook
from pellucid.data.phrasebook import DIRECTIONS, NOTES, Phrase, variants, write
from tools.phrasebook.page import page
from tools.phrasebook.parts import split, summary, table
from tools.phrasebook.sentences import phrases, words

SEED = 1
ROOT = Path(__file__).parents[2]
NAMES = [f"{source}-{target}" for source, target in DIRECTIONS]


def of(part: tuple[Phrase, ...], direction: str) -> list[Phrase]:
    return [phrase for phrase in part if phrase.direction == direction]


def plain(text: str) -> tuple[str, ...]:
    """The words without case and punctuation; l'eau is two."""
    return tuple(
        "".join(c if c.isalnum() or unicodedata.category(c)[0] == "M" else " " for c in text.lower()).split()
    )


def within_one_word(sources: list[tuple[str, ...]]) -> set[tuple[str, ...]]:
    """The sentences, each with a wildcard for one word, and each without one word."""
    keys = set(sources)
    for sentence in sources:
        for place in range(len(sentence)):
            keys.add((*sentence[:place], "*", *sentence[place + 1 :]))
            keys.add(sentence[:place] + sentence[place + 1 :])
    return keys


def is_near(sentence: tuple[str, ...], training: set[tuple[str, ...]], keys: set[tuple[str, ...]]) -> bool:
    """Equal, one word replaced, one word fewer than a training sentence, or one word more."""
    replaced = {(*sentence[:place], "*", *sentence[place + 1 :]) for place in range(len(sentence))}
    shorter = {sentence[:place] + sentence[place + 1 :] for place in range(len(sentence))}
    return sentence in keys or not keys.isdisjoint(replaced) or not training.isdisjoint(shorter)


@pytest.mark.parametrize("direction", NAMES)
def test_every_source_has_one_right_answer(direction: str) -> None:
    answers: dict[str, str] = {}
    for phrase in phrases():
        if phrase.direction == direction:
            for source, target in variants(phrase):
                assert answers.setdefault(source, target) == target
    sources = [phrase.source for phrase in phrases() if phrase.direction == direction]
    assert len(sources) == len(set(sources)) > 2000


def test_the_notes_own_sentences_are_in_training_as_they_stand() -> None:
    training = {
        (phrase.direction, source): target
        for phrase in split(SEED).train
        for source, target in variants(phrase)
    }
    expected = {
        ("en-hi", "How are you"): "आप कैसे हैं",
        ("fr-en", "je suis student"): "I am a student",
        ("fr-en", "je suis étudiant"): "I am a student",
        ("en-es", "I like cats"): "Me gustan los gatos",
        ("en-hi", "How are you?"): "आप कैसे हैं?",
        ("en-es", "i like cats."): "Me gustan los gatos.",
    }
    assert expected.items() <= training.items()
    for note in NOTES:
        assert training[note.direction, note.source] == note.target
    for language in ("fr", "es", "hi"):
        assert (f"en-{language}", "The cat sat on the mat") in training


@pytest.mark.parametrize("seed", [SEED, 2])
@pytest.mark.parametrize("direction", NAMES)
def test_held_out_is_never_seen_and_mostly_far(direction: str, seed: int) -> None:
    parts = split(seed)
    counts = summary(seed)[direction]
    training = {plain(source) for phrase in of(parts.train, direction) for source, _ in variants(phrase)}
    held_out = [plain(phrase.source) for phrase in of(parts.held_out, direction)]
    keys = within_one_word(sorted(training))
    far = sum(not is_near(sentence, training, keys) for sentence in held_out)
    assert len(held_out) == len(set(held_out)) == counts["held_out"] == 250
    assert training.isdisjoint(held_out)
    assert training.isdisjoint(plain(phrase.source) for phrase in of(parts.validation, direction))
    assert far >= counts["held_out_far"] >= 130
    assert len(of(parts.train, direction)) == counts["train"] > 2500


def test_a_split_depends_on_its_seed_alone() -> None:
    program = (
        "import sys; from tools.phrasebook.parts import split\n"
        "sys.stdout.buffer.write('\\n'.join(phrase.source for phrase in split(1).held_out).encode())"
    )
    environment = os.environ | {"PYTHONHASHSEED": "7", "PYTHONPATH": str(ROOT)}
    again = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True)
    held_out = [phrase.source for phrase in split(1).held_out]
    assert again.stdout.decode().split("\n") == held_out
    assert held_out != [phrase.source for phrase in split(2).held_out]


def test_texts_are_clean() -> None:
    for phrase in phrases():
        for source, target in variants(phrase):
            for text in (source, target):
                assert unicodedata.is_normalized("NFC", text)
                assert text == text.strip() and "  " not in text and "\t" not in text
                assert "-" not in text.split()  # a word form that the lexicon says is not used
            assert target[0] == target[0].upper()
    assert all("'" not in phrase.source for phrase in phrases() if phrase.source_language == "en")


def test_written_files_hold_the_split(tmp_path: Path) -> None:
    paths = write(tmp_path / "phrasebook")
    assert sorted(paths) == sorted(
        f"{part}.{name}.tsv" for part in ("train", "validation", "held-out") for name in NAMES
    )
    counts = summary(SEED)
    for name in NAMES:
        rows = {}
        for part in ("train", "validation", "held-out"):
            text = paths[f"{part}.{name}.tsv"].read_bytes().decode()
            assert text.endswith("\n") and "\r" not in text
            rows[part] = [line.split("\t") for line in text.split("\n")[:-1]]
            assert all(len(row) == 2 for row in rows[part])
        assert len({tuple(row) for row in rows["train"]}) == 4 * counts[name]["train"]
        assert len(rows["validation"]) == counts[name]["validation"]
        assert len(rows["held-out"]) == counts[name]["held_out"]


def test_the_packages_file_is_what_the_grammar_writes() -> None:
    packed = (ROOT / "pellucid" / "data" / "phrasebook.tsv.gz").read_bytes()
    assert gzip.decompress(packed).decode() == table(SEED), "run python -m tools.phrasebook"
    assert phrasebook.split() == split(SEED)


def test_the_page_for_native_speakers_is_up_to_date_and_complete() -> None:
    text = page()
    assert (ROOT / "docs" / "phrasebook.md").read_text(encoding="utf-8") == text, (
        "run python -m tools.phrasebook"
    )
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    shown = {
        (column, word)
        for row in rows
        if len(row) == 4
        for column, cell in enumerate(row)
        for word in words(cell)
    }
    columns = {"en": 0, "fr": 1, "es": 2, "hi": 3}
    for phrase in phrases():
        if phrase.source != "Je suis student":  # among the notes' own, with its direction
            assert {(columns[phrase.source_language], word) for word in words(phrase.source)} <= shown
            assert {(columns[phrase.target_language], word) for word in words(phrase.target)} <= shown
