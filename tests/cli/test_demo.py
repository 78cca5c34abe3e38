"""The demo: the model in the package is right on what it never saw, and the tour runs from end to end."""

import dataclasses
import re
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import foreign
import pytest
import short_runs
from command import Command

import pellucid
from pellucid import demo
from pellucid.data import phrasebook
from pellucid.data.sifting import read_pairs, text_of
from pellucid.errors import PellucidError, UsageError
from pellucid.folder.checkpoint import newest_step
from pellucid.learning.log import Log
from pellucid.learning.run import train
from pellucid.learning.starting import prepare_vocabulary
from pellucid.translator import Translator

CONFIGURATION = demo.configuration
LIMIT = 0.97  # of the held-out sentences of each direction, exactly right


@pytest.fixture(scope="module")
def packaged() -> Translator:
    return pellucid.load("demo")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    phrasebook.write(folder / demo.DATA)
    return folder


def test_the_packaged_model_is_small(packaged: Translator) -> None:
    assert sum(parameter.numel() for parameter in packaged.model.parameters()) <= 600_000
    folder = Path(pellucid.__file__).parent / "demo_model"
    assert sum(path.stat().st_size for path in folder.iterdir()) < 1_300_000


@pytest.mark.slow
def test_its_vocabulary_is_the_phrasebook_s(packaged: Translator, corpus: Path) -> None:
    config = CONFIGURATION(corpus)
    vocabulary = prepare_vocabulary(read_pairs(text_of(config.data.train, config.data))[0], config)
    assert vocabulary.same_as(packaged.vocabulary)
    assert vocabulary.words_of == packaged.vocabulary.words_of


@pytest.mark.parametrize("direction", phrasebook.DIRECTIONS, ids="-".join)
def test_held_out_sentences_are_right(packaged: Translator, corpus: Path, direction: tuple[str, str]) -> None:
    pairs = demo.held_out(corpus)[direction]
    counts = re.search(r"(\d+)/(\d+)", demo.score_line(packaged, {direction: pairs}))
    assert counts and int(counts[2]) == len(pairs) >= 200
    assert int(counts[1]) / len(pairs) >= LIMIT


@pytest.mark.parametrize("phrase", phrasebook.NOTES, ids=lambda phrase: f"{phrase.direction} {phrase.source}")
@pytest.mark.parametrize("ending", ["", "."])
@pytest.mark.parametrize("beam", [1, 4])
def test_the_notes_sentences_are_right(
    packaged: Translator, phrase: phrasebook.Phrase, ending: str, beam: int
) -> None:
    if phrase.kind == "question" and ending:
        ending = "?"
    written = {phrase.source, phrase.source[0].upper() + phrase.source[1:], phrase.source.lower()}
    for source in (each for each in written if not each.startswith("i ")):  # it has only I, with a capital
        said = packaged.translate(source + ending, to=phrase.target_language, beam=beam).text
        assert demo.plain(said) == demo.plain(phrase.target)


# The tour


def short(out: Path, steps: int = 2) -> pellucid.Config:
    """The demo's configuration with an early end and nothing to validate on."""
    config = CONFIGURATION(out)
    training = dataclasses.replace(config.training, steps=steps, batch_tokens=200, average=0)
    data = dataclasses.replace(config.data, validation=())
    return dataclasses.replace(config, training=training, data=data)


@pytest.fixture
def short_demo(monkeypatch: pytest.MonkeyPatch, corpus: Path) -> None:
    """A demo that trains on a tenth for two steps and translates three held-out sentences a direction."""
    few = {direction: pairs[:3] for direction, pairs in demo.held_out(corpus).items()}
    whole = phrasebook.split()
    part = whole | {"train": [*whole["train"][::10], *phrasebook.NOTES]}
    monkeypatch.setattr(phrasebook, "split", lambda: part)
    monkeypatch.setattr(demo, "configuration", short)
    monkeypatch.setattr(demo, "held_out", lambda out: few)


