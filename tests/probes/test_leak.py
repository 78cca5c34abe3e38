"""Leaks: none in our models, and every one that is planted here is found, in the mode where it is."""

import itertools
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from command import Command
from small_models import small_model
from torch import Tensor, nn

import pellucid
from pellucid import find_leak
from pellucid.cache import NoPast
from pellucid.errors import UsageError
from pellucid.mask import Mask
from pellucid.model import DecoderLayer, Transformer
from pellucid.probes.leak import LeakReport
from pellucid.seeing.trace import trace

LENGTH = 8  # of the targets that are tried unless others are given
LATER = list(itertools.combinations(range(LENGTH), 2))  # every (position, later token)
BOTH = ("evaluation", "training")


def model(**settings: Any) -> Transformer:
    return small_model(**{"dropout": 0.3, "attention_dropout": 0.1, "activation_dropout": 0.1, **settings})


def pairs(report: LeakReport) -> list[tuple[int, int]]:
    return [(leak.position, leak.depends_on) for leak in report.leaks]


def modes(report: LeakReport) -> set[tuple[str, ...]]:
    return {leak.modes for leak in report.leaks}


# Nothing leaks


@pytest.mark.parametrize("settings", [{}, {"norm": "first", "tied": False}, {"target_vocabulary": 17}])
def test_nothing_leaks_in_an_untrained_model(settings: dict[str, Any]) -> None:
    report = find_leak(model(**settings))
    assert report.leaks == [] and report.rounding < 1e-4
    assert len(report.tried) == 2
    for mode, line in zip(BOTH, report.tried, strict=True):
        assert line.startswith(f"{mode} mode: 7 of 8 tokens replaced, one at a time")
    assert report.tried[0].endswith("; the target ended before each")
    assert "under the same dropout; no shorter target" in report.tried[1]
    assert str(report).startswith("nothing leaks")


def test_the_model_and_the_random_numbers_are_left_as_they_were() -> None:
    ours = model()
    ours.decoder.eval()
    ours.encoder.train()
    before = {name: part.training for name, part in ours.named_modules()}
    state = torch.get_rng_state()
    find_leak(ours)
    assert {name: part.training for name, part in ours.named_modules()} == before
    assert torch.equal(torch.get_rng_state(), state)
    assert ours.decoder.dropout.rate == 0.3 and all(each.grad is None for each in ours.parameters())


# A mask that is missing, or wrong


@contextmanager
def one_layer(ours: Transformer, mask: Callable[[DecoderLayer, Mask], Mask]) -> Iterator[Transformer]:
    """The last decoder layer gets another mask."""
    layer = ours.decoder.layers[-1]
    assert isinstance(layer, DecoderLayer)
    forward = layer.forward
    layer.forward = lambda x, given, memory, past: forward(x, mask(layer, given), memory, past)  # type: ignore
    yield ours


@pytest.mark.parametrize("norm", ["last", "first"])
def test_the_mask_missing_in_one_layer(norm: str) -> None:
    with one_layer(model(norm=norm), lambda layer, mask: Mask()) as leaky:
        report = find_leak(leaky)
    assert pairs(report) == LATER and modes(report) == {BOTH}
    assert all(leak.amount > 1e-3 and leak.seen_by == "replaced" for leak in report.leaks)
    assert str(report).startswith("it leaks: 7 positions depend on what must be hidden\n")


class Called(nn.Module):
    """A function around a model, as a module: it has both modes."""

    def __init__(self, model: nn.Module, call: Callable[..., Tensor]) -> None:
        super().__init__()
        self.model, self.call = model, call

    def forward(self, source: Tensor, source_mask: Tensor, target: Tensor) -> Tensor:
        return self.call(source, source_mask, target)


@pytest.mark.parametrize("is_module", [False, True])
def test_the_mask_missing_in_one_head(is_module: bool) -> None:
    ours, lifted = model(), pellucid.edits.lift_mask("decoder.layers.0.self_attention", 1)

    def leaky(source: Tensor, source_mask: Tensor, target: Tensor) -> Tensor:
        with trace(ours, edits=lifted):
            return ours(source, source_mask, target)

    report = find_leak(Called(ours, leaky) if is_module else leaky)
    assert pairs(report) == LATER
    assert modes(report) == ({BOTH} if is_module else {("its own",)})


def test_a_mask_that_is_off_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NoPast, "mask", lambda past: Mask(first_query=1))
    report = find_leak(model(decoder_layers=1))
    assert pairs(report) == [(position, position + 1) for position in range(LENGTH - 1)]
    told = f"position 2 changes by up to {report.leaks[2].amount:.2g} when token 3 is another"
    assert str(report.leaks[2]) == f"{told} (evaluation and training mode)"


def test_a_leak_in_training_only() -> None:
    with one_layer(model(), lambda layer, mask: Mask() if layer.training else mask) as leaky:
        report = find_leak(leaky.eval())
    assert pairs(report) == LATER and modes(report) == {("training",)}
    assert "what must be hidden, in training mode only\n" in str(report)


def test_a_leak_that_comes_by_chance() -> None:
    def sometimes(layer: DecoderLayer, mask: Mask) -> Mask:
        return Mask() if layer.training and torch.rand(()) < 0.3 else mask

    with one_layer(model(), sometimes) as leaky:
        report = find_leak(leaky)
    assert report.leaks and modes(report) == {("training",)}


# Other ways for the future to come in


