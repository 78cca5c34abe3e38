"""Step by step against all at once: every tensor of every step, with a cache and without."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from tiny import translator

from pellucid.cache import GrowingPast
from pellucid.explanation import Explanation
from pellucid.reading.stepwise import largest_gap
from pellucid.seeing.records import Record

TARGET = "आप कैसे हैं ?"


@pytest.fixture(scope="module")
def hindi() -> Explanation:
    return translator().explain("How are you ?", to="hi", target=TARGET)


@pytest.mark.parametrize("norm", ["last", "first"])
def test_every_tensor_of_every_step_is_that_of_the_pass(norm: str) -> None:
    explanation = translator(norm=norm).explain("How are you ?", to="hi", target=TARGET)
    steps = explanation.stepwise
    assert steps.largest_difference < 1e-5
    assert steps.tensors == len(explanation.trace)
    assert [step.input for step in steps.steps] == explanation.target_tokens
    assert [step.cached.rows for step in steps.steps] == [1] * 5
    assert [step.whole.rows for step in steps.steps] == [1, 2, 3, 4, 5]
    assert (steps.cached_rows, steps.whole_rows) == (5, 15)
    assert all(step.cached.seconds > 0 and step.whole.seconds > 0 for step in steps.steps)
    assert f"{steps.largest_difference:.1e}, in {steps.where}" in str(steps)


def test_the_numbers_compared_are_all_there_are(hindi: Explanation) -> None:
    """Counted again from the shapes: with a cache a row a step, without one all rows so far."""
    expected = 0
    for name, record in hindi.trace.items():
        if name.startswith("encoder"):
            expected += record.tensor.numel()
            continue
        for step in range(1, 6):
            for rows in (1, step):
                sizes = dict(zip(record.axes, record.tensor.shape, strict=True))
                if "L" in sizes:
                    sizes["L"] = rows
                if "M" in sizes and "cross" not in name:
                    sizes["M"] = step
                expected += math.prod(sizes.values())
    assert hindi.stepwise.numbers == expected


def test_the_rows_of_the_pass_are_those_of_shorter_targets(hindi: Explanation) -> None:
    """Without any of our comparing: the unwatched model on each prefix, its last row against the pass's."""
    model = translator().model
    source = torch.tensor([hindi.source_ids])
    read = [model.config.start_id, *hindi.target_ids[:-1]]
    logits = hindi.trace["decoder.logits"].tensor[0].numpy()
    for length in range(1, len(read) + 1):
        with torch.no_grad():
            row = model(source, source > 0, torch.tensor([read[:length]]))[0, -1].numpy()
        assert np.abs(row - logits[length - 1]).max() < 1e-5


@pytest.mark.parametrize(
    "name,place,step",
    [
        ("decoder.layers.1.feed_forward.hidden", (0, 3, 7), 3),
        ("decoder.layers.0.self_attention.weights", (0, 1, 2, 1), 2),
        ("decoder.layers.1.cross_attention.values", (0, 0, 2, 1), 0),
        ("decoder.probabilities", (0, 4, 11), 4),
    ],
)
def test_a_number_that_differs_is_found_and_named(
    hindi: Explanation, name: str, place: tuple[int, ...], step: int
) -> None:
    record = hindi.trace[name]
    tensor = record.tensor.clone()
    tensor[place] += 0.5
    changed = {**hindi.trace, name: dataclasses.replace(record, tensor=tensor)}
    steps = dataclasses.replace(hindi, trace=changed).stepwise  # type: ignore[arg-type]
    assert steps.largest_difference == pytest.approx(0.5, abs=1e-5)
    assert steps.where == name
    wrong = [each.number for each in steps.steps if each.cached.difference > 0.1]
    assert wrong[0] == step and ("values" in name or wrong == [step])


def test_an_encoder_that_differs_is_found_too(hindi: Explanation) -> None:
    name = "encoder.layers.0.residual_2.output"
    record = hindi.trace[name]
    changed = {**hindi.trace, name: dataclasses.replace(record, tensor=record.tensor + 1)}
    steps = dataclasses.replace(hindi, trace=changed).stepwise  # type: ignore[arg-type]
    assert (steps.where, steps.encoder.difference) == (name, pytest.approx(1.0, abs=1e-4))


def test_a_cache_that_forgets_is_found(hindi: Explanation, monkeypatch: pytest.MonkeyPatch) -> None:
    extend = GrowingPast.extend

    def forgetting(self: GrowingPast, layer: int, keys: torch.Tensor, values: torch.Tensor):  # type: ignore[no-untyped-def]
        keys, values = extend(self, layer, keys, values)
        return keys, values * (torch.arange(values.shape[2]) < 2)[:, None]

    monkeypatch.setattr(GrowingPast, "extend", forgetting)
    steps = dataclasses.replace(hindi).stepwise
    assert [step.cached.difference > 1e-3 for step in steps.steps] == [False, False, True, True, True]
    assert max(step.whole.difference for step in steps.steps) < 1e-5


def test_minus_infinity_equals_itself_alone() -> None:
    inf = math.inf
    assert largest_gap(torch.tensor([-inf, 1.0]), torch.tensor([-inf, 1.5])) == 0.5
    assert largest_gap(torch.tensor([-inf]), torch.tensor([0.0])) == inf
    assert largest_gap(torch.tensor([math.nan]), torch.tensor([math.nan])) == inf


def test_both_ways_stand_side_by_side(hindi: Explanation, capsys: pytest.CaptureFixture[str]) -> None:
    hindi.stepwise.show()
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    row = next(line for line in lines if line.split()[:2] == ["3", "कैसे"]).split()
    assert (row[2], row[5]) == ("1", "3")
    totals = next(line for line in lines if line.startswith("all")).split()
    assert (totals[1], totals[3]) == ("5", "15")


def test_a_step_of_the_record_has_one_row(hindi: Explanation) -> None:
    assert isinstance(hindi.trace["decoder.logits"], Record)
    assert hindi.stepwise is hindi.stepwise  # computed once


def test_the_times_of_both_ways_are_in_thousandths_of_a_second(hindi: Explanation) -> None:
    steps = [
        dataclasses.replace(
            step,
            cached=dataclasses.replace(step.cached, seconds=0.0125, difference=1e-7),
            whole=dataclasses.replace(step.whole, seconds=0.5 * (step.number + 1), difference=3e-6),
        )
        for step in hindi.stepwise.steps
    ]
    lines = dataclasses.replace(hindi.stepwise, steps=steps).lines(200)
    rows = [cells for cells in map(str.split, lines) if cells and cells[0].isdigit()]
    assert [cells[2:] for cells in rows] == [
        ["1", "12.50", "1.0e-07", str(row), f"{500 * row}.00", "3.0e-06"] for row in range(1, 6)
    ]
    totals = next(line.split() for line in lines if line.startswith("all"))
    assert totals == ["all", "5", "62.50", "15", "7500.00"]
