"""Seeing: every name and its axes, nothing changed by looking, and edits that take effect."""

import re
import threading
from typing import Any

import pytest
import torch
from torch import Tensor

from pellucid.config.schema import ModelConfig
from pellucid.errors import UsageError
from pellucid.model import Transformer
from pellucid.seeing.nonfinite import find_nonfinite
from pellucid.seeing.records import AXES
from pellucid.seeing.trace import trace
from pellucid.seeing.watching import Part, watching

SOURCE = torch.tensor([[5, 7, 4, 3], [9, 3, 0, 0]])
TARGET = torch.tensor([[2, 5, 8], [2, 6, 0]])
B, L, M, H, D, K, F, V = 2, 3, 4, 2, 8, 4, 12, 11
SIZES = {"B": B, "L": L, "M": M, "H": H, "D": D, "K": K, "U": K, "F": F, "V": V}

# The contract: what a trace of each part holds, with its axes.
STACK = {"token_embeddings": "BLD", "positions": "LD", "embedded": "BLD", "output": "BLD"}
ATTENTION = {
    "queries": "BHLK",
    "keys": "BHMK",
    "values": "BHMU",
    "scores": "BHLM",
    "scaled_scores": "BHLM",
    "mask": "BHLM",
    "masked_scores": "BHLM",
    "weights": "BHLM",
    "context": "BHLU",
    "concatenated": "BLD",
    "output": "BLD",
}
FEED_FORWARD = {"hidden": "BLF", "activated": "BLF", "output": "BLD"}
RESIDUAL = {"sum": "BLD", "output": "BLD"}
NORM = {"mean": "BL", "variance": "BL", "standardized": "BLD", "output": "BLD"}


def contract(norm: str, encoder_layers: int, decoder_layers: int) -> dict[str, str]:
    parts: dict[str, dict[str, str]] = {
        "encoder": STACK,
        "decoder": STACK | {"logits": "BLV", "probabilities": "BLV"},
    }
    for stack, layers in (("encoder", encoder_layers), ("decoder", decoder_layers)):
        attentions = ["self_attention"] if stack == "encoder" else ["self_attention", "cross_attention"]
        for number in range(layers):
            layer = f"{stack}.layers.{number}"
            parts |= {f"{layer}.{attention}": ATTENTION for attention in attentions} | {
                f"{layer}.feed_forward": FEED_FORWARD
            }
            for k in range(1, len(attentions) + 2):
                parts |= {f"{layer}.residual_{k}": RESIDUAL, f"{layer}.residual_{k}.norm": NORM}
        if norm == "first":
            parts[f"{stack}.norm"] = NORM
    return {f"{path}.{name}": axes for path, names in parts.items() for name, axes in names.items()}


def small_model(**settings: Any) -> Transformer:
    torch.manual_seed(0)
    config = dict(vocabulary=V, width=D, heads=H, hidden=F, encoder_layers=1, decoder_layers=2, dropout=0.0)
    model = Transformer(ModelConfig(**{**config, **settings})).eval()
    for parameter in model.parameters():  # no bias of zero, no norm that does nothing
        parameter.data += 0.1 * torch.randn(parameter.shape)
    return model


def run(model: Transformer) -> Tensor:
    return model(SOURCE, SOURCE != 0, TARGET)


@pytest.mark.parametrize("norm", ["last", "first"])
def test_every_name_of_the_contract_with_its_axes(norm: str) -> None:
    model = small_model(norm=norm)
    with trace(model) as seen:
        run_logits = run(model)
    assert {name: record.axes for name, record in seen.items()} == contract(norm, 1, 2)
    for name, record in seen.items():
        sizes = SIZES | {
            "L": M if name.startswith("encoder") else L,
            "M": L if "decoder" in name and ".self_" in name else M,
        }
        assert record.name == name
        assert tuple(record.tensor.shape) == tuple(sizes[axis] for axis in record.axes), name
        assert not record.tensor.requires_grad and record.tensor.device.type == "cpu"
    assert torch.equal(seen["decoder.logits"].tensor, run_logits.detach())
    assert set("".join(contract(norm, 1, 1).values())) == set(AXES)


