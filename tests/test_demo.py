"""The demo: the model in the package is right on what it never saw, and the tour runs from end to end."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

import pellucid
from pellucid import demo
from pellucid.data import phrasebook
from pellucid.translate.translator import Translator

LIMIT = 0.97  # of the held-out sentences of each direction, exactly right


@pytest.fixture(scope="module")
def packaged() -> Translator:
    return pellucid.load("demo")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    demo.configuration(folder)
    return folder


def test_the_packaged_model_is_small() -> None:
    model = pellucid.load("demo").model
    assert sum(parameter.numel() for parameter in model.parameters()) <= 300_000
    folder = Path(pellucid.__file__).parent / "demo_model"
    assert sum(path.stat().st_size for path in folder.iterdir()) < 1_000_000


@pytest.mark.parametrize("direction", phrasebook.DIRECTIONS, ids="-".join)
def test_held_out_sentences_are_right(packaged: Translator, corpus: Path, direction: tuple[str, str]) -> None:
    pairs = demo.held_out(corpus)[direction]
    right = demo.exactly_right(packaged, pairs, to=direction[1])
    assert len(right) >= 200
    assert sum(right) / len(right) >= LIMIT


@pytest.mark.parametrize("phrase", phrasebook.NOTES, ids=lambda phrase: f"{phrase.direction} {phrase.source}")
@pytest.mark.parametrize("ending", ["", "."])
@pytest.mark.parametrize("beam", [1, 4])
def test_the_notes_sentences_are_right(
    packaged: Translator, phrase: phrasebook.Phrase, ending: str, beam: int
) -> None:
    if phrase.kind == "question" and ending:
        ending = "?"
    for source in (phrase.source, phrase.source[0].upper() + phrase.source[1:], phrase.source.lower()):
        if source.startswith("i "):
            continue  # the phrasebook writes I with a capital everywhere
        said = packaged.translate(source + ending, to=phrase.target_language, beam=beam).text
        assert demo.same(said, phrase.target)


def test_the_banks_translate_differently(packaged: Translator) -> None:
    for phrase in phrasebook.tour():
        said = packaged.translate(phrase.source, to=phrase.target_language).text
        assert demo.same(said, phrase.target)


def test_the_note_s_six_tokens_are_shown(packaged: Translator) -> None:
    explanation = packaged.explain("je suis étudiant", to="en", target="The cat sat on mat")
    weights = explanation.trace["decoder.layers.0.self_attention.weights"]
    assert weights.labels("L") == weights.labels("M") == ["<s>", "The", "cat", "sat", "on", "mat"]
    mask = explanation.trace["decoder.layers.0.self_attention.mask"].tensor[0, 0]
    assert mask.shape == (6, 6)
    assert int((mask == -float("inf")).sum()) == 15


def test_the_tour_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = demo.configuration

    def short(out: Path) -> pellucid.Config:
        config = whole(out)
        training = dataclasses.replace(
            config.training, steps=2, validate_every=10, batch_tokens=200, average=0
        )
        data = dataclasses.replace(config.data, validation=())
        return dataclasses.replace(config, training=training, data=data)

    def show(steps: Iterator[object], config: pellucid.Config) -> None:
        assert len(list(steps)) == 2

    monkeypatch.setattr(demo, "show", show)
    few = {direction: pairs[:3] for direction, pairs in demo.held_out(_written(tmp_path)).items()}
    monkeypatch.setattr(demo, "configuration", short)
    monkeypatch.setattr(demo, "held_out", lambda out: few)
    said: list[str] = []
    demo.run(tmp_path, train=True, say=said.append)
    text = "\n".join(said)
    assert "newly trained model: en→hi 0/3 (0.0%)" in text
    assert "packaged model: en→hi 3/3 (100.0%)" in text
    assert (tmp_path / "how-are-you.html").stat().st_size > 100_000
    assert len([line for line in said[-3:] if "pellucid " in line]) == 3


def _written(folder: Path) -> Path:
    demo.configuration(folder)
    return folder
