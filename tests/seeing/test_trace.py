"""A trace holds every name with its axes and changes nothing; what would be silently wrong is refused."""

import re
from typing import Any

import numpy as np
import pytest
import torch
from small_models import SOURCE, TARGET, Words, interrupt, run, small_model, traced
from torch import Tensor, nn

import pellucid
from pellucid.errors import UsageError
from pellucid.seeing.nonfinite import find_nonfinite
from pellucid.seeing.records import AXES, Record, UnknownTensor
from pellucid.seeing.trace import trace
from pellucid.seeing.watching import Part


def test_a_trace_holds_detached_tensors_by_name_and_all_axes_are_explained() -> None:
    """That their names and numbers are right is tested against loops, their axes against the table."""
    seen = traced(small_model())
    for name, record in seen.items():
        assert record.name == name
        assert not record.tensor.requires_grad and record.tensor.device.type == "cpu"
    assert {axis for record in seen.values() for axis in record.axes} == set(AXES)


@pytest.mark.parametrize("grad", [True, False], ids=["explicit", "fused"])
@pytest.mark.parametrize("norm", ["last", "first"])
@pytest.mark.parametrize("dtype,tolerance", [(torch.bfloat16, 0.1), (torch.float64, 1e-9)])
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
    torch.manual_seed(7)
    expected = run(model)
    torch.manual_seed(7)
    with trace(model):
        watched = run(model)
    assert torch.allclose(watched, expected, atol=1e-5)
    assert not torch.allclose(expected, run(model), atol=1e-2), "dropout was not on"


def test_only_keeps_what_matches_one_of_the_globs() -> None:
    model = small_model()
    weights = [f"decoder.layers.{n}.{part}_attention.weights" for n in (0, 1) for part in ("self", "cross")]
    seen = traced(model, only="decoder.*.weights")
    assert list(seen) == weights  # in the order of computation
    assert repr(seen) == f"<Trace of 4 tensors, {weights[0]} … {weights[3]}>"
    seen = traced(model, only=["decoder.logits", "*.self_attention.weights", "decoder.*.weights"])
    assert list(seen) == ["encoder.layers.0.self_attention.weights", *weights, "decoder.logits"]  # each once
    found = seen.matching("*.weights")
    assert list(found) == list(seen)[:5] and all(found[name] is seen[name] for name in found)


def test_only_the_model_itself_is_recorded_and_edited() -> None:
    """Another model with the same names runs before it, after it, and alone."""
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
    assert str(found) == "every tensor was finite"


@torch.no_grad()
def test_records_are_copies() -> None:
    """Writing into one changes no other, and nothing of the model's: its table of positions, say."""
    model = small_model()
    expected = run(model)
    seen = traced(model)
    for number, record in enumerate(seen.values()):
        record.tensor.fill_(number)
    assert all((record.tensor == number).all() for number, record in enumerate(seen.values()))
    assert torch.equal(run(model), expected)


def test_labels() -> None:
    model = small_model()
    seen = traced(model, vocabulary=Words())
    cross = seen["decoder.layers.0.cross_attention.weights"]
    assert cross.labels("L") == ["t2", "t5", "t8"] and cross.labels("M") == ["s5", "s7", "s4", "s3"]
    assert cross.labels("L", sentence=1) == ["t2", "t6", "t0"] and cross.labels("H") == ["0", "1"]
    assert cross.labels("M", np.int64(1)) == ["s9", "s3", "s0", "s0"]  # type: ignore[arg-type]
    for name, words in (("decoder.layers.1", ["t2", "t5", "t8"]), ("encoder.layers.0", cross.labels("M"))):
        own = seen[f"{name}.self_attention.scores"]
        assert own.labels("M") == own.labels("L") == words
    one = Record("decoder.output", "BLD", torch.zeros(1, 1, 2), {"L": [["a", "b"]]})
    assert one.labels("L") == ["0"], "tokens of more positions than it has"
    seen = traced(model)
    assert seen["decoder.layers.0.cross_attention.weights"].labels("M", sentence=1) == ["9", "3", "0", "0"]


