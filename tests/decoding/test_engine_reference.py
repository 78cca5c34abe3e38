"""The compiled kernels compute what reference_engine.py computes, bit for bit, whatever the model's shape."""

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import reference_engine as reference
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from random_models import configurations, random_model, random_sources, room_for, run, starts, step_of, steps

from pellucid.config.schema import ModelConfig
from pellucid.decoding import native
from pellucid.decoding.engine import Engine, memory_of
from pellucid.decoding.library import BITS, LIBRARY, Kernels, has_kernels, runs
from pellucid.decoding.pytorch import TransformerDecoding
from pellucid.decoding.room import Room, Rows, StepOutput
from pellucid.decoding.serving import round_weights
from pellucid.model import Transformer
from pellucid.search.options import Options
from pellucid.search.request import Request

pytestmark = pytest.mark.skipif(not has_kernels(), reason="the kernels are not built here")
SEEDS = st.integers(0, 10_000)
QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]


@pytest.fixture(autouse=True, scope="module")
def two_threads() -> Iterator[None]:
    """As many as a session may have here, whatever the environment says."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def kinds() -> list[Kernels]:
    library = ctypes.CDLL(str(LIBRARY))
    return [Kernels(library, kind) for kind in BITS if runs(library, kind)]


def check_equal(
    config: ModelConfig, seed: int, before: Callable[[native.Weights, Room], None] = lambda *_: None
) -> None:
    """Every kind of kernels says what the reference says. before: what happens to its weights first."""
    numbers = np.random.default_rng(seed)
    model, sources = random_model(config, seed), random_sources(config, numbers)
    width, count = int(numbers.integers(1, 5)), int(numbers.integers(1, 8))
    room = room_for(sources, width, count, min(2 * width + 2, config.target_size))
    room = replace(room, threads=1 + seed % 2)
    given_steps = steps(config, sources, room, numbers)
    expected = run(reference.State(reference.Weights(model), room), sources, given_steps)
    for kernels in kinds():
        weights = native.Weights(model, "int8", kernels)
        before(weights, room)
        session = native.State(weights, room)
        found = run(session, sources, given_steps)
        session.close()
        for step, (ours, right) in enumerate(zip(found, expected, strict=True)):
            assert ours.keys() == right.keys()
            for name in right:
                assert np.array_equal(ours[name], right[name]), f"{kernels.kind}, step {step}: {name}"


@settings(max_examples=25, deadline=None, suppress_health_check=QUIET)
@given(configurations(), SEEDS)
def test_every_kind_of_kernels_is_the_reference_bit_for_bit(config: ModelConfig, seed: int) -> None:
    check_equal(config, seed)


@pytest.mark.slow
@pytest.mark.timeout(3000)
@settings(max_examples=1000, deadline=None, suppress_health_check=QUIET)
@given(configurations(), SEEDS)
def test_a_thousand_models(config: ModelConfig, seed: int) -> None:
    check_equal(config, seed)


def float_logits(model: Transformer, sources: list[list[int]], tokens: NDArray[Any]) -> torch.Tensor:
    """The model's own logits, S T V, of forced tokens S T."""
    decoding = TransformerDecoding(model, room_for(sources, 1, tokens.shape[1], 0))
    requests = [Request(n, tokens.shape[1], source=ids, options=Options(1)) for n, ids in enumerate(sources)]
    assert decoding.join(requests) == len(sources)
    steps = [decoding.step(tokens[:, step], None, 0) for step in range(tokens.shape[1])]
    return torch.stack([step.logits() for step in steps], 1)


