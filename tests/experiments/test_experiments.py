"""The numbers of experiments: each again by NumPy, by loops, by a second model or by finite differences."""

import functools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from by_hand import ByHand, Changes
from tiny import translator
from torch import Tensor

from pellucid.experiments import attribution, experiment
from pellucid.experiments.result import Result
from pellucid.explanation import Explanation
from pellucid.show.columns import digits
from pellucid.translator import Translator

Array = np.ndarray[Any, Any]
TEXT, TARGET = "I like cats", "Me gustan los gatos"
NORMS = pytest.mark.parametrize("norm", ["last", "first"])
PARTS = [
    f"{stack}coder.layers.{layer}.{kind}_attention"
    for stack, kinds in (("en", ["self"]), ("de", ["self", "cross"]))
    for layer in (0, 1)
    for kind in kinds
]


@functools.cache
def tiny(norm: str = "last") -> Translator:
    """Weights twice as large, so that attention is not even and words differ."""
    made = translator(norm=norm, encoder_layers=2)
    with torch.no_grad():
        for parameter in made.model.parameters():
            parameter.mul_(2.0) if parameter.dim() > 1 else parameter.add_(0.1 * torch.randn(parameter.shape))
    return made


def measured(name: str, norm: str = "last", **settings: Any) -> Result:
    return experiment(name, tiny(norm), TEXT, to="es", target=TARGET, **settings)


@functools.cache
def explained(norm: str = "last") -> Explanation:
    return tiny(norm).explain(TEXT, to="es", target=TARGET)


def tensor(name: str, norm: str = "last") -> Array:
    return explained(norm).trace[name].tensor.double().numpy()


def by_hand(norm: str, changes: Changes, kind: type[ByHand] = ByHand) -> ByHand:
    model = tiny(norm).model
    return kind(model.config, {k: v.detach().double() for k, v in model.state_dict().items()}, changes)


def expected_log_p(model: ByHand, pair: Explanation) -> list[float]:
    source = torch.tensor([pair.source_ids])
    target = torch.tensor([[2, *pair.target_ids[:-1]]])
    logits = model.logits(source, source > -1, target, target > -1)[0]
    rows = logits - logits.exp().sum(-1, keepdim=True).log()
    return [float(row[token]) for row, token in zip(rows, pair.target_ids, strict=True)]


def probability(norm: str, changes: Changes) -> float:
    """Of the translation, by the second model."""
    return math.exp(sum(expected_log_p(by_hand(norm, changes), explained(norm))))


@NORMS
def test_heads(norm: str) -> None:
    found, pair = measured("heads", norm), explained(norm)
    (table,) = found.tables
    heads = [(part, head) for part in PARTS for head in (0, 1)]
    rows = dict(zip(heads, table.rows, strict=True))
    for (part, head), (name, word, share, bits, apart, *silenced) in rows.items():
        for how, p in zip(("zero", "mean", "uniform"), silenced, strict=True):
            expected = probability(norm, Changes(silent={(part, head): how}))
            assert p == pytest.approx(expected, rel=1e-4), (name, how)
        weights = tensor(f"{part}.weights", norm)[0, head]
        entropies = [-sum(w * math.log2(w) for w in row if w > 0) for row in weights]
        assert bits == pytest.approx(np.mean(entropies), abs=1e-6)
        distances = [w * abs(i - m) for i, row in enumerate(weights) for m, w in enumerate(row)]
        expected_apart = None if "cross" in part else pytest.approx(sum(distances) / len(weights), abs=1e-6)
        assert apart == expected_apart
        words = pair.target_tokens if "decoder" in part and "self" in part else pair.source_tokens
        assert word == words[int(weights.mean(0).argmax())] and share == pytest.approx(weights.mean(0).max())
    worst = min(table.rows, key=lambda row: row[5])
    assert f"{worst[0]} matters most" in found.conclusion and f"to {digits(worst[5])};" in found.conclusion


def test_a_word_that_stands_twice_is_looked_at_as_one() -> None:
    found = experiment("heads", tiny(), "cats cats cats", to="es", target=TARGET)
    trace = tiny().explain("cats cats cats", to="es", target=TARGET).trace
    cross = trace["decoder.layers.1.cross_attention.weights"].tensor[0, 1].mean(0)
    shares = cross[0], cross[1:4].sum(), cross[4]
    assert found.tables[0].rows[-1][2] == pytest.approx(float(max(shares)), abs=1e-6)