@pytest.mark.parametrize("grad", [True, False], ids=["explicit", "fused"])
@pytest.mark.parametrize("norm", ["last", "first"])
@pytest.mark.parametrize(
    "dtype,tolerance", [(torch.bfloat16, 0.1), (torch.float32, 1e-5), (torch.float64, 1e-9)]
)
def test_watched_is_unwatched(norm: str, grad: bool, dtype: torch.dtype, tolerance: float) -> None:
    model = small_model(norm=norm).to(dtype)
    with torch.set_grad_enabled(grad):
        expected = run(model)
        with trace(model) as seen:
            logits = run(model)
    assert (logits - expected).abs().max() < tolerance
    assert seen["decoder.logits"].tensor.dtype == dtype
    assert torch.equal(run(model), run(model)), "looking left something behind"


def test_watched_is_unwatched_with_dropout_on() -> None:
    model = small_model(dropout=0.3, attention_dropout=0.3, activation_dropout=0.3).train()
    outputs = []
    for watch in (False, True):
        torch.manual_seed(7)
        if watch:
            with trace(model):
                outputs.append(run(model))
        else:
            outputs.append(run(model))
    assert torch.allclose(*outputs, atol=1e-5)
    assert not torch.allclose(outputs[0], run(model), atol=1e-2), "dropout was not on"


def test_watched_gradients_are_unwatched_gradients() -> None:
    model = small_model().double()
    run(model).pow(2).sum().backward()
    expected = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    model.zero_grad()
    with trace(model, gradients=True):
        run(model).pow(2).sum().backward()
    for name, parameter in model.named_parameters():
        assert torch.allclose(parameter.grad, expected[name], atol=1e-9), name


def test_gradients_keeps_the_graph() -> None:
    model = small_model()
    with trace(model, only="*.weights", gradients=True) as seen:
        loss = run(model).pow(2).sum()
    for name, record in seen.items():
        (gradient,) = torch.autograd.grad(loss, record.tensor, retain_graph=True)
        assert gradient.shape == record.tensor.shape and gradient.abs().sum() > 0, name


def test_an_edit_is_what_is_used() -> None:
    """Silence head 1 of the cross-attention; the rest of the layer is recomputed by hand."""
    model, name = small_model(), "decoder.layers.1.cross_attention"

    def silence(context: Tensor) -> Tensor:
        return torch.cat((context[:, :1], torch.zeros_like(context[:, 1:])), dim=1)

    with trace(model) as before:
        run(model)
    with trace(model, edits={f"{name}.context": silence}) as seen:
        logits = run(model)
    part = model.decoder.layers[1].cross_attention
    zeros = torch.zeros(B, L, D - K)
    concatenated = torch.cat((before[f"{name}.context"].tensor[:, 0], zeros), dim=-1)
    assert torch.equal(seen[f"{name}.context"].tensor[:, 1], torch.zeros(B, L, K))
    assert torch.allclose(seen[f"{name}.concatenated"].tensor, concatenated)
    x = seen["decoder.layers.1.residual_1.output"].tensor
    assert torch.equal(
        x, before["decoder.layers.1.residual_1.output"].tensor
    )  # before the edit nothing changes
    x = torch.layer_norm(x + part.output(concatenated), [D], *norm_of(model, 2))
    feed_forward = model.decoder.layers[1].feed_forward
    x = torch.layer_norm(x + feed_forward.outer(feed_forward.inner(x).relu()), [D], *norm_of(model, 3))
    assert torch.allclose(logits, x @ model.embedding.weight.T, atol=1e-5)
    assert not torch.allclose(logits, before["decoder.logits"].tensor, atol=1e-3)


def norm_of(model: Transformer, k: int) -> tuple[Tensor, Tensor]:
    norm = getattr(model.decoder.layers[1], f"residual_{k}").norm
    return norm.weight, norm.bias


