"""Every verb takes a transformers model folder directly, or says what to do first."""

from pathlib import Path
from typing import Any

import pytest
from command import Command
from marian_folders import many_languages, opus, phrases

TEXT = phrases("en", 1)[0]
WORD = TEXT.split()[0]


@pytest.fixture(scope="module", params=["marian", "nllb"])
def theirs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A folder, and the options that name its target language."""
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "marian":
        return opus(folder), []
    many_languages(folder, request.param)
    return folder, ["--to", "fra_Latn"]


VERBS = {
    "translate": ["translate", "MODEL"],
    "translate in bf16": ["translate", "MODEL", "--precision", "bf16"],
    "translate in int8": ["translate", "MODEL", "--precision", "int8"],
    "an ensemble": ["translate", "MODEL", "MODEL"],
    "evaluate": ["evaluate", "MODEL", "--data", "pairs.tsv"],
    "score": ["score", "MODEL", "--data", "pairs.tsv", "--per-token"],
    "explain": ["explain", "MODEL", TEXT, "--html", "page.html"],
    "compare": ["compare", "MODEL", WORD, TEXT, f"well, {TEXT}"],
    "leak": ["leak", "MODEL", "--sentence", TEXT],
    "experiment": ["experiment", "heads", "MODEL", TEXT],
    "attribution": ["experiment", "attribution", "MODEL", TEXT, "--set", "steps=8"],
    "dimensions": ["experiment", "positions", "MODEL"],
    "inspect": ["inspect", "MODEL"],
    "export": ["export", "ctranslate2", "MODEL", "out"],
}
WITHOUT_LANGUAGE = ("dimensions", "inspect", "export")


@pytest.mark.parametrize("name", VERBS)
def test_verbs_that_read_a_model_take_it(
    name: str, theirs: Any, tmp_path: Path, pellucid: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, to = theirs
    monkeypatch.chdir(tmp_path)
    Path("pairs.tsv").write_text(f"{TEXT}\tLe chat\n", "utf-8")
    argv = [folder if each == "MODEL" else each for each in VERBS[name]]
    said = pellucid(*argv, *([] if name in WITHOUT_LANGUAGE else to), stdin=f"{TEXT}\n".encode())
    assert said.code == 0, said.err
    assert said.out.strip() and "Traceback" not in said.err


def test_verbs_that_write_into_a_model_folder_say_to_import_it(
    theirs: Any, tmp_path: Path, pellucid: Command
) -> None:
    folder, to = theirs
    languages = 'languages = ["eng_Latn", "fra_Latn"]\n' if to else ""
    (tmp_path / "pairs.tsv").write_text("".join(f"{text}\tLe chat\n" for text in phrases("en", 20)), "utf-8")
    config = tmp_path / "train.toml"
    config.write_text(
        f'[data]\ntrain = ["pairs.tsv"]\nheld_out = 2\n{languages}'
        f'[training]\nsteps = 1\nstart_from = "{folder}"\n'
    )
    files = sorted(path.name for path in folder.iterdir())
    for argv in (
        ["set", folder, "translation.beam=2"],
        ["average", tmp_path / "mean", folder],
    ):
        said = pellucid(*argv)
        assert said.code == 1 and f"First: pellucid import {folder} OUT" in said.err, said
    trained = pellucid("train", config, "--out", tmp_path / "run")
    assert trained.code == 0, trained.err
    assert sorted(path.name for path in folder.iterdir()) == files


def test_what_cannot_be_imported_is_refused_in_plain_words(
    theirs: Any, tmp_path: Path, pellucid: Command
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    (tmp_path / "empty").mkdir()
    for path, out, message in (
        (tmp_path / "nowhere", "out", "no such folder"),
        ("demo", "out", "demo: "),
        (tmp_path / "empty", "out", "there is no config.json, .npz or .pt, so this is no model of"),
        (theirs[0], "mine", "it already exists. Name a new folder"),
    ):
        said = pellucid("import", path, tmp_path / out, "--no-check")
        assert said.code and message in said.err, said
    said = pellucid("import", theirs[0], tmp_path / "out", "--from", "spa_Latn")
    if theirs[1]:
        names = "eng_Latn, fra_Latn, hin_Deva"
        assert f"it has no language 'spa_Latn'. Choose one of {names}." in said.err
    else:
        assert said.code == 2 and "one source language, so 'spa_Latn' cannot be chosen" in said.err
    assert not (tmp_path / "out").exists() and (tmp_path / "mine" / "notes.txt").read_text() == "mine"


def test_an_export_makes_a_new_folder(
    tmp_path: Path, pellucid: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = pellucid("export", "ctranslate2", "demo", ".", "--no-check")
    assert said == (2, "", "pellucid: .: an export makes a folder of its own. Name a new folder.\n")
    Path("empty").mkdir()
    assert pellucid("export", "ctranslate2", "demo", "empty", "--no-check").code == 0
    assert Path("empty", "model.bin").exists()