@NORMS
def test_scale(norm: str) -> None:
    found = measured("scale", norm)
    for part, (_, variance, *pairs) in zip(PARTS, found.tables[0].rows, strict=True):
        queries, keys = tensor(f"{part}.queries", norm)[0], tensor(f"{part}.keys", norm)[0]
        scores = np.einsum("hlk,hmk->hlm", queries, keys)
        allowed = tensor(f"{part}.mask", norm)[0] == 0
        assert variance == pytest.approx(scores[allowed].var(), rel=1e-4)
        for side, divisor in ((0, 2.0), (2, 1.0)):
            rows = [np.exp(row[may] / divisor) for row, may in pairs_of(scores, allowed) if may.sum() > 1]
            rows = [row / row.sum() for row in rows]  # the softmax over the keys that it may look at
            gradients = np.array([np.linalg.norm(np.diag(row) - np.outer(row, row)) for row in rows])
            bits = np.mean([-(row * np.log2(row)).sum() for row in rows])
            expected = [bits, np.median(gradients), np.mean(gradients < 0.01)]
            assert [pair[side] for pair in pairs] == pytest.approx(expected, abs=1e-4)
    unscaled = probability(norm, Changes(unscaled=set(PARTS)))
    said = float(found.conclusion.rpartition(" ")[2].rstrip("."))
    assert said == pytest.approx(unscaled, rel=0.05, abs=5e-5)
    random = found.tables[1].rows
    for d_k, variance, entropy, *_ in random:  # the variance of Q Kᵀ is d_k
        assert variance == pytest.approx(int(d_k), rel=0.15)
        assert entropy[0] == pytest.approx(random[0][2][0], abs=0.4) and entropy[2] < entropy[0] + 1e-9


def pairs_of(scores: Array, allowed: Array) -> Iterator[tuple[Array, Array]]:
    """Each row of scores with what it may look at."""
    width = scores.shape[-1]
    return zip(scores.reshape(-1, width), allowed.reshape(-1, width), strict=True)


@NORMS
def test_layers(norm: str) -> None:
    found, pair = measured("layers", norm), explained(norm)
    numbers = {k: v.double().numpy() for k, v in tiny(norm).model.state_dict().items()}
    streams = ["decoder.embedded"] + [f"decoder.layers.{n}.residual_3.output" for n in (0, 1)]
    said, wanted = found.tables
    for name, stream in zip(("embedded", "layer 0", "layer 1"), streams, strict=True):
        x = tensor(stream, norm)[0]
        if norm == "first":
            x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
            x = x * numbers["decoder.norm.weight"] + numbers["decoder.norm.bias"]
        exponentials = np.exp(x @ numbers["embedding.weight"].T)
        p = exponentials / exponentials.sum(-1, keepdims=True)
        cells = zip(p, said.column(name), wanted.column(name), pair.target_ids, strict=True)
        for row, (word, _, most), (expected, rank), token in cells:
            assert word == pair.vocabulary.target_tokens([int(row.argmax())])[0]
            assert (most, expected) == pytest.approx((row.max(), row[token]), rel=1e-4)
            assert rank == f" #{1 + sum(other > row[token] * (1 + 1e-6) for other in row)}"
    last = [expected for expected, _ in wanted.column("layer 1")]
    assert last == pytest.approx([step.probability for step in pair.steps], rel=1e-4)
    right = [sum(rank == " #1" for _, rank in wanted.column(name)) for name in said.header[1:]]
    assert f"{right[0]} of 5 after the embedding, {right[1]} of 5 after layer 0" in found.conclusion


def test_words_that_are_equally_probable_have_one_rank() -> None:
    flat = translator()
    with torch.no_grad():
        flat.model.projection_weight.zero_()
    found = experiment("layers", flat, TEXT, to="es", target=TARGET)
    assert {rank for row in found.tables[1].rows for _, rank in row[1:]} == {" #1"}
    assert found.conclusion.startswith("Layers do not simply refine here: ")


