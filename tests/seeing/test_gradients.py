"""Gradients by name, against finite differences through an edit."""

import pytest
import torch
from test_see import SOURCE, TARGET, contract, small_model
from torch import Tensor

from pellucid.errors import UsageError
from pellucid.model import Transformer
from pellucid.seeing.edits import rewrite
from pellucid.seeing.gradients import gradients
from pellucid.seeing.trace import trace


def loss(model: Transformer) -> Tensor:
    return model(SOURCE, SOURCE != 0, TARGET).log_softmax(-1)[0, 1, 5]


def test_a_gradient_is_the_difference_that_a_small_change_makes() -> None:
    model = small_model().double()
    with trace(model, gradients=True) as seen:
        number = loss(model)
    found = gradients(number, seen)
    constant = {name for name in contract("last", 1, 2) if name.rpartition(".")[2] in ("mask", "positions")}
    assert set(found) == set(seen) - constant
    for name, gradient in found.items():
        values = seen[name].tensor.detach()
        assert gradient.shape == values.shape
        place = tuple(int(index) for index in (gradient.abs() == gradient.abs().max()).nonzero()[0])
        ends = []
        for step in (1e-6, -1e-6):
            with torch.no_grad(), trace(model, edits=rewrite(name, float(values[place]) + step, at=place)):
                ends.append(float(loss(model)))
        assert (ends[0] - ends[1]) / 2e-6 == pytest.approx(float(gradient[place]), rel=1e-4, abs=1e-7), name
    assert found["decoder.layers.0.self_attention.weights"].any()
    assert not found["decoder.logits"][1].any(), "the other sentence has no influence"
    assert not found["decoder.probabilities"].any(), "nothing comes after the softmax"


def test_what_has_no_gradients() -> None:
    model = small_model()
    with trace(model) as plain:
        number = loss(model)
    with pytest.raises(UsageError) as error:
        gradients(number, plain)
    assert str(error.value) == "the trace kept no graph: make it with trace(model, gradients=True)."
    with trace(model, gradients=True) as seen:
        logits = model(SOURCE, SOURCE != 0, TARGET)
    with pytest.raises(UsageError) as error:
        gradients(logits, seen)
    assert str(error.value) == (
        "gradients are of one number that the model computed, and this is a tensor (2, 3, 11). Give a loss, "
        "such as logits.sum(), computed without torch.no_grad()."
    )
    with pytest.raises(UsageError, match=r"a tensor \(\) without a graph"):
        gradients(torch.tensor(1.0), seen)
    with pytest.raises(UsageError) as error:
        gradients(logits.sum(), None)  # type: ignore[arg-type]
    assert str(error.value) == (
        "trace is a NoneType and must be a trace: what `with trace(model, gradients=True) as seen` gave."
    )
    with pytest.raises(
        UsageError, match=r"and this is 3\.5, which Python holds without its graph\. Give the"
    ):
        gradients(3.5, seen)  # type: ignore[arg-type]


def test_a_number_of_another_pass_has_no_gradients_here() -> None:
    model = small_model()
    with trace(model, gradients=True) as seen:
        here = loss(model)
    for number in (loss(model), torch.ones((), requires_grad=True) * 2):
        with pytest.raises(UsageError) as error:
            gradients(number, seen)
        assert str(error.value) == (
            "no tensor of the trace leads to this number: it comes from another pass, or from what was "
            "computed before these tensors. Compute it inside this trace, from what the model returned."
        )
    assert gradients(here, seen)["encoder.output"].any()


def test_gradients_come_before_backward() -> None:
    model = small_model()
    with trace(model, gradients=True) as seen:
        number = loss(model)
    first = gradients(number, seen)
    number.backward(retain_graph=True)
    assert all(torch.equal(first[name], again) for name, again in gradients(number, seen).items())
    number.backward()
    with pytest.raises(UsageError) as error:
        gradients(number, seen)
    assert str(error.value) == (
        "the graph of this number is gone: backward() freed it. Ask for the gradients before it, or call "
        "backward(retain_graph=True)."
    )
