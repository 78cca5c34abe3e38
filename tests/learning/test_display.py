"""What a training says while it runs, on a terminal and elsewhere."""

import dataclasses
import io
from collections.abc import Iterator

import pytest
import short_runs
from rich.console import Console

from pellucid.config.schema import Config, TrainingConfig
from pellucid.learning.log import Pace, plain_lines, showing_bar
from pellucid.learning.step import Sample, Step, Update, share_done

CONFIG = Config(training=TrainingConfig(steps=100))
FOUND = short_runs.validation(31.25, 2.0, 55.5)


def steps(count: int, validated: int = 0, skipped: int = 0) -> Iterator[Step]:
    """Steps of 100 tokens and a second; the validation of one takes a minute."""
    for number in range(1, count + 1):
        seconds = number + 60.0 * (0 < validated < number)
        loss = float("nan") if number == skipped else 3.0
        update = Update(3.5, loss, 100, 0.1, 1.0, skipped=number == skipped)
        yield Step(number, 0, update, seconds, FOUND if number == validated else None, number == validated)


def test_a_line_every_ten_seconds_and_at_each_validation() -> None:
    said = list[str]()
    show = plain_lines(CONFIG, said.append)
    for step in steps(30, validated=15):
        show(step)
    assert [line.split("  ")[0] for line in said] == [
        "step 1/100",
        "step 11/100",
        "validation at step 15: loss 2.000, perplexity 7.39, BLEU 31.25, chrF 55.50, exact 12.50 "
        "(the best so far)",
        "step 16/100",
        "step 26/100",
    ]
    assert said[1] == "step 11/100  loss 3.000  100 tokens/s  0:01:29 left"


@pytest.mark.parametrize(
    ("limits", "events", "line", "fraction"),
    [
        ({}, {"validated": 7}, "step 10/100  loss 3.000  100 tokens/s", 0.1),  # not in the speed
        ({}, {"skipped": 9}, "step 10/100  loss 3.000  100 tokens/s", 0.1),
        ({"minutes": 0.5}, {}, "step 10  0.2/0.5 minutes  loss 3.000  100 tokens/s  0:00:20 left", 1 / 3),
        ({"steps": 20, "minutes": 10}, {}, "step 10/20  loss 3.000  100 tokens/s  0:00:10 left", 1 / 2),
    ],
)
def test_the_line_of_a_step(
    limits: dict[str, float], events: dict[str, int], line: str, fraction: float
) -> None:
    training = TrainingConfig(**{"steps": 100} | limits)  # type: ignore[arg-type]
    pace = Pace(training)
    for step in steps(10, **events):
        pace.add(step)
    assert pace.line(step).startswith(line)
    assert share_done(training, step.number, step.seconds) == pytest.approx(fraction)


def test_a_bar_on_a_terminal() -> None:
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, width=100, color_system=None)
    with showing_bar(CONFIG, console) as show:
        for step in steps(100, validated=50):
            show(step)
    assert "validation at step 50: loss 2.000" in written.getvalue()
    at_the_end = "━━━━━━━━━━━━ step 100/100  loss 3.000  100 tokens/s  0:00:00 left"
    assert at_the_end in written.getvalue()


def test_a_validation_shows_two_translations() -> None:
    found = dataclasses.replace(FOUND, samples=(Sample("a b", "b a", "b"), Sample("c\0\x1b", "[c]", "")))
    said = list[str]()
    (step,) = steps(1)
    plain_lines(CONFIG, said.append)(dataclasses.replace(step, validation=found))
    samples = ["source:      a b", "reference:   b a", "translation: b"]
    samples += ["source:      c��", "reference:   [c]", "translation: "]
    assert said[2:] == [f"  {line}" for line in samples]
