"""Fine-tuning: what a run takes from the model that it starts from, and what it says of that model."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import short_runs
import torch
from command import Command, Outcome
from short_runs import SETTINGS

import pellucid
from pellucid.config.schema import Config
from pellucid.config.toml_file import as_config, inherited, read, to_table
from pellucid.errors import UsageError
from pellucid.folder.load import load_model
from pellucid.interop.importing import load_folder
from pellucid.learning import choosing
from pellucid.learning.measuring import Pace
from pellucid.learning.preparing import prepare
from pellucid.learning.text import data_of
from pellucid.text.growing import parts


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the model to start from, runs/fr, and its data; read it only."""
    folder = tmp_path_factory.mktemp("first")
    pellucid.train(short_runs.config(folder / "data"), folder / "runs" / "fr")
    return folder


def toml(first: Path, *lines: str) -> Path:
    """A configuration in the folder cfg, of which the lines are all beside the data and the training."""
    path = first / "cfg" / "task.toml"
    path.parent.mkdir(exist_ok=True)
    both = [
        f'{part} = ["../data/{part}.source", "../data/{part}.target"]' for part in ("train", "validation")
    ]
    training = [f"{name} = {json.dumps(value)}" for name, value in SETTINGS["training"].items()]
    path.write_text("\n".join(["[data]", *both, "[training]", *training, *lines]) + "\n")
    return path


def start(first: Path, *lines: str) -> Path:
    """One that starts from the model, written as from its own folder."""
    return toml(first, 'start_from = "../runs/fr"', *lines)


def test_what_is_not_said_is_taken_from_the_folder(first: Path, tmp_path: Path) -> None:
    theirs = load_model(first / "runs" / "fr").config
    ours = read(start(first))
    assert ours.model == theirs.model and ours.vocabulary == theirs.vocabulary
    assert ours.training.start_from == str(first / "runs" / "fr")
    ours = read(start(first, "[model]", "dropout = 0.4", "[vocabulary]", "sampling = 0.3"))
    assert (ours.model.dropout, ours.model.attention_dropout, ours.vocabulary.sampling) == (0.4, 0.1, 0.3)
    pellucid.train(read(start(first)), tmp_path / "run")
    assert load_model(tmp_path / "run").config.model == theirs.model


def test_embeddings_that_are_apart_stay_so(tmp_path: Path) -> None:
    """Also with one vocabulary, as in many opus-mt-tc-big."""
    one = short_runs.config(tmp_path / "data", {"vocabulary.joint": True, "model.target_vocabulary": 50})
    pellucid.train(one, tmp_path / "one")
    table = short_runs.SETTINGS["training"] | {"start_from": str(tmp_path / "one")}
    data = to_table(one)["data"]
    pellucid.train(as_config({"data": data, "training": table}), tmp_path / "two")
    first, second = (load_model(tmp_path / name) for name in ("one", "two"))
    assert first.vocabulary.joint and second.config.model == first.config.model
    assert first.config.model.target_vocabulary == first.vocabulary.target_size
    assert second.model.encoder.embedding is not second.model.decoder.embedding