def tour(out: Path, train: bool = True) -> str:
    said: list[str] = []
    demo.run(out, train, say=said.append)
    numbers = [int(line.split(".")[0]) for line in said if line[0].isdigit()]
    assert numbers == list(range(1, 7 if train else 5)), "a number is left out"
    assert len([line for line in said[-6:] if line.startswith("   pellucid ") or "| pellucid " in line]) == 3
    assert "It is no translation here, but --target" in "".join(said[-3:])
    return "\n".join(said)


@pytest.mark.usefixtures("short_demo")
def test_the_tour_runs_and_a_second_one_uses_its_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = tour(tmp_path)
    assert "2. Training a Transformer on the rest, from random numbers." in text
    assert "newly trained model: en→hi 0/3 (0.0%)" in text
    assert "packaged model: en→hi 3/3 (100.0%)" in text
    assert (tmp_path / "how-are-you.html").stat().st_size > 100_000
    assert (tmp_path / demo.MOVIE).stat().st_size > 2_000_000  # the weights of steps 0, 1 and 2
    before = foreign.everything(tmp_path)
    monkeypatch.setattr(demo, "train", lambda *_, **__: pytest.fail("it was trained again"))
    again = tour(tmp_path)
    assert f"2. The model was trained before: {tmp_path / 'model'} is used as it is." in again
    assert "newly trained" in again
    tour(tmp_path, train=False)  # its page may take the place of the demo's own
    after = foreign.everything(tmp_path)
    changed = {name for name in after if after[name] != before.get(name)}
    assert changed == {"how-are-you.html", demo.MOVIE}


@pytest.mark.usefixtures("short_demo")
def test_after_ctrl_c_the_same_command_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pellucid: Command
) -> None:
    measure = Log.measure

    def interrupted(log: Log, values: Mapping[str, Any]) -> None:
        measure(log, values)
        if values["step"] == 2:
            signal.raise_signal(signal.SIGINT)

    out = tmp_path / "a tour"
    config = short(out, steps=4)
    monkeypatch.setattr(demo, "configuration", lambda out: config)
    with monkeypatch.context() as patch:
        patch.setattr(Log, "measure", interrupted)
        outcome = pellucid("demo", "--out", out)
    assert outcome.code == 130
    assert outcome.err.endswith(
        f"pellucid: stopped at step 2; everything is saved in {out / 'model'}.\n"
        f"To go on: pellucid demo --out '{out}'\n"
    )
    line = demo.training_line(newest_step(out / "model"), config, out)
    assert line == f"Going on with the training in {out / 'model'}, from step 2."
    demo.train_model(config, out)
    assert [entry["step"] for entry in short_runs.metrics(out / "model")][:4] == [1, 2, 3, 4]


# What is not the demo's


@pytest.mark.parametrize("name", ["model", "model/metrics.jsonl", "model/checkpoints", "model/config.toml"])
def test_a_model_s_folder_of_one_s_own_is_left_alone(tmp_path: Path, name: str) -> None:
    foreign.put(tmp_path / "out" / name)
    before = foreign.everything(tmp_path)
    with pytest.raises(PellucidError, match=re.escape(f"{tmp_path / 'out' / name}")):
        demo.run(tmp_path / "out", True, say=lambda line: None)
    assert foreign.everything(tmp_path) == before


def test_another_training_is_left_alone(tmp_path: Path) -> None:
    settings = {"training.steps": 2, "training.validate_every": 1}
    train(short_runs.config(tmp_path / "corpus", settings), tmp_path / "out" / "model")
    (tmp_path / "out" / "model" / "thesis.txt").write_text("mine")
    before = foreign.everything(tmp_path)
    with pytest.raises(UsageError, match="this run was started with other settings or data"):
        demo.run(tmp_path / "out", True, say=lambda line: None)
    assert foreign.everything(tmp_path).items() >= before.items()
