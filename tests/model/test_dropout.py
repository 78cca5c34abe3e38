"""Dropout: the right share, the mean kept, the same mask backward, and where the paper has it."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from small_models import small_model
from torch import Tensor

from pellucid.model import Dropout, Transformer, keep_or_drop
from pellucid.seeing.trace import trace

SOURCE, TARGET = torch.arange(4, 10).repeat(3, 2), torch.arange(9, 3, -1).repeat(3, 2)
SHAPE = (300, 1001)  # not a multiple of eight: the last random word is used in part
COUNT = SHAPE[0] * SHAPE[1]


def dropped_by(rate: float) -> float:
    """The probability in steps of 1/256."""
    return round(rate * 256) / 256


@pytest.mark.parametrize("rate", [0.01, 0.1, 0.3, 0.5, 0.9])
def test_the_rate_and_the_mean(rate: float) -> None:
    torch.manual_seed(11)
    factor = keep_or_drop(torch.empty(SHAPE), rate)
    expected = dropped_by(rate)
    assert abs(expected - rate) <= 1 / 512
    share = (factor == 0).float().mean().item()
    assert abs(share - expected) < 4.5 * math.sqrt(expected * (1 - expected) / COUNT)
    assert factor.unique().tolist() == [0.0, pytest.approx(1 / (1 - expected))]
    deviation = math.sqrt(expected / (1 - expected) / COUNT)
    assert abs(factor.mean().item() - 1) < 4.5 * deviation


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_values_are_dropped_independently(rate: float) -> None:
    """No value's fate tells that of another: of the same random word, or of the word after."""
    torch.manual_seed(12)
    dropped = (keep_or_drop(torch.empty(8 * 40_000), rate) == 0).double() - dropped_by(rate)
    variance = dropped_by(rate) * (1 - dropped_by(rate))
    for distance in (1, 2, 3, 4, 7, 8, 9, 16):
        correlation = (dropped[:-distance] * dropped[distance:]).mean() / variance
        assert abs(correlation) < 4.5 / math.sqrt(len(dropped) - distance), distance


def test_the_gradients_mask_is_the_forward_mask() -> None:
    torch.manual_seed(15)
    x = torch.rand(40, 50).add_(0.5).requires_grad_()
    out = Dropout(0.3).train()(x)
    out.sum().backward()
    assert 0 < (out == 0).sum() < out.numel()
    assert torch.allclose(x.grad, out.detach() / x.detach())


def test_every_shape_and_precision_and_nothing_in_evaluation() -> None:
    for shape in ((), (1,), (7,), (8,), (9,), (0,), (3, 0, 2), (2, 3, 5)):
        assert keep_or_drop(torch.empty(shape), 0.5).shape == shape
    x = torch.full((1000, 100), 2.0, dtype=torch.bfloat16)
    out = Dropout(0.25).train()(x.T)
    assert out.dtype == x.dtype and out.shape == (100, 1000)
    assert out.float().unique().tolist() == [0.0, pytest.approx(2 / 0.75, rel=2**-8)]
    state = torch.get_rng_state()
    assert Dropout(0.5).eval()(x) is x and Dropout(0.0).train()(x) is x
    assert torch.equal(torch.get_rng_state(), state)  # no random number was spent


# Where the paper has it (section 5.4): on a sublayer's output before it is added, on embeddings + positions.


def passed(**settings: Any) -> tuple[Callable[[str], Tensor], Transformer]:
    """Run a pass in training mode; return what finds a tensor by its name, and the model."""
    model = small_model(**settings).train()
    with trace(model) as seen:
        model(SOURCE, None, TARGET)
    return lambda name: seen[name].tensor, model


def zero_or_scaled(after: Tensor, before: Tensor, rate: float) -> bool:
    """Whether `after` is `before` with some values 0 and the others grown."""
    scaled = before / (1 - dropped_by(rate))
    zero = after.abs() < 1e-6
    return bool((zero | (after - scaled).abs().lt(1e-5)).all()) and 0.02 < zero.float().mean() < 0.98


@pytest.mark.parametrize("norm", ["last", "first"])
def test_dropout_is_where_the_paper_has_it(norm: str) -> None:
    get, model = passed(dropout=0.25, attention_dropout=0.5, activation_dropout=0.5, norm=norm)
    for stack, sublayers in (
        ("encoder", ["self_attention", "feed_forward"]),
        ("decoder", ["self_attention", "cross_attention", "feed_forward"]),
    ):
        layer = f"{stack}.layers.0"
        for k, sublayer in enumerate(sublayers[1:], 2):
            added = get(f"{layer}.residual_{k}.sum") - get(f"{layer}.residual_{k - 1}.output")
            assert zero_or_scaled(added, get(f"{layer}.{sublayer}.output"), 0.25), f"{layer}.residual_{k}"
        # Where the embedding was kept:
        both = get(f"{layer}.residual_1.sum") - get(f"{stack}.embedded") / 0.75
        kept = (both - get(f"{layer}.self_attention.output") / 0.75).abs() < 1e-5
        kept |= both.abs() < 1e-5
        assert 0.6 < kept.float().mean() < 0.9, "the embeddings with positions are dropped at their own rate"
        module = getattr(model, stack).layers[0].feed_forward
        undropped = module.outer(get(f"{layer}.feed_forward.activated"))
        assert not torch.allclose(undropped, get(f"{layer}.feed_forward.output"), atol=1e-3)
    names = ("weights", "values", "context")
    weights, values, context = (get(f"decoder.layers.0.cross_attention.{name}") for name in names)
    assert torch.allclose(weights.sum(-1), torch.ones(()))  # shown before dropout
    assert not torch.allclose(context, weights @ values, atol=1e-3)


@pytest.mark.parametrize("grad", [True, False], ids=["explicit", "fused"])
def test_weights_are_dropped_in_training_only(grad: bool) -> None:
    """Also by the fused kernel, which has a dropout of its own."""
    model = small_model(attention_dropout=0.5)
    with torch.set_grad_enabled(grad):
        model.train()
        assert not torch.allclose(model(SOURCE, None, TARGET), model(SOURCE, None, TARGET), atol=1e-3)
        model.eval()
        assert torch.equal(model(SOURCE, None, TARGET), model(SOURCE, None, TARGET))


def test_dropout_leaves_attention_and_feed_forward_alone_which_have_their_own() -> None:
    get, model = passed(dropout=0.5)
    attention, feed_forward = "decoder.layers.0.self_attention", "decoder.layers.0.feed_forward"
    undropped = get(f"{attention}.weights") @ get(f"{attention}.values")
    torch.testing.assert_close(undropped, get(f"{attention}.context"))
    undropped = model.decoder.layers[0].feed_forward.outer(get(f"{feed_forward}.activated"))
    torch.testing.assert_close(undropped, get(f"{feed_forward}.output"))
