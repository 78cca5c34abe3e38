"""What decoding remembers: step by step is one pass, neighbours and padding change nothing."""

import itertools
import math
from contextlib import nullcontext
from typing import Any

import pytest
import torch
from small_models import small_model
from torch import Tensor

from pellucid.cache import GrowingPast
from pellucid.mask import Mask
from pellucid.model import Dropout, Transformer, attend
from pellucid.seeing.trace import trace
from pellucid.seeing.watching import watching

SOURCE = torch.tensor([[5, 7, 4, 8, 3], [9, 12, 3, 0, 0], [6, 3, 0, 0, 0]])
REAL = SOURCE != 0
TARGET = torch.tensor([[2, 5, 8, 6, 7, 4], [2, 8, 9, 9, 5, 3], [2, 16, 4, 6, 7, 8]])


def random_model(**settings: Any) -> Transformer:
    return small_model(**{"vocabulary": 17, "encoder_layers": 2, "decoder_layers": 3} | settings).double()


def passed(model: Transformer, source: Tensor, target: Tensor) -> Tensor:
    """The logits of a batch in which id 0 is padding."""
    return model(source, source != 0, target, target != 0)


def assert_equal(one: Tensor, other: Tensor) -> None:
    torch.testing.assert_close(one, other, rtol=0, atol=1e-9)


@pytest.mark.parametrize("grad", [False, True], ids=["fused", "explicit"])
@pytest.mark.parametrize("norm", ["last", "first"])
@pytest.mark.parametrize("widths", [[1] * 6, [3, 1, 1, 1], [2, 3, 1], [6], [1, 5]], ids=str)
def test_step_by_step_is_one_pass(norm: str, widths: list[int], grad: bool) -> None:
    model = random_model(norm=norm)
    with torch.set_grad_enabled(grad):
        expected = model(SOURCE, REAL, TARGET)
        memory, past = model.remember(model.encode(SOURCE, REAL), REAL), GrowingPast()
        steps = [model.decode(ids, memory, past) for ids in TARGET.split(widths, dim=1)]
    assert past.position == 6
    assert_equal(torch.cat(steps, dim=1), expected)


@torch.no_grad()
@pytest.mark.parametrize("chosen", [[2, 0, 0], [1]], ids=str)
def test_after_select_the_rows_are_those_chosen(chosen: list[int]) -> None:
    model = random_model()
    expected = model(SOURCE, REAL, TARGET)
    rows = torch.tensor(chosen)
    memory, past = model.remember(model.encode(SOURCE, REAL), REAL), GrowingPast()
    model.decode(TARGET[:, :3], memory, past)
    past.select(rows)
    memory = memory.select(rows)
    for position in (3, 4, 5):
        assert_equal(model.decode(TARGET[rows, position, None], memory, past)[:, 0], expected[rows, position])


@pytest.mark.parametrize("grad", [False, True], ids=["fused", "explicit"])
@pytest.mark.parametrize("norm", ["last", "first"])
def test_padding_and_neighbours_change_nothing(norm: str, grad: bool) -> None:
    model = random_model(norm=norm)
    lengths = [6, 4, 5]
    target = TARGET * (torch.arange(6) < torch.tensor(lengths)[:, None])
    with torch.set_grad_enabled(grad):
        batch = passed(model, SOURCE, target)
        other = torch.where(REAL, SOURCE, torch.tensor(11))  # what stands in the padding does not matter
        assert_equal(model(other, REAL, target, target != 0), batch)
        wider = model(torch.nn.functional.pad(SOURCE, (0, 3)), torch.nn.functional.pad(REAL, (0, 3)), TARGET)
        for row, length in enumerate(lengths):
            own_source = SOURCE[row, REAL[row]][None]
            alone = model(own_source, None, TARGET[row, :length][None])
            assert_equal(batch[row, :length], alone[0])
            assert_equal(wider[row, :length], alone[0])
        shuffled = torch.tensor([1, 2, 0])
        assert_equal(passed(model, SOURCE[shuffled], target[shuffled]), batch[shuffled])


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("norm", ["last", "first"])
def test_a_row_of_padding_only(norm: str, grad: bool) -> None:
    model = random_model(norm=norm)
    source, target = SOURCE.clone(), TARGET.clone()
    source[1], target[2] = 0, 0
    with torch.set_grad_enabled(grad):
        unwatched = passed(model, source, target)
        with trace(model) as seen:
            watched = passed(model, source, target)
        assert unwatched.isfinite().all()
        assert_equal(watched, unwatched)
        for row in range(3):
            assert_equal(passed(model, source[[row]], target[[row]])[0], unwatched[row])
    empty_rows = {"encoder.layers.0.self": 1, "decoder.layers.1.cross": 1, "decoder.layers.0.self": 2}
    for part, empty in empty_rows.items():
        weights, context = (seen[f"{part}_attention.{name}"].tensor for name in ("weights", "context"))
        assert not weights[empty].any() and not context[empty].any()
        sums = weights[[row for row in range(3) if row != empty]].sum(-1)
        assert_equal(sums, torch.ones_like(sums))
    if grad:
        unwatched.pow(2).sum().backward()
        gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
        assert all(gradient.isfinite().all() for gradient in gradients)