def test_threads_do_not_see_one_anothers_watcher() -> None:
    """Another thread runs the same model in the middle of a watched pass."""
    model = small_model()
    other: list[Tensor] = []

    def elsewhere() -> None:
        with torch.no_grad():
            other.append(model(torch.tensor([[6, 3]]), None, torch.tensor([[2, 9]])))

    with trace(model, edits={"decoder.embedded": interrupt(elsewhere)}) as seen:
        logits = run(model)
    elsewhere()
    assert torch.equal(other[0], other[1])
    assert torch.allclose(logits, run(model), atol=1e-5)
    assert seen["decoder.layers.1.cross_attention.weights"].labels("M") == ["5", "7", "4", "3"]
    assert seen["decoder.layers.1.cross_attention.weights"].labels("L") == ["2", "5", "8"]


@pytest.mark.parametrize("watch", [lambda model: trace(model), find_nonfinite])
def test_nobody_watches_after_an_exception(watch: Any) -> None:
    model = small_model()
    with pytest.raises(ZeroDivisionError), watch(model):
        run(model)
        raise ZeroDivisionError
    assert not model.encoder._forward_pre_hooks and not model.decoder._forward_pre_hooks
    with trace(model):
        run(model)


# Looking costs nothing when nobody looks. Dynamo says, once, that it looks through functools.lru_cache (the
# table of positions), and asks for a .grad.
QUIET = ("ignore:.*lru_cache.*:UserWarning", "ignore:The .grad attribute:UserWarning")


