"""The table of tensors names every tensor of a pass, and says what it is made of."""

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


def made_again(name: str, model: Transformer, seen: Trace) -> torch.Tensor | None:
    """Do what the table says, with the tensors and parameters that it names; None for what reads ids."""
    config = model.config
    tensors, parameters = made_of(name, config)
    x = [seen[each].tensor for each in tensors]
    weights = [model.state_dict()[each] for each in parameters]
    axes = seen[name].axes
    match describe(name).by:
        case "linear":
            product = F.linear(x[0], *weights)
            return product.unflatten(-1, (config.heads, -1)).transpose(1, 2) if "H" in axes else product
        case "product":
            return x[0] @ (x[1] if name.endswith("context") else x[1].mT)
        case "scale":
            return x[0] / (config.width // config.heads) ** 0.5
        case "plus":
            return x[0] + x[1]
        case "softmax":
            return x[0].softmax(-1)
        case "concatenate":
            return x[0].transpose(1, 2).flatten(2)
        case "same":
            return x[0]
        case "activation":
            return F.gelu(x[0])
        case "mean":
            return x[0].mean(-1)
        case "variance":
            return x[0].var(-1, correction=0)
        case "standardize":
            return (x[0] - x[1][..., None]) / (x[2][..., None] + Norm.epsilon).sqrt()
        case "affine":
            return x[0] * weights[0] + weights[1]
    return None


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