@NORMS
def test_residuals(norm: str) -> None:
    found = measured("residuals", norm)
    stacks = ("encoder", (1, 2)), ("decoder", (1, 2, 3))
    parts = [f"{s}.layers.{n}.residual_{k}" for s, each in stacks for n in (0, 1) for k in each]
    came_in = ""
    for part, (_, sublayer, *lengths, p, _) in zip(parts, found.tables[0].rows, strict=True):
        assert p == pytest.approx(probability(norm, Changes(no_residual={part})), rel=1e-3), part
        came_in = f"{part.partition('.')[0]}.embedded" if part.endswith("0.residual_1") else came_in
        names = came_in, f"{part.rpartition('.')[0]}.{sublayer.replace(' ', '_')}.output", f"{part}.sum"
        expected = [np.linalg.norm(tensor(name, norm)[0], axis=-1).mean() for name in names]
        assert lengths == pytest.approx(expected, rel=1e-4)
        came_in = f"{part}.output"
    without = dict(zip(found.tables[0].column("residual"), found.tables[0].column("p without"), strict=True))
    worst, mildest = (of(without, key=without.__getitem__) for of in (min, max))
    costly, whole = sum(p < probability(norm, Changes()) / 2 for p in without.values()), len(without)
    assert found.conclusion.startswith(f"{costly} of {whole} residuals, each removed alone, cost")
    assert f"most costly is {worst} ({digits(without[worst])} without it), the least {mildest} (" in (
        found.conclusion
    )
    none = float(found.conclusion.rpartition(" ")[2].rstrip("."))
    assert none == pytest.approx(probability(norm, Changes(no_residual=set(parts))), rel=0.05, abs=5e-5)


class Scaled(ByHand):
    """Each word's embedding times a factor of its own: source first, then what the decoder reads."""

    factors: Tensor

    def embedded(self, stack: str, ids: Tensor, table: Tensor) -> Tensor:
        x = super().embedded(stack, ids, table)
        mine, self.factors = self.factors[: len(ids)], self.factors[len(ids) :]
        words = table[ids] * math.sqrt(self.config.width)
        return x + (mine[:, None] - 1) * words


def test_attribution(monkeypatch: pytest.MonkeyPatch) -> None:
    """A word's share is the derivative by a factor on its embedding: so finite differences find it."""
    monkeypatch.setattr(attribution, "TOGETHER", 2)  # three batches of points
    pair = explained()
    found = measured("attribution", steps=6)
    count = len(pair.source_ids) + len(pair.target_ids)

    def at(factors: Tensor) -> Array:
        model = by_hand("last", Changes(), Scaled)
        model.factors = factors
        return np.array(expected_log_p(model, pair))

    def shares(point: float) -> Array:
        columns = []
        for word in range(count):
            step = torch.zeros(count, dtype=torch.float64)
            step[word] = 1e-5
            whole = torch.full((count,), point, dtype=torch.float64)
            columns.append((at(whole + step) - at(whole - step)) / 2e-5)
        return np.array(columns).T

    nodes, weights = np.polynomial.legendre.leggauss(6)
    integrated = sum(w / 2 * shares((1 + n) / 2) for n, w in zip(nodes, weights, strict=True))
    of_source, of_read, sums = (np.array([row[1:] for row in table.rows]) for table in found.tables)
    assert np.allclose(np.hstack((of_source, of_read)), integrated, atol=2e-3)
    ends = [at(torch.full((count,), end, dtype=torch.float64)) for end in (1.0, 0.0)]
    assert np.allclose(sums[:, 1:3], np.stack(ends, axis=1), atol=1e-4)
    assert np.allclose(sums[:, 3], sums[:, 1] - sums[:, 2] - sums[:, 0])
    assert not np.triu(of_read, 1).any(), "a later word has a share"
    assert f", {of_source.sum():.1f} are due to the source and" in found.conclusion
    word, cause = np.unravel_index(of_source.argmax(), of_source.shape)
    owes = f"{pair.steps[word].expected!r} owes {of_source.max():.1f} to {pair.source_tokens[cause]!r}."
    assert f"most for one word: {owes}" in found.conclusion


