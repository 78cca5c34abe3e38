"""Consistency (R-Drop): the loss of two passes, equal to the paper's formula computed by autograd."""

import random
from itertools import pairwise
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from learners import batch, learner

from pellucid.decoding.library import has_kernels
from pellucid.learning.consistency import twice
from pellucid.learning.loss import cross_entropy, loss_of


def formula(
    hidden: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    expected: torch.Tensor,
    how: tuple[float, float],
) -> torch.Tensor:
    """Half of equation 4: -log p - log q + consistency / 2 (KL(p || q) + KL(q || p))."""
    logs = F.linear(hidden[: 2 * len(expected)], weight, bias).log_softmax(-1)
    p, q = logs.chunk(2)
    losses = F.cross_entropy(logs, torch.cat([expected, expected]), label_smoothing=how[0], reduction="sum")
    apart = sum(F.kl_div(other, one, log_target=True, reduction="sum") for one, other in ((p, q), (q, p)))
    return (losses + how[1] / 2 * apart) / 2


def plain(*given: Any) -> torch.Tensor:
    return cross_entropy(*given[:-1], *given[-1], compiled=False)[0]


def compiled(*given: Any) -> torch.Tensor:
    return cross_entropy(*given[:-1], *given[-1], compiled=True)[0]


def test_loss_and_gradients_are_the_formulas() -> None:
    seed = random.randrange(10**6)
    print("seed", seed)
    chance = random.Random(seed)
    torch.manual_seed(seed)
    for _ in range(8):
        rows, width, words = chance.choice((1, 7, 300)), chance.randint(1, 9), chance.randint(2, 50)
        how = chance.choice((0.0, 0.1)), chance.choice((0.5, 5.0))
        expected = torch.randint(words, (rows,))
        more = chance.choice((0, 5))  # rows that do not count
        given = [torch.randn(2 * rows + more, width), torch.randn(words, width), torch.randn(words)]
        given = given[: chance.choice((2, 3))]
        found = []
        for compute in (formula, plain, *([compiled] if has_kernels() else [])):
            leaves = [each.clone().requires_grad_() for each in given]
            loss = compute(*leaves, *[None] * (3 - len(given)), expected, how)
            found.append([loss.detach().float(), *torch.autograd.grad(loss, leaves)])
        for ours, theirs in pairwise(found):
            for one, other in zip(ours, theirs, strict=True):
                torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_without_dropout_both_passes_agree() -> None:
    taught = learner()
    given = batch(3, 5, 2)
    assert len(twice(given).origins) == 6
    once, both = loss_of(taught.model, given, 0.1), loss_of(taught.model, given, 0.1, 5.0)
    assert once.tokens == both.tokens
    assert float(both.smoothed.detach()) == pytest.approx(float(once.smoothed.detach()), rel=1e-5)
    assert float(both.plain) == pytest.approx(float(once.plain), rel=1e-5)
