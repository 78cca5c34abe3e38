"""What edits refuse and how they join; the bytes of a trace; the first number that is none. That each edit is
exact, tests/test_trace_big.py shows against a second model."""

import math
import threading
from pathlib import PurePath
from typing import Any

import numpy as np
import pytest
import torch
from test_see import SOURCE, TARGET, Words, small_model
from torch import Tensor

import pellucid
from pellucid import edits
from pellucid.errors import UsageError
from pellucid.model import Transformer
from pellucid.seeing.nonfinite import find_nonfinite
from pellucid.seeing.records import UnknownTensor
from pellucid.seeing.sizes import trace_bytes
from pellucid.seeing.trace import Edit, Trace, trace

OWN, CROSS = "decoder.layers.0.self_attention", "decoder.layers.1.cross_attention"


def seen(model: Transformer, changes: dict[str, Edit], only: str = "*") -> Trace:
    with torch.no_grad(), trace(model, only=only, edits=changes) as found:
        model(SOURCE, SOURCE != 0, TARGET, TARGET != 0)
    return found


def logits(model: Transformer, changes: dict[str, Edit]) -> Tensor:
    return seen(model, changes, "decoder.logits")["decoder.logits"].tensor


# Edits


def test_uniform_weights_are_equal_over_what_may_be_looked_at() -> None:
    part = "encoder.layers.0.self_attention"
    weights = seen(small_model(), edits.silence(part, 1, "uniform"))[f"{part}.weights"].tensor
    assert torch.equal(weights[0, 1], torch.full((4, 4), 0.25))
    assert torch.equal(weights[1, 1], torch.tensor([[0.5, 0.5, 0.0, 0.0]] * 4))  # two of four are padding
    causal = seen(small_model(), edits.silence(OWN, 0, "uniform"))[f"{OWN}.weights"].tensor[0, 0]
    assert torch.equal(causal, torch.tensor([[1, 0, 0], [1 / 2, 1 / 2, 0], [1 / 3, 1 / 3, 1 / 3]]))


def test_lifting_the_causal_mask_leaves_padding_masked() -> None:
    mask = seen(small_model(), edits.lift_mask(OWN, 1))[f"{OWN}.mask"].tensor
    assert (mask[0, 0] == -math.inf).tolist() == [[False, True, True], [False, False, True], [False] * 3]
    assert not mask[0, 1].any()
    assert (mask[1, 1] == -math.inf).tolist() == [[False, False, True]] * 3


def test_an_edit_of_a_pass_may_be_used_again_and_in_other_threads() -> None:
    """What an edit keeps of one pass must not reach another."""
    model = small_model()
    change = edits.together(edits.without_residual("decoder.layers.*.residual_2"), edits.without_scale(CROSS))
    expected, found = logits(model, change), []

    def elsewhere() -> None:
        with torch.no_grad(), trace(model, only="decoder.logits", edits=change):
            found.append(model(SOURCE[:1, :2], None, TARGET[:1, :2]))

    def interrupt(tensor: Tensor) -> Tensor:
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        return tensor

    between = {f"{CROSS}.context": interrupt, "decoder.layers.1.residual_2.norm.mean": interrupt}
    assert torch.equal(logits(model, edits.together(change, between)), expected)
    elsewhere()
    assert torch.equal(found[0], found[-1]) and torch.equal(logits(model, change), expected)


def test_together_keeps_what_a_plain_union_would_lose() -> None:
    model = small_model()
    first, second = edits.silence(CROSS, 0), edits.silence(CROSS, 1)
    both = logits(model, edits.together(first, second))
    assert torch.equal(both, logits(model, edits.silence(CROSS, [0, 1])))
    assert torch.equal(logits(model, {**first, **second}), logits(model, second))
    assert not torch.allclose(both, logits(model, second), atol=1e-3)
    add, double = {"decoder.embedded": lambda x: x + 1}, {"decoder.embedded": lambda x: 2 * x}
    plain = seen(model, {})["decoder.embedded"].tensor
    in_order = seen(model, edits.together(add, double))["decoder.embedded"].tensor
    assert torch.equal(in_order, 2 * (plain + 1))


