"""Requests that are plausible and unusual: each is carried out, or refused in one line."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import short_runs
import torch
from command import Command
from learners import batch, learner

import pellucid as library
from pellucid.config.toml_file import as_config, to_table, to_toml
from pellucid.errors import PellucidError, UsageError
from pellucid.folder.checkpoint import newest_step
from pellucid.folder.manifest import read_manifest
from pellucid.interop.importing import config_of
from pellucid.learning import choosing, workers
from pellucid.learning.claim import alone_in
from pellucid.learning.learner import Learner
from pellucid.learning.measuring import Pace
from pellucid.learning.rehearsing import rehearse
from pellucid.learning.text import Request, data_of

DEMO_MODEL = Path(library.__file__).with_name("demo_model")


def changed(folder: Path, settings: dict[str, Any], **data: Any) -> library.Config:
    """A short run's configuration with these settings and, of [data], these entries."""
    config = short_runs.config(folder, settings)
    return replace(config, data=replace(config.data, **data))


def test_a_rehearsal_leaves_a_run_at_work_alone(tmp_path: Path) -> None:
    config, out = short_runs.config(tmp_path / "data"), tmp_path / "run"
    library.train(config, out)
    (out / "last" / ".new").mkdir()  # as while a run writes
    with alone_in(out), pytest.raises(PellucidError, match="another training run is using this folder"):
        rehearse(Request(config, out, resume=True, device="cpu"))
    assert (out / "last" / ".new").exists()
    said = list[str]()
    rehearse(Request(config, out, resume=True, device="cpu", report=said.append))
    assert "the rest takes up to 0 minutes" in "".join(said)  # it is at its end


@pytest.mark.skipif(not Path(workers.SHARED_MEMORY).is_dir(), reason="only Linux has such a folder")
@pytest.mark.parametrize("free", [10, 10**9])
def test_workers_share_the_disk_where_shared_memory_is_small(
    free: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders, make = list[str | None](), workers.tempfile.TemporaryFile
    monkeypatch.setattr(workers.shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    monkeypatch.setattr(
        workers.tempfile, "TemporaryFile", lambda dir: [folders.append(dir), make(dir=dir)][1]
    )
    _learn_divided()
    assert folders == [None if free == 10 else workers.SHARED_MEMORY]


def test_workers_take_no_modules_from_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "random.py").write_text("raise SystemExit(3)")
    monkeypatch.setattr(workers.sys, "path", [*workers.sys.path, tmp_path / "no-text"])  # Python ignores it
    monkeypatch.chdir(tmp_path)
    _learn_divided()


def _learn_divided() -> None:
    """Learn one batch with a worker process."""
    workers.torch.set_num_threads(2)
    learning = learner()
    try:
        learning.start_workers()
        assert learning.learn([batch(2, 3, 4)], 1).loss > 0
    finally:
        learning.close()
        workers.torch.set_num_threads(1)


@pytest.mark.parametrize(
    ("change", "back", "message"),
    [
        (lambda: torch.set_default_dtype(torch.float64), lambda: torch.set_default_dtype(torch.float32),
         "torch's default type is torch.float64, and a training's is float32"),
        (lambda: torch.set_grad_enabled(False), lambda: torch.set_grad_enabled(True),
         "gradients are switched off in torch"),
    ],
)  # fmt: skip
def test_torch_that_is_set_so_that_nothing_can_be_learned(
    tmp_path: Path, change: Callable[[], Any], back: Callable[[], Any], message: str
) -> None:
    config = short_runs.config(tmp_path / "data")
    change()
    try:
        with pytest.raises(UsageError, match=message):
            library.train(config, tmp_path / "run")
    finally:
        back()
    library.train(config, tmp_path / "run")  # nothing was left that is in the way


def test_pairs_of_numpy_and_no_folder(tmp_path: Path) -> None:
    config, texts = changed(tmp_path / "data", {}, train=[], validation=[]), short_runs.pairs(40)
    with pytest.raises(UsageError, match=r"pairs\[0\] is not a source and a target text like"):
        library.train(config, tmp_path / "run", pairs=np.array(texts))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="out is empty"):
        library.train(config, None, pairs=texts)  # type: ignore[arg-type]


