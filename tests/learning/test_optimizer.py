"""The paper's rate, accumulation, weight decay, clipping, and steps that are not finite and so not taken."""

import math
from typing import Any

import pytest
import torch
from learners import batch, learner, learnt, model

from pellucid.config.schema import TrainingConfig
from pellucid.learning.learner import learning_rate, optimizer_for, precision_for
from pellucid.learning.loss import loss_of


def test_the_rates() -> None:
    paper = TrainingConfig(schedule="paper", warmup_steps=4000)
    for step in (1, 2, 3999, 4000, 4001, 100_000):
        expected = 512**-0.5 * min(step**-0.5, step * 4000**-1.5)  # equation 3
        assert learning_rate(step, paper, 512) == pytest.approx(expected, rel=1e-12)
    ours = TrainingConfig(peak_rate=0.003, warmup_steps=100, cooldown=0.4)
    for step, done, expected in (
        (1, 0.0, 0.00003), (100, 0.0, 0.003), (400, 0.6, 0.0015), (400, 0.7, 0.75 * 0.0015), (400, 1.0, 0.0),
    ):  # fmt: skip
        assert learning_rate(step, ours, 256, done) == pytest.approx(expected)


@pytest.mark.parametrize(("schedule", "first"), [("inverse_sqrt", 0.001), ("paper", 16**-0.5 * 10**-1.5)])
def test_the_rate_of_a_step_is_the_optimizers(schedule: str, first: float) -> None:
    taught = learner(schedule=schedule, warmup_steps=10)
    taught.model.eval()  # as it is where it translates
    for step in (1, 2):
        update = taught.learn([batch(3, 3)], step)
        assert update.rate == pytest.approx(first * step)
        assert [group["lr"] for group in taught.optimizer.param_groups] == [update.rate] * 2
    assert taught.model.training


def test_an_updates_losses_are_smoothed_and_plain() -> None:
    taught, lesson = learner(label_smoothing=0.3), batch(2, 5)
    expected = [loss_of(taught.model, lesson, smoothing) for smoothing in (0.3, 0.0)]
    update = taught.learn([lesson], 1)
    assert (update.loss, update.plain_loss) == tuple(
        pytest.approx(float(each.smoothed.detach()) / lesson.tokens) for each in expected
    )
    assert update.loss != pytest.approx(update.plain_loss, rel=1e-3)


def test_updates_are_adamws_equations() -> None:
    """Loshchilov and Hutter 2019, algorithm 2, in float64; each step has a gradient of its own."""
    settings: dict[str, Any] = dict(betas=(0.8, 0.9), epsilon=0.01, weight_decay=0.5, clip_norm=0.0)
    taught, (beta1, beta2) = learner(**settings), settings["betas"]
    weight = taught.model.decoder.layers[0].feed_forward.inner.weight
    expected = weight.detach().double()
    first = second = torch.zeros_like(expected)
    for step, lesson in enumerate((batch(3, 4), batch(6), batch(2, 2, 5)), 1):
        loss = loss_of(taught.model, lesson, taught.training.label_smoothing)
        (gradient,) = (each.double() for each in torch.autograd.grad(loss.smoothed / lesson.tokens, weight))
        first = beta1 * first + (1 - beta1) * gradient
        second = beta2 * second + (1 - beta2) * gradient**2
        rate = taught.learn([lesson], step).rate
        direction = (first / (1 - beta1**step)) / ((second / (1 - beta2**step)).sqrt() + 0.01)
        expected = expected - rate * (direction + 0.5 * expected)
        torch.testing.assert_close(weight.detach().double(), expected, rtol=1e-4, atol=1e-6)


def test_weight_decay_is_for_matrices_only() -> None:
    taught = model()
    optimizer = optimizer_for(taught, TrainingConfig(weight_decay=0.5))
    decay = {
        id(tensor): group["weight_decay"] for group in optimizer.param_groups for tensor in group["params"]
    }
    assert decay.keys() == {id(parameter) for parameter in learnt(taught).values()}
    for name, parameter in learnt(taught).items():
        is_vector = name.endswith(".bias") or ".norm." in name
        assert decay[id(parameter)] == (0.0 if is_vector else 0.5), name