@pytest.mark.parametrize("each", [None, [], "decoder.logits", small_model])
def test_only_edits_go_together(each: Any) -> None:
    with pytest.raises(UsageError) as error:
        edits.together(edits.silence(OWN, 0), each)
    assert str(error.value) == (
        f"together: {each!r:.60} is no edit. Give edits one after the other: together(silence(…), "
        "rewrite(…))."
    )


def test_a_patch_of_all_tensors_gives_the_other_run() -> None:
    model = small_model()
    with torch.no_grad(), trace(model) as other:
        model(SOURCE.flip(0), SOURCE.flip(0) != 0, TARGET)
    patched = seen(model, edits.patch(other, "decoder.layers.*", "encoder.output"))
    assert torch.equal(patched["decoder.logits"].tensor, other["decoder.logits"].tensor)


def test_gradients_pass_through_an_edit() -> None:
    model = small_model()
    change = edits.together(edits.silence(OWN, 0, "mean"), edits.silence(CROSS, 1, "uniform"))
    with trace(model, only=f"{OWN}.values", edits=change, gradients=True) as found:
        loss = model(SOURCE, SOURCE != 0, TARGET).pow(2).sum()
    (gradient,) = torch.autograd.grad(loss, found[f"{OWN}.values"].tensor)
    assert gradient.isfinite().all() and gradient.any()


@pytest.mark.parametrize(
    "make,message",
    [
        (
            lambda: edits.silence("decoder.layers.0.feed_forward", 0),
            'part = "decoder.layers.0.feed_forward" is not the path of an attention. '
            'Give one such as "decoder.layers.0.self_attention".',
        ),
        (
            lambda: edits.silence(OWN, 0, "quiet"),
            "how = 'quiet' is not known. A head is silenced with zero, mean, uniform.",
        ),
        (
            lambda: edits.lift_mask(CROSS),
            f'part = "{CROSS}" is not the path of a self-attention, which alone has a causal mask. '
            'Give one such as "decoder.layers.0.self_attention".',
        ),
        (
            lambda: edits.without_scale("decoder"),
            'part = "decoder" is not the path of an attention. Give one such as '
            '"decoder.layers.0.self_attention".',
        ),
        *(
            (
                make,
                f"part = {part}, which is no text, is not the path of an attention. Give one such as "
                '"decoder.layers.0.self_attention".',
            )
            for make, part in (
                (lambda: edits.silence(3, 0), "3"),  # type: ignore[arg-type]
                (lambda: edits.silence(["a.self_attention"], 0), "['a.self_attention']"),  # type: ignore[arg-type]
                (lambda: edits.without_scale(None), "None"),  # type: ignore[arg-type]
                (lambda: edits.silence(PurePath(OWN), 0), f"{PurePath(OWN)!r}"),  # type: ignore[arg-type]
            )
        ),
        (
            lambda: edits.without_residual(3),  # type: ignore[arg-type]
            'part = 3, which is no text, is no residual. Give one such as "encoder.layers.0.residual_1" '
            '(to 2) or "decoder.layers.*.residual_3" (1 to 3).',
        ),
        (
            lambda: edits.without_residual("encoder.layers.0.residual_3"),
            'part = "encoder.layers.0.residual_3" is no residual. Give one such as '
            '"encoder.layers.0.residual_1" (to 2) or "decoder.layers.*.residual_3" (1 to 3).',
        ),
        *(
            (make, f"head = {head} is no head. Give its number, as 0, or several, as [0, 2].")
            for make, head in (
                (lambda: edits.silence(OWN, 1.5), "1.5"),  # type: ignore[arg-type]
                (lambda: edits.silence(OWN, "1"), "'1'"),  # type: ignore[arg-type]
                (lambda: edits.silence(OWN, True), "True"),
                (lambda: edits.silence(OWN, []), "[]"),
                (lambda: edits.lift_mask(OWN, []), "[]"),
                (lambda: edits.lift_mask(OWN, [0, None]), "[0, None]"),  # type: ignore[list-item]
            )
        ),
        (
            lambda: edits.rewrite(f"{OWN}.weights", [[1, 2], [3]]),
            f"rewrite of {OWN}.weights: [[1, 2], [3]] is no number and no array of numbers (expected "
            "sequence of length 2 at dim 1 (got 1)). Give one such as [0, 1, 0], with rows of equal length.",
        ),
        *(
            (
                lambda values=values: edits.rewrite("decoder.logits", values),
                f"rewrite of decoder.logits: {values!r:.60} is no number and no array of numbers ({why}). "
                "Give one such as [0, 1, 0], with rows of equal length.",
            )
            for values, why in (
                (10**400, "int too large to convert to float"),
                (np.array([1j]), "they are complex"),
                (torch.tensor([1j]), "they are complex"),
                (1j, "must be real number, not complex"),
            )
        ),
    ],
)
def test_what_no_edit_can_be_made_of(make: Any, message: str) -> None:
    with pytest.raises(UsageError) as error:
        make()
    assert str(error.value) == message


