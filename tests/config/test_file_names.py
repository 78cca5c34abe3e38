"""A model that is given away says nothing of the disk that it was trained on."""

import json
from pathlib import Path
from typing import Any

import pytest
import short_runs
from sentencepiece import SentencePieceTrainer

import pellucid
from pellucid.config.toml_file import from_table, short_names, to_table
from pellucid.errors import UsageError
from pellucid.folder.checkpoint import newest_state


@pytest.mark.parametrize(
    "names",
    [
        {"/home/jane/train.en": "train.en", "/home/jane/train.de": "train.de", "val.en": "val.en"},
        {"/home/jane/a/train.en": "a/train.en", "/home/jane/b/train.en": "b/train.en", "/x/y.de": "y.de"},
        {"/home/jane/a/x/t": "a/x/t", "/home/jane/b/x/t": "b/x/t", "/home/jane/b/y/t": "y/t"},
        {"/t": "t", "/a/t": "a/t", "/b/a/t": "b/a/t"},
        {"t": "t", "./t": "t", "a//t": "a/t"},
        {},
    ],
)
def test_a_file_is_called_by_as_little_as_tells_it_from_the_others(names: dict[str, str]) -> None:
    assert short_names(names) == names


def ready_made(folder: Path) -> Path:
    """A word model."""
    folder.mkdir(parents=True)
    words = dict(model_type="word", vocab_size=50, hard_vocab_limit=False, minloglevel=2)
    text, ids = sum(short_runs.pairs(60), ()), dict(pad_id=0, unk_id=1, bos_id=2, eos_id=3)
    with (folder / "ready.model").open("wb") as file:
        SentencePieceTrainer.train(sentence_iterator=iter(text), model_writer=file, **words, **ids)
    return folder / "ready.model"


def run_with_everything(folder: Path) -> tuple[pellucid.Config, Path]:
    """A run with two corpora of the same files' names, a model to start from, a ready-made vocabulary."""
    vocabulary = ready_made(folder / "first")
    settings: dict[str, Any] = {"training.steps": 1, "vocabulary.model": [str(vocabulary)]}
    first = short_runs.config(folder / "first" / "secret project", settings)
    start = pellucid.train(first, folder / "first" / "run")
    short_runs.config(folder / "second" / "secret project")
    corpora = {
        part: [
            [str(folder / which / "secret project" / f"{part}.{side}") for side in ("source", "target")]
            for which in ("first", "second")
        ]
        for part in ("train", "validation")
    }
    settings = {"training.start_from": str(start), "training.checkpoint_every": 2}
    table = to_table(short_runs.config(folder / "unused", settings))
    table["data"] |= corpora
    table["vocabulary"]["model"] = [str(vocabulary)]
    config = from_table(table)
    return config, pellucid.train(config, folder / "run")


def test_no_file_of_a_run_names_a_folder_of_the_disk(tmp_path: Path) -> None:
    config, run = run_with_everything(tmp_path)
    files = [path for path in run.rglob("*") if path.is_file()]
    assert {"config.toml", "MANIFEST.json", "state.json", "metrics.jsonl"} <= {path.name for path in files}
    for path in files:
        assert str(tmp_path).encode() not in path.read_bytes(), path
    for folder in (run, run / "last", run / "averaged"):
        loaded = pellucid.load(folder).config
        names = tuple(
            tuple(f"{which}/secret project/train.{side}" for side in ("source", "target"))
            for which in ("first", "second")
        )
        assert loaded.data.train == names
        assert loaded.vocabulary.model == ("ready.model",) and loaded.training.start_from == "run"
        hashes = json.loads((folder / "MANIFEST.json").read_text())["provenance"]["data"]
        assert set(hashes) == {
            *(file for part in (names, loaded.data.validation) for corpus in part for file in corpus),
            "ready.model",
        }
    saved = newest_state(run)
    assert saved and saved.state["config"]["data"]["train"] == [list(corpus) for corpus in names]
    assert list(pellucid.training(config, run, resume=True)) == []  # and yet it knows its data again


def test_a_run_goes_on_where_everything_lies_elsewhere_but_not_with_its_corpora_exchanged(
    tmp_path: Path,
) -> None:
    config, _ = run_with_everything(tmp_path / "here")
    (tmp_path / "here").rename(tmp_path / "there")
    table = json.loads(json.dumps(to_table(config)).replace(str(tmp_path / "here"), str(tmp_path / "there")))
    run, table["training"]["steps"] = tmp_path / "there" / "run", 8
    other = table | {"data": table["data"] | {"train": table["data"]["train"][::-1]}}
    with pytest.raises(UsageError, match=r"  data\.train: \[\['first/secret project/.* -> \[\['seco"):
        pellucid.train(from_table(other), run, resume=True)
    assert [step.number for step in pellucid.training(from_table(table), run, resume=True)] == [7, 8]
