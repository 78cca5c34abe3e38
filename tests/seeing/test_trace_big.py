"""Six layers in each stack: every tensor of the contract, every edit against a second model written by loops,
nothing changed by looking, and nothing left of seeing in what is compiled."""

from collections.abc import Mapping
from typing import Any

import pytest
import torch
from by_hand import ByHand, Changes
from test_see import contract, small_model
from torch import Tensor

from pellucid.model import Transformer
from pellucid.seeing.edits import (
    lift_mask,
    patch,
    rewrite,
    silence,
    together,
    without_residual,
    without_scale,
)
from pellucid.seeing.sizes import trace_bytes
from pellucid.seeing.trace import Edit, trace
from pellucid.seeing.watching import Part

SOURCE = torch.tensor([[5, 7, 4, 8, 3], [9, 6, 3, 0, 0]])
TARGET = torch.tensor([[2, 5, 8, 9], [2, 6, 4, 0]])
SIX = {"encoder_layers": 6, "decoder_layers": 6}
OWN, CROSS, ENCODER = (
    "decoder.layers.2.self_attention",
    "decoder.layers.4.cross_attention",
    "encoder.layers.3.self_attention",
)


def big_model(norm: str = "last", dtype: torch.dtype = torch.float64) -> Transformer:
    return small_model(norm=norm, **SIX).to(dtype)


def run(model: Transformer) -> Tensor:
    return model(SOURCE, SOURCE != 0, TARGET, TARGET != 0)


@pytest.mark.parametrize("norm", ["last", "first"])
def test_every_tensor_of_the_contract(norm: str) -> None:
    model = big_model(norm)
    with torch.no_grad(), trace(model) as seen:
        run(model)
    assert {name: record.axes for name, record in seen.items()} == contract(norm, 6, 6)
    assert trace_bytes(model, 5, 4, 2) == sum(record.tensor.nbytes for record in seen.values())


@pytest.mark.parametrize("norm", ["last", "first"])
@pytest.mark.parametrize("dtype,tolerance", [(torch.float32, 1e-5), (torch.float64, 1e-9)])
def test_watched_is_unwatched(norm: str, dtype: torch.dtype, tolerance: float) -> None:
    model = big_model(norm, dtype)
    with torch.no_grad():
        expected = run(model)
        with trace(model):
            watched = run(model)
    assert (watched - expected).abs().max() < tolerance


EDITS: dict[str, tuple[Mapping[str, Edit], Changes]] = {
    "nothing": ({"decoder.logits": lambda logits: logits}, Changes()),
    "zero, encoder": (silence(ENCODER, 1), Changes(silent={(ENCODER, 1): "zero"})),
    "zero, cross": (silence(CROSS, 0), Changes(silent={(CROSS, 0): "zero"})),
    "mean, encoder": (silence(ENCODER, 0, "mean"), Changes(silent={(ENCODER, 0): "mean"})),
    "mean, decoder": (silence(OWN, 1, "mean"), Changes(silent={(OWN, 1): "mean"})),
    "mean, cross": (silence(CROSS, 1, "mean"), Changes(silent={(CROSS, 1): "mean"})),
    "uniform, encoder": (silence(ENCODER, 0, "uniform"), Changes(silent={(ENCODER, 0): "uniform"})),
    "uniform, decoder": (silence(OWN, 1, "uniform"), Changes(silent={(OWN, 1): "uniform"})),
    "uniform, cross": (silence(CROSS, 0, "uniform"), Changes(silent={(CROSS, 0): "uniform"})),
    "two heads": (
        silence(OWN, [0, 1], "uniform"),
        Changes(silent={(OWN, 0): "uniform", (OWN, 1): "uniform"}),
    ),
    "two kinds of silence": (
        together(silence(OWN, 0, "uniform"), silence(OWN, 1, "mean"), silence(CROSS, 1)),
        Changes(silent={(OWN, 0): "uniform", (OWN, 1): "mean", (CROSS, 1): "zero"}),
    ),
    "mask lifted": (lift_mask(OWN), Changes(lifted={(OWN, 0), (OWN, 1)})),
    "mask lifted for a head": (lift_mask(OWN, 1), Changes(lifted={(OWN, 1)})),
    "mask lifted and uniform": (
        together(lift_mask(OWN, 1), silence(OWN, 1, "uniform")),
        Changes(lifted={(OWN, 1)}, silent={(OWN, 1): "uniform"}),
    ),
    "mask lifted everywhere": (
        lift_mask("decoder.layers.*.self_attention"),
        Changes(lifted={(f"decoder.layers.{n}.self_attention", head) for n in range(6) for head in (0, 1)}),
    ),
    "no scale": (without_scale(CROSS), Changes(unscaled={CROSS})),
    "no scale anywhere in self-attention": (
        without_scale("*.self_attention"),
        Changes(
            unscaled={f"{s}.layers.{n}.self_attention" for s in ("encoder", "decoder") for n in range(6)}
        ),
    ),
    "weights rewritten": (
        rewrite(f"{CROSS}.weights", [0.1, 0.7, 0.0, 0.2, 0.0], at=(0, 1, 2)),
        Changes(weights={(CROSS, 0, 1, 2): [0.1, 0.7, 0.0, 0.2, 0.0]}),
    ),
}
for stack, layer, numbers in (("encoder", 1, (1, 2)), ("decoder", 5, (1, 2, 3)), ("decoder", 0, (1, 2, 3))):
    for number in numbers:
        path = f"{stack}.layers.{layer}.residual_{number}"
        EDITS[f"no {path}"] = (without_residual(path), Changes(no_residual={path}))


