"""Leaks: none in our models, and every one that is planted here is found, in the mode where it is."""

import itertools
import random
from collections.abc import Callable
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
from pellucid.cli import leak
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


@pytest.mark.parametrize("settings", [{}, {"norm": "first", "tied": False}, {"target_vocabulary": 17}])
def test_nothing_leaks_in_an_untrained_model_which_stays_as_it_was(settings: dict[str, Any]) -> None:
    ours = model(**settings)
    ours.decoder.eval()
    ours.encoder.train()
    before = {name: part.training for name, part in ours.named_modules()}
    state = torch.get_rng_state()
    report = find_leak(ours)
    assert report.leaks == [] and report.rounding < 1e-4 and str(report).startswith("nothing leaks")
    assert report.tried == [f"{mode} mode: 7 of 8 tokens replaced, one at a time" for mode in BOTH]
    assert {name: part.training for name, part in ours.named_modules()} == before
    assert torch.equal(torch.get_rng_state(), state) and all(each.grad is None for each in ours.parameters())


# Planted leaks


def masked(ours: Transformer, mask: Callable[[DecoderLayer, Mask], Mask]) -> Transformer:
    """Give the last decoder layer another mask."""
    layer = ours.decoder.layers[-1]
    assert isinstance(layer, DecoderLayer)
    forward = layer.forward
    layer.forward = lambda x, given, memory, past: forward(x, mask(layer, given), memory, past)  # type: ignore
    return ours


def open_in_training(layer: DecoderLayer, mask: Mask) -> Mask:
    return Mask() if layer.training else mask


def open_sometimes(layer: DecoderLayer, mask: Mask) -> Mask:
    return Mask() if layer.training and torch.rand(()) < 0.3 else mask


class Called(nn.Module):
    """A function around a model, as a module: it has both modes."""

    def __init__(self, model: nn.Module, call: Callable[..., Tensor]) -> None:
        super().__init__()
        self.model, self.forward = model, call


def one_head(source: Tensor, source_mask: Tensor, target: Tensor) -> Tensor:
    with trace(OURS, edits=pellucid.edits.lift_mask("decoder.layers.0.self_attention", 1)):
        return OURS(source, source_mask, target)


def a_little(sentence: int) -> Callable[..., Tensor]:
    def leaky(source: Tensor, source_mask: Tensor, target: Tensor) -> Tensor:
        logits, later = OURS(source, source_mask, target), F.pad(target[:, 1:], (0, 1))
        logits[sentence] += 1e-5 * later[sentence, :, None]
        return logits

    return leaky


def never(token: int) -> Callable[..., Tensor]:
    """A model that leaks a little, and never says this token."""
    return lambda *given: a_little(0)(*given).index_fill(-1, torch.tensor([token]), -torch.inf)


def less_in_training(source: Tensor, source_mask: Tensor, target: Tensor) -> Tensor:
    logits = OURS(source, source_mask, target)
    return logits + (0.1 if torch.is_grad_enabled() else 1.0) * F.pad(target[:, 1:], (0, 1))[..., None]


OURS, CHANCE = model(), random.Random(1)
NEXT = [(position, position + 1) for position in range(LENGTH - 1)]


@pytest.mark.parametrize(
    ("leaky", "found", "where"),
    [
        (masked(model(), lambda layer, mask: Mask()), LATER, BOTH),
        (masked(model(norm="first"), lambda layer, mask: Mask()), LATER, BOTH),
        (masked(model(), open_in_training).eval(), LATER, BOTH[1:]),
        (one_head, LATER, ("its own",)),
        (Called(OURS, one_head), LATER, BOTH),
        (Called(OURS, a_little(0)), NEXT, BOTH),
        (Called(OURS, a_little(1)), NEXT, BOTH),
        (Called(OURS, never(0)), NEXT, BOTH),
    ],
)
def test_a_planted_leak_is_found_in_its_mode(leaky: Any, found: Any, where: tuple[str, ...]) -> None:
    report = find_leak(leaky)
    assert pairs(report) == found and {leak.modes for leak in report.leaks} == {where}
    told = "it leaks: 7 positions depend on what must be hidden"
    assert str(report).startswith(f"{told}{', in training mode only' * (where == BOTH[1:])}\n")