class BatchNorm(nn.BatchNorm1d):
    """In training, the mean and variance of all positions of all sentences."""

    def forward(self, x_BLD: Tensor) -> Tensor:
        return super().forward(x_BLD.mT).mT


def test_a_norm_over_the_batch_leaks_in_training_and_is_not_changed_by_the_search() -> None:
    leaky, norm = model(), BatchNorm(8)
    leaky.decoder.layers[1].residual_2.norm = norm  # type: ignore[union-attr]
    report = find_leak(leaky)
    assert pairs(report) == LATER and modes(report) == {("training",)}
    assert norm.num_batches_tracked == 0 and norm.running_mean is not None
    assert torch.equal(norm.running_mean, torch.zeros(8))


def test_what_depends_on_the_length_alone() -> None:
    ours = model(dropout=0.0, attention_dropout=0.0, activation_dropout=0.0)

    def leaky(source: Tensor, source_mask: Tensor, target: Tensor) -> Tensor:
        return ours(source, source_mask, target) * (1 + target.shape[1] / 100)

    report = find_leak(Called(ours, leaky))
    assert pairs(report) == [(position, LENGTH - 1) for position in range(LENGTH - 1)]
    assert {leak.seen_by for leak in report.leaks} == {"cut"} and modes(report) == {BOTH}
    assert "when the target ends before token 7" in str(report)


@pytest.mark.parametrize("sentence", [0, 1])
def test_a_small_leak_in_one_of_the_sentences(sentence: int) -> None:
    ours = model()

    def leaky(source: Tensor, source_mask: Tensor, target: Tensor) -> Tensor:
        logits, later = ours(source, source_mask, target), F.pad(target[:, 1:], (0, 1))
        logits[sentence] += 1e-5 * later[sentence, :, None]
        return logits

    report = find_leak(Called(ours, leaky))
    assert pairs(report) == [(position, position + 1) for position in range(LENGTH - 1)]
    assert modes(report) == {BOTH} and {leak.seen_by for leak in report.leaks} == {"replaced"}


def test_a_look_at_whether_the_end_is_near() -> None:
    """Found only because tokens are replaced by the end token too."""
    ours = small_model(vocabulary=500)

    class Leaky(Transformer):
        def forward(
            self, source: Tensor, source_mask: Tensor, target: Tensor, target_mask: Tensor | None = None
        ) -> Tensor:
            near = (target[:, 1:] == self.config.end_id).float()
            return super().forward(source, source_mask, target) + F.pad(near, (0, 1))[:, :, None]

    leaky = Leaky(ours.config)
    target = torch.tensor([[2, 50, 60, 70]])
    assert pairs(find_leak(leaky, target=target)) == [(0, 1), (1, 2), (2, 3)]


# What is wrong with the question


@pytest.mark.parametrize(
    ("model", "settings", "message"),
    [
        (7, {}, r"model = 7 cannot be called. Give a model \(of a translator, translator.model\)"),
        (lambda s, m, y: None, {}, r"the model returns NoneType for a target of \(2, 8\)"),
        (lambda s, m, y: y * 1.0, {}, r"the model returns \(2, 8\) for a target of \(2, 8\)"),
        (lambda s, m, y: torch.ones(2, 7, 11), {}, r"returns \(2, 7, 11\) for a target of \(2, 8\). Return"),
        (lambda s, m, y: torch.full((2, 8, 11), float("nan")), {}, "the logits hold NaN"),
        (lambda s, m, y: torch.ones(1, 1, 11), {"target": [[2]]}, "target: 1 token has none after it"),
    ],
)
def test_errors_say_what_to_give(model: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        find_leak(model, **settings)


def test_chance_that_cannot_be_repeated_is_refused() -> None:
    ours, chance = model(), random.Random(1)
    with pytest.raises(UsageError, match=r"two equal passes differ by .* \(evaluation mode\)"):
        find_leak(Called(ours, lambda s, m, y: ours(s, m, y) + chance.random()))


# The command


def test_the_command_says_that_nothing_leaks(pellucid: Command) -> None:
    outcome = pellucid("leak", "demo", "--device", "cpu", "--sentence", "How are you", "--to", "hi")
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert lines[0] == "How are you" and lines[1].startswith("0:<s>  1:आप  2:कैसे  3:हैं")
    assert lines[2].startswith("nothing leaks")
    assert "  training mode: " in outcome.out and max(map(len, lines)) <= 80


def test_the_command_fails_when_something_leaks(pellucid: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NoPast, "mask", lambda past: Mask())
    outcome = pellucid("leak", "demo", "--device", "cpu")
    assert outcome.code == 1
    assert outcome.out.startswith("random ids\nit leaks: 7 positions depend on what must be hidden\n")
    assert "\n  … and 16 more\n" in outcome.out
    assert outcome.err.startswith("pellucid: demo leaks: its predictions depend on later words")


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--to", "xx"], "the model translates to hi, en, es, fr, not 'xx'."),
        (["--to", "es", "--sentence", "I like cats", "--sentence", "zxqv"], "no word 'zxqv'"),
    ],
)
def test_the_command_checks_all_that_it_is_given_before_the_first_report(
    pellucid: Command, arguments: list[str], message: str
) -> None:
    outcome = pellucid("leak", "demo", "--device", "cpu", *arguments)
    assert (outcome.code, outcome.out) == (2, "") and message in outcome.err