@pytest.mark.parametrize(
    "change,message",
    [
        (edits.silence(OWN, 2), "head = 2: there are 2, counted from 0 to 1."),
        (edits.lift_mask(OWN, [0, -1]), "head = -1: there are 2, counted from 0 to 1."),
        (
            edits.rewrite(f"{CROSS}.weights", [1.0, 0.0], at=(0, 1, 2)),
            f"rewrite of {CROSS}.weights: (2,) does not fit at (0, 1, 2) = (4,) of a tensor (2, 2, 3, 4). "
            "Give numbers of that shape, or one number for all.",
        ),
        (
            edits.rewrite(f"{CROSS}.weights", 1.0, at=(0, 2)),
            f"rewrite of {CROSS}.weights: () does not fit at (0, 2) of a tensor (2, 2, 3, 4). "
            "Give numbers of that shape, or one number for all.",
        ),
        (
            edits.rewrite(f"{CROSS}.weights", 1.0, at=slice(0, "x")),
            f"rewrite of {CROSS}.weights: () does not fit at (slice(0, 'x', None),) of a tensor "
            "(2, 2, 3, 4). Give numbers of that shape, or one number for all.",
        ),
        (
            edits.rewrite(f"{CROSS}.weights", 1.0, at=(slice(5, 5),)),
            f"rewrite of {CROSS}.weights: at = (slice(5, 5, None),) chooses nothing of a tensor "
            "(2, 2, 3, 4).",
        ),
        (
            edits.rewrite(f"{CROSS}.weights", [0.5, 1e300]),
            f"rewrite of {CROSS}.weights: [0.5, 1e+300] has a number that torch.float32 cannot hold: it "
            "would be infinite. Give smaller ones.",
        ),
    ],
)
def test_what_does_not_fit_the_tensor(change: dict[str, Edit], message: str) -> None:
    with pytest.raises(UsageError) as error:
        seen(small_model(), change)
    assert str(error.value) == message


@pytest.mark.parametrize("at", [True, None, (0, "x"), "0", 1.0, (0, []), (0, [0, True]), [slice(1), None]])
def test_what_is_no_place_of_a_tensor(at: Any) -> None:
    with pytest.raises(UsageError) as error:
        edits.rewrite(f"{CROSS}.weights", 1.0, at=at)
    assert str(error.value) == (
        f"rewrite of {CROSS}.weights: at = {at!r} is no place. Give an index for each axis, or a slice, as "
        "in at=(0, 2, slice(1, 3)); leave it out for all of the tensor."
    )


@pytest.mark.parametrize(
    "at", [np.int64(1), [1], (1, ...), slice(1, 2), (slice(1, 2), [0, 1]), ([1], -1), (1, 0)]
)
def test_a_place_chooses_as_in_numpy(at: Any) -> None:
    changed = seen(small_model(), edits.rewrite("decoder.embedded", 7.0, at=at))["decoder.embedded"].tensor
    expected = seen(small_model(), {})["decoder.embedded"].tensor.numpy()
    expected[tuple(at) if isinstance(at, list) else at] = 7
    assert np.array_equal(changed, expected)


