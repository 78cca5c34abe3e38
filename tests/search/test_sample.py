"""Sampling: the right distribution, and draws that depend on the seed and the sentence alone."""

import math

import numpy as np
import pytest
import torch
from random_translator import most_memory
from tables import END, SPECIAL, Table, TableDecoding, random_table, ruled
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from pellucid.search.hypotheses import Found, Hypotheses
from pellucid.search.lane import Result, raise_if_failed
from pellucid.search.next_tokens import AllTokens
from pellucid.search.options import Options
from pellucid.search.request import Request
from pellucid.search.sample import DRAWING, Chance, cut, draw, invert
from pellucid.search.session import Session


def sampled(table: Table, limit: int, draws: int, **cuts: object) -> list[Found]:
    session, results = Session(TableDecoding(table), SPECIAL), dict[int, Result]()
    session.add(*ruled([Request(0, limit, source=[7, END])], 5, sample=True, n_best=draws, **cuts))
    while not session.is_idle:
        results |= session.step().ended
    return raise_if_failed(results[0])


def chi_square(counts: Tensor, probabilities: Tensor) -> float:
    expected = probabilities * counts.sum()
    return float(((counts - expected) ** 2 / expected).sum())


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_drawn_tokens_have_the_model_s_distribution(temperature: float) -> None:
    """4,000 draws over six tokens: chi-square with 5 degrees of freedom exceeds 20.5 once in 1,000 times."""
    logits = torch.tensor([3.0, 3.0, 3.0, 0.0, 0.5, 1.0, -1.0, 1.5, 0.2])
    draws = 4000
    found = sampled(lambda *_: logits.clone(), 1, draws, temperature=temperature)
    counts = torch.bincount(torch.tensor([each.token_ids[0] for each in found]), minlength=9)
    assert counts[:3].sum() == 0 and counts.sum() == draws
    assert chi_square(counts[3:], (logits[3:] / temperature).softmax(-1)) < 20.5
    assert chi_square(counts[3:], (logits[3:] / (temperature * 1.5)).softmax(-1)) > 20.5
    # What is reported is the model's own probability, of the full softmax at temperature 1.
    log_p = logits.log_softmax(-1)
    assert all(each.score == pytest.approx(float(log_p[each.token_ids[0]]), abs=1e-5) for each in found)


@pytest.mark.parametrize(
    ("cuts", "probabilities"),
    [
        (dict(top_p=0.6), [1.0, 0.0, 0.0, 0.0]),
        (dict(top_p=0.6, temperature=3.0), [0.573, 0.427, 0.0, 0.0]),  # the cube roots, then the cut
        (dict(top_k=2, temperature=0.5), [0.852, 0.148, 0.0, 0.0]),  # squares
        (dict(top_k=3, top_p=0.8, temperature=3.0), [0.436, 0.325, 0.240, 0.0]),
        (dict(top_k=3, top_p=0.6, temperature=3.0), [0.573, 0.427, 0.0, 0.0]),  # of the three, not of all
    ],
)
def test_temperature_comes_first_then_top_k_then_top_p(
    cuts: dict[str, float], probabilities: list[float]
) -> None:
    logits = torch.tensor([0.0, 0.0, 0.0, 0.0, 0.6, 0.25, 0.1, 0.05]).log()
    found = sampled(lambda *_: logits.clone(), 1, 4000, **cuts)
    counts = torch.bincount(torch.tensor([each.token_ids[0] for each in found]), minlength=8)[4:]
    assert (counts / 4000).tolist() == pytest.approx(probabilities, abs=0.03)


def test_several_draws_are_independent_of_each_other_at_every_step() -> None:
    table = random_table(seed=12, size=8, end=-6.0)
    found = sampled(table, 12, 50)
    assert len({tuple(each.token_ids) for each in found}) > 45
    ranks = [(not each.finished, -each.score) for each in found]
    assert ranks == sorted(ranks)
    for each in found:
        said = each.token_ids
        log_p = [
            float(table(0, tuple(said[:step])).log_softmax(-1)[token]) for step, token in enumerate(said)
        ]
        assert each.log_probabilities == pytest.approx(log_p, abs=1e-5)


@pytest.mark.parametrize("cuts", [{}, dict(top_k=3000), dict(top_p=0.9), dict(top_k=900, top_p=0.9)], ids=str)
def test_a_draw_takes_no_more_memory_than_was_said(cuts: dict[str, float]) -> None:
    """However many rows there are: a few are drawn at a time."""
    size, draws, options = 8000, 4, Options(sample=True, n_best=4, **cuts)  # type: ignore[arg-type]
    requests = [Request(n, 5, source=[n]) for n in range(40)]
    chance, rows = Chance(dict(enumerate(requests)), options), len(requests) * draws
    log_p = torch.randn(rows, size).log_softmax(-1)
    begun = Hypotheses.at_start(range(40), [5] * 40, [0] * 40, 2, draws)
    open_now = begun._replace(totals=np.zeros((40, draws), np.float32), lengths=begun.lengths + 1)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
        draw(AllTokens(log_p, log_p.clone), open_now, options, chance)
    assert 0.2 < most_memory(profiled) / DRAWING <= 1


def test_cut_keeps_the_likeliest() -> None:
    scores = torch.tensor([[0.1, 0.3, 0.05, 0.25, 0.3]], dtype=torch.float64).log()
    assert kept_by(scores, top_k=1) == [1]  # of two equal ones the lower id
    assert kept_by(scores, top_k=3) == [1, 3, 4]
    assert kept_by(scores, top_k=9) == [0, 1, 2, 3, 4]
    assert kept_by(scores, top_p=0.2) == [1]
    assert kept_by(scores, top_p=0.31) == [1, 4]
    assert kept_by(scores, top_p=0.84) == [1, 3, 4]
    assert kept_by(scores, top_p=1.0) == [0, 1, 2, 3, 4]
    assert kept_by(scores, top_k=2, top_p=0.45) == [1]  # of the two, each has a half
    assert kept_by(scores, top_k=2, top_p=0.55) == [1, 4]


def kept_by(scores: Tensor, top_k: int | None = None, top_p: float | None = None) -> list[int]:
    return (cut(scores, top_k, top_p)[0] > -math.inf).nonzero()[:, 0].tolist()


def test_drawn_at_the_edges() -> None:
    scores = torch.tensor([-math.inf, 0.0, -math.inf, 0.0, -math.inf], dtype=torch.float64).expand(4, -1)
    almost_one = math.nextafter(1.0, 0.0)
    uniform = torch.tensor([0.0, 0.4999, 0.5, almost_one], dtype=torch.float64)
    assert invert(scores, uniform).tolist() == [1, 1, 3, 3]
