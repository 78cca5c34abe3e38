"""Training from files to model folders: what it learns and keeps, when it stops, what it can start from."""

import dataclasses
import itertools
import json
import math
import os
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import short_runs
import torch
from cases import few

import pellucid
from pellucid.config.schema import DataConfig
from pellucid.config.toml_file import from_table, to_table
from pellucid.data.batch import make_batch
from pellucid.data.corpus import Pair, Report
from pellucid.data.examples import encode_pairs
from pellucid.data.sifting import read_pairs, sift, text_from, text_of
from pellucid.errors import PellucidError
from pellucid.folder.checkpoint import newest_state
from pellucid.folder.load import load_model
from pellucid.learning import run as run_module
from pellucid.learning import saving
from pellucid.learning.learner import Learner
from pellucid.learning.log import Log
from pellucid.learning.ranks import Ranks
from pellucid.learning.setting_up import Run, set_up
from pellucid.learning.step import Step
from pellucid.learning.stop import StopRequest
from pellucid.learning.text import Request, overlap, warn_if_identical
from pellucid.learning.validation import corpora_of, validate
from pellucid.model import SMALL

# Enough to learn the language, in five seconds of a processor.
LEARNING = {
    "model.width": 32,
    "model.hidden": 64,
    "model.dropout": 0.0,
    "model.attention_dropout": 0.0,
    "training.steps": 500,
    "training.batch_tokens": 512,
    "training.warmup_steps": 100,
    "training.validate_every": 100,
    "training.average": 0,
}


def trained(folder: Path, settings: dict[str, Any] | None = None, **options: Any) -> list[Step]:
    """A run in folder/run, and its steps."""
    return list(pellucid.training(short_runs.config(folder / "data", settings), folder / "run", **options))


def test_a_toy_language_is_learnt(tmp_path: Path) -> None:
    sentences = short_runs.pairs(1400)
    config = short_runs.config(tmp_path / "data", LEARNING, count=1200)
    assert pellucid.train(config, tmp_path / "run") == tmp_path / "run"
    translator = pellucid.load(tmp_path / "run")
    held_out = sentences[1208:]
    translations = translator.translate([source for source, _ in held_out], beam=1)
    right = sum(each.text == target for each, (_, target) in zip(translations, held_out, strict=True))
    assert right > 0.95 * len(held_out)
    low, median, high = translator.usual_share or (1, 0, 0)
    assert 0 < low <= median <= high < 1
    validations = [
        entry["validation"] for entry in short_runs.metrics(tmp_path / "run") if "validation" in entry
    ]
    assert [entry["bleu"] for entry in validations] == sorted(entry["bleu"] for entry in validations)
    assert validations[-1]["bleu"] > 90 and validations[-1]["perplexity"] < 1.5
    assert validations[-1]["bleu_signature"].startswith("nrefs:1|")


@pytest.mark.parametrize("steps", [0, 6], ids=["the first weights", "a run"])
def test_one_seed_is_one_run(tmp_path: Path, steps: int) -> None:
    for name, seed in (("one", 1), ("two", 1), ("other", 2)):
        torch.rand(seed)  # whatever random numbers were drawn before
        trained(tmp_path / name, {**short_runs.SAMPLED, "training.seed": seed, "training.steps": steps})
    one, two, other = (tmp_path / name / "run" for name in ("one", "two", "other"))
    assert short_runs.same_run(one, two)
    assert not short_runs.same_weights(one, other)


def test_steps_are_yielded_and_every_step_is_in_the_metrics(tmp_path: Path) -> None:
    steps = trained(tmp_path, {"training.steps": 5})
    assert [step.number for step in steps] == [1, 2, 3, 4, 5]
    assert [step.number for step in steps if step.validation] == [3, 5]  # the last too
    *entries, average = map(json.loads, (tmp_path / "run" / "metrics.jsonl").read_text().splitlines())
    assert average["average"] == [3, 5] and [entry["step"] for entry in entries] == [1, 2, 3, 4, 5]
    for step, entry in zip(steps, entries, strict=True):
        assert dataclasses.asdict(step.update).items() <= entry.items()
        assert entry["epoch"] == step.epoch and entry["seconds"] > 0
        assert entry.get("validation") == (step.validation.figures() if step.validation else None)
    assert 0 < steps[0].update.plain_loss < steps[0].update.loss * 2