@pytest.mark.parametrize("norm", ["last", "first"])
def test_every_name_can_be_edited_and_what_follows_changes(norm: str) -> None:
    model = small_model(norm=norm)
    plain = run(model)
    for name, axes in contract(norm, 1, 2).items():
        spread = torch.arange(
            float(SIZES[axes[-1]] if axes[-1] not in "LM" else 1)
        )  # softmax and norms undo a plain shift
        with trace(
            model, only=name, edits={name: lambda tensor, spread=spread: 1.5 * tensor + spread}
        ) as seen:
            logits = run(model)
        assert len(seen) == 1
        follows = name.rpartition(".")[2] not in (
            "mask",
            "probabilities",
        )  # 0 and -inf stay so; nothing comes after the softmax
        assert torch.allclose(logits, plain, atol=1e-4) != follows, name


def test_lifting_the_mask_lets_the_future_in() -> None:
    model = small_model(decoder_layers=1)
    later = TARGET.clone()
    later[:, 2] = 7
    lift = {"decoder.layers.*.self_attention.mask": torch.zeros_like}
    first_rows = []
    for edits in ({}, lift):
        for target in (TARGET, later):
            with trace(model, only="decoder.logits", edits=edits):
                first_rows.append(model(SOURCE, SOURCE != 0, target)[:, 0])
    assert torch.equal(first_rows[0], first_rows[1])
    assert not torch.allclose(first_rows[2], first_rows[3], atol=1e-4)


def test_a_glob_edits_all_that_match_and_edits_follow_one_another() -> None:
    model = small_model()
    double = {
        "*.feed_forward.output": lambda x: 2 * x,
        "decoder.layers.0.feed_forward.output": lambda x: x + 1,
    }
    with trace(model, only="*.feed_forward.*") as before:
        run(model)
    with trace(model, only="*.feed_forward.*", edits=double) as seen:
        run(model)
    first, second = "encoder.layers.0.feed_forward.output", "decoder.layers.0.feed_forward"
    assert torch.allclose(seen[first].tensor, 2 * before[first].tensor)
    outer = model.decoder.layers[0].feed_forward.outer
    assert torch.allclose(
        seen[f"{second}.output"].tensor, 2 * outer(seen[f"{second}.activated"].tensor) + 1, atol=1e-6
    )


def test_an_edit_that_masks_a_whole_row_gives_weights_of_zero() -> None:
    model = small_model()
    edits = {"*.cross_attention.mask": lambda mask: torch.full_like(mask, float("-inf"))}
    with trace(model, edits=edits) as seen:
        logits = run(model)
    assert not seen["decoder.layers.0.cross_attention.weights"].tensor.any()
    assert logits.isfinite().all()


def test_only_keeps_what_matches() -> None:
    model = small_model()
    with trace(model, only="decoder.*.weights") as seen:
        run(model)
    expected = [
        f"decoder.layers.{layer}.{part}_attention.weights" for layer in (0, 1) for part in ("self", "cross")
    ]
    assert list(seen) == expected  # in the order of computation
    assert repr(seen) == f"<Trace of 4 tensors, {expected[0]} … {expected[3]}>"
    assert "decoder.logits" not in seen


def test_several_globs_keep_what_matches_any() -> None:
    model = small_model()
    with trace(
        model, only=["decoder.logits", "encoder.*.weights", "*.layers.0.self_attention.weights"]
    ) as seen:
        run(model)
    weights = [f"{stack}.layers.0.self_attention.weights" for stack in ("encoder", "decoder")]
    assert list(seen) == [*weights, "decoder.logits"]  # each once


def test_only_the_model_itself_is_recorded_and_edited() -> None:
    """Another model with the same names runs before it, after it, and alone."""
    torch.manual_seed(3)
    model, other = small_model(), small_model()
    other.decoder.layers[0].feed_forward.inner.bias.data += 3
    expected, others = run(model), run(other)
    assert not torch.allclose(expected, others)
    with trace(model, only="decoder.*") as seen:
        run(other)
        run(model)
        run(other)
    assert torch.allclose(seen["decoder.logits"].tensor, expected, atol=1e-5)
    with trace(model, edits={"decoder.logits": lambda logits: 0 * logits}):
        assert torch.allclose(run(other), others, atol=1e-5)
        assert not run(model).any()
    with trace(model.decoder) as part:
        run(model)
    assert all(name.startswith("decoder.") for name in part) and "decoder.logits" in part
    other.decoder.layers[1].feed_forward.inner.bias.data[0] = float("nan")
    with torch.no_grad(), find_nonfinite(model) as found:
        run(other)
        run(model)
    assert found.first is None and found.passes == 1