def test_infinity_may_be_meant() -> None:
    change = edits.rewrite(f"{OWN}.mask", [0, -math.inf, -math.inf], at=(slice(None), 0, 1))
    mask = seen(small_model(), change)[f"{OWN}.mask"].tensor
    assert (mask[0, 0, 1] == -math.inf).tolist() == [False, True, True]


@pytest.mark.parametrize(
    "heads", [np.array([0, 1]), torch.tensor([0, 1]), range(2), (np.int64(0), np.int32(1))]
)
def test_heads_may_be_counted_by_numpy(heads: Any) -> None:
    model = small_model()
    assert torch.equal(
        logits(model, edits.silence(CROSS, heads)), logits(model, edits.silence(CROSS, [0, 1]))
    )
    one = edits.silence(CROSS, np.array(1))
    assert torch.equal(logits(model, one), logits(model, edits.silence(CROSS, 1)))


def test_what_cannot_be_patched() -> None:
    model = small_model()
    other = seen(model, {}, only="decoder.*")
    with pytest.raises(UnknownTensor, match=r'no tensor is called "decoder.logit"\. Nearest: decoder.logits'):
        edits.patch(other, "decoder.logit")
    with pytest.raises(UsageError, match="patch: no name is given"):
        edits.patch(other)
    for names in (["decoder.logits"], ("decoder.logits", "decoder.embedded"), None, 3):
        with pytest.raises(UsageError) as error:
            edits.patch(other, names)  # type: ignore[arg-type]
        assert str(error.value) == (
            f"patch: {names!r} is no name. Give names or globs one after the other: "
            'patch(seen, "encoder.output", "decoder.embedded").'
        )
    with pytest.raises(UsageError) as error:
        edits.patch(None, "decoder.logits")  # type: ignore[arg-type]
    assert str(error.value) == (
        "patch: trace is a NoneType and must be a trace: what `with trace(model) as seen` gave of the other "
        "run, or the arrays of one by their names."
    )
    with (
        pytest.raises(
            UsageError, match=r"decoder\.embedded was \(2, 3, 8\) in the other run and is \(2, 2, 8\)"
        ),
        torch.no_grad(),
        trace(model, edits=edits.patch(other, "decoder.embedded")),
    ):
        model(SOURCE, None, TARGET[:, :2])


# How large


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("settings", [{}, {"norm": "first", "tied": False}, {"target_vocabulary": 17}])
@pytest.mark.parametrize("only", ["*", "*.weights", "encoder.*"])
def test_trace_bytes_is_what_the_trace_holds(dtype: torch.dtype, settings: dict[str, Any], only: str) -> None:
    model = small_model(**settings).to(dtype)
    found = seen(model, {}, only)
    held = sum(record.tensor.untyped_storage().nbytes() for record in found.values())
    assert trace_bytes(model, 4, 3, sentences=2, only=only) == held > 0


def test_trace_bytes_computes_nothing() -> None:
    """A recording of half a terabyte is told without a byte of it."""
    config = pellucid.ModelConfig(width=512, heads=8, hidden=2048, encoder_layers=1, decoder_layers=1)
    model = pellucid.Transformer(config)
    scores = 100 * 8 * 4096 * 4096 * 4
    assert trace_bytes(model, 4096, 2, sentences=100, only="encoder.*.scores") == scores
    assert trace_bytes(model, 4096, 4096, sentences=100) > 15 * scores
    counted = (np.int64(4096), np.int32(2), np.int64(100))
    assert trace_bytes(model, *counted, only=["encoder.*.scores"]) == scores