def test_accumulated_batches_are_those_of_single_steps(tmp_path: Path) -> None:
    single = trained(tmp_path / "one", {"training.steps": 6})
    double = trained(tmp_path / "two", {"training.steps": 3, "training.accumulate": 2})
    tokens = [step.update.tokens for step in single]
    assert [step.update.tokens for step in double] == [tokens[n] + tokens[n + 1] for n in (0, 2, 4)]


def test_order_and_segmentation_are_of_seed_and_epoch(tmp_path: Path) -> None:
    orders, segmentations = set(), set()
    for seed in (1, 2):
        for sampled in (False, True):
            settings = {**short_runs.SAMPLED, "training.seed": seed, "vocabulary.sampling": 0.3 * sampled}
            config = short_runs.config(tmp_path / "data", settings)
            asked = Request(config, tmp_path / f"{seed}{sampled}", False, device="cpu")
            run = set_up(asked, print, StopRequest(), Ranks())
            for epoch in (0, 1):
                batches = [batch for _, batch in run.batches(epoch)]
                origins = [origin for batch in batches for origin in batch.origins]
                ids = [str(row[row != 0].tolist()) for batch in batches for row in batch.source]
                if sampled:
                    segmentations.add(tuple(sorted(zip(origins, ids, strict=True))))
                else:
                    orders.add(tuple(origins))
    assert len(orders) == len(segmentations) == 4


def test_no_step_at_all_gives_a_model_too_and_is_said(tmp_path: Path) -> None:
    lines: list[str] = []
    assert trained(tmp_path, {"training.steps": 0}, report=lines.append) == []
    assert pellucid.load(tmp_path / "run").translate("ab").text is not None
    assert lines[-1] == "nothing was learned: the training ended at step 0 with its first weights"


def test_it_begins_with_small_weights_or_with_usual_ones(tmp_path: Path) -> None:
    begun = {}
    for first in ("small", "usual"):
        trained(tmp_path / first, {"training.steps": 0, "training.first_weights": first})
        begun[first] = short_runs.weights(tmp_path / first / "run")
    for name, small in begun["small"].items():
        if small.dim() == 2:
            smaller = float(small.std() / begun["usual"][name].std())
            assert smaller == pytest.approx(SMALL.get(name.split(".")[-2], 1.0), rel=0.3)


def test_minutes_stop_it_and_the_rate_falls_to_0_until_then(tmp_path: Path) -> None:
    settings = {"training.warmup_steps": 1, "training.peak_rate": 0.001, "training.validate_every": 10**6}
    settings |= {"training.steps": 10**6, "training.minutes": 0.3 / 60, "training.cooldown": 1.0}
    steps = trained(tmp_path, settings)
    assert steps[-1].seconds >= 0.3 and all(step.seconds < 0.3 for step in steps[:-1])
    shares = [step.update.rate * step.number**0.5 / 0.001 for step in steps]
    # The next step's rate follows from a step's seconds, up to rounding.
    assert shares[1:] == pytest.approx([1 - step.seconds / 0.3 for step in steps[:-1]], abs=1e-9)
    assert shares == sorted(shares, reverse=True) and 0 <= shares[-1] <= shares[0] <= 1