@pytest.mark.filterwarnings(*QUIET)
def test_the_graph_of_a_compiled_model_has_no_operation_for_seeing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The graph of the loss, two layers in each stack, is the one that is there without any `see`."""
    model = small_model(encoder_layers=2, decoder_layers=2)

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
    assert sum("linear" in name for name in with_see) == 2 * 6 + 2 * 10 + 1, "not the whole model"
    assert with_see == without_see


@pytest.mark.filterwarnings(*QUIET)
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


# What a trace refuses


class Shows(Part):
    """A part that shows what it is told to."""

    path = "part"

    def forward(self, *shown: tuple[str, Tensor]) -> None:
        for name_axes, tensor in shown:
            self.see(name_axes, tensor)


@pytest.mark.parametrize(
    "shown,message",
    [
        ([("scores_BHLM", (2, 3, 4))], "part.scores has 3 axes, (2, 3, 4), but its name has 4"),
        ([("queries_BLK", (2, 3, 4)), ("keys_BMK", (2, 3, 5))], "part.keys: axis K (dimension of a head's "
         "queries and keys) has 5 entries, but 4 in earlier tensors of part in"),
        ([("sum_BLD", (1, 1, 1))] * 2, "part.sum was shown a second time: a trace holds one forward pass."),
    ],
)  # fmt: skip
def test_what_a_part_shows_is_checked(shown: list[tuple[str, tuple[int, ...]]], message: str) -> None:
    part, tensors = Shows(), [(name, torch.zeros(shape)) for name, shape in shown]
    part(*tensors)  # nobody watches, nobody checks
    with pytest.raises(UsageError, match=re.escape(message)), trace(part):
        part(*tensors)


WATCHES: tuple[Any, ...] = (trace, find_nonfinite, lambda model: pellucid.editing(model, {}))


@pytest.mark.parametrize("watch", WATCHES)
def test_a_watch_that_saw_nothing_is_an_error(watch: Any) -> None:
    with pytest.raises(UsageError, match="no pass of this model ran inside"), watch(small_model()):
        run(small_model())  # another model, whose names are the same


@pytest.mark.parametrize("watch", WATCHES)
@pytest.mark.parametrize("model,kind", [("demo", "str"), (nn.Linear(2, 2), "Linear")])
def test_only_a_model_with_parts_is_watched(watch: Any, model: Any, kind: str) -> None:
    message = f"^model is a {kind}, which has no module that shows tensors. Give a Transformer, such"
    with pytest.raises(UsageError, match=message), watch(model):
        pass


@pytest.mark.parametrize(
    "arguments,message",
    [
        ({"only": ["decoder.*", "decoder.logit"]}, 'only: no tensor is called "decoder.logit". Nearest:'),
        ({"edits": {"decoder.logit": abs}}, 'edits: no tensor is called "decoder.logit". Nearest:'),
        ({"only": []}, 'only = [] names no tensor. Give a glob such as "decoder.*.weights", or several.'),
        ({"edits": {"decoder.logits": lambda x: x[:, :1]}}, "edit of decoder.logits returned (2, 1, 11); it"),
        ({"edits": {"decoder.logits": lambda x: None}}, "NoneType; it must return a tensor of shape (2, 3"),
    ],
)
def test_what_can_neither_be_recorded_nor_edited(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        traced(small_model(), **arguments)


def test_names_that_a_trace_does_not_hold() -> None:
    model = small_model()
    seen = traced(model, only="decoder.*")
    for name, message in {
        "decoder.layers.0.crossattention.weights": r"Nearest: decoder\.layers\.0\.cross_attention\.",
        "decoder.layers.*.cross_attention.weights": r"is a glob, and this takes one name\. All that match: ",
    }.items():
        with pytest.raises(UnknownTensor, match=message) as unknown:
            seen[name]
        assert len(str(unknown.value).partition("Nearest: ")[2].split(", ")) == 3 or "glob" in message
        assert isinstance(unknown.value, UsageError)  # which the command line shows as a sentence
        assert isinstance(unknown.value, KeyError)  # as of any mapping, so that get and `in` work
    assert "weights" not in seen and seen.get("weights") is None
    with pytest.raises(UnknownTensor, match="no tensor is called"):
        seen.matching("decoder.layer.*")


RECORD = Record("encoder.output", "BLD", torch.zeros(1, 2, 3))


@pytest.mark.parametrize(
    "call,message",
    [
        (
            lambda model: traced(model, edits={"decoder.logits": lambda x: traced(model)}),
            "only one at a time",
        ),
        (lambda model: RECORD.labels("M"), "Its axes are BLD: B sentence, L position that asks (query)"),
        (lambda model: model(SOURCE, SOURCE != 0, TARGET[:1]), "2 sources and 1 targets"),
        (
            lambda model: model(SOURCE, (SOURCE != 0).float(), TARGET),
            "is (2, 4) of torch.float32: it must be",
        ),
    ],
)
def test_what_does_not_belong_together_is_refused(call: Any, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        call(small_model())


# How large


def test_a_trace_stops_before_it_holds_too_much() -> None:
    model = small_model()
    seen = traced(model)
    needed = sum(record.tensor.untyped_storage().nbytes() for record in seen.values())
    traced(model, most_bytes=needed)
    message = f"more than most_bytes = {needed - 1:,} with decoder.probabilities. Record fewer tensors"
    with pytest.raises(UsageError, match=message):
        traced(model, most_bytes=needed - 1)


# The first number that is none


def test_a_number_that_overflows_is_found_at_its_word_and_in_its_pass() -> None:
    """docs/tracing.md prints the whole message, of a parameter that is not a number."""
    model = small_model()
    with torch.no_grad(), find_nonfinite(model, Words()) as found:
        assert str(found) == "no pass of this model has run"
        run(model)  # with -inf in every mask
        assert str(found) == "every tensor was finite"
        model.embedding.weight.data[9] = 3e38  # the first word of the second sentence
        run(model)
    assert found.first == "encoder.token_embeddings" and found.parameters == []
    assert found.what == "inf at B 1, L 0 (s9), D 0; 8 of its 64 values are not finite"
    assert found.last == "decoder.probabilities", "of the pass before"