@pytest.mark.parametrize("watch", [False, True])
@pytest.mark.parametrize("first_query", [None, 0])
def test_rows_that_may_look_nowhere_are_zeros_whatever_the_fused_kernel_makes_of_them(
    first_query: int | None, watch: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fused(queries: Tensor, keys: Tensor, values: Tensor, attn_mask: Tensor, scale: float) -> Tensor:
        """As kernels of some devices and versions: 0/0 where all keys are masked."""
        return (queries @ keys.mT * scale).masked_fill(~attn_mask, -torch.inf).softmax(-1) @ values

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", fused)
    torch.manual_seed(1)
    queries, keys, values = torch.randn(3, 3, 2, 4, 8, dtype=torch.float64)
    allowed = torch.tensor([[True] * 4, [False] * 4, [False, False, True, True]])
    mask, dropout, expected = Mask(allowed, first_query), Dropout(0.0), torch.zeros_like(queries)
    for sentence, head, query in itertools.product(range(3), range(2), range(4)):
        last = 4 if first_query is None else query + 1
        seen = [key for key in range(last) if allowed[sentence, key]]
        scores = [float(queries[sentence, head, query] @ keys[sentence, head, key]) for key in seen]
        powers = [math.exp(score / math.sqrt(8)) for score in scores]
        for key, power in zip(seen, powers, strict=True):
            expected[sentence, head, query] += power / sum(powers) * values[sentence, head, key]
    with watching(lambda name, axes, tensor: tensor) if watch else nullcontext():
        context = attend(queries, keys, values, mask, lambda name, tensor: tensor, dropout)
    assert_equal(context, expected)
    assert not context[1].any() and (first_query is None or not context[2, :, :2].any())


@pytest.mark.parametrize("padding", [False, True])
@pytest.mark.parametrize("first_query", [None, 0, 1, 4])
@pytest.mark.parametrize("queries", [1, 2, 5])
@pytest.mark.parametrize("keys", [1, 2, 5, 7])
def test_the_mask_against_a_loop(first_query: int | None, padding: bool, queries: int, keys: int) -> None:
    torch.manual_seed(keys)
    allowed = torch.rand(3, keys) > 0.4 if padding else None
    mask = Mask(allowed, first_query)
    matrix = mask.may_look(queries, keys, torch.device("cpu"))
    shape = (3, 1, queries, keys)
    matrix = torch.ones(shape, dtype=torch.bool) if matrix is None else matrix.expand(shape)
    for sentence in range(3):
        empty = 0
        for query in range(queries):
            row = []
            for key in range(keys):
                may = allowed is None or bool(allowed[sentence, key])
                row.append(may and (first_query is None or key <= first_query + query))
            assert matrix[sentence, 0, query].tolist() == row
            empty += not any(row)
        assert not empty or mask.some_row_is_empty, "a row without any allowed key was not announced"


def test_a_mask_with_no_empty_row_says_so() -> None:
    """Then the fused kernel may be used."""
    assert not Mask().some_row_is_empty and not Mask(first_query=0).some_row_is_empty
    assert not Mask(REAL).some_row_is_empty and not Mask(REAL, first_query=0).some_row_is_empty


def test_translating_does_not_spoil_training() -> None:
    """Tables that were made in inference mode may be used where gradients are kept."""
    model = random_model(width=12, heads=3)  # a width that no other test uses: its positions are made here
    with torch.inference_mode():
        model(SOURCE, REAL, TARGET)
    model(SOURCE, REAL, TARGET).sum().backward()
    with trace(model, gradients=True) as seen:
        model(SOURCE, REAL, TARGET)
    assert seen["decoder.embedded"].tensor.requires_grad