def test_a_leak_is_as_large_as_in_the_mode_that_shows_most() -> None:
    with torch.no_grad():
        evaluated = find_leak(less_in_training)
    amounts = [leak.amount for leak in find_leak(Called(OURS, less_in_training)).leaks]
    assert amounts == pytest.approx([leak.amount for leak in evaluated.leaks], rel=1e-4)


def test_a_leak_that_comes_by_chance() -> None:
    assert {leak.modes for leak in find_leak(masked(model(), open_sometimes)).leaks} == {("training",)}


def test_a_mask_that_is_off_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NoPast, "mask", lambda past: Mask(first_query=1))
    report = find_leak(model(decoder_layers=1))
    assert pairs(report) == NEXT
    told = f"position 2 changes by up to {report.leaks[2].amount:.2g} when token 3 is another"
    assert str(report.leaks[2]) == f"{told} (evaluation and training mode)"


def test_a_norm_over_the_batch_is_not_changed_by_the_search() -> None:
    ours, norm = model(), nn.BatchNorm1d(LENGTH)
    find_leak(Called(nn.ModuleList([ours, norm]), lambda *given: norm(ours(*given))))
    assert norm.num_batches_tracked == 0 and norm.running_mean is not None
    assert torch.equal(norm.running_mean, torch.zeros(LENGTH))


@pytest.mark.parametrize("special", ["end_id", "pad_id"])
def test_a_look_at_whether_the_end_is_near(special: str) -> None:
    """Found only because tokens are replaced by the end token and by padding too."""

    class Leaky(Transformer):
        def forward(self, source: Tensor, source_mask: Tensor, target: Tensor) -> Tensor:  # type: ignore
            near = (target[:, 1:] == getattr(self.config, special)).float()
            return super().forward(source, source_mask, target) + F.pad(near, (0, 1))[:, :, None]

    leaky = Leaky(small_model(vocabulary=500).config)
    assert pairs(find_leak(leaky, target=torch.tensor([[2, 50, 60, 70]]))) == [(0, 1), (1, 2), (2, 3)]


# What is wrong with the question


@pytest.mark.parametrize(
    ("model", "settings", "message"),
    [
        (lambda s, m, y: None, {}, r"the model returns NoneType for a target of \(2, 8\)"),
        (lambda s, m, y: torch.ones(2, 7, 11), {}, r"returns \(2, 7, 11\) for a target of \(2, 8\). Return"),
        (lambda s, m, y: torch.full((2, 8, 11), float("nan")), {}, "the logits contain NaN"),
        (lambda s, m, y: torch.ones(1, 1, 11), {"target": [[2]]}, "target has 1 token, so no"),
        (
            lambda s, m, y: OURS(s, m, y) + CHANCE.random(),
            {},
            r"two equal passes differ by .* \(its own",
        ),
    ],
)
def test_errors_say_what_to_give(model: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        find_leak(model, **settings)


# The command


def test_the_command_says_that_nothing_leaks(pellucid: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = pellucid("leak", "demo", "--device", "cpu", "--sentence", "How are you", "--to", "hi")
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert lines[0] == "How are you" and lines[1].startswith("0:<s>  1:आप  2:कैसे  3:हैं")
    assert lines[2].startswith("nothing leaks")
    assert "  training mode: " in outcome.out and max(map(len, lines)) <= 80
    monkeypatch.setattr(leak, "TOKENS", 2)
    short = pellucid("leak", "demo", "--device", "cpu", "--sentence", "How are you", "--to", "hi").out
    assert short.splitlines()[1] == "0:<s>  1:आप", "a long translation is cut"


def test_the_command_fails_when_something_leaks(pellucid: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NoPast, "mask", lambda past: Mask())
    outcome = pellucid("leak", "demo", "--device", "cpu")
    assert outcome.code == 1
    assert outcome.out.startswith("random ids\nit leaks: 7 positions depend on what must be hidden\n")
    assert "\n  … and 16 more\n" in outcome.out
    assert outcome.err.startswith("pellucid: demo leaks: its predictions depend on later words")


def test_the_command_checks_all_that_it_is_given_before_the_first_report(pellucid: Command) -> None:
    unknown = ["--to", "es", "--sentence", "I like cats", "--sentence", "zxqv"]
    outcome = pellucid("leak", "demo", "--device", "cpu", *unknown)
    assert (outcome.code, outcome.out) == (2, "") and "no word 'zxqv'" in outcome.err
