"""Experiments: every number again by NumPy, by loops or by finite differences."""

import dataclasses
import functools
import math
from typing import Any

import numpy as np
import pytest
import torch
from by_hand import ByHand, Changes
from tiny import translator
from torch import Tensor

from pellucid.experiments import attribution, experiment
from pellucid.experiments.said import said
from pellucid.explanation import Explanation
from pellucid.reading.passes import as_read, watch
from pellucid.translator import Translator

TEXT, TARGET = "I like cats", "Me gustan los gatos"
OF_A_SENTENCE = (
    "attribution",
    "dimensions",
    "heads",
    "layers",
    "masks",
    "norms",
    "residuals",
    "rollout",
    "scale",
)
NORMS = pytest.mark.parametrize("norm", ["last", "first"])


@functools.cache
def tiny(norm: str = "last") -> Translator:
    """Weights twice as large, so that attention is not even and words differ."""
    made = translator(norm=norm, encoder_layers=2)
    with torch.no_grad():
        for parameter in made.model.parameters():
            parameter.mul_(2.0) if parameter.dim() > 1 else parameter.add_(0.1 * torch.randn(parameter.shape))
    return made


@functools.cache
def measured(name: str, norm: str = "last") -> Any:
    given = {} if name == "masks" else {"target": TARGET}
    return experiment(name, tiny(norm), TEXT, to="es", **given)


@functools.cache
def explained(norm: str = "last") -> Explanation:
    return tiny(norm).explain(TEXT, to="es", target=TARGET)


def tensor(name: str, norm: str = "last") -> np.ndarray[Any, Any]:
    return explained(norm).trace[name].tensor.double().numpy()


def by_hand(norm: str, changes: Changes, kind: type[ByHand] = ByHand) -> ByHand:
    model = tiny(norm).model
    return kind(model.config, {k: v.detach().double() for k, v in model.state_dict().items()}, changes)


def log_p(norm: str, changes: Changes) -> list[float]:
    """Of each expected word, by the second model."""
    return expected_log_p(by_hand(norm, changes), explained(norm))


def expected_log_p(model: ByHand, pair: Explanation) -> list[float]:
    source = torch.tensor([pair.source_ids])
    target = torch.tensor([[2, *pair.target_ids[:-1]]])
    logits = model.logits(source, source > -1, target, target > -1)[0]
    rows = logits - logits.exp().sum(-1, keepdim=True).log()
    return [float(row[token]) for row, token in zip(rows, pair.target_ids, strict=True)]


def probability(norm: str, changes: Changes) -> float:
    return math.exp(sum(log_p(norm, changes)))


def test_a_watched_pass_takes_all_tokens_as_real_unless_told() -> None:
    model, real = tiny().model, torch.ones(1, 4, dtype=torch.bool)
    source, target = as_read(model, [5, 6, 7, 3], [8, 9, 3])
    assert source.tolist() == [[5, 6, 7, 3]] and target.tolist() == [[model.config.start_id, 8, 9]]
    plain = watch(model, source, target)
    told = watch(model, source, target, source_mask=real, target_mask=real[:, :3])
    assert list(told) == list(plain)
    assert all(torch.equal(told[name].tensor, plain[name].tensor) for name in plain)
    hidden = watch(model, source, target, source_mask=real & (source != 7), only="encoder.*.weights")
    assert {name.rpartition(".")[2] for name in hidden} == {"weights"}
    assert not any(hidden[name].tensor[..., 2].any() for name in hidden)