def test_the_loss_decides_between_equal_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task whose BLEU is 0 for a while: patience must not end it while the loss falls."""
    short_runs.validated_as(monkeypatch, 0.0, losses=(5.0, 4.0, math.nan, 4.0, 3.0, 3.5, 3.5))
    settings = {"training.steps": 100, "training.validate_every": 1, "training.patience": 3}
    steps = trained(tmp_path, settings | {"training.average": 0})
    assert [step.best for step in steps] == [True, True, False, False, True, False, False, False]
    assert load_model(tmp_path / "run").manifest["provenance"]["steps"] == 5
    saved = newest_state(tmp_path / "run")
    assert saved and saved.state["position"]["best"] == [0.0, -3.0]


@pytest.mark.parametrize(
    ("metric", "best"),
    [
        ("bleu", [True, True, False, False]),
        ("chrf", [True, False, True, False]),
        ("loss", [True, False, False, True]),
        ("exact", [True, False, True, True]),
    ],
)
def test_the_configurations_metric_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, metric: str, best: list[bool]
) -> None:
    figures = iter([(7.0, 3.0, 5.0, 1.0), (9.0, 3.5, 4.0, 0.0), (7.0, 3.0, 8.0, 2.0), (5.0, 2.0, 5.0, 4.0)])
    monkeypatch.setattr(saving, "validate", lambda *_: short_runs.validation(*next(figures)))
    settings = {"training.validate_every": 1, "training.steps": 4, "training.average": 0}
    steps = trained(tmp_path, settings | {"training.validation_metric": metric})
    assert [step.best for step in steps] == best


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_models_scores_are_its_own(tmp_path: Path, precision: str) -> None:
    """What is validated is what is kept: each folder's model has the scores that its manifest names."""
    trained(tmp_path, {"training.precision": precision, "data.licence": "ours"})
    for folder in (tmp_path / "run", tmp_path / "run" / "averaged"):
        model, vocabulary, config, manifest = load_model(folder)
        pairs, _ = read_pairs(text_of(short_runs.config(tmp_path / "data").data.validation, config.data))
        examples, _ = encode_pairs(pairs, vocabulary, config.data)
        rows = np.arange(len(examples))
        batches = [make_batch(examples, rows, vocabulary.start_id, vocabulary.pad_id)]
        figures = validate(model, vocabulary, config, {"": (batches, pairs)}).figures()
        told = manifest["provenance"]["scores"]["validation"]
        about = {name: pytest.approx(told[name], rel=1e-6) for name in ("loss", "perplexity")}
        assert figures == told | about
        assert manifest["provenance"]["licence"] == "ours" and len(manifest["provenance"]["data"]) == 4
        assert manifest["provenance"]["versions"]["pellucid"] == pellucid.__version__


def test_without_validation_data(tmp_path: Path) -> None:
    config = short_runs.config(tmp_path / "data")
    config = dataclasses.replace(config, data=dataclasses.replace(config.data, validation=()))
    steps = list(pellucid.training(config, tmp_path / "run"))
    assert not any(step.validation for step in steps)
    assert short_runs.same_weights(tmp_path / "run", tmp_path / "run" / "last")
    assert not (tmp_path / "run" / "averaged").exists()


def test_what_is_said_beside_the_steps(tmp_path: Path) -> None:
    lines: list[str] = []
    config = short_runs.config(
        tmp_path / "data", {"data.remove_duplicates": True, "training.warmup_steps": 4000}
    )
    short = sorted(short_runs.pairs(40), key=lambda pair: len(pair[0].split()))[:5]
    short_runs.write(tmp_path / "data", "validation", [*short, *[("ab ba ab cab", "cab ab ba ab")] * 3])
    list(pellucid.training(config, tmp_path / "run", report=lines.append))
    assert lines[:2] == [
        "training data: 60 pairs read, 60 kept; unknown tokens: none",
        "validation data: 8 pairs read, 6 kept; 2 repeated",
    ]
    assert lines[2].startswith("note: BLEU compares runs of four tokens, and 5 of 6 references have fewer")
    assert lines[2].endswith(' With [training] validation_metric = "exact" it decides.')
    assert re.fullmatch(
        r"\d,\d{3} parameters, a vocabulary of 12, fp32 on cpu: 0 MB with gradients and AdamW's moments",
        lines[4],
    )
    rising = "the learning rate was still rising at the end: step 6 of 4,000 warm-up steps. "
    assert lines[-1].startswith(rising)
    config = short_runs.config(tmp_path / "data", {"training.warmup_steps": 6})
    list(pellucid.training(config, tmp_path / "warm", report=lines.append))
    assert lines[-1].startswith("average of steps 3, 6: ")