@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 1e-5), ("bf16", 1e-5), ("int8", 0.2)])
@settings(max_examples=20, deadline=None, suppress_health_check=QUIET, derandomize=True)
@given(configurations(least=30), SEEDS)
def test_the_engine_computes_the_model(
    precision: str, tolerance: float, config: ModelConfig, seed: int
) -> None:
    """The root of the mean square difference is a small share of the logits' size. In bf16 the model is the
    one with rounded weights, which a translator of this precision has as `serving`."""
    model, numbers = random_model(config, seed, size=1.0), np.random.default_rng(seed)
    sources = random_sources(config, numbers)
    tokens = numbers.integers(0, config.target_size, (len(sources), 6))
    rounded_model = round_weights(model, torch.bfloat16).float() if precision == "bf16" else model
    expected = float_logits(rounded_model, sources, tokens)
    rows = np.arange(len(sources), dtype=np.int32)
    room = room_for(sources, 1, 6, 0)
    begins, cells = starts(sources, room).T
    cells = cells[:, None] + np.arange(6, dtype=np.int32)
    for kernels in kinds():
        session = native.State(native.Weights(model, precision, kernels), room)
        session.encode(rows.tolist(), begins, sources)
        for step in range(6):
            token, position = tokens[:, step].astype(np.int32), np.full_like(rows, step)
            logits = step_of(session, Rows(token, position, rows, cells[:, step], cells, rows), 0).logits
            assert logits is not None
            difference = torch.from_numpy(logits[:, : config.target_size]) - expected[:, step]
            size = expected[:, step].square().mean().sqrt()
            assert difference.square().mean().sqrt() <= tolerance * size + 1e-6


def test_nothing_beyond_the_buffers_is_read_or_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """All memory begins as NaN, with walls of NaN around: the results are the same, and the walls stand."""
    walls: list[NDArray[Any]] = []

    def guarded(self: native.State, shape: int | tuple[int, ...], dtype: type) -> NDArray[Any]:
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        block = np.full(size + 64 + 2 * 4096, 0xFF, np.uint8)
        start = 4096 + -block.ctypes.data % 64
        walls.extend((block[:start], block[start + size :]))
        return block[start : start + size].view(dtype).reshape(shape)

    monkeypatch.setattr(native.State, "_take", guarded)
    for seed, (vocabulary, *shape) in enumerate([(9, 6, 1, 5), (70, 72, 3, 100), (1030, 130, 5, 64)]):
        check_equal(ModelConfig(vocabulary, *shape, encoder_layers=2, decoder_layers=2), seed)
    # More hypotheses than tokens that were read: the logits of a step need more room than all before it.
    config, room = ModelConfig(2100, width=16, heads=2, hidden=8), room_for([[4]], 6, 2, 4)
    weights = native.Weights(random_model(config, 1), "int8", kinds()[0])
    run(native.State(weights, room), [[4]], steps(config, [[4]], room, np.random.default_rng(1)))
    assert walls and all((wall == 0xFF).all() for wall in walls)


def test_memory_that_an_earlier_session_left_changes_nothing() -> None:
    given_back = []

    def fill(weights: native.Weights, room: Room) -> None:
        native.State(weights, room).close()  # comes and goes
        (left,) = weights._spare
        left._bytes[:] = 0xFF
        left._used = len(left._bytes)
        given_back.append((weights._spare, left))

    check_equal(ModelConfig(vocabulary=70, width=24, heads=3, hidden=40), 3, fill)
    # The later session had that memory, and gave it back.
    assert given_back and all(spare == [left] for spare, left in given_back)


def test_numbers_that_are_not_finite_stay_visible() -> None:
    config = ModelConfig(50, width=32, heads=2, hidden=40, encoder_layers=1, decoder_layers=1)
    for bad in (np.nan, np.inf):
        model = random_model(config, 3)
        with torch.no_grad():
            model.embedding.weight[5, 3] = bad  # type: ignore[union-attr]
        room = room_for([[4, 6]], 1, 2, 4)
        sessions: list[Any] = [native.State(native.Weights(model, "int8", each), room) for each in kinds()]
        for session in [*sessions, reference.State(reference.Weights(model), room)]:
            found = first_step(session, 5, 4)
            assert not np.isfinite(found.greatest + np.log(found.total)).any()


def first_step(session: Any, token: int, candidates: int) -> StepOutput:
    one, ancestors = np.zeros(1, np.int32), np.zeros((1, 2), np.int32)
    session.encode([0], one, [[4, 6]])
    return step_of(session, Rows(one + token, one, one, one + 2, ancestors, one), candidates)