@pytest.mark.parametrize(
    "arguments,message",
    [
        ({"source_length": 0}, "source_length = 0 must be a whole number from 1 to 2,147,483,647."),
        ({"sentences": 1.5}, "sentences = 1.5 must be a whole number from 1 to 2,147,483,647."),
        (
            {"only": "decoder.logit"},
            'only: no tensor is called "decoder.logit". '
            "Nearest: decoder.logits, decoder.output, decoder.positions.",
        ),
        (
            {"target_length": 10**30},
            f"target_length = 1{'0' * 30} must be a whole number from 1 to 2,147,483,647.",
        ),
        (
            {"source_length": 10**9, "target_length": 10**9, "sentences": 10**9},
            "a pass over 1,000,000,000 × 1,000,000,000 source and 1,000,000,000 × 1,000,000,000 target "
            "tokens has more bytes than can be counted. Give smaller numbers.",
        ),
        ({"model": "demo"}, "model is a str and must be a Transformer: of a translator, its .model."),
    ],
)
def test_what_has_no_number_of_bytes(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as error:
        trace_bytes(**{"model": small_model(), "source_length": 3, "target_length": 3, **arguments})
    assert str(error.value) == message


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
def test_a_trace_stops_before_it_holds_too_much(dtype: torch.dtype) -> None:
    model = small_model().to(dtype)
    needed = trace_bytes(model, 4, 3, sentences=2)
    with torch.no_grad(), trace(model, most_bytes=needed):
        model(SOURCE, SOURCE != 0, TARGET)
    with pytest.raises(UsageError) as error, torch.no_grad(), trace(model, most_bytes=needed - 1):
        model(SOURCE, SOURCE != 0, TARGET)
    assert str(error.value) == (
        f"the trace would hold more than most_bytes = {needed - 1:,} with decoder.probabilities. Record "
        "fewer tensors (only=), a shorter sentence or a smaller batch, or set most_bytes; "
        "pellucid.trace_bytes says how many are needed."
    )


# The first number that is none


def test_a_finite_model_has_nothing_to_find() -> None:
    model = small_model()
    with torch.no_grad(), find_nonfinite(model) as found:
        model(SOURCE, SOURCE != 0, TARGET)  # with -inf in every mask
        model(SOURCE, SOURCE != 0, TARGET)
    assert found.first is None and str(found) == "every tensor of 2 passes was finite"


def test_the_first_tensor_and_place_are_named() -> None:
    model = small_model()
    model.decoder.layers[1].feed_forward.inner.bias.data[5] = math.nan
    with torch.no_grad(), find_nonfinite(model, Words()) as found:
        model(SOURCE, SOURCE != 0, TARGET)
    first = found.first
    assert first is not None and first.name == "decoder.layers.1.feed_forward.hidden"
    assert first.index == (0, 0, 5) and first.tokens == {"L": "t2"} and first.count == 2 * 3
    assert found.parameters == ["decoder.layers.1.feed_forward.inner.bias"]
    assert str(found) == (
        "decoder.layers.1.feed_forward.hidden is nan at B 0, L 0 (t2), F 5; 6 of its 72 values are not "
        "finite, in pass 1. The tensor before it, decoder.layers.1.residual_2.output, was finite. "
        "Parameters that are not finite: decoder.layers.1.feed_forward.inner.bias."
    )


def test_a_key_that_overflows_is_found_at_its_word_and_in_its_pass() -> None:
    """-inf in a mask is meant, anywhere else it is not; an infinite score is found before the mask."""
    model = small_model()
    with torch.no_grad(), find_nonfinite(model) as found:
        model(SOURCE, SOURCE != 0, TARGET)
        model.embedding.weight.data[9] = 3e38  # the first word of the second sentence
        model(SOURCE, SOURCE != 0, TARGET)
    assert found.first is not None and found.first.in_pass == 2
    assert found.first.name == "encoder.token_embeddings"
    assert found.first.index[:2] == (1, 0) and found.first.tokens == {"L": "9"}
    assert math.isinf(found.first.value) and found.parameters == []


def test_the_model_is_left_alone_after_the_watch() -> None:
    model = small_model()
    with pytest.raises(ZeroDivisionError), find_nonfinite(model):
        raise ZeroDivisionError
    assert not model.encoder._forward_pre_hooks and not model.decoder._forward_pre_hooks
    with torch.no_grad(), trace(model):
        model(SOURCE, None, TARGET)
