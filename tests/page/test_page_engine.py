"""The page's numbers: those it was given, bit for bit; those it computes, equal to the model's."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
import torch
from engine_page import engine_page, error_of, numbers_of

from pellucid import edits
from pellucid.explanation import Explanation
from pellucid.seeing.trace import editing, trace
from pellucid.translator import Translator

pytestmark = pytest.mark.browser
SELF, CROSS = "decoder.layers.1.self_attention", "decoder.layers.0.cross_attention"
CONFIGS = {
    "relu": dict(norm="last", activation="relu", tied=True, joint=True),
    "pre-norm, gelu, untied": dict(norm="first", activation="gelu", tied=False, output_bias=True),
    "pre-norm, silu, two vocabularies": dict(
        norm="first", activation="silu", joint=False, scale_embeddings=False, heads=4
    ),
    "gelu, untied, two vocabularies, no layers beside": dict(
        activation="gelu", tied=False, joint=False, output_bias=True, decoder_layers=1, heads=1
    ),
}


def shaken(**settings: Any) -> Translator:
    """A small random model of which no weight, and no bias, is 0 or 1."""
    translator = tiny.translator(**settings)
    with torch.no_grad():
        for parameter in translator.model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return translator


@pytest.fixture(scope="module")
def spanish() -> Explanation:
    return shaken(encoder_layers=2).explain("I like cats", to="es", target="Me gustan los gatos")


@pytest.fixture(scope="module")
def page(browser: Any, spanish: Explanation, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with engine_page(browser, [spanish], tmp_path_factory.mktemp("engine")) as page:
        yield page


def assert_near(found: Mapping[str, tuple[str, np.ndarray]], expected: Mapping[str, Any]) -> None:
    """The same names in the same order, axes and shapes; numbers within 1e-5 times the largest, or 1."""
    assert list(found) == list(expected)
    for name, record in expected.items():
        (axes, ours), theirs = found[name], record.tensor.numpy()
        assert axes == record.axes and ours.shape == theirs.shape, name
        finite = np.isfinite(theirs)
        assert (ours[~finite] == theirs[~finite]).all(), name
        largest = np.abs(theirs[finite]).max(initial=1)
        assert np.abs(ours[finite] - theirs[finite]).max(initial=0) <= 1e-5 * largest, name


def assert_same_bits(found: Mapping[str, tuple[str, np.ndarray]], expected: Mapping[str, Any]) -> None:
    assert list(found) == list(expected)
    for name, record in expected.items():
        axes, ours = found[name]
        theirs = np.ascontiguousarray(record.tensor.numpy())
        assert axes == record.axes and ours.shape == theirs.shape, name
        assert (ours.view(np.uint32) == theirs.view(np.uint32)).all(), name


def test_the_demo_comes_back_and_is_computed_again(browser: Any, demo: Explanation, tmp_path: Path) -> None:
    with engine_page(browser, [demo], tmp_path) as page:
        assert_same_bits(numbers_of(page, "page.runs[0]"), demo.trace)
        for run in (
            "Promise.resolve(computedRun(page.runs[0].model, page.runs[0].sentence))",
            "explainText('How are you', 'hi')",
        ):
            assert_near(numbers_of(page, run), demo.trace)
            steps = page.evaluate(f"{run}.then((run) => run.steps)")
            for ours, theirs in zip(steps, demo.steps, strict=True):
                for word in ("input", "expected", "predicted"):
                    assert ours[word] == getattr(theirs, word)
                assert ours["probability"] == pytest.approx(theirs.probability, abs=1e-5)
                assert ours["loss"] == pytest.approx(theirs.loss, abs=1e-5)
                best = [token for token, _ in theirs.alternatives]
                assert [token for token, _ in ours["alternatives"]] == best


@pytest.mark.parametrize("settings", CONFIGS.values(), ids=CONFIGS)
def test_every_kind_of_model(browser: Any, settings: dict[str, Any], tmp_path: Path) -> None:
    explanation = shaken(**settings).explain("I like cats", to="es", target="Me gustan los gatos")
    with engine_page(browser, [explanation], tmp_path) as page:
        assert_same_bits(numbers_of(page, "page.runs[0]"), explanation.trace)
        again = "computedRun(page.runs[0].model, page.runs[0].sentence)"
        assert_near(numbers_of(page, again), explanation.trace)
        for cached in ("true", "false"):
            assert page.evaluate(f"comparedInTime(page.runs[0], {cached})")["difference"] < 1e-5


# What a reader of the page switches, and what does the same in Python.
SWITCHES: dict[str, tuple[dict[str, Any], edits.Edits]] = {
    "no mask": ({"causal": False}, edits.lift_mask("decoder.*.self_attention")),
    "no mask in a part": ({"causal": False, "where": SELF}, edits.lift_mask(SELF)),
    "no mask in a head": ({"causal": False, "where": SELF, "head": 1}, edits.lift_mask(SELF, 1)),
    "no scale": ({"scale": False}, edits.without_scale("*")),
    "no residual": (
        {"residual": False},
        edits.together(
            *(edits.without_residual(f"encoder.layers.*.residual_{number}") for number in (1, 2)),
            *(edits.without_residual(f"decoder.layers.*.residual_{number}") for number in (1, 2, 3)),
        ),
    ),
    "no residual in a part": (
        {"residual": False, "where": "decoder.layers.0.residual_2"},
        edits.without_residual("decoder.layers.0.residual_2"),
    ),
    "silent heads": (
        {"silent": {CROSS: [1], "encoder.layers.1.self_attention": [0, 1]}},
        edits.silence(CROSS, 1) | edits.silence("encoder.layers.1.self_attention", [0, 1]),
    ),
    "several": (
        {"causal": False, "scale": False, "silent": {SELF: [0]}},
        edits.lift_mask("decoder.*.self_attention") | edits.without_scale("*") | edits.silence(SELF, 0),
    ),
}


@pytest.mark.parametrize("name", SWITCHES)
def test_switches_are_edits(name: str, page: Any, spanish: Explanation) -> None:
    switches, same = SWITCHES[name]
    expected = passed(spanish, same)
    run = "switchedRun(page.runs[0], { ...UNSWITCHED, ...given })"
    assert_near(numbers_of(page, run, switches), expected)
    changed = expected["decoder.probabilities"].tensor - spanish.trace["decoder.probabilities"].tensor
    assert changed.abs().max() > 1e-4


def test_a_sentence_is_translated_again_with_switches_and_with_another_word(
    page: Any, spanish: Explanation
) -> None:
    translator, text = spanish.translator, spanish.translation.source
    for name in ("silent heads", "no residual"):
        switches, same = SWITCHES[name]
        with editing(translator.model, same):
            expected = translator.translate(text, to="es").text
        anew = (
            "switchedRun(page.runs[0], { ...UNSWITCHED, ...given }).then((run) => run.model.maker.anew(run))"
        )
        assert page.evaluate(f"(given) => {anew}", switches) == expected
    best = spanish.trace["decoder.probabilities"].tensor[0, 1].sort(descending=True, stable=True).indices
    for rank in (1, 4):
        prefix = [spanish.target_ids[0], int(best[rank])]
        instead = f"page.models[0].maker.instead(page.runs[0], 1, {rank})"
        assert page.evaluate(instead) == translator.translate(text, to="es", prefix=prefix).text


@pytest.mark.parametrize("masked", [True, False])
def test_padding_is_two_tokens_that_are_masked_or_not(masked: bool, page: Any, spanish: Explanation) -> None:
    run = f"switchedRun(page.runs[0], {{ ...UNSWITCHED, padding: '{'masked' if masked else 'unmasked'}' }})"
    assert_near(numbers_of(page, run), passed(spanish, {}, padding=2, masked=masked))
    assert page.evaluate(f"{run}.then((run) => run.source)") == [*spanish.source_tokens, "<pad>", "<pad>"]
    before = spanish.trace["decoder.logits"].tensor.numpy()
    _, after = numbers_of(page, run)["decoder.logits"]
    assert (np.abs(after - before).max() < 1e-5) == masked


def passed(of: Explanation, changes: edits.Edits, padding: int = 0, masked: bool = True) -> Mapping[str, Any]:
    model = of.translator.model
    source = torch.tensor([of.source_ids + [model.config.pad_id] * padding])
    real = torch.arange(source.shape[1])[None] < (len(of.source_ids) if masked else source.shape[1])
    target = torch.tensor([[model.config.start_id, *of.target_ids[:-1]]])
    with torch.no_grad(), trace(model, edits=changes) as seen:
        model(source, real, target)
    return seen


def test_without_its_mask_decoding_is_another_thing(page: Any) -> None:
    run = "switchedRun(page.runs[0], { ...UNSWITCHED, causal: false })"
    for cached in ("true", "false"):
        compared = page.evaluate(f"{run}.then((run) => comparedInTime(run, {cached}))")
        assert compared["difference"] > 0.01 and compared["where"].startswith("decoder.layers.")
        rows = page.evaluate(
            f"{run}.then((run) => stepsOfDecoding(run, {cached}).map("
            "(tensors) => tensors.get('decoder.embedded').shape.at(-2)))"
        )
        assert rows == ([1] * 5 if cached == "true" else [1, 2, 3, 4, 5])


def test_what_cannot_be_switched_says_why(page: Any) -> None:
    first = "encoder.layers.0"
    for switches, reason in (
        (
            {"silent": {"decoder.layers.9.self_attention": [0]}},
            "heads are those of one attention: encoder.layers.0.self_attention, ",
        ),
        ({"silent": {SELF: [2]}}, "there is no head 2: there are 2, counted from 0."),
        ({"causal": False, "where": f"{first}.self_attention"}, f"{first}.self_attention has no causal mask"),
        (
            {"scale": False, "where": f"{first}.residual_1"},
            f"{first}.residual_1 has no scale: {first}.self_attention has one.",
        ),
        ({"causal": False, "head": 2, "where": SELF}, "there is no head 2: there are 2, counted from 0."),
        ({"causal": False, "head": 1}, "heads are those of one attention: "),
        ({"scale": False, "where": "decoder.layer"}, "decoder.layer has no scale: encoder.layers.0."),
    ):
        run = "switchedRun(page.runs[0], { ...UNSWITCHED, ...given })"
        assert error_of(page, run, switches).startswith(reason)


def test_names_and_labels(page: Any, spanish: Explanation) -> None:
    every = {axis: name for name, record in spanish.trace.items() for axis in record.axes}
    for axis, name in every.items():
        record = spanish.trace[name]
        words = spanish.vocabulary.target_tokens(range(record.tensor.shape[2])) if axis == "V" else []
        labels = page.evaluate("([name, axis]) => page.runs[0].labels(name, axis)", [name, axis])
        assert labels == (words or record.labels(axis)), name
    wrong = error_of(page, "page.runs[0].get('decoder.layers.0.cros_attention.weights')")
    near = 'no tensor is called "decoder.layers.0.cros_attention.weights". Nearest: decoder.layers.0.cross_'
    assert wrong.startswith(near)
    no_head = error_of(page, "page.runs[0].labels('encoder.output', 'H')")
    assert no_head == 'encoder.output has no axis "H". Its axes are BLD.'
