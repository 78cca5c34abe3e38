"""Edits: each is exactly what a second model by loops computes; joined, patched, in a search; gradients."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from by_hand import ByHand, Changes
from small_models import SOURCE, TARGET, interrupt, run, small_model, traced
from torch import Tensor

import pellucid
from pellucid.errors import UsageError
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
from pellucid.seeing.gradients import gradients
from pellucid.seeing.records import UnknownTensor
from pellucid.seeing.trace import Edit, trace

OWN, CROSS, ENCODER = (
    "decoder.layers.2.self_attention",
    "decoder.layers.4.cross_attention",
    "encoder.layers.3.self_attention",
)
FIRST, LAST = "decoder.layers.0.self_attention", "decoder.layers.1.cross_attention"  # of the small model
EDITS: dict[str, tuple[Mapping[str, Edit], Changes]] = {
    "nothing": ({"decoder.logits": lambda logits: logits}, Changes()),
    "mask lifted": (lift_mask(OWN), Changes(lifted={(OWN, 0), (OWN, 1)})),
    "mask lifted and uniform": (
        together(lift_mask(OWN, 1), silence(OWN, 1, "uniform")),
        Changes(lifted={(OWN, 1)}, silent={(OWN, 1): "uniform"}),
    ),
    "mask lifted everywhere": (
        lift_mask("decoder.layers.*.self_attention"),
        Changes(lifted={(f"decoder.layers.{n}.self_attention", head) for n in range(6) for head in (0, 1)}),
    ),
    "three kinds of silence": (
        together(silence(OWN, 0, "uniform"), silence(OWN, 1, "mean"), silence(CROSS, np.array([0, 1]))),
        Changes(silent={(OWN, 0): "uniform", (OWN, 1): "mean", (CROSS, 0): "zero", (CROSS, 1): "zero"}),
    ),
    "no scale": (without_scale(CROSS), Changes(unscaled={CROSS})),
    "no scale anywhere in the encoder": (
        without_scale("encoder.*.self_attention"),
        Changes(unscaled={f"encoder.layers.{n}.self_attention" for n in range(6)}),
    ),
    "weights rewritten": (
        rewrite(f"{CROSS}.weights", [0.1, 0.7, 0.0, 0.2], at=(0, 1, 2)),
        Changes(weights={(CROSS, 0, 1, 2): [0.1, 0.7, 0.0, 0.2]}),
    ),
}
for part in (ENCODER, OWN, CROSS):
    for how in ("zero", "mean", "uniform"):
        EDITS[f"{how}, {part}"] = (silence(part, 1, how), Changes(silent={(part, 1): how}))
for path in ("encoder.layers.1.residual_1", "encoder.layers.1.residual_2", "decoder.layers.5.residual_1",
             "decoder.layers.0.residual_2", "decoder.layers.5.residual_3"):  # fmt: skip
    EDITS[f"no {path}"] = (without_residual(path), Changes(no_residual={path}))


def logits(model: Transformer, changes: Mapping[str, Edit]) -> Tensor:
    with torch.no_grad(), trace(model, edits=changes):
        return model(SOURCE, SOURCE != 0, TARGET, TARGET != 0)


@pytest.mark.parametrize("norm", ["last", "first"])
@pytest.mark.parametrize("name", [*EDITS, "another run"])
def test_an_edit_changes_the_output_as_recomputed_by_hand(norm: str, name: str) -> None:
    model = small_model(norm=norm, encoder_layers=6, decoder_layers=6).double()
    edits, changes = EDITS[name] if name in EDITS else from_another_run(model)
    numbers = {name: value.detach() for name, value in model.state_dict().items()}
    expected = ByHand(model.config, numbers, changes).logits(SOURCE, SOURCE != 0, TARGET, TARGET != 0)
    plain, edited = logits(model, {}), logits(model, edits)
    real = TARGET != 0  # the numbers at padding do not matter
    assert (edited - expected)[real].abs().max() < 1e-9
    assert ((edited - plain)[real].abs().max() > 1e-6) == (name != "nothing")


def from_another_run(model: Transformer) -> tuple[Mapping[str, Edit], Changes]:
    path = "decoder.layers.1.residual_2"
    with torch.no_grad(), trace(model, only=f"{path}.output") as other:
        model(SOURCE.flip(0), SOURCE.flip(0) != 0, TARGET, TARGET != 0)
    return patch(other, f"{path}.output"), Changes(instead={path: other[f"{path}.output"].tensor})


@pytest.mark.parametrize("norm", ["last", "first"])
def test_every_name_can_be_edited_and_what_follows_changes(norm: str) -> None:
    model = small_model(norm=norm)
    plain = run(model)
    for name, record in traced(model).items():
        # Softmax and norms undo a plain shift, so the shift is another one for each entry.
        spread = torch.arange(1.0 if record.axes[-1] in "LM" else float(record.tensor.shape[-1]))
        change = {name: lambda tensor, spread=spread: 1.5 * tensor + spread}
        with trace(model, only=name, edits=change) as found:
            edited = run(model)
        assert len(found) == 1
        # In a mask 0 and -inf stay as they are; nothing comes after the softmax.
        follows = name.rpartition(".")[2] not in ("mask", "probabilities")
        assert torch.allclose(edited, plain, atol=1e-4) != follows, name


def test_edits_of_one_tensor_follow_one_another() -> None:
    name, plain = "decoder.embedded", traced(small_model())
    add, double = (lambda x: x + 1), (lambda x: 2 * x)
    for changes in ({"*.embedded": add, name: double}, together({name: add}, {name: double})):
        edited = traced(small_model(), edits=changes)
        assert torch.equal(edited[name].tensor, 2 * (plain[name].tensor + 1))


def test_an_edit_in_place_leaves_what_is_shared_alone() -> None:
    model = small_model()
    before = run(model)
    found = traced(model, edits={"encoder.positions": lambda table: table.mul_(0)})
    assert not found["encoder.positions"].tensor.any()
    assert torch.equal(run(model), before)


def test_an_edit_of_a_pass_may_be_used_again_and_in_other_threads() -> None:
    """What an edit keeps of one pass must not reach another."""
    model = small_model()
    change = together(without_residual("decoder.layers.*.residual_2"), without_scale(LAST))
    expected, found = logits(model, change), []

    def elsewhere() -> None:
        with torch.no_grad(), trace(model, only="decoder.logits", edits=change):
            found.append(model(SOURCE[:1, :2], None, TARGET[:1, :2]))

    # After these are kept, and before what is kept is used.
    between = dict.fromkeys((f"{LAST}.scores", f"{LAST}.output"), interrupt(elsewhere))
    assert torch.equal(logits(model, together(change, between)), expected)
    elsewhere()
    assert torch.equal(found[0], found[-1]) and torch.equal(logits(model, change), expected)


@pytest.mark.parametrize("at", [np.int64(1), [1], (1, ...), (slice(1, 2), [0, 1]), ([1], -1)])
def test_a_place_chooses_as_in_numpy(at: Any) -> None:
    changed, expected = (
        traced(small_model(), edits=edits)["decoder.embedded"].tensor.numpy()
        for edits in (rewrite("decoder.embedded", 7.0, at=at), {})
    )
    expected[tuple(at) if isinstance(at, list) else at] = 7
    assert np.array_equal(changed, expected)


@pytest.mark.parametrize(
    "make,message",
    [
        (lambda: silence(FIRST, 0, "quiet"), "how = 'quiet' is not known. A head is silenced with zero, "),
        (lambda: lift_mask(LAST), f'part = "{LAST}" has no causal mask: only the decoder'),
        (lambda: lift_mask("encoder.layers.0.self_attention"), "has no causal mask: only the decoder"),
        (lambda: without_residual("encoder.layers.0.residual_3"), 'residual_3" is not a residual conn'),
        (lambda: patch({}), "patch: no name is given. Name tensors of the trace, such as decoder.embedded."),
        (lambda: patch({"decoder.embedded": [[1.0]]}, "decoder.*"), "the edit of decoder.embedded returned"),
    ],
)  # fmt: skip
def test_what_would_be_silently_wrong_is_refused(make: Any, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        traced(small_model(), edits=make())


# Of the demo model: a saved run, a search, and the pass of an explanation once more

HEAD, CATS = LAST, "I like cats"


@pytest.fixture(scope="module")
def explained() -> Any:
    return pellucid.load("demo", "cpu").explain(CATS, to="es")


@pytest.mark.parametrize(
    "changes",
    [
        silence(HEAD, [0, 1, 2, 3]),
        silence("decoder.layers.*.cross_attention", [0, 1, 2, 3], "uniform"),
        without_scale("decoder.layers.0.self_attention"),
        without_residual("decoder.layers.1.residual_2"),
    ],
    ids=["silent", "uniform", "unscaled", "no residual"],
)
def test_a_search_with_edits_computes_what_an_edited_pass_does(explained: Any, changes: Any) -> None:
    demo = explained.translator
    plain = demo.translate(CATS, to="es")
    with pellucid.editing(demo.model, changes):
        said = demo.translate(CATS, to="es", beam=4)
    again, best = demo.explain(CATS, to="es", target=said.text).again(changes), said.hypotheses[0]
    log_p = again["decoder.logits"].tensor[0].log_softmax(-1)
    parallel = [float(log_p[place, token]) for place, token in enumerate(best.token_ids)]
    assert best.log_probabilities == pytest.approx(parallel, abs=1e-4)
    assert said.score != plain.score and demo.translate(CATS, to="es") == plain, "afterwards all is as it was"


@pytest.mark.parametrize(
    "changes,message",
    [
        ({"decoder.logit": lambda logits: logits}, r"Nearest: decoder\.logits"),
        (silence(HEAD, 2, "mean"), "needs all positions"),
    ],
)
def test_what_editing_refuses(explained: Any, changes: Any, message: str) -> None:
    demo = explained.translator
    with pytest.raises(UsageError, match=message), pellucid.editing(demo.model, changes):
        demo.translate(CATS, to="es")


def test_the_same_pass_again(explained: Any) -> None:
    again = explained.again()
    assert list(again) == list(explained.trace)
    for name, record in again.items():
        assert torch.equal(record.tensor, explained.trace[name].tensor), name
        assert record.tokens == explained.trace[name].tokens
    few = explained.again(only=["*.weights", "decoder.logits"])
    assert set(few) == {*explained.trace.matching("*.weights"), "decoder.logits"}
    silent = explained.again(silence(HEAD, 2))
    assert float(silent[f"{HEAD}.context"].tensor[0, 2].abs().max()) == 0
    assert not torch.equal(silent["decoder.logits"].tensor, explained.trace["decoder.logits"].tensor)


def test_patching_from_a_saved_run(explained: Any, tmp_path: Path) -> None:
    other, weights = explained.translator.explain("I like dogs", to="es"), f"{HEAD}.weights"
    other.to_npz(tmp_path / "dogs.npz")
    with np.load(tmp_path / "dogs.npz") as file:
        saved = dict(file)
    assert set(patch(saved, "*")) == {name for name in saved if "." in name}
    patched = explained.again(patch(saved, "encoder.output"))
    direct = explained.again(patch(other.trace, "encoder.output"))
    assert torch.equal(patched["decoder.logits"].tensor, direct["decoder.logits"].tensor)
    best = patched["decoder.probabilities"].tensor[0, 3].argmax()
    assert explained.vocabulary.target_tokens([int(best)]) == ["perros"], (
        "it now says what the other source was"
    )
    with pytest.raises(UnknownTensor, match=r'no tensor is called "encoder\.outputs"'):
        patch(other.trace, "encoder.outputs")
    # An edit may write into what it gets: that must not be the recording.
    before = other.trace[weights].tensor.clone()
    look = rewrite(weights, [0, 1, 0, 0, 0], at=(0, 2, 1))
    for other_run in (other.trace, saved):
        again = explained.again(together(patch(other_run, weights), look))
        assert again[weights].tensor[0, 2, 1].tolist() == [0, 1, 0, 0, 0]
    assert torch.equal(other.trace[weights].tensor, before)
    assert np.array_equal(saved[weights], before.numpy())


@pytest.mark.parametrize(
    ("changes", "kept", "rewritten"),
    [
        (without_residual("decoder.layers.0.residual_2"), "decoder.layers.0.cross_attention.output",
         "decoder.layers.0.residual_2.sum"),
        (without_scale(HEAD), f"{HEAD}.scores", f"{HEAD}.scaled_scores"),
    ],
)  # fmt: skip
def test_a_recording_with_its_graph_is_not_written_into(
    explained: Any, changes: Any, kept: str, rewritten: str
) -> None:
    again = explained.again(together(changes, rewrite(rewritten, 0.0, at=(0, 1))), gradients=True)
    assert float(again[rewritten].tensor[0, 1].detach().abs().max()) == 0
    assert torch.equal(again[kept].tensor.detach(), explained.again(changes)[kept].tensor)


# Gradients


def log_p(model: Transformer) -> Tensor:
    return run(model).log_softmax(-1)[0, 1, 5]


def test_a_gradient_is_the_difference_that_a_small_change_makes() -> None:
    model = small_model().double()
    with trace(model, gradients=True) as here:
        number = log_p(model)
    found = gradients(number, here)
    constant = {name for name in here if name.rpartition(".")[2] in ("mask", "positions")}
    assert set(found) == set(here) - constant
    for name, gradient in found.items():
        values = here[name].tensor.detach()
        assert gradient.shape == values.shape
        place = tuple(int(index) for index in (gradient.abs() == gradient.abs().max()).nonzero()[0])
        ends = []
        for step in (1e-6, -1e-6):
            with torch.no_grad(), trace(model, edits=rewrite(name, float(values[place]) + step, at=place)):
                ends.append(float(log_p(model)))
        assert (ends[0] - ends[1]) / 2e-6 == pytest.approx(float(gradient[place]), rel=1e-4, abs=1e-7), name
    assert found[f"{FIRST}.weights"].any()
    assert not found["decoder.logits"][1].any(), "the other sentence has no influence"
    assert not found["decoder.probabilities"].any(), "nothing comes after the softmax"


def test_gradients_pass_through_an_edit_and_need_the_graph_of_this_pass() -> None:
    model = small_model()
    change = together(silence(FIRST, 0, "mean"), silence(LAST, 1, "uniform"))
    with trace(model, edits=change, gradients=True) as here:
        number = log_p(model)
    found = gradients(number, here)[f"{FIRST}.values"]
    assert found.isfinite().all() and found.any()
    assert torch.equal(gradients(number, here)[f"{FIRST}.values"], found), "they can be asked for again"
    plain = traced(model)
    with pytest.raises(UsageError, match="the trace has no autograd graph: make it with trace"):
        gradients(number, plain)
    with pytest.raises(UsageError, match="no tensor of the trace leads to this number"):
        gradients(log_p(model), here)
