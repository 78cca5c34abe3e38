"""What a step costs, and what a training will take, against what torch itself counts."""

import random
import subprocess
import sys
from typing import Any

import learners
import pytest
import short_runs
import torch
from torch.utils.flop_counter import FlopCounterMode

import pellucid
from pellucid.config.schema import PRESETS, ModelConfig
from pellucid.learning.cost import cost_of, operations, peak, plan
from pellucid.learning.ranks import Ranks
from pellucid.model import Transformer, sinusoids

PROGRAM = """
import sys, torch
from pellucid.config.schema import PRESETS, ModelConfig, TrainingConfig
from pellucid.data.batch import Batch
from pellucid.learning.cost import memory_used
from pellucid.learning.learner import Learner
from pellucid.learning.setting_up import prepare_torch
from pellucid.model import Transformer
training = TrainingConfig(precision=sys.argv[2], threads=1)
prepare_torch(training)
before = memory_used(torch.device("cpu"))
learner = Learner(Transformer(ModelConfig(**PRESETS[sys.argv[1]])), training)
ids = torch.randint(4, 8000, (64, 32))
batch = Batch(ids, ids > 0, ids, ids, ids > 0, ("",) * 64)
for step in 1, 2:
    learner.learn([batch], step)
print(memory_used(torch.device("cpu")) - before)
"""


def test_the_operations_of_random_shapes_are_those_that_torch_counts() -> None:
    seed = random.randrange(10**6)
    print("seed", seed)
    chance = random.Random(seed)
    for tied in (True, False):
        layers, width = (chance.randint(1, 3) for _ in range(2)), 8 * chance.randint(1, 6)
        sizes = dict(zip(("encoder_layers", "decoder_layers"), layers, strict=True))
        # Dropout of weights: then attention is computed by products that torch counts.
        dropping = dict(dropout=0.1, attention_dropout=0.5, heads=2, tied=tied)
        model = learners.model(**sizes, width=width, hidden=chance.randint(2, 99), **dropping).train()
        batch = learners.batch(*[chance.randint(2, 30)] * chance.randint(1, 5))
        with FlopCounterMode(display=False) as counted:
            model(batch.source, batch.source_mask, batch.target_in).sum().backward()
        assert operations(model.config, batch) == counted.get_total_flops()


def test_padding_is_no_work_and_each_process_tells_its_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    batch, learner = learners.batch(3, 9, 3), learners.learner()
    parts = [learners.batch(3), learners.batch(9), learners.batch(3)]
    alone = sum(operations(learner.model.config, part) for part in parts)
    assert operations(learner.model.config, batch) == alone
    cost = cost_of([batch, batch], 0.5, learner, Ranks())
    assert cost.tokens_a_second == 2 * 18 / 0.5 and cost.ranks == (72.0,)
    assert cost.padding == 1 - 18 / 30
    speed = peak(learner.device, "fp32", torch.get_num_threads())
    assert cost.used == pytest.approx(2 * alone / 0.5 / speed) and speed > 1e8
    ranks = Ranks(1, 2)
    monkeypatch.setattr(Ranks, "add_up", lambda self, *numbers: numbers)
    assert cost_of([batch], 1.0, learner, ranks).ranks == (0.0, 10.0)  # the second of three rows


def test_a_plan_takes_no_memory_and_leaves_no_trace() -> None:
    big = ModelConfig(vocabulary=32_000, **PRESETS["big"])
    with FlopCounterMode(display=False) as counted:
        large, small = plan(big, 100_000, 100, "bf16"), plan(big, 50_000, 100, "bf16")
    assert counted.get_total_flops() > 1e13  # of shapes: on two cores it would take minutes
    assert large.activations == pytest.approx(2 * small.activations, rel=0.01)
    parameters = sum(each.numel() for each in Transformer(ModelConfig(**learners.SHAPE)).parameters())
    assert plan(ModelConfig(**learners.SHAPE), 64, 8, "fp32").model == 16 * parameters
    assert plan(big, 4096, 32, "fp32", 8).model == plan(big, 4096, 32, "fp32").model // 8
    table = sinusoids(128, 1024, torch.bfloat16, torch.device("cpu"), "paper")
    assert type(table) is torch.Tensor and table.abs().sum() > 0


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("preset", ["tiny", "small", "base"])
def test_the_plan_is_what_is_measured(preset: str, precision: str) -> None:
    command = [sys.executable, "-c", PROGRAM, preset, precision]
    measured = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    planned = sum(plan(ModelConfig(**PRESETS[preset]), 2048, 32, precision)) / 1e6
    print(preset, precision, measured, round(planned))
    assert 0.75 * measured < planned < 1.3 * measured


def test_a_step_tells_its_cost_and_the_metrics_have_it(tmp_path: Any) -> None:
    config = short_runs.config(tmp_path / "data", {"training.steps": 2})
    steps = list(pellucid.training(config, tmp_path / "run"))
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    assert all(step.cost.tokens_a_second == sum(step.cost.ranks) > 0 for step in steps)
    assert all(
        0 <= step.cost.padding < 1 and 0 < step.cost.used < 1 and step.cost.memory > 50 for step in steps
    )
    assert all('"cost": {"tokens_a_second": ' in line for line in lines[:2])
