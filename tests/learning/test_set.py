"""`pellucid set`: the settings of a finished model, changed and sealed again."""

import json
import shutil
from pathlib import Path

import pytest
from command import Command
from random_translator import assert_same, sentences, translator

from pellucid.folder.checkpoint import save_model
from pellucid.learning.claim import alone_in
from pellucid.translator import load


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model folder."""
    ours = translator(end=1.0)
    save_model(tmp_path / "model", ours.model, ours.vocabulary, ours.config, {"steps": 7, "licence": "mine"})
    return tmp_path / "model"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_a_model_translates_as_it_was_set(pellucid: Command, folder: Path) -> None:
    lines, before, files = sentences(12), load(folder), contents(folder)
    settings = "translation.length_penalty=0", "translation.beam=3", "translation.max_length=9"
    outcome = pellucid("set", folder, *settings)
    assert outcome.code == 0 and outcome.err.splitlines() == [
        f"{folder}: translation.length_penalty = 0.0 (it was 1.0)",
        f"{folder}: translation.beam = 3 (it was 5)",
        f"{folder}: translation.max_length = 9 (it was 512)",
    ]
    after = load(folder)  # whose hashes are right
    assert_same(after.translate(lines), before.translate(lines, length_penalty=0.0, beam=3, max_length=9))
    now = contents(folder)
    assert {name for name in files if files[name] != now[name]} == {"MANIFEST.json", "config.toml"}
    assert sorted(files) == sorted(now) and not (folder / ".new").exists()
    manifests = [json.loads(each["MANIFEST.json"]) for each in (files, now)]
    assert manifests[0]["provenance"] == manifests[1]["provenance"] == {"steps": 7, "licence": "mine"}


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("training.steps=5", "training.steps cannot be changed, because it says how the model was made"),
        ("translation.bem=1", '[translation] has no setting "bem". Did you mean "beam"?'),
        ("translation.beam=many", "[translation] beam = 'many' must be a whole number from 1 to 1000."),
    ],
)
def test_what_cannot_be_set(pellucid: Command, folder: Path, setting: str, message: str) -> None:
    files = contents(folder)
    outcome = pellucid("set", folder, "translation.max_length=9", setting)
    assert outcome.code == 2 and message in outcome.err
    assert contents(folder) == files


def test_the_model_in_the_package_stays_as_it_is(pellucid: Command) -> None:
    outcome = pellucid("set", "demo", "translation.beam=1")
    assert (
        outcome.code == 2 and "demo is the model inside the package, which cannot be changed" in outcome.err
    )


@pytest.mark.parametrize("of_the_run", [".", "last"])
def test_a_model_in_training_is_left_alone(
    pellucid: Command, tmp_path: Path, of_the_run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = translator()
    (tmp_path / "run").mkdir()
    model = tmp_path / "run" / of_the_run
    save_model(model, ours.model, ours.vocabulary, ours.config, {})
    with alone_in(tmp_path / "run"):
        files = contents(model)
        monkeypatch.chdir(model)
        for name in (model, "."):
            outcome = pellucid("set", name, "translation.beam=1")
            assert outcome.code == 1 and "another training run is using" in outcome.err
            assert contents(model) == files
    assert pellucid("set", model, "translation.beam=1").code == 0
    assert load(model).config.translation.beam == 1


def test_a_change_that_was_cut_off_after_its_seal_is_kept(pellucid: Command, folder: Path) -> None:
    other = folder.with_name("other")
    shutil.copytree(folder, other)
    assert pellucid("set", other, "translation.beam=8").code == 0
    shutil.copytree(other, folder / ".new")  # sealed, and not yet copied over the old files
    outcome = pellucid("set", folder, "translation.length_penalty=0.5")
    assert outcome.code == 0 and not (folder / ".new").exists()
    now = load(folder).config.translation
    assert (now.beam, now.length_penalty) == (8, 0.5)