def test_a_model_card_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "run" / "README.md").mkdir(parents=True)
    with pytest.raises(PellucidError, match=r"README\.md: cannot be written"):
        library.train(short_runs.config(tmp_path / "data"), tmp_path / "run")
    (tmp_path / "run" / "README.md").rmdir()
    library.train(short_runs.config(tmp_path / "data"), tmp_path / "run", resume=True)


def test_validations_in_even_parts_are_as_many_as_asked(tmp_path: Path) -> None:
    settings = {"training.steps": 49, "training.validations": 49, "training.checkpoint_every": 1000}
    steps = library.training(short_runs.config(tmp_path / "data", settings), tmp_path / "run")
    assert sum(step.validation is not None for step in steps) == 49  # 1 / 49 * 49 < 1


def test_two_corpora_with_one_file_of_sources_are_refused(tmp_path: Path, pellucid: Command) -> None:
    source, target = short_runs.write(tmp_path, "one", short_runs.pairs(20))
    (tmp_path / "c.toml").write_text(f"[data]\ntrain = {json.dumps([[source, target]] * 2)}\n", "utf-8")
    for verb in ("train", "prepare"):
        refused = pellucid(verb, tmp_path / "c.toml", *(["--out"] * (verb == "train")), tmp_path / "out")
        said = f"pellucid: [data] train names {source} as the source of two corpora. Join them, in two new"
        assert refused.code == 2 and refused.err.startswith(said) and not (tmp_path / "out").exists()
    data = {"train": [[source, target]] * 2, "languages": ["en", "es"]}
    with pytest.raises(UsageError, match="as the source of two corpora"):
        library.train({"data": data, "training": {"start_from": str(DEMO_MODEL)}}, tmp_path / "out")


def test_a_run_that_goes_on_without_validation_text_keeps_its_last_model(tmp_path: Path) -> None:
    config, out = short_runs.config(tmp_path / "data"), tmp_path / "run"
    library.train(config, out)
    without = changed(tmp_path / "data", {"training.steps": 8}, validation=())
    for _ in range(2):
        library.train(without, out, resume=True, accept=["data"])
    assert short_runs.same_weights(out, out / "last")


def test_scores_of_another_measure_do_not_decide_which_model_is_best(tmp_path: Path) -> None:
    out = tmp_path / "run"
    library.train(short_runs.config(tmp_path / "data"), out)  # BLEU: 0 or more
    by_loss = short_runs.config(
        tmp_path / "data",
        {"training.steps": 9, "training.average": 0, "training.validation_metric": "loss"},
    )
    accept = ["training.validation_metric", "training.average"]
    library.train(by_loss, out, resume=True, accept=accept)
    entries = short_runs.all_metrics(out)
    losses = {entry["step"]: entry["validation"]["loss"] for entry in entries[6:] if "validation" in entry}
    assert entries[-1]["kept"] == f"step {min(losses, key=lambda step: losses[step])}"


def test_by_another_measure_the_last_model_of_a_finished_run_is_judged_beside_the_average(
    tmp_path: Path,
) -> None:
    out = tmp_path / "run"
    library.train(short_runs.config(tmp_path / "data"), out)
    by_loss = short_runs.config(tmp_path / "data", {"training.validation_metric": "loss"})
    library.train(by_loss, out, resume=True, accept=["training.validation_metric"])
    *_, last, end = short_runs.all_metrics(out)
    assert last["validation"]["loss"] < end["validation"]["loss"]  # the average's
    assert end["kept"] == "step 6" and short_runs.same_weights(out, out / "last")


def test_a_finished_run_that_goes_on_has_one_last_line_in_its_metrics(tmp_path: Path) -> None:
    for steps in (4, 6):
        config = short_runs.config(tmp_path / "data", {"training.steps": steps, "training.average": 0})
        library.train(config, tmp_path / "run", resume=True)
    ends = ["kept" in entry for entry in short_runs.all_metrics(tmp_path / "run")]
    assert ends == [False] * 6 + [True]