def test_ties_go_to_the_lower_ids() -> None:
    config = ModelConfig(vocabulary=1100, width=16, heads=2, hidden=8, encoder_layers=1, decoder_layers=1)
    model = random_model(config, 1)
    with torch.no_grad():
        model.embedding.weight[4:] = 0.25  # type: ignore[union-attr]
        model.embedding.weight[1000] = -0.5  # type: ignore[union-attr]
        model.embedding.weight[1001] = 0.5  # type: ignore[union-attr]  # the logit of one is higher
    room = replace(room_for([[4, 6]], 1, 2, 6), forbidden=[0, 1, 2, 3, 5])
    for kernels in kinds():
        found = first_step(native.State(native.Weights(model, "int8", kernels), room), 0, 6)
        assert found.id[0, :-1].tolist() == [4, 6, 7, 8, 9] and found.id[0, -1] in (1000, 1001)
        assert len(set(found.value[0, :-1].tolist())) == 1


@pytest.mark.parametrize("activation", ["gelu", "silu"])
def test_activations_far_below_0_and_near_it(activation: str) -> None:
    shape = dict(width=32, heads=2, hidden=40, encoder_layers=1, decoder_layers=1)
    model = random_model(ModelConfig(50, activation=activation, **shape), 3)  # type: ignore[arg-type]
    inner: Any = model.decoder.layers[0].feed_forward.inner  # type: ignore[union-attr]
    with torch.no_grad():
        inner.weight.mul_(1e-6)
        inner.bias.zero_()[::2] = -100.0
    room = room_for([[4, 6]], 1, 2, 4)
    right = first_step(reference.State(reference.Weights(model), room), 5, 4)
    for kernels in kinds():
        found = first_step(native.State(native.Weights(model, "int8", kernels), room), 5, 4)
        assert np.array_equal(found.value, right.value) and found.total[0] == right.total[0]


@pytest.mark.parametrize("precision", ["int8", "fp32", "bf16"])
def test_the_memory_of_a_session_is_known_before(precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is taken, byte for byte, beside the logits that search may ask for."""
    taken, take = [], native.State._take
    monkeypatch.setattr(native.State, "_take", lambda *about: taken.append(take(*about)) or taken[-1])
    model = random_model(ModelConfig(vocabulary=70, width=24, heads=3, hidden=40), 1)
    room = room_for([[4] * 30, [5] * 7], 4, 9, 10)
    session = native.State(native.Weights(model, precision, kinds()[0]), room)
    held = sum(each.nbytes for each in [*taken, *session.rows])
    assert Engine(model, precision).room_bytes(room) == held + 4 * 8 * 128 * 4


def test_embeddings_that_must_be_converted_count_as_memory() -> None:
    config, room = ModelConfig(70, target_vocabulary=90, width=24, heads=3), room_for([[4]], 1, 2, 4)
    model = random_model(config, 1)
    before = memory_of(model, "int8", room)
    after = memory_of(model.bfloat16(), "int8", room)
    assert after == (before[0] + 4 * 24 * (70 + 90), before[1])


def test_memory_is_kept_for_as_many_threads_as_there_are_if_it_is_not_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, room = random_model(ModelConfig(70, width=24, heads=3, hidden=40), 1), room_for([[4]], 1, 2, 4)
    weights = native.Weights(model, "int8", kinds()[0])
    sessions = [native.State(weights, room) for _ in range(3)]
    for session in sessions:
        session.close()
    assert len(weights._spare) == 2
    weights._spare.clear()
    for size, is_kept in ((4 << 20, True), (6 << 20, False)):  # only where it is large enough
        weights.take_back(kept := native.Arena(4 << 20))
        lent = weights.lend(size)
        assert lent.size >= size and (lent is kept) == is_kept
    monkeypatch.setattr(native, "SPARE", 1)
    native.State(weights, room).close()
    assert not weights._spare
