"""The table of tensors names every tensor of a pass, and says what it is made of."""

import itertools

import pytest
import torch
import torch.nn.functional as F

from pellucid.config.schema import ModelConfig
from pellucid.model import Norm, Transformer
from pellucid.reading.tensors import describe, kinds, origin
from pellucid.seeing.trace import Trace, trace

SHAPE = dict(vocabulary=9, width=8, heads=2, hidden=12, encoder_layers=2, decoder_layers=2, activation="gelu")
MODELS = {
    f"{norm}, {matrices}": ModelConfig(**SHAPE, norm=norm, **settings)  # type: ignore[arg-type]
    for norm, (matrices, settings) in itertools.product(
        ("first", "last"),
        {
            "tied": {},
            "untied": {"tied": False, "output_bias": True},
            "two vocabularies": {"target_vocabulary": 7},
        }.items(),
    )
}


def passed(config: ModelConfig) -> tuple[Transformer, Trace]:
    torch.manual_seed(1)
    model = Transformer(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    with torch.no_grad(), trace(model) as seen:
        model(torch.tensor([[4, 6, 3]]), None, torch.tensor([[2, 5]]))
    return model, seen


def made_again(name: str, model: Transformer, seen: Trace) -> torch.Tensor | None:
    """Do what the table says, with the tensors and parameters that it names; None for what reads ids."""
    made, config = origin(name, model.config), model.config
    x = [seen[each].tensor for each in made.of]
    weights = [model.state_dict()[each] for each in made.parameters]
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


@pytest.mark.parametrize("config", MODELS.values(), ids=MODELS)
def test_every_tensor_is_made_as_the_table_says(config: ModelConfig) -> None:
    model, seen = passed(config)
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
    embedding = origin("decoder.token_embeddings", config).parameters
    scale = config.width**0.5
    looked = model.state_dict()[embedding[0]][torch.tensor([[2, 5]])] * scale
    torch.testing.assert_close(looked, seen["decoder.token_embeddings"].tensor)


def test_the_table_has_no_row_too_many() -> None:
    """And each row says its words."""
    _, seen = passed(MODELS["first, tied"])
    assert {describe(name).name for name in seen} == set(kinds())
    for row in kinds().values():
        assert row.symbol and row.title and row.equation and row.reading and row.role in "qkvwx", row.name
        assert row.notes or row.name in ("decoder.logits", "decoder.probabilities")
    with pytest.raises(KeyError):
        describe("decoder.layers.0.self_attention.nothing")