def test_attribution_is_complete_with_many_points() -> None:
    few, many = (measured("attribution", steps=n).tables[2].column("missing") for n in (8, 1024))
    assert max(map(abs, many)) < 0.05 < 0.5 < max(map(abs, few))  # these random weights bend the way sharply


def test_rollout() -> None:
    found, size = measured("rollout"), len(explained().source_ids)
    one, two = (tensor(f"encoder.layers.{n}.self_attention.weights")[0].sum(0) for n in (0, 1))
    rolled = (two / 4 + np.eye(size) / 2) @ (one / 4 + np.eye(size) / 2)  # of two heads, half the residual
    direct = tensor("decoder.layers.1.cross_attention.weights")[0].mean(0)
    through = direct @ rolled
    for table, expected in zip(found.tables, (rolled, direct, through), strict=True):
        assert np.allclose([row[1:] for row in table.rows], expected, atol=1e-6), table.title
    changed = int((np.argmax(direct, -1) != np.argmax(through, -1)).sum())
    assert f"holds {np.diag(rolled).mean():.2f} of its own" in found.conclusion
    assert f"at {changed} of {len(direct)} target positions" in found.conclusion
    assert "Derived, not in the model" in found.note


@NORMS
def test_masks(norm: str) -> None:
    found = experiment("masks", tiny(norm), TEXT, to="es")
    first, second = (tiny(norm).explain(text, to="es") for text in (TEXT, "I like"))
    assert "2: I like → " in found.title
    *masks, table = found.tables
    ids = [pair.source_ids for pair in (first, second)]
    read = [[2, *pair.target_ids[:-1]] for pair in (first, second)]
    source = torch.tensor([row + [0] * (len(ids[0]) - len(row)) for row in ids])
    longest = max(map(len, read))
    target = torch.tensor([row + [0] * (longest - len(row)) for row in read])
    source_real = torch.arange(source.shape[1]) < torch.tensor([[len(row)] for row in ids])
    target_real = torch.arange(longest) < torch.tensor([[len(row)] for row in read])
    shapes = (
        (len(read[0]), torch.ones(len(read[0])) > 0, True),
        (source.shape[1], source_real[1], False),
        (longest, target_real[1], True),
        (longest, source_real[1], False),
    )
    for mask, (asks, asked, causal) in zip(masks, shapes, strict=True):
        allowed = asked.expand(asks, -1).tril() if causal else asked.expand(asks, -1)
        expected = torch.where(allowed, 0.0, -math.inf).tolist()
        assert [row[1:] for row in mask.rows] == expected, mask.title
    heads = {(f"decoder.layers.{n}.self_attention", h) for n in (0, 1) for h in (0, 1)}
    cases = (
        (source_real, target_real, Changes()),
        (source_real | True, target_real, Changes()),
        (source_real, target_real | True, Changes()),
        (source_real, target_real, Changes(lifted=heads)),
    )
    alone = expected_log_p(by_hand(norm, Changes()), second)
    assert table.column("p")[0] == pytest.approx(math.exp(sum(alone)), rel=1e-3)
    for (name, p, off), (real, read_real, changes) in zip(table.rows[1:], cases, strict=True):
        logits = by_hand(norm, changes).logits(source, real, target, read_real)[1].log_softmax(-1)
        log_p = [float(row[token]) for row, token in zip(logits, second.target_ids, strict=False)]
        assert p == pytest.approx(math.exp(sum(log_p)), rel=1e-3), name
        assert off == pytest.approx(max(abs(a - b) for a, b in zip(log_p, alone, strict=True)), abs=1e-4)
    assert table.rows[1][2] < 1e-4 < table.rows[2][2]
    kept, no_source, _, no_causal = table.rows[1:]
    assert f"alone (log p within {kept[2]:.0e}, p = {digits(kept[1])}); without" in found.conclusion
    assert f"p is {digits(no_source[1])}, without the causal mask {digits(no_causal[1])};" in found.conclusion


def test_dimensions() -> None:
    """The symbols, with their numbers put in, are the shapes that the run had."""
    sizes = {"T_enc": 8, "T_dec": 4, "d_model": 8, "h": 2, "d_k": 4, "d_v": 4, "d_ff": 12}
    sizes["V"] = tiny().model.config.vocabulary
    found = experiment("dimensions", tiny(), "le chat est sur le tapis", to="en", target="The cat sat")
    rows = [row for table in found.tables for row in table.rows]
    assert len(rows) == 22
    for name, symbols, here, _ in rows:
        assert here == " × ".join(str(sizes[symbol]) for symbol in symbols.split(" × ")), name
    assert "d_model = 8 is shared among h = 2 heads, so d_k = d_v = 8 / 2 = 4." in found.conclusion