def test_text_may_not_be_longer_than_the_learned_positions(tmp_path: Path) -> None:
    settings = {"model.positions": "learned", "model.longest": 12, "data.max_length": 13}
    message = (
        "[data] max_length = 13 tokens, and the model has learned positions for [model] longest = 12. Set "
        "max_length = 12 or less."
    )
    with pytest.raises(UsageError, match=re.escape(message)):
        pellucid.train(short_runs.config(tmp_path / "data", settings), tmp_path / "run")
    config = short_runs.config(tmp_path / "data", {**settings, "data.max_length": 12})
    pellucid.train(config, tmp_path / "run")


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"vocabulary.size": 1234}, "its model was made with other settings of text: size = 1234 ("),
        ({"vocabulary.byte_fallback": True}, "other settings of text: byte_fallback = True (there False). "),
        ({"vocabulary.model": "/x.model"}, "other settings of text: model = ('x.model',) (there ()). "),
        ({"data.preparation": "words"}, "other settings of text: preparation = words (there none). "),
        ({"model.preset": "tiny"}, "has another shape: width = 128 (there 16), heads = 4 (there 2), "),
    ],
)
def test_what_is_said_must_agree(first: Path, tmp_path: Path, setting: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        pellucid.train(read(start(first), setting), tmp_path / "run")


def fine_tuning(first: Path, **training: Any) -> Config:
    """The configuration of a run that starts from the model."""
    changes = {f"training.{name}": value for name, value in training.items()}
    return read(start(first), changes)


def test_the_model_is_validated_before_it_learns_and_may_stay_the_best(first: Path, tmp_path: Path) -> None:
    said: list[str] = []
    worse = fine_tuning(first, peak_rate=5.0, steps=3, average=0, validation_metric="loss")
    steps = list(pellucid.training(worse, tmp_path / "run", report=said.append))
    (before,) = [entry for entry in short_runs.metrics(tmp_path / "run") if entry["step"] == 0]
    found = before["validation"]
    provenance = load_model(first / "runs" / "fr").manifest["provenance"]
    assert found["loss"] == pytest.approx(provenance["scores"]["validation"]["loss"], rel=1e-5)
    (line,) = [line for line in said if line.startswith("validation at step 0")]
    assert line.startswith(f"validation at step 0, of fr: loss {found['loss']:.3f}, ")
    assert f"BLEU {found['bleu']:.2f}, chrF {found['chrf']:.2f}" in line
    assert steps[-1].validation and steps[-1].validation.loss > found["loss"] and not steps[-1].best
    assert short_runs.same_weights(tmp_path / "run", first / "runs" / "fr")
    assert load_model(tmp_path / "run").manifest["provenance"]["steps"] == 0


def test_a_resume_is_the_uninterrupted_run(first: Path, tmp_path: Path) -> None:
    pellucid.train(fine_tuning(first), tmp_path / "whole")
    for after in (1, 4):  # the first stop is before anything was saved but step 0
        config = fine_tuning(first, checkpoint_every=4)
        for step in pellucid.training(config, tmp_path / "parts", resume=True):
            if step.number == after:
                break
    pellucid.train(fine_tuning(first), tmp_path / "parts", resume=True)
    assert [entry["step"] for entry in short_runs.metrics(tmp_path / "parts")] == [0, 1, 2, 3, 4, 5, 6]
    assert short_runs.same_run(tmp_path / "whole", tmp_path / "parts")


# A part that is frozen, and a vocabulary that grows

WORDS = {"vocabulary.kind": "unigram", "vocabulary.size": 16}


def test_a_resume_needs_the_model_it_started_from_only_for_settings(first: Path, tmp_path: Path) -> None:
    config = read(start(first), {"training.steps": 1})
    pellucid.train(config, tmp_path / "run")
    gone = {"training.start_from": str(tmp_path / "fr"), "training.steps": 2}
    said = f"training.start_from: {tmp_path}/fr is gone, and with it the settings taken from there"
    with pytest.raises(UsageError, match=re.escape(said)):
        pellucid.train(read(toml(first), gone), tmp_path / "run", resume=True)
    whole = to_table(config)  # as train.toml has all settings
    whole["training"] |= {"start_from": str(tmp_path / "fr"), "steps": 2}
    pellucid.train(as_config(whole), tmp_path / "run", resume=True)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_what_is_frozen_stays_bit_for_bit_and_all_else_learns(
    first: Path, tmp_path: Path, precision: str
) -> None:
    said: list[str] = []
    config = fine_tuning(first, frozen=["encoder.*", "*.norm.bias"], weight_decay=0.1, precision=precision)
    pellucid.train(config, tmp_path / "run", report=said.append)
    assert any(re.search(r"5,760 parameters \([\d,]+ of them frozen\)", line) for line in said), said
    before, after = (
        load_model(each).model.state_dict() for each in (first / "runs" / "fr", tmp_path / "run/last")
    )
    for name, tensor in after.items():
        stays = name.startswith("encoder.") or name.endswith((".norm.bias", ".key.bias"))
        assert torch.equal(tensor, before[name]) == stays, name


@pytest.mark.parametrize(
    ("globs", "said"),
    [
        (["encodr.*"], '[training] frozen: no tensor is called "encodr.*".'),
        (["*"], "[training] frozen = ['*']: then nothing is left to learn. Freeze less."),
    ],
)
def test_a_glob_must_match_and_leave_something(
    first: Path, tmp_path: Path, globs: list[str], said: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        pellucid.train(fine_tuning(first, frozen=globs), tmp_path / "run")


@pytest.fixture(scope="module")
def grown(first: Path) -> Path:
    """The configuration of a training on words with new letters, from a model of subwords, runs/letters."""
    pellucid.train(short_runs.config(first / "data", WORDS), first / "runs" / "letters")
    new = [(f"{source} öç", f"öç {target}") for source, target in short_runs.pairs(40, seed=3)]
    files = short_runs.write(first / "new", "train", new)
    config = toml(first, 'start_from = "../runs/letters"', "[vocabulary]", "grow = 12")
    path = config.with_name("grown.toml")
    path.write_text(config.read_text("utf-8").replace("../data/train", "../new/train"), "utf-8")
    assert files[0].endswith("new/train.source")
    return path


def test_a_vocabulary_grows_and_new_tokens_begin_with_the_mean_of_their_pieces(
    first: Path, grown: Path, tmp_path: Path
) -> None:
    pellucid.train(read(grown, {"training.peak_rate": 0.0}), tmp_path / "run")
    old, new = load_model(first / "runs" / "letters"), load_model(tmp_path / "run")
    size = old.vocabulary.source_size
    assert size < new.vocabulary.source_size <= size + 12
    rows, expected = new.model.embedding.weight, old.model.embedding.weight  # type: ignore[union-attr]
    assert torch.equal(rows[:size], expected)
    added = parts(old.vocabulary, new.vocabulary, "target")
    assert max(map(len, added)) > 1
    for row, ids in zip(rows[size:], added, strict=True):
        torch.testing.assert_close(row, expected[ids].mean(0))
    assert new.vocabulary.unknown_in("ab öç") == [] != old.vocabulary.unknown_in("ab öç")
    again = {"training.start_from": str(tmp_path / "run"), "vocabulary.grow": 0}
    pellucid.train(read(grown, again), tmp_path / "again")
    assert load_model(tmp_path / "again").vocabulary.same_as(new.vocabulary)


def test_a_grown_training_is_the_same_from_prepared_text_and_resumed(grown: Path, tmp_path: Path) -> None:
    pellucid.train(read(grown), tmp_path / "whole")
    prepare(read(grown), tmp_path / "text", 1, print)
    pellucid.train(read(grown, {"data.prepared": tmp_path / "text"}), tmp_path / "mapped")
    assert short_runs.same_weights(tmp_path / "whole", tmp_path / "mapped")
    pellucid.train(read(grown, {"training.steps": 3}), tmp_path / "parts")
    pellucid.train(read(grown), tmp_path / "parts", resume=True)
    assert short_runs.same_weights(tmp_path / "whole" / "last", tmp_path / "parts" / "last")
    with pytest.raises(UsageError, match="it was prepared with another vocabulary"):
        pellucid.train(
            read(grown, {"data.prepared": tmp_path / "text", "vocabulary.grow": 0}), tmp_path / "x"
        )


def test_only_a_vocabulary_that_is_there_grows(first: Path) -> None:
    said = "[vocabulary] grow = 9 adds tokens to the vocabulary of a model to start from, and none is named."
    with pytest.raises(UsageError, match=re.escape(said)):
        read(toml(first), {"vocabulary.grow": 9})


# In one command

QUICK = "training.steps=2", "training.threads=1", "training.precision=fp32", "data.held_out=8"


@pytest.fixture
def further(
    pellucid: Command, first: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Outcome]:
    """`pellucid train --from …` on other text, into tmp_path/run, with a pace that is made up."""
    monkeypatch.setattr(choosing, "measure", lambda *_: Pace(0.5, 30.0, 0.01))
    text = short_runs.write(tmp_path, "other", short_runs.pairs(50, seed=2))
    settings = [word for setting in QUICK for word in ("--set", setting)]
    command = ["train", "--source", text[0], "--target", text[1], *settings]
    return lambda *words, out=tmp_path / "run": pellucid(*command, *words, "--out", out)


def test_one_command_takes_all_from_the_model_and_chooses_a_lower_rate(
    further: Callable[..., Outcome], first: Path, tmp_path: Path
) -> None:
    outcome = further("--from", first / "runs" / "fr", "--minutes", 5)
    assert outcome.code == 0, outcome.err
    assert "validation at step 0, of fr: loss " in outcome.err
    theirs, ours = (load_model(each).config for each in (first / "runs" / "fr", tmp_path / "run"))
    assert ours.model == theirs.model and ours.translation == theirs.translation
    assert ours.training.peak_rate == 0.0004 and ours.training.warmup_steps == 10  # there are 2 steps
    written = (tmp_path / "run" / "train.toml").read_text("utf-8")
    assert "width = 16  # as in the model to start from\n" in written
    assert "peak_rate = 0.0004  # low: it keeps what it knows\n" in written
    resumed = further("--from", first / "runs" / "fr", "--resume", "--set", "training.steps=3")
    assert resumed.code == 0 and "going on from step 2" in resumed.err
    same = further("--set", f"training.start_from={first}/runs/fr", out=tmp_path / "same")
    assert same.code == 0, same.err


def test_one_command_goes_on_from_embeddings_that_are_apart(tmp_path: Path) -> None:
    apart = {"vocabulary.joint": True, "model.target_vocabulary": 50}
    pellucid.train(short_runs.config(tmp_path / "data", apart), tmp_path / "one")
    text = short_runs.write(tmp_path, "other", short_runs.pairs(50, seed=2))
    settings = {"training.start_from": str(tmp_path / "one"), "data.held_out": 8, "training.steps": 2}
    started = load_folder(tmp_path / "one")  # its pace is measured
    config, _ = choosing.choose_settings(text, settings, "cpu", tmp_path / "run", print, started)
    assert config.model.target_vocabulary == started.config.model.target_vocabulary


@pytest.mark.parametrize("languages", [["en", "es"], [["en", "es"], ["en", "es"]]])
def test_one_pair_of_languages_is_that_of_all_corpora(languages: list[Any]) -> None:
    data = {"train": [["a.en", "a.es"], ["b.en", "b.es"]], "languages": languages}
    theirs = {"data": {"languages": [["en", "hi"], ["en", "es"], ["es", "en"]]}}
    taken = inherited({"data": data}, theirs)["data"]["languages"]
    assert {tuple(pair) for pair in taken[:2]} == {("en", "es")} and len(taken) == 4
    config = as_config({"data": data | {"languages": taken}, "training": {"start_from": "demo"}})
    assert data_of(config).languages == (("en", "es"),)


def test_a_model_of_several_languages_goes_on_in_one_and_keeps_all(
    further: Callable[..., Outcome], tmp_path: Path
) -> None:
    asked = further("--from", "demo")
    assert asked.code == 2 and asked.err == (
        "pellucid: the model translates to hi, en, es, fr: say which, with --to hi.\n"
    )
    lost = further("--to", "es")
    assert lost.code == 2 and lost.err == (
        "pellucid: --to chooses a language of the model that --from names: give --from too.\n"
    )
    outcome = further("--from", "demo", "--to", "es")
    assert outcome.code == 0 and f"pellucid translate {tmp_path / 'run'} --to es\n" in outcome.err
    tuned, demo = load_model(tmp_path / "run"), pellucid.load("demo", "cpu")
    assert tuned.vocabulary.languages[0] == ("en", "es")
    assert sorted(tuned.vocabulary.languages) == sorted(demo.vocabulary.languages)
    some = "I like cats."
    for to in demo.vocabulary.target_languages:
        assert tuned.vocabulary.encode_source(some, to) == demo.vocabulary.encode_source(some, to)
    resumed = further("--from", "demo", "--to", "es", "--resume", "--set", "training.steps=3")
    assert resumed.code == 0 and "going on from step 2" in resumed.err


def test_what_a_model_was_taught_with_is_taken_unless_it_is_said(first: Path, tmp_path: Path) -> None:
    table = to_table(short_runs.config(tmp_path / "data"))
    table["data"] |= {"languages": [["xx", "fr"]], "preparation": "words"}
    table["training"] |= {"label_smoothing": 0.03, "validation_metric": "exact", "steps": 1}
    table["translation"] |= {"beam": 3}
    pellucid.train(table, tmp_path / "special")
    plain = {name: table["data"][name] for name in ("train", "validation")}
    training = {"start_from": tmp_path / "special", "steps": 1, "threads": 1}
    config = as_config({"data": plain, "training": training, "translation": {"length_penalty": 0.5}})
    assert (config.data.languages, config.data.preparation) == ((("xx", "fr"),), "words")
    assert (config.training.label_smoothing, config.training.validation_metric) == (0.03, "exact")
    assert (config.translation.beam, config.translation.length_penalty) == (3, 0.5)
    pellucid.train(config, tmp_path / "run", device="cpu")
