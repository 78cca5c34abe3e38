"""The table of tensors names every tensor of a pass, and says what it is made of."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from small_models import small_model

from pellucid.model import Norm, Transformer
from pellucid.reading.tensors import describe, kinds, made_of
from pellucid.seeing.trace import Trace, trace


def passed(**settings: Any) -> tuple[Transformer, Trace]:
    model = small_model(activation="gelu", encoder_layers=2, **settings)
    with torch.no_grad(), trace(model) as seen:
        model(torch.tensor([[4, 6, 3]]), None, torch.tensor([[2, 5]]))
    return model, seen


# What the operations of the table do with tensors and parameters.
OPERATIONS: dict[str, Callable[..., torch.Tensor]] = {
    "linear": F.linear,
    "product of heads": lambda x, *weights: F.linear(x, *weights).unflatten(-1, (2, -1)).transpose(1, 2),
    "product": torch.matmul,
    "product with keys": lambda x, y: x @ y.mT,
    "scale": lambda x: x / 4**0.5,
    "plus": torch.add,
    "softmax": lambda x: x.softmax(-1),
    "concatenate": lambda x: x.transpose(1, 2).flatten(2),
    "same": lambda x: x,
    "activation": F.gelu,
    "mean": lambda x: x.mean(-1),
    "variance": lambda x: x.var(-1, correction=0),
    "standardize": lambda x, mean, variance: (
        (x - mean[..., None]) / (variance[..., None] + Norm.epsilon).sqrt()
    ),
    "affine": lambda x, weight, bias: x * weight + bias,
}


def made_again(name: str, model: Transformer, seen: Trace) -> torch.Tensor | None:
    """Do what the table says, with the tensors and parameters that it names; None for what reads ids."""
    tensors, parameters = made_of(name, model.config)
    by = describe(name).by
    if by == "linear" and "H" in seen[name].axes:
        by = "product of heads"
    elif name.endswith(".scores"):
        by = "product with keys"
    given = [seen[each].tensor for each in tensors] + [model.state_dict()[each] for each in parameters]
    return OPERATIONS[by](*given) if by in OPERATIONS else None


@pytest.mark.parametrize("norm", ["first", "last"])
@pytest.mark.parametrize(
    "matrices",
    [{}, {"tied": False, "output_bias": True}, {"target_vocabulary": 7}],
    ids=["tied", "untied", "two vocabularies"],
)
def test_every_tensor_is_made_as_the_table_says(norm: str, matrices: dict[str, Any]) -> None:
    model, seen = passed(norm=norm, **matrices)
    rest = set()
    for name, record in seen.items():
        row, again = describe(name), made_again(name, model, seen)
        assert row.axes == record.axes, name
        if again is None:
            rest.add(row.name)
            continue
        torch.testing.assert_close(
            again, record.tensor, atol=1e-5, rtol=1e-5, msg=lambda text, of=name: f"{of}: {text}"
        )
    assert rest == {"attention.mask", "stack.token_embeddings", "stack.positions"}
    _, embedding = made_of("decoder.token_embeddings", model.config)
    looked = model.state_dict()[embedding[0]][torch.tensor([[2, 5]])] * model.config.width**0.5
    torch.testing.assert_close(looked, seen["decoder.token_embeddings"].tensor)


def test_the_table_has_no_row_too_many() -> None:
    """And each row says its words."""
    _, seen = passed(norm="first")
    assert {describe(name).name for name in seen} == set(kinds())
    for row in kinds().values():
        assert row.symbol and row.title and row.equation and row.reading and row.role in "qkvwx", row.name
        assert row.notes or row.name in ("decoder.logits", "decoder.probabilities")
    with pytest.raises(KeyError):
        describe("decoder.layers.0.self_attention.nothing")