def test_a_vocabulary_that_cannot_sample_is_refused(tmp_path: Path) -> None:
    library.train(short_runs.config(tmp_path / "data"), tmp_path / "first")
    text = short_runs.write(tmp_path / "data", "new", short_runs.pairs(20, seed=2))
    table = {"data": {"train": text}, "training": {"start_from": str(tmp_path / "first"), "steps": 2}}
    config = table | {"vocabulary": {"sampling": 0.2}}
    with pytest.raises(UsageError, match=r"\[vocabulary\] sampling = 0.2: only a vocabulary of the kind"):
        library.train(config, tmp_path / "second")


def test_a_model_to_start_from_may_lie_in_the_home_folder(
    tmp_path: Path, pellucid: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    library.train(short_runs.config(tmp_path / "data"), tmp_path / "first")
    source, target = short_runs.write(tmp_path / "data", "new", short_runs.pairs(20, seed=2))
    table = f"[data]\ntrain = {json.dumps([source, target])}\n[training]\nsteps = 2\nthreads = 1\n"
    (tmp_path / "c.toml").write_text(table + 'start_from = "~/first"\n', "utf-8")
    outcome = pellucid("train", tmp_path / "c.toml", "--out", tmp_path / "second")
    assert outcome.code == 0, outcome.err
    assert library.load(tmp_path / "second").config.model.width == 16
    (tmp_path / "c.toml").write_text(table, "utf-8")
    named = "train", tmp_path / "c.toml", "--out", tmp_path / "third", "--set"
    assert pellucid(*named, "training.start_from=~/first").code == 0
    in_python = {"data": {"train": ["~/data/new.source", "~/data/new.target"]}}
    assert as_config(in_python).data.train == ((source, target),)
    for wrong in ("2024", "true", '["first"]'):
        refused = pellucid(*named, f"training.start_from={wrong}")
        assert refused.code == 2 and "start_from = " in refused.err and " must be text" in refused.err


def test_chosen_settings_are_written_though_the_first_step_fails(
    tmp_path: Path, pellucid: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise PellucidError("no room.")

    monkeypatch.setattr(choosing, "measure", lambda *_: Pace(1.0, 30.0, 0.01))
    source, target = short_runs.write(tmp_path, "all", short_runs.pairs(120))
    command = ["train", "--source", source, "--target", target, "--out", tmp_path / "run", "--minutes", 1]
    command += ["--set", "training.threads=1", "--set", "training.steps=2"]
    with monkeypatch.context() as broken:
        broken.setattr(Learner, "learn", fail)
        outcome = pellucid(*command)
    assert (outcome.code, outcome.err.splitlines()[-1]) == (1, "pellucid: no room.")
    assert (tmp_path / "run" / "train.toml").exists()
    monkeypatch.setattr(choosing, "measure", lambda *_: pytest.fail("it was chosen anew"))
    assert pellucid(*command, "--resume").code == 0


def test_suppressed_ids_that_the_vocabulary_does_not_have_are_refused(
    tmp_path: Path, pellucid: Command
) -> None:
    library.train(short_runs.config(tmp_path / "data"), tmp_path / "run")
    assert pellucid("set", tmp_path / "run", "translation.suppressed=[999]").code == 0
    outcome = pellucid("translate", tmp_path / "run", stdin=b"ab ba\n")
    assert outcome.code == 2 and "[translation] suppressed names the id 999, but the" in outcome.err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no such pipes")
def test_text_from_a_pipe_is_refused_before_it_is_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    config = changed(tmp_path / "data", {}, train=[[str(tmp_path / "pipe")] * 2])
    with pytest.raises(UsageError, match="pipe: this is a pipe, and text is read more than once"):
        library.train(config, tmp_path / "run")


@pytest.mark.parametrize("train", ["a.tsv", ["a.en", "a.es"], [["a.en", "a.es"], ["b.tsv"]]])
def test_text_for_a_model_of_several_languages_says_which(train: Any) -> None:
    table: dict[str, Any] = {"data": {"train": train}, "training": {"start_from": str(DEMO_MODEL)}}
    with pytest.raises(
        UsageError, match=r"the model to start from knows en-hi, .*languages = .\"en\", \"fr\""
    ):
        as_config(table)
    table["data"]["languages"] = ["en", "es"]
    assert data_of(as_config(table)).languages[0] == ("en", "es")


def test_an_average_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is nothing to average"):
        library.average(tmp_path / "mean", [])


def test_a_resume_without_its_pairs_to_validate_on_keeps_the_last_model(tmp_path: Path) -> None:
    texts = short_runs.pairs(40)
    for steps, more in ((4, {"validation_pairs": texts[:8]}), (6, {"accept": ["data"]})):
        config = changed(tmp_path / "data", {"training.steps": steps}, train=[], validation=[])
        library.train(config, tmp_path / "run", resume=True, pairs=texts[8:], **more)
    assert read_manifest(tmp_path / "run", "model")["provenance"]["what"] == "step 6"


def test_another_model_to_start_from_is_not_ignored_on_a_resume(tmp_path: Path, pellucid: Command) -> None:
    source, target = short_runs.write(tmp_path, "all", short_runs.pairs(120))
    library.train(short_runs.config(tmp_path / "data"), tmp_path / "other")
    command = ["train", "--source", source, "--target", target, "--out", tmp_path / "run", "--minutes", 1]
    command += ["--set", "training.threads=1", "--set", "training.steps=2"]
    assert pellucid(*command).code == 0
    outcome = pellucid(*command, "--resume", "--from", tmp_path / "other")
    assert outcome.code == 2 and "training.start_from: None -> 'other'" in outcome.err


def test_a_longer_run_that_is_ended_early_has_its_last_model_validated(tmp_path: Path) -> None:
    settings = {"training.validate_every": 100, "training.checkpoint_every": 1, "training.average": 0}
    first, longer, shorter = (
        short_runs.config(tmp_path / "data", settings | {"training.steps": steps}) for steps in (4, 9, 6)
    )
    library.train(first, tmp_path / "run")
    steps = library.training(longer, tmp_path / "run", resume=True)
    assert [next(steps).number for _ in range(2)] == [5, 6]
    steps.close()  # type: ignore[attr-defined]
    library.train(shorter, tmp_path / "run", resume=True)
    assert short_runs.all_metrics(tmp_path / "run")[-1]["kept"] == "step 6"


def test_a_checkpoint_to_start_from_gives_its_settings(tmp_path: Path) -> None:
    library.train(short_runs.config(tmp_path / "data"), tmp_path / "first")
    table: dict[str, Any] = to_table(short_runs.config(tmp_path / "data"))
    at = newest_step(tmp_path / "first")
    start = {"steps": 1, "start_from": str(tmp_path / f"first/checkpoints/step-{at}")}
    config = as_config({"data": table["data"], "training": start}, config_of)
    assert config.model == library.load(tmp_path / "first").config.model
    with pytest.raises(UsageError, match="data must be a section"):
        as_config({"data": 5, "training": start}, config_of)


def test_a_results_page_of_the_users_stays(tmp_path: Path, pellucid: Command) -> None:
    config = to_toml(short_runs.config(tmp_path / "data"))
    (tmp_path / "c.toml").write_text(config, "utf-8")
    (tmp_path / "results.md").write_text("mine", "utf-8")
    refused = pellucid("train", tmp_path / "c.toml", "--seeds", 2, "--out", tmp_path)
    assert refused.code == 2 and "results.md already exists, and no run of these wrote it." in refused.err
    assert (tmp_path / "results.md").read_text("utf-8") == "mine"


def test_a_run_that_is_ended_where_it_stopped_has_its_last_model_validated(tmp_path: Path) -> None:
    settings = {"training.validate_every": 3, "training.checkpoint_every": 4, "training.average": 0}
    begun = short_runs.config(tmp_path / "data", settings | {"training.steps": 9})
    steps = library.training(begun, tmp_path / "run")
    assert [next(steps).number for _ in range(4)] == [1, 2, 3, 4]
    steps.close()  # type: ignore[attr-defined]
    lines, ended = list[str](), short_runs.config(tmp_path / "data", settings | {"training.steps": 4})
    library.train(ended, tmp_path / "run", resume=True, report=lines.append)
    assert any(line.startswith("validation at step 4: loss ") for line in lines)
    assert any(line == "kept as the model: step 4" for line in lines)
