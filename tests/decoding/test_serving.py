"""What decodes: the engine on a processor, in every precision; the models where somebody looks into them."""

import copy
import multiprocessing
import os
import pickle
from collections.abc import Callable
from typing import Any, cast

import pytest
import torch
import torch.nn.modules.module as modules
from random_translator import OPTIONS, assert_same, sentences, translator

from pellucid.decoding.engine import Engine
from pellucid.decoding.library import CHOICE, has_kernels
from pellucid.decoding.model_state import SETTINGS
from pellucid.decoding.pytorch import TransformerDecoding
from pellucid.errors import PellucidError, UsageError
from pellucid.seeing import edits
from pellucid.seeing.trace import editing, trace
from pellucid.translator import Translator, load

pytestmark = pytest.mark.skipif(not has_kernels(), reason="the kernels are not built here")


def in_precision(precision: str, seed: int = 0) -> Translator:
    model = translator(seed=seed, end=1.0)
    return Translator(model.model, model.vocabulary, model.config, precision)


def decoder(ours: Translator, memory: int = 4000) -> type:
    return type(ours.decoder(ours.call(ours._read_sources(["the cat"], None), {"memory": memory})))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_in_fp32_the_engine_finds_what_pytorch_finds(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = sentences(40)
    ours = in_precision("auto")
    by_engine = ours.translate(texts, **options)
    assert decoder(ours) is Engine
    monkeypatch.setenv(CHOICE, "none")
    assert decoder(ours) is not Engine
    assert_same(by_engine, ours.translate(texts, **options))


def test_ties_are_decided_alike_where_no_token_comes_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """All tokens are equally probable: where a hypothesis may not use its likeliest tokens, the next ones of
    the same hypothesis come before those of the hypothesis after it."""
    ours = in_precision("auto")
    projection = ours.model.decoder.projection
    with torch.no_grad():
        projection.weight.zero_()  # type: ignore[operator, union-attr]
        projection.bias.zero_()  # type: ignore[operator, union-attr]
    found: list[list[list[int]]] = []
    for kernels in ("", "none"):
        monkeypatch.setenv(CHOICE, kernels)
        assert (decoder(ours) is Engine) == (not kernels)
        options = dict(beam=4, n_best=4, no_repeat_ngram_size=1)
        for length in range(6, 11):
            (said,) = ours.translate(sentences(1), **options, min_length=length - 1, max_length=length)
            found.append([each.token_ids for each in said.hypotheses])
    assert found[:5] == found[5:]


def changed_in_place(ours: Translator) -> None:
    with torch.no_grad():
        ours.model.decoder.layers[1].feed_forward.outer.weight.neg_()  # type: ignore[operator, union-attr]


def with_another_layer(ours: Translator) -> None:
    ours.model.decoder.layers[1] = copy.deepcopy(ours.model.decoder.layers[0])


def with_other_weights(ours: Translator) -> None:
    ours.model.load_state_dict(translator(seed=5, end=1.0).model.state_dict())


@pytest.mark.parametrize(
    ("precision", "kernels"), [("auto", ""), ("bf16", ""), ("int8", ""), ("auto", "none"), ("bf16", "none")]
)
@pytest.mark.parametrize("change", [changed_in_place, with_another_layer, with_other_weights])
def test_a_change_of_the_weights_reaches_the_next_call(
    precision: str, kernels: str, change: Callable[[Translator], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CHOICE, kernels)
    ours, texts = in_precision(precision), sentences(8)
    before = [each.score for each in ours.translate(texts)]
    change(ours)
    after = [each.score for each in ours.translate(texts)]
    fresh = Translator(ours.model, ours.vocabulary, ours.config, precision)
    assert before != after == [each.score for each in fresh.translate(texts)]


def test_unchanged_weights_are_packed_once() -> None:
    ours = in_precision("auto")
    ours.translate("the cat")
    engine = ours._serving._decoder
    ours.translate("a dog")
    assert isinstance(engine, Engine) and ours._serving._decoder is engine


@pytest.mark.parametrize("precision", ["auto", "bf16"])
def test_where_somebody_looks_in_the_model_itself_decodes(precision: str) -> None:
    ours, texts, calls = in_precision(precision), sentences(6), list[object]()
    plain = [each.score for each in ours.translate(texts)]
    with editing(ours.serving, edits.silence("decoder.layers.0.cross_attention", 0)):
        assert [each.score for each in ours.translate(texts)] != plain
        assert decoder(ours) is not Engine
    stack = ours.model.decoder
    for register in (stack.register_forward_hook, stack.register_forward_pre_hook):
        calls.clear()
        handle = register(lambda *about: calls.append(about))
        ours.translate(texts)
        assert bool(calls) == (precision == "auto") and decoder(ours) is not Engine
        handle.remove()
    for register in (modules.register_module_forward_hook, modules.register_module_forward_pre_hook):
        handle = register(lambda *_: None)  # of every module
        assert decoder(ours) is not Engine
        handle.remove()
    assert [each.score for each in ours.translate(texts)] == plain


@pytest.mark.parametrize(
    ("precision", "of_serving", "count"), [("auto", False, 1), ("bf16", False, 0), ("bf16", True, 1)]
)
def test_hooks_are_called_once_a_step_in_the_model_that_has_them(
    precision: str, of_serving: bool, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hooks that the model has when its rounded copy is made are not copied; its own are called."""
    ours, steps, calls, step = in_precision(precision), list[int](), list[int](), TransformerDecoding.step
    monkeypatch.setattr(TransformerDecoding, "step", lambda *about: steps.append(1) or step(*about))
    stack = (ours.serving if of_serving else ours.model).decoder
    for register in (stack.register_forward_hook, stack.register_forward_pre_hook):
        register(lambda *about: calls.append(1))
    ours.translate(sentences(4))
    assert steps and len(calls) == 2 * count * len(steps)


@pytest.mark.parametrize("precision", ["auto", "bf16", "int8"])
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda ours: pickle.loads(pickle.dumps(ours))])
def test_a_copy_keeps_its_precision(precision: str, copied: Callable[[Translator], Translator]) -> None:
    ours = in_precision(precision)
    assert [each.score for each in copied(ours).translate(sentences(4))] == [
        each.score for each in ours.translate(sentences(4))
    ]
    other = in_precision("int8" if precision == "auto" else "auto")
    assert [each.score for each in other.translate(sentences(4))] != [
        each.score for each in ours.translate(sentences(4))
    ]


@pytest.mark.parametrize("precision", ["auto", "int8"])
def test_a_model_may_be_loaded_in_inference_mode(precision: str) -> None:
    with torch.inference_mode():
        ours = load("demo", "cpu", precision)
        before = ours.translate("How are you?", to="es")
    assert type(ours._serving._decoder) is Engine
    assert before.score == load("demo", "cpu", precision).translate("How are you?", to="es").score


def test_a_call_without_sentences_makes_no_engine() -> None:
    ours = in_precision("auto")
    assert ours.translate([]) == [] and ours._serving._decoder is None


@pytest.mark.parametrize(
    "where",
    [
        "decoder.layers.0.self_attention.query",
        "decoder.layers.1.cross_attention.key",
        "encoder.layers.0.self_attention.key",
        "encoder.layers.1.feed_forward.outer",
    ],
)
@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_weights_that_are_not_finite_are_an_error_of_every_path(
    where: str, value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fused attention of PyTorch replaces a row of NaN by zeros. Before, they were finite."""
    ours = in_precision("auto")
    with monkeypatch.context() as patch:
        patch.setenv(CHOICE, "none")
        ours.translate(sentences(1), max_length=1)
    with torch.no_grad():
        ours.model.get_parameter(f"{where}.weight").fill_(value)
    messages = []
    for kind in ("", "none"):
        monkeypatch.setenv(CHOICE, kind)
        with pytest.raises(PellucidError) as error:
            ours.translate(sentences(3))
        messages.append(str(error.value))
    assert (
        messages[0]
        == messages[1]
        == (
            "sentence 1, step 1: the next token's probabilities are not numbers, because logits are NaN or "
            "infinite. Use weights from an earlier checkpoint or, below fp32, a higher precision."
        )
    )
    with pytest.raises(PellucidError, match=r"^sentence 1, step 1: the token's probability is not a number"):
        ours.score(sentences(3), sentences(3))


def without_a_layer(ours: Translator) -> None:
    del ours.model.encoder.layers[1]


def with_a_forward_of_its_own(ours: Translator) -> None:
    part = cast(Any, ours.model.decoder.layers[0]).feed_forward
    part.forward = lambda x: 0 * x


def with_weights_of_inference_mode(ours: Translator) -> None:
    """Of which PyTorch does not count changes."""
    with torch.inference_mode():
        ours.model.decoder.layers[0].feed_forward.inner.weight = torch.nn.Parameter(torch.ones(32, 16))  # type: ignore[union-attr]


OTHER = dict(scale=1.5, positions="fairseq", heads=1, activation=torch.tanh, epsilon=0.5)
PLACES = [(kind, name) for kind, names in SETTINGS.items() for name in names]


def with_another(kind: type, name: str) -> Callable[[Translator], None]:
    def change(ours: Translator) -> None:
        *_, last = (each for each in ours.model.modules() if type(each) is kind)
        setattr(last, name, OTHER[name])

    change.__name__ = f"{kind.__name__} {name}"
    return change


def test_in_int8_nothing_is_watched() -> None:
    ours = in_precision("int8")
    said = r"precision = 'int8' decodes by an engine, in which nothing is seen or edited\. Use precision ="
    with pytest.raises(UsageError, match=said), trace(ours.model):
        ours.translate(sentences(1))
    assert ours.translate(sentences(1))


def test_an_engine_has_weights_of_one_type() -> None:
    ours = in_precision("int8")
    ours.model.decoder.layers[0].double()
    with pytest.raises(UsageError, match=r"or its weights have several data types or were made in "):
        ours.translate(sentences(1))


CHANGES = [without_a_layer, with_a_forward_of_its_own, with_weights_of_inference_mode]


def test_every_setting_that_a_part_reads_is_in_the_table() -> None:
    assert {name for _, name in PLACES} == OTHER.keys()
    assert len(PLACES) == 7 and {kind.__name__ for kind, _ in PLACES} >= {"Encoder", "Decoder", "Norm"}


@pytest.mark.parametrize("change", [*CHANGES, *(with_another(*each) for each in PLACES)])
def test_a_model_that_is_not_as_configured_decodes_itself(
    change: Callable[[Translator], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An engine would compute what the configuration says, or read beyond what is there."""
    ours, rounded, texts = in_precision("auto"), in_precision("int8"), sentences(4)
    before = ours.translate(texts)
    change(ours)
    after = ours.translate(texts)
    assert decoder(ours) is not Engine
    assert [each.score for each in before] != [each.score for each in after]
    monkeypatch.setenv(CHOICE, "none")
    assert_same(after, ours.translate(texts))
    monkeypatch.delenv(CHOICE)
    change(rounded)
    with pytest.raises(UsageError, match="modules of this model were changed"):
        rounded.translate(texts)


def test_new_weights_where_old_ones_lay_are_seen() -> None:
    ours, text = in_precision("auto"), sentences(1)[0]
    layer = cast(Any, ours.model.decoder.layers[0]).feed_forward.inner
    for seed in range(12):
        torch.manual_seed(seed)
        layer.weight = None
        layer.weight = torch.nn.Parameter(torch.randn(layer.out_features, layer.in_features))
        fresh = Translator(ours.model, ours.vocabulary, ours.config)
        assert ours.translate(text).score == fresh.translate(text).score


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("precision", ["auto", "int8"])
def test_forked_processes_share_no_memory(precision: str) -> None:
    ours, texts = in_precision(precision), sentences(6)
    torch.set_num_threads(1)
    expected = [each.score for each in ours.translate(texts)]  # this leaves memory for the next call
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()

    def work() -> None:
        results.put(all([each.score for each in ours.translate(texts)] == expected for _ in range(20)))

    processes = [context.Process(target=work) for _ in range(3)]
    for each in processes:
        each.start()
    assert [results.get() for _ in processes] == [True] * 3
    for each in processes:
        each.join()


def test_a_second_copy_of_the_weights_counts_as_memory() -> None:
    ours = in_precision("auto")
    assert [decoder(ours, memory) is Engine for memory in (1, 100)] == [False, True]


def test_memory_that_the_system_does_not_give_is_an_error_that_says_how_much() -> None:
    ours = in_precision("int8")
    with pytest.raises(PellucidError, match=r"^decoding needs \d+ MB of memory, .* Set a smaller max_length"):
        ours.translate("a", max_length=1_000_000, sample=True, n_best=100)