@torch.no_grad()
def test_records_are_copies() -> None:
    """Whoever writes into one changes no other, and nothing of the model's: its table of positions, say."""
    model = small_model()
    expected = run(model)
    with trace(model) as seen:
        run(model)
    for number, record in enumerate(seen.values()):
        record.tensor.fill_(number)
    assert all((record.tensor == number).all() for number, record in enumerate(seen.values()))
    assert torch.equal(run(model), expected)


class Words:
    def source_tokens(self, ids: list[int]) -> list[str]:
        return [f"s{token}" for token in ids]

    def target_tokens(self, ids: list[int]) -> list[str]:
        return [f"t{token}" for token in ids]


def test_labels() -> None:
    model = small_model()
    with trace(model, vocabulary=Words()) as seen:
        run(model)
    cross = seen["decoder.layers.0.cross_attention.weights"]
    assert cross.labels("L") == ["t2", "t5", "t8"] and cross.labels("M") == ["s5", "s7", "s4", "s3"]
    assert cross.labels("L", sentence=1) == ["t2", "t6", "t0"] and cross.labels("M", sentence=1) == [
        "s9",
        "s3",
        "s0",
        "s0",
    ]
    assert cross.labels("H") == ["0", "1"]
    own = seen["decoder.layers.1.self_attention.scores"]
    assert own.labels("M") == own.labels("L") == ["t2", "t5", "t8"]
    encoder = seen["encoder.layers.0.self_attention.weights"]
    assert encoder.labels("L") == encoder.labels("M") == ["s5", "s7", "s4", "s3"]
    with trace(model) as seen:
        run(model)
    assert seen["decoder.layers.0.cross_attention.weights"].labels("M", sentence=1) == ["9", "3", "0", "0"]


def test_a_record_shows_its_matrix_in_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    model, name = small_model(), "decoder.layers.0.cross_attention.weights"
    with torch.no_grad(), trace(model, only=name, vocabulary=Words()) as seen:
        run(model)
    seen[name].show()
    both = capsys.readouterr().out
    seen[name].show(head=1)
    one = capsys.readouterr().out
    assert name in both and "head 0 of 2" in both and "head 1 of 2" in both and "head 0 of 2" not in one
    row = seen[name].tensor[0, 1, 2].tolist()  # what t8 asks of s5 s7 s4 s3
    (line,) = [line for line in one.splitlines() if line.split()[:1] == ["t8"]]
    assert [float(number) for number in re.findall(r"\d\.\d+", line)] == pytest.approx([*row, 1.0], abs=0.006)
    assert all(f"s{token}" in one for token in (5, 7, 4, 3))


def test_threads_do_not_see_one_anothers_watcher() -> None:
    """Another thread runs the same model in the middle of a watched pass."""
    model = small_model()
    other: list[Tensor] = []

    def elsewhere() -> None:
        with torch.no_grad():
            other.append(model(torch.tensor([[6, 3]]), None, torch.tensor([[2, 9]])))

    def interrupt(embedded: Tensor) -> Tensor:
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        return embedded

    with trace(model, edits={"decoder.embedded": interrupt}) as seen:
        logits = run(model)
    elsewhere()
    assert torch.equal(other[0], other[1])
    assert torch.allclose(logits, run(model), atol=1e-5)
    assert seen["decoder.layers.1.cross_attention.weights"].labels("M") == ["5", "7", "4", "3"]
    assert seen["decoder.layers.1.cross_attention.weights"].labels("L") == ["2", "5", "8"]


