"""A machine's pace is measured on the user's own text, with the model that is trained; it leaves no trace."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import short_runs
import torch

from pellucid.config.toml_file import from_table
from pellucid.data.batch import batches
from pellucid.data.corpus import Pair
from pellucid.data.examples import encode_pairs
from pellucid.folder.load import Loaded
from pellucid.learning import measuring
from pellucid.learning.learner import Learner
from pellucid.learning.measuring import STEPS, Pace, measure
from pellucid.learning.starting import fit_sizes, prepare_vocabulary
from pellucid.learning.validation import validate
from pellucid.model import Transformer

PAIRS = [Pair(*texts, 0, line, "file") for line, texts in enumerate(short_runs.pairs(200), 1)]
CONFIG = from_table(short_runs.SETTINGS)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock on which the first step takes a hundred seconds, each other one two, and a sentence a half."""
    now, learn = [0.0], Learner.learn

    def slow_learn(*arguments: Any) -> Any:
        now[0] += 100.0 if arguments[2] == 1 else 2.0
        return learn(*arguments)

    def slow_validate(*arguments: Any) -> Any:
        now[0] += 0.5 * len(arguments[3][""][1])
        return validate(*arguments)

    monkeypatch.setattr(Learner, "learn", slow_learn)
    monkeypatch.setattr(measuring, "validate", slow_validate)
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    return now


def pace(started: Loaded | None = None, pairs: Sequence[Pair] = PAIRS, **training: Any) -> Pace:
    """The pace with these settings of [training]."""
    table = {
        **short_runs.SETTINGS,
        "training": short_runs.SETTINGS["training"] | {"minutes": 100.0} | training,
    }
    return measure(pairs, from_table(table), torch.device("cpu"), started)


def test_a_step_its_pairs_and_a_sentence(clock: list[float]) -> None:
    one, three = pace(), pace(accumulate=3)
    assert (one.step, one.sentence) == (2.0, 0.5)
    vocabulary = prepare_vocabulary(PAIRS, CONFIG)
    epoch = [*batches(encode_pairs(PAIRS, vocabulary, CONFIG.data)[0], vocabulary, 60, 1, 0)]
    assert one.pairs == len(PAIRS) / len(epoch)  # that of all batches, not of the few that are timed
    assert three.pairs == pytest.approx(3 * one.pairs)
    assert clock[0] == 2 * (100 + 2 * (STEPS - 1) + 0.5 * (1 + 29))


def test_a_part_of_the_pairs_is_like_all_of_them(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    long = [replace(one, source=3 * f"{one.source} ", target=3 * f"{one.target} ") for one in PAIRS]
    mixed = [pair for both in zip(PAIRS, long, strict=True) for pair in both]  # every second line is long
    of_all = pace(pairs=mixed).pairs
    monkeypatch.setattr(measuring, "PAIRS_AT_MOST", 201)
    assert pace(pairs=mixed).pairs == pytest.approx(of_all, rel=0.15)


def test_measuring_ends_where_it_takes_more_than_its_share_of_the_time(clock: list[float]) -> None:
    assert pace(minutes=1.0).step == 2.0
    assert clock[0] == 100 + 2 + 0.5 * (1 + 29)


def test_the_model_to_start_from_stays_as_it_is(clock: list[float]) -> None:
    vocabulary = prepare_vocabulary(PAIRS, CONFIG)
    model = Transformer(fit_sizes(CONFIG, vocabulary))
    before = {name: each.clone() for name, each in model.state_dict().items()}
    assert pace(Loaded(model, vocabulary, CONFIG, {})).step == 2.0
    assert all(torch.equal(each, before[name]) for name, each in model.state_dict().items())
