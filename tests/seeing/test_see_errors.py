"""What a trace refuses, word for word."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from pellucid.config.schema import ModelConfig
from pellucid.errors import UsageError
from pellucid.model import Transformer
from pellucid.seeing.nonfinite import find_nonfinite
from pellucid.seeing.records import Record, UnknownTensor
from pellucid.seeing.sizes import trace_bytes
from pellucid.seeing.trace import trace
from pellucid.seeing.watching import Part
from pellucid.text.vocabulary import Vocabulary

SOURCE = torch.tensor([[5, 7, 4, 3], [9, 3, 0, 0]])
TARGET = torch.tensor([[2, 5, 8], [2, 6, 0]])
AGAIN = "was shown a second time: a trace holds one forward pass. Open a new trace for each pass."


def small_model(decoder_layers: int = 2) -> Transformer:
    config = dict(vocabulary=11, width=8, heads=2, hidden=12, encoder_layers=1, dropout=0.0)
    return Transformer(ModelConfig(**config, decoder_layers=decoder_layers)).eval()


def run(model: Transformer) -> Tensor:
    return model(SOURCE, SOURCE != 0, TARGET)


def test_a_second_pass_is_an_error() -> None:
    model = small_model()
    with pytest.raises(UsageError) as error, trace(model):
        run(model)
        run(model)
    assert str(error.value) == f"encoder.token_embeddings {AGAIN}"


class Shows(Part):
    """A part that shows what it is told to."""

    path = "part"

    def forward(self, *shown: tuple[str, Tensor]) -> None:
        for name_axes, tensor in shown:
            self.see(name_axes, tensor)


@pytest.mark.parametrize(
    "shown,message",
    [
        (
            [("scores_BHLM", torch.zeros(2, 3, 4))],
            "part.scores has 3 axes, (2, 3, 4), but is named with 4: BHLM.",
        ),
        (
            [("queries_BLK", torch.zeros(2, 3, 4)), ("keys_BMK", torch.zeros(2, 3, 5))],
            "part.keys: axis K (dimension of a head's queries and keys) has 5 entries here "
            "and 4 in the tensors before it.",
        ),
        (
            [("sum_BLD", torch.zeros(1, 1, 1)), ("sum_BLD", torch.zeros(1, 1, 1))],
            f"part.sum {AGAIN}",
        ),
    ],
    ids=["number of axes", "size of an axis", "shown twice"],
)
def test_what_a_part_shows_is_checked(shown: list[tuple[str, Tensor]], message: str) -> None:
    part = Shows()
    part(*shown)  # nobody watches, nobody checks
    with pytest.raises(UsageError) as error, trace(part):
        part(*shown)
    assert str(error.value) == message


def test_a_trace_that_saw_nothing_is_an_error() -> None:
    with pytest.raises(UsageError) as error, trace(small_model()):
        pass
    assert str(error.value) == "the trace saw nothing: no forward pass of this model ran inside the `with`."
    with pytest.raises(UsageError) as error, trace(small_model()):
        run(small_model())  # another model, whose names are the same
    assert str(error.value) == "the trace saw nothing: no forward pass of this model ran inside the `with`."
    with pytest.raises(UsageError) as error, find_nonfinite(small_model()) as found:
        run(small_model())
        assert str(found) == "no pass of this model has run"
    assert str(error.value) == (
        "find_nonfinite saw nothing: no forward pass of this model ran inside the `with`."
    )


@pytest.mark.parametrize("watch", [trace, find_nonfinite])
@pytest.mark.parametrize(
    "model,kind",
    [("demo", "str"), (nn.Linear, "type"), (nn.Linear(2, 2), "Linear"), (None, "NoneType")],
    ids=["name", "class", "module without parts", "nothing"],
)
def test_what_is_watched_is_a_model_with_parts(watch: Any, model: Any, kind: str) -> None:
    with pytest.raises(UsageError) as error, watch(model):
        pass
    assert str(error.value) == (
        f"model is a {kind}, which has no part that shows a tensor. Give a Transformer: of a translator, its "
        ".model."
    )


@pytest.mark.parametrize("only", [None, [], 3, ["decoder.*", None], {"decoder.*": 1}])
def test_only_is_a_glob_or_several(only: Any) -> None:
    message = (
        f'only = {only!r} is no glob of names, and no list of such. Give one as "decoder.*.weights", or '
        'several as ["*.weights", "decoder.logits"].'
    )
    with pytest.raises(UsageError) as error, trace(small_model(), only=only):
        pass
    assert str(error.value) == message
    with pytest.raises(UsageError) as error:
        trace_bytes(small_model(), 3, 3, only=only)
    assert str(error.value) == message


def test_each_of_several_globs_must_match() -> None:
    model, only = small_model(), ["decoder.*", "decoder.logit"]
    message = (
        'only: no tensor is called "decoder.logit". Nearest: decoder.logits, decoder.output, '
        "decoder.positions."
    )
    with pytest.raises(UsageError) as error, trace(model, only=only):
        run(model)
    assert str(error.value) == message
    with pytest.raises(UsageError) as error:
        trace_bytes(model, 3, 3, only=only)
    assert str(error.value) == message


@pytest.mark.parametrize("most", ["1GB", None, True, 0, -1, float("nan")])
def test_most_bytes_is_a_number(most: Any) -> None:
    with pytest.raises(UsageError) as error, trace(small_model(), most_bytes=most):
        pass
    assert str(error.value) == f"most_bytes = {most!r} must be a number of bytes, such as 2 * 10**9."


@pytest.mark.parametrize("watch", [trace, find_nonfinite])
def test_a_vocabulary_labels_tokens(watch: Any) -> None:
    for vocabulary, kind in ((small_model(), "Transformer"), (Vocabulary, "type"), ("demo", "str")):
        with pytest.raises(UsageError) as error, watch(small_model(), vocabulary=vocabulary):
            pass
        assert str(error.value) == (
            f"vocabulary is a {kind}, which cannot label tokens. Give a Vocabulary: of a translator, its "
            ".vocabulary."
        )


@pytest.mark.parametrize("edits", [[1], [], 0, {3: abs}, {"decoder.logits": 3}])
def test_edits_map_names_to_functions(edits: Any) -> None:
    model = small_model()
    with pytest.raises(UsageError) as error, trace(model, edits=edits):
        run(model)
    assert str(error.value) == (
        f"edits = {edits!r} does not map names of tensors to functions. Give such as "
        '{"decoder.logits": lambda logits: logits * 2}; pellucid.edits.rewrite puts in numbers.'
    )


def test_an_edit_of_an_unknown_name_is_an_error() -> None:
    model = small_model(decoder_layers=1)
    with (
        pytest.raises(UsageError) as error,
        trace(model, edits={"decoder.layers.0.cross_attention.weigths": lambda x: x}),
    ):
        run(model)
    assert str(error.value).startswith(
        'edits: no tensor is called "decoder.layers.0.cross_attention.weigths". Nearest: '
    )
    assert "decoder.layers.0.cross_attention.weights" in str(error.value)


def test_only_of_an_unknown_name_is_an_error() -> None:
    model = small_model()
    with pytest.raises(UsageError) as error, trace(model, only="decoder.logit"):
        run(model)
    assert (
        str(error.value) == 'only: no tensor is called "decoder.logit". '
        "Nearest: decoder.logits, decoder.output, decoder.positions."
    )


@pytest.mark.parametrize(
    "edit,returned",
    [(lambda x: x[:, :1], "(2, 1, 11)"), (lambda x: None, "NoneType")],
    ids=["shape", "nothing"],
)
def test_an_edit_must_return_the_same_shape(edit: Any, returned: str) -> None:
    model = small_model()
    with pytest.raises(UsageError) as error, trace(model, edits={"decoder.logits": edit}):
        run(model)
    assert (
        str(error.value)
        == f"the edit of decoder.logits returned {returned}; it must return a tensor of shape (2, 3, 11)."
    )


def test_an_edit_must_return_real_numbers() -> None:
    model = small_model()
    with (
        pytest.raises(UsageError) as error,
        trace(model, edits={"decoder.logits": lambda logits: logits * 1j}),
    ):
        run(model)
    assert str(error.value) == (
        "the edit of decoder.logits returned complex numbers, whose imaginary part would be lost; it must "
        "return real ones."
    )


def test_two_traces_at_once_are_an_error() -> None:
    model = small_model()
    with pytest.raises(UsageError) as error, trace(model), trace(model):
        run(model)
    assert str(error.value) == (
        "somebody is watching already: one trace at a time in a thread. "
        "Leave the first `with` before the second."
    )


def test_a_name_that_is_not_in_the_trace() -> None:
    model = small_model(decoder_layers=1)
    with trace(model, only="decoder.*") as seen:
        run(model)
    with pytest.raises(UnknownTensor) as error:
        seen["decoder.layers.0.crossattention.weights"]
    assert isinstance(error.value, UsageError)  # which the command line shows as a sentence
    assert str(error.value).startswith(
        'no tensor is called "decoder.layers.0.crossattention.weights". '
        "Nearest: decoder.layers.0.cross_attention."
    )
    with pytest.raises(KeyError) as missing:  # as of any mapping, so that get and `in` work
        seen["weights"]
    assert str(missing.value) == (
        'no tensor is called "weights". '
        "Nearest: decoder.layers.0.self_attention.weights, decoder.layers.0.cross_attention.weights."
    )
    with pytest.raises(UnknownTensor, match='no tensor is called "0"'):
        seen[0]  # type: ignore[index]
    assert "weights" not in seen and seen.get("weights") is None
    with pytest.raises(UnknownTensor, match="no tensor is called"):
        seen[["decoder.logits"]]  # type: ignore[index]
    assert ["decoder.logits"] not in seen


def test_labels_of_an_axis_that_is_not_there() -> None:
    record = Record("encoder.output", "BLD", torch.zeros(1, 2, 3))
    for axis in ("M", "", "LD", None, 0):
        with pytest.raises(UsageError) as error:
            record.labels(axis)  # type: ignore[arg-type]
        assert str(error.value) == (
            f'encoder.output has no axis "{axis}". '
            "Its axes are BLD: B sentence, L position that asks (query), D model width."
        )


@pytest.mark.parametrize("sentence", [2, -1, 5, True, 1.0, None, "0"])
@pytest.mark.parametrize("axes", ["BLD", "LD"])
def test_labels_of_a_sentence_that_is_not_there(axes: str, sentence: Any) -> None:
    tensor = torch.zeros(2, 2, 3) if axes == "BLD" else torch.zeros(2, 3)
    record = Record("decoder.embedded", axes, tensor, {"L": [["a", "b"], ["c", "d"]]})
    assert record.labels("L", 1) == record.labels("L", np.int64(1)) == ["c", "d"]  # type: ignore[arg-type]
    with pytest.raises(UsageError) as error:
        record.labels("L", sentence)
    assert str(error.value) == (
        f"decoder.embedded: sentence = {sentence!r}, but the pass has 2, counted from 0 to 1."
    )