def test_nobody_watches_after_an_exception() -> None:
    model = small_model()
    with pytest.raises(ZeroDivisionError), trace(model, edits={"decoder.embedded": lambda x: x / (1 // 0)}):
        run(model)
    assert not model.encoder._forward_pre_hooks and not model.decoder._forward_pre_hooks
    with trace(model):
        run(model)


# Looking costs nothing when nobody looks.


# dynamo says, once, that it looks through functools.lru_cache (the table of positions), and asks for a .grad
@pytest.mark.filterwarnings(
    "ignore:.*lru_cache.*:UserWarning",
    "ignore:The .grad attribute of a Tensor that is not a leaf.*:UserWarning",
)
def test_a_compiled_graph_has_no_operation_for_seeing(monkeypatch: pytest.MonkeyPatch) -> None:
    model = small_model()

    def every_kind_of_part() -> Tensor:
        """One encoder layer and the projection: no part twice, because compiling takes seconds."""
        return model.logits(model.encode(SOURCE, None))

    def operations() -> list[str]:
        counted: list[str] = []

        def count(graph: torch.fx.GraphModule, inputs: list[Tensor]) -> Any:
            counted.extend(str(node.target) for node in graph.graph.nodes if node.op.startswith("call"))
            return graph.forward

        torch._dynamo.reset()
        compiled = torch.compile(every_kind_of_part, backend=count)
        assert torch.allclose(compiled(), every_kind_of_part(), atol=1e-6)
        return counted

    with_see = operations()
    monkeypatch.setattr(Part, "see", lambda self, name_axes, tensor: tensor)
    without_see = operations()
    assert sum("linear" in name for name in with_see) == 7, "the model was not compiled"
    assert with_see == without_see


@pytest.mark.filterwarnings("ignore:.*lru_cache.*:UserWarning", "ignore:The .grad attribute:UserWarning")
@pytest.mark.slow
def test_a_compiled_model_is_seen_as_it_is() -> None:
    model = small_model(decoder_layers=1)
    torch._dynamo.reset()
    compiled = torch.compile(model, backend="eager")
    with torch.no_grad():
        run(compiled)  # compiled while nobody watches
        with trace(model) as plain:
            run(model)
        with trace(compiled) as seen:
            run(compiled)
    assert list(seen) == list(plain)
    for name, record in seen.items():
        assert torch.equal(record.tensor, plain[name].tensor), name
        assert record.tokens == plain[name].tokens, name


def test_any_callable_can_watch() -> None:
    names: list[str] = []

    def first_nan(path: str, name: str, axes: str, tensor: Tensor) -> Tensor:
        if tensor.isnan().any():
            names.append(f"{path}.{name}")
        return tensor

    model = small_model()
    model.decoder.layers[1].feed_forward.inner.bias.data[0] = float("nan")
    with watching(first_nan), torch.no_grad():
        run(model)
    assert names[0] == "decoder.layers.1.feed_forward.hidden"


def test_an_edit_in_place_leaves_what_is_shared_alone() -> None:
    model = Transformer(ModelConfig(vocabulary=20, width=8, heads=2, hidden=8)).eval()
    ids, real = torch.tensor([[4, 5, 6]]), torch.ones(1, 3, dtype=torch.bool)
    before = model(ids, real, ids)
    with trace(model, edits={"encoder.positions": lambda table: table.mul_(0)}) as seen:
        model(ids, real, ids)
    assert not seen["encoder.positions"].tensor.any()
    assert torch.equal(model(ids, real, ids), before)


def test_shapes_that_do_not_belong_together_are_refused() -> None:
    model = Transformer(ModelConfig(vocabulary=20, width=8, heads=2, hidden=8)).eval()
    ids, real = torch.tensor([[4, 5, 6], [7, 8, 9]]), torch.ones(2, 3, dtype=torch.bool)
    with pytest.raises(UsageError, match="2 sources and 1 targets"):
        model(ids, real, ids[:1])
    with pytest.raises(UsageError, match=r"source_mask is \(2, 3\) of torch.float32: it must be bools"):
        model(ids, real.float(), ids)