@NORMS
def test_heads(norm: str) -> None:
    found = measured("heads", norm)
    assert found.probability == pytest.approx(probability(norm, Changes()), rel=1e-4)
    assert [(head.part, head.head) for head in found.heads] == [
        (f"{path}_attention", head)
        for path in (
            "encoder.layers.0.self",
            "encoder.layers.1.self",
            "decoder.layers.0.self",
            "decoder.layers.0.cross",
            "decoder.layers.1.self",
            "decoder.layers.1.cross",
        )
        for head in (0, 1)
    ]
    pair = explained(norm)
    for head in found.heads:
        for how in ("zero", "mean", "uniform"):
            expected = probability(norm, Changes(silent={(head.part, head.head): how}))
            assert head.silenced[how] == pytest.approx(expected, rel=1e-4), (head.name, how)
        weights = tensor(f"{head.part}.weights", norm)[0, head.head]
        bits = [-sum(w * math.log2(w) for w in row if w > 0) for row in weights]
        assert head.entropy == pytest.approx(sum(bits) / len(bits), abs=1e-6)
        if "cross" in head.part:
            assert head.distance is None
        else:
            apart = [w * abs(i - m) for i, row in enumerate(weights) for m, w in enumerate(row)]
            assert head.distance == pytest.approx(sum(apart) / len(weights), abs=1e-6)
        asked = pair.target_tokens if head.part.startswith("decoder") else pair.source_tokens
        words = pair.source_tokens if "cross" in head.part else asked
        means = weights.mean(0)
        assert head.word == words[int(means.argmax())] and head.share == pytest.approx(means.max())
    worst = min(found.heads, key=lambda head: head.silenced["zero"])
    assert worst.name in found.conclusion


def test_a_word_that_stands_twice_is_looked_at_as_one() -> None:
    found = experiment("heads", tiny(), "cats cats cats", to="es", target=TARGET, how="zero")
    weights = found.heads[-1], said(tiny(), "cats cats cats", "es", TARGET).trace
    cross = weights[1]["decoder.layers.1.cross_attention.weights"].tensor[0, 1].mean(0)
    shares = {">>es<<": cross[0], "cats": cross[1:4].sum(), "</s>": cross[4]}
    assert weights[0].share == pytest.approx(float(max(shares.values())), abs=1e-6)
    assert set(found.heads[0].silenced) == {"zero"} and found.lines(80)


def derivative(weights: np.ndarray[Any, Any]) -> float:
    """‖∂softmax/∂scores‖ by finite differences of the softmax itself."""
    scores = np.log(np.maximum(weights, 1e-300))
    step, columns = 1e-6, []
    for place in range(len(scores)):
        ends = []
        for sign in (1, -1):
            moved = scores.copy()
            moved[place] += sign * step
            ends.append(np.exp(moved) / np.exp(moved).sum())
        columns.append((ends[0] - ends[1]) / (2 * step))
    return float(np.sqrt((np.array(columns) ** 2).sum()))