def test_the_rate_falls_to_0_in_the_last_steps(tmp_path: Path) -> None:
    quick = {"training.warmup_steps": 1, "training.peak_rate": 0.001}
    steps = trained(tmp_path, quick | {"training.steps": 4, "training.cooldown": 0.5})
    shares = [step.update.rate * step.number**0.5 for step in steps]
    assert shares == pytest.approx([0.001, 0.001, 0.001, 0.0005])


def test_metrics_after_the_checkpoint_are_written_again(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1}\n{"step": 2}\n{"step": 3}\n{"ste')  # a kill cut it short
    log = Log(print)
    with log.following():
        log.open(tmp_path, 2)
        log.measure({"step": 3, "again": True})
    assert path.read_text() == '{"step": 1}\n{"step": 2}\n{"step": 3, "again": true}\n'


def test_few_compiled_shapes_are_kept_unless_the_environment_says_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "ONEDNN_PRIMITIVE_CACHE_CAPACITY"
    monkeypatch.setenv(name, "7")
    trained(tmp_path / "one", {"training.steps": 1})
    assert os.environ[name] == "7"
    monkeypatch.delenv(name)
    trained(tmp_path / "other", {"training.steps": 1})
    assert os.environ[name] == "256"


def test_free_memory_goes_back_every_forty_steps_and_after_validations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trimmed: list[int] = []
    monkeypatch.setattr(run_module, "trim_heap", lambda: trimmed.append(1))
    config = short_runs.config(tmp_path / "data", {"training.steps": 85, "training.validate_every": 30})
    counts = {step.number: len(trimmed) for step in pellucid.training(config, tmp_path / "run")}
    trims = [number for number in counts if counts[number] > counts.get(number - 1, 0)]
    assert trims == [30, 40, 60, 80, 85]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """The training's clock, in seconds: a list of one number, which a test may raise."""
    now = [0.0]
    monkeypatch.setattr(run_module, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    yield now


@pytest.mark.parametrize(
    ("limits", "steps"),
    [
        ({}, [0, 5, 7, 10, 12]),
        ({"minutes": 1000.0}, [0, 5, 7, 10, 12]),
        ({"minutes": 50.0}, [0, 2, 5, 6, 7, 10, 12]),
        ({"minutes": 50.0, "checkpoint_minutes": 10.0}, [0, 5, 7, 10, 12]),
        ({"checkpoint_minutes": 0.0}, [0, 5, 10, 12]),
    ],
    ids=str,
)
def test_a_checkpoint_is_written_when_the_last_one_is_old(
    tmp_path: Path, clock: list[float], limits: dict[str, float], steps: list[int]
) -> None:
    settings = {"training.steps": 12, "training.checkpoint_every": 5, "training.keep_checkpoints": 20}
    settings |= {f"training.{name}": value for name, value in limits.items()}
    for step in pellucid.training(short_runs.config(tmp_path / "data", settings), tmp_path / "run"):
        # The 5th is saved for its number, the 7th because ten minutes have passed since the 5th; a tenth of
        # 50 minutes is over after the 1st, the 5th and the 6th.
        clock[0] += {1: 301, 5: 300, 6: 300}.get(step.number, 0)
    assert sorted(int(path.name[5:]) for path in (tmp_path / "run" / "checkpoints").iterdir()) == steps


def test_what_the_caller_does_between_two_steps_is_no_training(tmp_path: Path, clock: list[float]) -> None:
    settings = {"training.minutes": 1.0, "training.cooldown": 1.0}
    config, seconds = short_runs.config(tmp_path / "data", settings), list[float]()
    for step in pellucid.training(config, tmp_path / "run"):
        seconds.append(step.seconds)
        clock[0] += 59.0
    assert seconds == [0.0] * 6


@pytest.mark.parametrize(
    ("step", "sentences", "fewest"),
    few(3, [(4.0, 0.0, 12), (6.4, 19.0, 2), (47.0, 4.0, 10), (6.4, 4.0, 10), (6.4, 8.0, 5)]),
)
def test_ten_minutes_are_ten_minutes_on_any_machine(
    tmp_path: Path,
    clock: list[float],
    monkeypatch: pytest.MonkeyPatch,
    step: float,
    sentences: float,
    fewest: int,
) -> None:
    """The seconds of a step and of a validation are made up. The average's validation is one more."""
    learn, save, spent, saved = Learner.learn, run_module.save, [0.0], [0.0]

    def slow_learn(*arguments: Any) -> Any:
        clock[0] += step
        return learn(*arguments)

    def slow_validate(*_: Any) -> Any:
        clock[0] += sentences
        spent[0] += sentences
        return short_runs.validation()

    def note(run: Run) -> None:
        saved.append(clock[0])
        save(run)

    monkeypatch.setattr(Learner, "learn", slow_learn)
    monkeypatch.setattr(saving, "validate", slow_validate)
    monkeypatch.setattr(run_module, "save", note)
    settings = {"training.steps": 10**6, "training.minutes": 10.0, "training.cooldown": 0.3}
    settings |= {"training.warmup_steps": 1, "training.validations": 12, "training.checkpoint_every": 10**6}
    steps = trained(tmp_path, settings)
    assert 600 <= steps[-1].seconds < 600 + step + sentences and spent[0] <= 60
    assert load_model(tmp_path / "run" / "last").manifest["provenance"]["seconds"] >= 600
    assert fewest <= sum(each.validation is not None for each in steps) <= 12
    assert steps[-1].update.rate < 0.01 * (step + sentences) / 600 / 0.3
    gaps = [after - before for before, after in itertools.pairwise([*saved, clock[0]])]
    assert max(gaps) < 60 + step + 2 * sentences + 1e-6


def test_validations_by_parts_of_the_steps_are_those_of_an_uninterrupted_run(tmp_path: Path) -> None:
    settings = {"training.steps": 14, "training.validations": 3, "training.validate_every": 1}
    assert [step.number for step in trained(tmp_path / "whole", settings) if step.validation] == [5, 10, 14]
    config = short_runs.config(tmp_path / "data", settings | {"training.checkpoint_every": 4})
    for after in (6, 11):
        for step in pellucid.training(config, tmp_path / "parts", resume=after > 6):
            if step.number == after:
                break
    whole = short_runs.config(tmp_path / "data", settings)
    pellucid.train(whole, tmp_path / "parts", resume=True)
    assert short_runs.same_run(tmp_path / "whole" / "run", tmp_path / "parts")


def made(*texts: tuple[str, str]) -> list[Pair]:
    return [Pair(source, target, 0, line, "some.in") for line, (source, target) in enumerate(texts, 1)]


def test_validation_text_that_is_in_the_training_text_is_counted() -> None:
    training = [("a", "1"), ("b", "2"), ("c", "3"), ("a", "1"), ("d", "4")]
    learned, _ = sift(text_from(training, "pairs", DataConfig()))
    seen = made(("A", "1"), (" a ", "1"), ("b", "9"), ("c", "3"), ("e", "4"), ("a", "4"))
    assert overlap(learned, made(("e", "1"), ("f", "5"))) == ""
    assert overlap(learned, seen) == (
        "5 of the 6 validation sentences are in the training text: on new text the model is worse than its "
        "validations say"
    )


def test_one_file_on_both_sides_is_warned_of(tmp_path: Path) -> None:
    config = short_runs.config(tmp_path / "data", {"training.steps": 1})
    table = to_table(config)
    for part in ("train", "validation"):
        table["data"][part] = [[table["data"][part][0][0]] * 2]
    with pytest.warns(UserWarning) as warned:
        pellucid.train(from_table(table), tmp_path / "run")
    said = (
        "the target is the source, and so the {}. If it shall translate, leave these pairs "
        "out, and look whether the right two files are named."
    )
    harms = ("model learns to copy", "scores reward copying")
    for part, count, harm, each in zip(("train", "validation"), (60, 8), harms, warned, strict=True):
        assert str(each.message) == f"[data] {part}: in {count} of {count} pairs (100%) {said.format(harm)}"


@pytest.mark.parametrize(("copied", "warns"), [(5, False), (6, True)])
def test_a_twentieth_of_copied_targets_is_warned_of(copied: int, warns: bool) -> None:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        warn_if_identical("train", Report(read=100, kept=90, held_out=10, identical=copied))
    assert [str(each.message)[:39] for each in warned] == ["[data] train: in 6 of 100 pairs (6%) th"] * warns


def test_each_corpus_has_its_own_scores(tmp_path: Path) -> None:
    table = to_table(short_runs.config(tmp_path / "data", {"training.steps": 3}))
    (news,) = table["data"]["validation"]
    talks = short_runs.write(tmp_path / "data", "talks", short_runs.pairs(5, seed=9))
    table["data"]["validation"] = [news, talks]
    (step,) = [step for step in pellucid.training(from_table(table), tmp_path / "run") if step.validation]
    (entry,) = [entry for entry in short_runs.metrics(tmp_path / "run") if "validation" in entry]
    corpora, losses = entry["validation"]["corpora"], []
    log = (tmp_path / "run" / "log.txt").read_text("utf-8")
    for name, files, count in (("validation.source", news, 8), ("talks.source", talks, 5)):
        table["data"]["validation"] = [files]
        (alone,) = [each for each in pellucid.training(from_table(table), tmp_path / name) if each.validation]
        assert alone.validation and not alone.validation.corpora and step.validation
        about = {key: pytest.approx(corpora[name][key], rel=1e-5) for key in ("loss", "perplexity")}
        assert alone.validation.figures() == corpora[name] | about and corpora[name]["sentences"] == count
        assert f"  {name}: {step.validation.corpora[name]}\n" in log
        tokens = sum(len(target.split()) + 1 for _, target in read_texts(files))
        losses.append((corpora[name]["loss"], tokens))
    mean = sum(loss * tokens for loss, tokens in losses) / sum(tokens for _, tokens in losses)
    assert entry["validation"]["loss"] == pytest.approx(mean, rel=1e-5)
    assert entry["validation"]["sentences"] == 13


def read_texts(files: list[str]) -> list[list[str]]:
    """The lines of both files."""
    sides = [Path(file).read_text("utf-8").splitlines() for file in files]
    return [list(pair) for pair in zip(*sides, strict=True)]


def test_a_corpus_of_two_languages_is_two() -> None:
    pairs = [
        Pair("a", "b", language, 1, f"/x/{file}") for language, file in ((0, "v.en"), (1, "v.en"), (0, "w"))
    ]
    assert corpora_of(pairs, [("en", "de"), ("en", "fr")]) == {
        "v.en to de": pairs[:1], "v.en to fr": pairs[1:2], "w to de": pairs[2:],
    }  # fmt: skip
    assert corpora_of(pairs, ()) == {"v.en": pairs[:2], "w": pairs[2:]}


# A checkpoint of a run is a translator too


def test_each_step_has_its_own_weights_and_a_run_without_a_validation_names_its_last_model(
    tmp_path: Path,
) -> None:
    settings = {"training.checkpoint_every": 1, "training.keep_checkpoints": 3}
    config = short_runs.config(tmp_path / "data", settings)
    for step in pellucid.training(config, tmp_path / "run"):
        if step.number == 2:
            break
    weights = [
        pellucid.load(tmp_path / "run" / name, "cpu").model.state_dict()
        for name in ("checkpoints/step-1", "checkpoints/step-2", "last")
    ]
    saved = newest_state(tmp_path / "run")
    assert saved and saved.step == 2
    for name, tensor in weights[1].items():
        assert torch.equal(tensor, saved.tensors[f"model.{name}"]) and torch.equal(tensor, weights[2][name])
    assert not all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    with pytest.raises(PellucidError, match="Its model as of step 2 is ") as error:
        pellucid.load(tmp_path / "run", "cpu")
    named = str(error.value).removesuffix(".").rpartition(" is ")[2]
    assert pellucid.load(named, "cpu").translate("ab").text is not None
    config = short_runs.config(tmp_path / "data", {"training.start_from": str(tmp_path / "run")})
    with pytest.raises(PellucidError, match="Its model as of step 2 is "):
        pellucid.train(config, tmp_path / "other")
