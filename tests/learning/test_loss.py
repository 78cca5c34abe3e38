"""The loss and its gradient are torch's cross-entropy, whatever is padded, sliced or halved in precision."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from pellucid.learning import loss as loss_module
from pellucid.learning.loss import cross_entropy

VOCABULARY, WIDTH = 23, 8


def made(
    rows: int, length: int, dtype: torch.dtype, bias: bool
) -> tuple[Tensor, Tensor, Tensor | None, Tensor, Tensor]:
    """Outputs, projection, bias, expected tokens and which of them are real, all random."""
    chance = torch.Generator().manual_seed(3)
    output = torch.randn(rows, length, WIDTH, generator=chance).to(dtype).requires_grad_()
    weight = torch.randn(VOCABULARY, WIDTH, generator=chance).to(dtype).requires_grad_()
    offset = torch.randn(VOCABULARY, generator=chance).to(dtype).requires_grad_() if bias else None
    expected = torch.randint(VOCABULARY, (rows, length), generator=chance)
    real = torch.rand(rows, length, generator=chance) < 0.7
    return output, weight, offset, expected, real


def ours(
    output: Tensor, weight: Tensor, bias: Tensor | None, expected: Tensor, real: Tensor, smoothing: float
) -> tuple[Tensor, Tensor]:
    return cross_entropy(output[real], weight, bias, expected[real], smoothing)


def by_torch(
    output: Tensor, weight: Tensor, bias: Tensor | None, expected: Tensor, real: Tensor, smoothing: float
) -> Tensor:
    """The sum over real positions, computed in float32."""
    logits = F.linear(output.float(), weight.float(), None if bias is None else bias.float())
    expected = expected.masked_fill(~real, -100)
    return F.cross_entropy(
        logits.flatten(0, 1), expected.flatten(), reduction="sum", label_smoothing=smoothing
    )


def gradients(loss: Tensor, *inputs: Tensor | None) -> list[Tensor]:
    """Of the mean-sized loss, so that they are of the order of one."""
    return [
        gradient.float() for gradient in torch.autograd.grad(loss / 7, [x for x in inputs if x is not None])
    ]


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.9])
@pytest.mark.parametrize("bias", [False, True])
def test_value_and_gradient_are_torchs(smoothing: float, bias: bool) -> None:
    inputs = made(3, 5, torch.float32, bias)
    (smoothed, plain), theirs = ours(*inputs, smoothing), by_torch(*inputs, smoothing)
    assert float(smoothed.detach()) == pytest.approx(float(theirs.detach()), rel=1e-6)
    assert float(plain) == pytest.approx(float(by_torch(*inputs, 0.0).detach()), rel=1e-6)
    for mine, other in zip(gradients(smoothed, *inputs[:3]), gradients(theirs, *inputs[:3]), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("dtype", "near"), [(torch.float32, 1e-5), (torch.bfloat16, 0.01)], ids=str)
def test_slices_of_positions_make_no_difference_and_all_logits_never_exist_at_once(
    dtype: torch.dtype, near: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs, linear = made(40, 50, dtype, True), F.linear
    loss = by_torch(*inputs, 0.1)
    expected = gradients(loss, *inputs[:3])
    for rows in (2000, 999, 1):
        sizes = list[int]()
        monkeypatch.setattr(loss_module, "ROWS", rows)
        monkeypatch.setattr(
            F, "linear", lambda *given, sizes=sizes: sizes.append(len(given[0])) or linear(*given)
        )
        smoothed, _ = ours(*inputs, 0.1)
        assert float(smoothed.detach()) == pytest.approx(float(loss.detach()), rel=1e-3)
        for mine, other in zip(gradients(smoothed, *inputs[:3]), expected, strict=True):
            assert (mine - other).norm() < near * other.norm()
        assert max(sizes) == min(rows, int(inputs[4].sum()))


def test_each_positions_probabilities_add_up_to_one_in_bf16() -> None:
    """Then the logits' gradient, which the bias has of a single position, adds up to 0."""
    chance = torch.Generator().manual_seed(3)
    weight = torch.randn(2000, WIDTH, generator=chance).bfloat16()
    bias = torch.zeros(2000, dtype=torch.bfloat16, requires_grad=True)
    for _ in range(20):
        hidden = torch.randn(1, WIDTH, generator=chance).bfloat16()
        smoothed, _ = cross_entropy(hidden, weight, bias, torch.tensor([7]), 0.1)
        (gradient,) = torch.autograd.grad(smoothed, bias)
        assert abs(float(gradient.float().sum())) < 0.01


class Sizes(TorchDispatchMode):
    """Notes the shape of every tensor that an operation returns."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[int, ...]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self.seen += [tuple(result.shape)] if isinstance(result, Tensor) else []
        return result


@pytest.mark.parametrize("learns", [False, True])
def test_a_validation_makes_no_matrix_of_the_vocabulary(learns: bool) -> None:
    inputs = made(3, 5, torch.float32, False)
    with Sizes() as sizes, torch.set_grad_enabled(learns):
        ours(*inputs, 0.0)
    assert ((VOCABULARY, WIDTH) in sizes.seen) is learns