@pytest.mark.parametrize("norm", ["last", "first"])
@pytest.mark.parametrize("name", EDITS)
def test_an_edit_changes_the_output_as_recomputed_by_hand(norm: str, name: str) -> None:
    model = big_model(norm)
    edits, changes = EDITS[name]
    check(model, edits, changes, changes_something=name != "nothing")


@pytest.mark.parametrize("norm", ["last", "first"])
def test_a_patched_tensor_is_that_of_the_other_run(norm: str) -> None:
    model, path = big_model(norm), "decoder.layers.1.residual_2"
    with torch.no_grad(), trace(model, only=f"{path}.output") as other:
        model(SOURCE.flip(0), SOURCE.flip(0) != 0, TARGET, TARGET != 0)
    check(model, patch(other, f"{path}.output"), Changes(instead={path: other[f"{path}.output"].tensor}))


def check(
    model: Transformer, edits: Mapping[str, Edit], changes: Changes, changes_something: bool = True
) -> None:
    numbers = {name: value.detach() for name, value in model.state_dict().items()}
    expected = ByHand(model.config, numbers, changes).logits(SOURCE, SOURCE != 0, TARGET, TARGET != 0)
    with torch.no_grad():
        plain = run(model)
        with trace(model, only="decoder.logits", edits=edits):
            edited = run(model)
    real = TARGET != 0  # what stands at padding is of no account
    assert (edited - expected)[real].abs().max() < 1e-9
    assert ((edited - plain)[real].abs().max() > 1e-6) == changes_something


@pytest.mark.filterwarnings("ignore:.*lru_cache.*:UserWarning", "ignore:The .grad attribute:UserWarning")
def test_the_graph_of_the_whole_model_has_no_operation_for_seeing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dynamo's graph of the loss, six layers in each stack: the very operations that are there when every
    `see` is deleted."""
    model = small_model(**SIX)

    def loss() -> Tensor:
        logits = model(SOURCE, None, TARGET)
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), TARGET.flatten())

    def operations() -> list[str]:
        counted: list[str] = []

        def count(graph: torch.fx.GraphModule, inputs: list[Tensor]) -> Any:
            counted.extend(str(node.target) for node in graph.graph.nodes if node.op.startswith("call"))
            return graph.forward

        torch._dynamo.reset()
        torch.compile(loss, backend=count, fullgraph=True)()
        return counted

    with_see = operations()
    monkeypatch.setattr(Part, "see", lambda self, name_axes, tensor: tensor)
    without_see = operations()
    assert sum("linear" in name for name in with_see) == 6 * 6 + 6 * 10 + 1, "not the whole model"
    assert with_see == without_see