def rows_of(scores: np.ndarray[Any, Any], allowed: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """The softmax of each row over the keys that it may look at, of rows with a choice."""
    rows = []
    for row, may in zip(
        scores.reshape(-1, scores.shape[-1]), allowed.reshape(-1, scores.shape[-1]), strict=True
    ):
        if may.sum() > 1:
            exponentials = np.exp(row[may] - row[may].max())
            rows.append(exponentials / exponentials.sum())
    return rows


@NORMS
def test_scale_on_the_sentence(norm: str) -> None:
    found = measured("scale", norm)
    assert len(found.parts) == 6
    for part in found.parts:
        queries, keys = tensor(f"{part.name}.queries", norm)[0], tensor(f"{part.name}.keys", norm)[0]
        scores = np.einsum("hlk,hmk->hlm", queries, keys)
        allowed = tensor(f"{part.name}.mask", norm)[0] == 0
        assert part.width == 4 and part.variance == pytest.approx(scores[allowed].var(), rel=1e-4)
        for side, divisor in ((part.scaled, 2.0), (part.unscaled, 1.0)):
            rows = rows_of(scores / divisor, allowed)
            bits = [-(row * np.log2(row)).sum() for row in rows]
            gradients = [derivative(row) for row in rows]
            assert side.entropy == pytest.approx(np.mean(bits), abs=1e-4)
            assert side.gradient == pytest.approx(np.median(gradients), abs=1e-4)
            assert side.closed == pytest.approx(np.mean(np.array(gradients) < 0.01))
    unscaled = {
        f"{s}coder.layers.{n}.{kind}_attention"
        for s in ("en", "de")
        for n in (0, 1)
        for kind in ("self", "cross")
    }
    expected = probability(norm, Changes(unscaled=unscaled))
    assert found.probability_unscaled == pytest.approx(expected, rel=1e-3)


def test_scale_of_random_vectors() -> None:
    """Other vectors, NumPy's: the same figures but for chance."""
    numbers = np.random.default_rng(5)
    for found in measured("scale").random:
        queries, keys = (
            numbers.normal(size=(500, 1, found.width)),
            numbers.normal(size=(500, 16, found.width)),
        )
        scores = (queries * keys).sum(-1)
        assert found.variance == pytest.approx(found.width, rel=0.15)
        for side, divisor in ((found.scaled, math.sqrt(found.width)), (found.unscaled, 1.0)):
            rows = rows_of(scores / divisor, np.ones_like(scores, dtype=bool))
            assert side.entropy == pytest.approx(
                np.mean([-(row * np.log2(row + 1e-300)).sum() for row in rows]), abs=0.2
            )
            closed = [math.sqrt(((np.diag(row) - np.outer(row, row)) ** 2).sum()) < 0.01 for row in rows]
            assert side.closed == pytest.approx(np.mean(closed), abs=0.1)


@NORMS
def test_layers(norm: str) -> None:
    found, pair = measured("layers", norm), explained(norm)
    numbers = {k: v.double().numpy() for k, v in tiny(norm).model.state_dict().items()}
    streams = ["decoder.embedded"] + [f"decoder.layers.{n}.residual_3.output" for n in (0, 1)]
    assert [layer.name for layer in found.layers] == ["embedded", "layer 0", "layer 1"]
    for layer, name in zip(found.layers, streams, strict=True):
        x = tensor(name, norm)[0]
        if norm == "first":
            x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
            x = x * numbers["decoder.norm.weight"] + numbers["decoder.norm.bias"]
        exponentials = np.exp(x @ numbers["embedding.weight"].T)
        p = exponentials / exponentials.sum(-1, keepdims=True)
        for row, guess, wanted in zip(p, layer.guesses, pair.target_ids, strict=True):
            assert guess.word == pair.vocabulary.target_tokens([int(row.argmax())])[0]
            assert guess.probability == pytest.approx(row.max(), rel=1e-4)
            assert guess.expected == pytest.approx(row[wanted], rel=1e-4)
            assert guess.rank == 1 + sum(other > row[wanted] * (1 + 1e-6) for other in row)
    last = [guess.expected for guess in found.layers[-1].guesses]
    assert last == pytest.approx([step.probability for step in pair.steps], rel=1e-4)


@NORMS
def test_residuals(norm: str) -> None:
    found = measured("residuals", norm)
    parts = [
        f"{s}coder.layers.{n}.residual_{k}"
        for s, most in (("en", 2), ("de", 3))
        for n in (0, 1)
        for k in range(1, most + 1)
    ]
    assert [each.part for each in found.removed] == parts
    came_in = "encoder.embedded"
    for each in found.removed:
        expected = probability(norm, Changes(no_residual={each.part}))
        assert each.probability == pytest.approx(expected, rel=1e-3), each.part
        came_in = f"{each.part.partition('.')[0]}.embedded" if each.part.endswith("0.residual_1") else came_in
        lengths = [
            np.linalg.norm(tensor(name, norm)[0], axis=-1).mean()
            for name in (
                came_in,
                f"{each.part.rpartition('.')[0]}.{each.sublayer}.output",
                f"{each.part}.sum",
            )
        ]
        assert [each.stream, each.added, each.total] == pytest.approx(lengths, rel=1e-4)
        came_in = f"{each.part}.output"
    assert found.none == pytest.approx(probability(norm, Changes(no_residual=set(parts))), rel=1e-2)


class Scaled(ByHand):
    """Each word's embedding times a factor of its own: source first, then what the decoder reads."""

    factors: Tensor

    def embedded(self, ids: Tensor) -> Tensor:
        x = super().embedded(ids)
        mine, self.factors = self.factors[: len(ids)], self.factors[len(ids) :]
        words = self.numbers["embedding.weight"][ids] * math.sqrt(self.config.width)
        return x + (mine[:, None] - 1) * words


def test_attribution(monkeypatch: pytest.MonkeyPatch) -> None:
    """A word's share is the derivative by a factor on its embedding: so finite differences find it."""
    monkeypatch.setattr(attribution, "TOGETHER", 2)  # three batches of points
    pair = explained()
    found = experiment("attribution", tiny(), TEXT, to="es", target=TARGET, steps=6)
    count = len(pair.source_ids) + len(pair.target_ids)

    def at(factors: Tensor) -> np.ndarray[Any, Any]:
        model = by_hand("last", Changes(), Scaled)
        model.factors = factors
        return np.array(expected_log_p(model, pair))

    def shares(point: float) -> np.ndarray[Any, Any]:
        columns = []
        for word in range(count):
            step = torch.zeros(count, dtype=torch.float64)
            step[word] = 1e-5
            whole = torch.full((count,), point, dtype=torch.float64)
            columns.append((at(whole + step) - at(whole - step)) / 2e-5)
        return np.array(columns).T

    nodes, weights = np.polynomial.legendre.leggauss(6)
    integrated = sum(w / 2 * shares((1 + n) / 2) for n, w in zip(nodes, weights, strict=True))
    assert np.allclose([each.integrated for each in found.words], integrated, atol=2e-3)
    assert np.allclose([each.gradient_times_input for each in found.words], shares(1.0), atol=2e-3)
    ends = [at(torch.full((count,), end, dtype=torch.float64)) for end in (1.0, 0.0)]
    assert [each.log_probability for each in found.words] == pytest.approx(ends[0].tolist(), abs=1e-4)
    assert [each.without_words for each in found.words] == pytest.approx(ends[1].tolist(), abs=1e-4)
    source = len(pair.source_ids)
    for place, each in enumerate(found.words):
        assert not any(each.integrated[source + place + 1 :]), "a later word has a share"
    due = sum(sum(each.integrated[:source]) for each in found.words)
    assert f", {due:.1f} are due to the source and" in found.conclusion


def test_attribution_is_complete_and_says_how_far() -> None:
    few, many = (experiment("attribution", tiny(), TEXT, to="es", target=TARGET, steps=n) for n in (8, 1024))
    assert many.error < 0.05 < 0.5 < few.error  # these random weights bend the way sharply
    assert many.error == max(
        abs(each.log_probability - each.without_words - sum(each.integrated)) for each in many.words
    )
    assert f"within {many.error:.4f} a word" in many.conclusion


def test_rollout() -> None:
    found, size = measured("rollout"), len(explained().source_ids)
    rolled = np.eye(size)
    for layer in (0, 1):
        heads = tensor(f"encoder.layers.{layer}.self_attention.weights")[0]
        after = np.zeros((size, size))
        for i in range(size):
            for m in range(size):
                share = 0.5 * (heads[0, i, m] + heads[1, i, m]) / 2 + 0.5 * (i == m)
                after[i] += share * rolled[m]
        rolled = after
    direct = tensor("decoder.layers.1.cross_attention.weights")[0].mean(0)
    assert np.allclose(found.encoder, rolled, atol=1e-6)
    assert np.allclose(np.array(found.encoder).sum(-1), 1, atol=1e-6)
    assert np.allclose(found.direct, direct, atol=1e-6)
    assert np.allclose(
        found.through, [sum(w * rolled[m] for m, w in enumerate(row)) for row in direct], atol=1e-6
    )
    assert "Derived, not in the model" in " ".join(found.lines(200))


@NORMS
def test_masks(norm: str) -> None:
    found = measured("masks", norm)
    first, second = (tiny(norm).explain(text, to="es") for text in (TEXT, "I like"))
    assert found.shorter.startswith("I like  →")
    ids = [pair.source_ids for pair in (first, second)]
    read = [[2, *pair.target_ids[:-1]] for pair in (first, second)]
    extra = 2 * (len(read[1]) >= len(read[0]))
    source = torch.tensor([row + [0] * (len(ids[0]) - len(row)) for row in ids])
    longest = max(map(len, read)) + extra
    target = torch.tensor([row + [0] * (longest - len(row)) for row in read])
    source_real = torch.arange(source.shape[1]) < torch.tensor([[len(row)] for row in ids])
    target_real = torch.arange(longest) < torch.tensor([[len(row)] for row in read])
    for mask, asks, asked, causal in zip(
        found.masks,
        (len(read[0]), source.shape[1], longest, longest),
        ([True] * len(read[0]), source_real[1], target_real[1], source_real[1]),
        (True, False, True, False),
        strict=True,
    ):
        expected = [
            [0.0 if real and (m <= i or not causal) else -math.inf for m, real in enumerate(asked)]
            for i in range(asks)
        ]
        assert mask.values == expected, mask.name
        assert (len(mask.rows), len(mask.columns)) == (asks, len(expected[0]))
    every, all_heads = (
        torch.ones_like,
        {(f"decoder.layers.{n}.self_attention", h) for n in (0, 1) for h in (0, 1)},
    )
    cases = (
        (source_real, target_real, Changes()),
        (every(source_real), target_real, Changes()),
        (source_real, every(target_real), Changes()),
        (source_real, target_real, Changes(lifted=all_heads)),
    )
    alone = expected_log_p(by_hand(norm, Changes()), second)
    assert found.alone == pytest.approx(math.exp(sum(alone)), rel=1e-3)
    for without, (real, read_real, changes) in zip(found.without, cases, strict=True):
        logits = by_hand(norm, changes).logits(source, real, target, read_real)[1].log_softmax(-1)
        log_p = [float(row[token]) for row, token in zip(logits, second.target_ids, strict=False)]
        assert without.probability == pytest.approx(math.exp(sum(log_p)), rel=1e-3), without.mask
        difference = max(abs(a - b) for a, b in zip(log_p, alone, strict=True))
        assert without.difference == pytest.approx(difference, abs=1e-4)
    assert found.without[0].difference < 1e-4 < found.without[1].difference


def test_masks_of_sentences_that_are_equally_long_are_padded_all_the_same() -> None:
    found = experiment("masks", tiny(), "cats", to="es")
    assert found.masks[1].columns[-2:] == ["<pad>", "<pad>"]
    assert found.without[0].difference < 1e-4


def test_dimensions() -> None:
    found = measured("dimensions")
    vocabulary = tiny().model.config.vocabulary
    sizes = {"T_enc": 5, "T_dec": 5, "d_model": 8, "h": 2, "d_k": 4, "d_v": 4, "d_ff": 12, "V": vocabulary}
    assert found.sizes == sizes
    components = [each for table in found.tables.values() for each in table]
    assert len(components) == 22
    for each in components:  # the symbols, with their numbers put in, are the shape that the run had
        assert each.numbers == tuple(sizes[symbol] for symbol in each.symbols.split(" × ")), each.name
    longer = experiment("dimensions", tiny(), "le chat est sur le tapis", to="en", target="The cat sat")
    assert (longer.sizes["T_enc"], longer.sizes["T_dec"]) == (8, 4)
    weights = next(
        each for table in longer.tables.values() for each in table if each.name == "attention weights"
    )
    assert weights.numbers == (4, 8)


def test_positions() -> None:
    found = experiment("positions", tiny(), length=5, widths=(4, 6))
    assert [table.width for table in found.tables] == [4, 6, 8]
    for table in found.tables:
        for i, row in enumerate(table.values):
            for j, value in enumerate(row):
                angle = i / 10_000 ** (2 * (j // 2) / table.width)
                assert value == pytest.approx(math.cos(angle) if j % 2 else math.sin(angle), abs=1e-12)
    assert "2   0.9093  -0.4161  0.0200  0.9998" in found.lines(80)
    vectors = np.array(found.tables[-1].values)
    assert found.position_length == pytest.approx(math.sqrt(8 / 2))
    lengths = np.linalg.norm(tiny().model.embedding.weight.detach().double().numpy(), axis=-1)
    assert found.embedding_length == pytest.approx(lengths.mean()) and found.factor == math.sqrt(8)
    assert found.neighbours == pytest.approx([vectors[0] @ vector / 4 for vector in vectors])
    assert [vectors[1] @ vector / 4 for vector in vectors[1:]] == pytest.approx(found.neighbours[:-1])


@NORMS
def test_norms(norm: str) -> None:
    found = measured("norms", norm)
    assert len(found.norms) == 10 + 2 * (norm == "first")
    numbers = {k: v.double().numpy() for k, v in tiny(norm).model.state_dict().items()}
    last = "decoder.layers.1.residual_3.norm"
    chosen = experiment("norms", tiny(norm), TEXT, to="es", target=TARGET, part=last)
    comes_in = "decoder.layers.1.residual_3.sum" if norm == "last" else "decoder.layers.1.residual_2.output"
    x = tensor(comes_in, norm)[0]
    mean, variance = x.mean(-1), x.var(-1)
    standardized = (x - mean[:, None]) / np.sqrt(variance[:, None] + 1e-5)
    final = standardized * numbers[f"{last}.weight"] + numbers[f"{last}.bias"]
    assert np.allclose(chosen.before, x, atol=1e-5)
    assert np.allclose(chosen.standardized, standardized, atol=1e-5)
    assert np.allclose(chosen.final, final, atol=1e-5)
    assert np.allclose(chosen.weight, numbers[f"{last}.weight"]) and np.allclose(
        chosen.bias, numbers[f"{last}.bias"]
    )
    positions = next(each for each in found.norms if each.part == last).positions
    for place, position in enumerate(positions):
        expected = [
            mean[place],
            variance[place],
            0.0,
            variance[place] / (variance[place] + 1e-5),
            final[place].mean(),
            final[place].var(),
        ]
        assert list(dataclasses.astuple(position))[1:] == pytest.approx(expected, abs=1e-5)


@pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")
def test_float16() -> None:
    found = experiment("float16", scores=(1.5, -0.5, 1.0), numbers=(-math.inf, -1e9, -70_000.0, -30.0, -2.0))
    exact = np.exp([1.5, -0.5]) / np.exp([1.5, -0.5]).sum()
    for row in found.rows:
        kind = getattr(np, row.precision)
        held = kind(row.number)
        assert row.held == float(held) and row.refused == (np.isinf(held) and math.isfinite(row.number))
        scores = (np.array([1.5, -0.5, 1.0], kind) + np.array([0, 0, held], kind)).astype(np.float64)
        weights = np.exp(scores) / np.exp(scores).sum()
        assert row.weights == pytest.approx(
            weights.tolist(), abs=1e-3 if row.precision == "float16" else 1e-7
        )
        assert row.off == pytest.approx(np.abs(np.array(row.weights) - [*exact, 0]).max(), abs=1e-9)
        whole = (np.array([1.5, -0.5, 1.0], kind) + held).astype(np.float64)
        if np.isinf(held):
            assert all(map(math.isnan, row.all_masked))
        else:
            expected = np.exp(whole - whole.max()) / np.exp(whole - whole.max()).sum()
            assert row.all_masked == pytest.approx(expected.tolist(), abs=1e-3)
    assert found.row(-1e9, "float32").weights == found.row(-math.inf, "float32").weights
    assert found.row(-1e9, "float16").held == -math.inf and found.row(-1e9, "float16").refused
    assert found.row(-30.0, "float32").weights[-1] > 0, "a number that is not very large hides nothing"
