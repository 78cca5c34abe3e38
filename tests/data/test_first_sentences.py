"""What ten readers typed first, written down before the corpus had it: most of it is translated, and the rest
is answered by suggestions."""

import csv
from pathlib import Path

import pytest

import pellucid
from pellucid.demo import plain
from pellucid.errors import UsageError

PATH = Path(__file__).parent / "first_sentences.tsv"
LINES = PATH.read_text(encoding="utf-8").splitlines()
ROWS = list(csv.DictReader(LINES, delimiter="\t", quoting=csv.QUOTE_NONE))


def test_forty_sentences_of_ten_readers() -> None:
    assert len(ROWS) == 40 and len({row["person"] for row in ROWS}) == 10


def test_most_are_translated_rightly_and_the_others_answered() -> None:
    demo = pellucid.load("demo", "cpu")
    wrong = []
    for row in ROWS:
        text = demo.translate(row["sentence"], to=row["to"]).text
        if plain(text) not in [plain(right) for right in row["right"].split(" / ")]:
            wrong.append(row)
    assert len(ROWS) - len(wrong) >= 34, [row["sentence"] for row in wrong]


def test_what_it_does_not_know_is_answered_by_words_of_the_same_language() -> None:
    demo = pellucid.load("demo", "cpu")
    with pytest.raises(UsageError) as error:
        demo.explain("I have carss zebras", to="es")
    assert str(error.value).startswith(
        "sentence: the model does not have 2 of these words. 'carss': Near it: "
    )
    assert "'zebras'" in str(error.value)
    near = str(error.value).partition("Near it: ")[2].partition(".")[0].split(", ")
    english = {demo.vocabulary.source.id_to_piece(token)[1:] for token in demo.vocabulary.words_of["en"]}
    assert near and english.issuperset(near) and "gatos" not in english
    with pytest.raises(UsageError, match='this is in "fr", but to translate to "es" the model needs "en"'):
        demo.explain("bonjour", to="es")


def test_a_written_start_token_is_the_models_own() -> None:
    demo = pellucid.load("demo", "cpu")
    plainly, started = (
        demo.explain(text, to="fr") for text in ("The cat sat on the mat", "START The cat sat on the mat")
    )
    assert started.source_ids == plainly.source_ids
    taught = demo.explain("le chat est ici", to="en", target="<s> The cat sat on the mat")
    assert taught.target_tokens[:2] == ["<s>", "The"]