def test_clipping_limits_the_gradient_and_reports_it_as_it_was() -> None:
    free, clipped = learner(clip_norm=0.0), learner(clip_norm=0.01)
    one, two = free.learn([batch(3, 4)], 1), clipped.learn([batch(3, 4)], 1)
    assert one.gradient_norm == two.gradient_norm > 0.01
    # After one step, the first moment is (1 - beta) times the gradient that the optimizer was given.
    for taught, expected in ((free, one.gradient_norm), (clipped, 0.01)):
        moments = [
            taught.optimizer.state[tensor]["exp_avg"] / 0.1 for tensor in learnt(taught.model).values()
        ]
        assert float(torch.cat([moment.flatten() for moment in moments]).norm()) == pytest.approx(
            expected, rel=1e-3
        )


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("poison", [math.nan, math.inf, "gradient"])
def test_a_step_that_is_not_finite_is_not_taken(precision: str, poison: float | str) -> None:
    taught = learner(precision=precision)
    taught.learn([batch(3, 3)], 1)
    before = {name: tensor.clone() for name, tensor in taught.tensors().items()}
    bias = taught.working.decoder.layers[0].feed_forward.outer.bias
    healthy = bias.detach().clone()
    if isinstance(poison, str):  # then the loss is finite
        hook = bias.register_hook(lambda gradient: gradient * math.inf)
    else:
        bias.data.fill_(poison)
    update = taught.learn([batch(3, 3)], 2)
    if isinstance(poison, str):
        hook.remove()
    bias.data.copy_(healthy)
    assert update.skipped and math.isfinite(update.loss) == isinstance(poison, str)
    after = taught.tensors()
    assert after.keys() == before.keys()
    assert all(torch.equal(after[name], before[name]) for name in before)
    assert not taught.learn([batch(3, 3)], 3).skipped


def test_in_bf16_the_weights_stay_in_float32() -> None:
    taught = learner(precision="bf16", peak_rate=1e-5)
    before = {name: tensor.detach().clone() for name, tensor in taught.model.state_dict().items()}
    taught.learn([batch(3, 3)], 1)
    working = dict(taught.working.named_parameters())
    for name, parameter in learnt(taught.model).items():
        assert parameter.dtype == torch.float32 and working[name].dtype == torch.bfloat16
        assert torch.equal(parameter.bfloat16(), working[name])  # the copy follows
        assert taught.optimizer.state[parameter]["exp_avg"].dtype == torch.float32
    # A change of 1e-5 beside weights of about 0.1 is lost in bf16, and kept in float32.
    name = "decoder.layers.0.feed_forward.inner.weight"
    moved = (taught.model.state_dict()[name] - before[name]).abs()
    assert 0 < float(moved.max()) < 1.1e-5
    assert (working[name] == before[name].bfloat16()).float().mean() > 0.95


def test_the_biases_of_keys_are_left_alone() -> None:
    # They add the same to all scores of a query, which changes nothing; their gradient is but rounding.
    taught = learner(weight_decay=0.1)
    for step in range(1, 4):
        taught.learn([batch(3, 4)], step)
    still = {
        name for name, value in taught.model.named_parameters() if name.endswith("bias") and not value.any()
    }
    assert (
        still == {name for name in taught.model.state_dict() if name.endswith(".key.bias")}
        and len(still) == 3
    )


def test_precision_is_chosen_by_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    processor = torch.device("cpu")
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: False)
    for native, expected in ((True, "bf16"), (False, "fp32")):
        monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda native=native: native)
        assert precision_for(TrainingConfig(), processor) == expected
        assert precision_for(TrainingConfig(precision="fp32"), processor) == "fp32"
        assert precision_for(TrainingConfig(precision="bf16"), processor) == "bf16"