def test_positions() -> None:
    found = experiment("positions", tiny(), length=5)
    for width, table in zip((4, 8), found.tables, strict=False):
        for i, row in enumerate(table.rows):
            angles = [i / 10_000 ** (2 * (j // 2) / width) for j in range(width)]
            expected = [math.cos(angle) if j % 2 else math.sin(angle) for j, angle in enumerate(angles)]
            assert row[1:] == pytest.approx(expected, abs=1e-12)
    vectors = np.array([row[1:] for row in found.tables[1].rows])
    assert found.tables[2].rows[0][1:] == pytest.approx([vectors[0] @ vector / 4 for vector in vectors])
    length = np.linalg.norm(tiny().model.embedding.weight.detach().double().numpy(), axis=-1).mean()
    assert f"has the length √(d/2) = {2:.2f} at" in found.conclusion
    assert f"a word's has {length:.2f} in the matrix" in found.conclusion


@NORMS
def test_norms(norm: str) -> None:
    last = "decoder.layers.1.residual_3.norm"
    found = measured("norms", norm, part=last)
    spreads, vectors = found.tables
    assert len(spreads.rows) == 10 + 2 * (norm == "first")
    usual = measured("norms", norm).tables[1].title
    assert usual.startswith("decoder.layers.0.residual_1.norm, position by position"), "the decoder's first"
    numbers = {k: v.double().numpy() for k, v in tiny(norm).model.state_dict().items()}
    comes_in = "decoder.layers.1.residual_3.sum" if norm == "last" else "decoder.layers.1.residual_2.output"
    x = tensor(comes_in, norm)[0]
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    standardized = (x - mean) / np.sqrt(variance + 1e-5)
    final = standardized * numbers[f"{last}.weight"] + numbers[f"{last}.bias"]
    stages = np.array([row[4:] for row in vectors.rows[:-2]]).reshape(len(x), 3, 6)
    assert np.allclose(stages, np.stack((x, standardized, final), axis=1)[..., :6], atol=1e-5)
    assert np.allclose(vectors.rows[-2][4:], numbers[f"{last}.weight"][:6])
    moments = np.hstack((mean, variance, 0 * mean, variance / (variance + 1e-5)))
    positions = np.array([row[2:4] for row in vectors.rows[:-2]]).reshape(len(x), 3, 2)
    assert np.allclose(positions[:, :2].reshape(len(x), 4), moments, atol=1e-5)
    spread = next(row for row in spreads.rows if row[0] == "decoder 1 residual 3")
    assert [spread[4][0], spread[4][2]] == pytest.approx([final.var(-1).min(), final.var(-1).max()], abs=1e-5)


@pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")
def test_float16() -> None:
    found = experiment("float16")
    rows, two, all_three = found.tables[0].rows, np.exp([2.0, 1.0]), np.array([2.0, 1.0, 0.5])
    for precision, number, (held, refused), masked, off, everything in rows:
        kind = getattr(np, precision)
        assert held == float(kind(number))
        assert (refused == " (refused)") == (math.isfinite(number) and math.isinf(kind(number)))
        scores = (all_three.astype(kind) + np.array([0, 0, kind(number)], kind)).astype(np.float64)
        weights, close = np.exp(scores) / np.exp(scores).sum(), 1e-3 if precision == "float16" else 1e-7
        assert masked == pytest.approx(weights[-1], abs=close)
        assert off == pytest.approx(np.abs(weights - [*two / two.sum(), 0]).max(), abs=close)
        assert ("nan" in everything) == math.isinf(held)
    assert rows[1][3] == rows[0][3] and rows[4][3] > 0, "a number that is not very large hides nothing"
    assert found.conclusion == (
        "In float32 -1e+09 gives the very same weights as -∞; float16 has no -1e+09 (its largest number is "
        "65504): it becomes -∞ itself."
    )
