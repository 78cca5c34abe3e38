"""Leaks: none in our models, and every one that is planted here is found, in the mode where it is."""

import itertools
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from command import Command
from small_models import small_model
from torch import Tensor, nn

import pellucid.translate.base
from pellucid.cache import Mask, NoPast
from pellucid.data.batch import make_batch
from pellucid.data.corpus import Pair
from pellucid.data.examples import Example
from pellucid.errors import UsageError
from pellucid.model import DecoderLayer, Transformer
from pellucid.probes.leak.find import find_leak
from pellucid.probes.leak.report import Leak, LeakReport, merged
from pellucid.seeing.trace import trace

LENGTH = 8  # of the targets that are tried unless others are given
LATER = list(itertools.combinations(range(LENGTH), 2))  # every (position, later token)
BOTH = ("evaluation", "training")


def model(**settings: Any) -> Transformer:
    return small_model(**{"dropout": 0.3, "attention_dropout": 0.1, "activation_dropout": 0.1, **settings})


def pairs(report: LeakReport) -> list[tuple[int, int]]:
    return [(position, depends_on) for position, depends_on, _ in report.leaks]


def modes(report: LeakReport) -> set[tuple[str, ...]]:
    return {leak.modes for leak in report.leaks}


# Nothing leaks


@pytest.mark.parametrize("settings", [{}, {"norm": "first", "tied": False}, {"target_vocabulary": 17}])
def test_nothing_leaks_in_an_untrained_model(settings: dict[str, Any]) -> None:
    report = find_leak(model(**settings))
    assert report.leaks == [] and report.rounding < 1e-4
    assert len(report.tried) == 2
    for mode, line in zip(BOTH, report.tried, strict=True):
        told = f"{mode} mode: 7 of 8 tokens replaced, one at a time, by 3 random ids, padding and the end"
        assert line.startswith(told)
        assert line.endswith("; the target ended before each")
    assert "under the same dropout" in report.tried[1]
    assert str(report).startswith("nothing leaks")


def test_nothing_leaks_in_the_demo_model() -> None:
    translator = pellucid.load("demo", "cpu")
    source = torch.tensor([translator.vocabulary.encode_source("How are you", "hi")])
    target = torch.tensor([[2, *translator.vocabulary.encode_target("आप कैसे हैं", "hi")]])
    assert find_leak(translator.model, source=source, target=target).leaks == []
    assert find_leak(translator.model, replacements=1).leaks == []


def test_nothing_leaks_in_half_precision_and_double() -> None:
    assert find_leak(model().bfloat16()).leaks == []
    report = find_leak(model().double())
    assert report.leaks == [] and report.rounding < 1e-12


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


def test_the_library_s_own_training_shifts_its_labels() -> None:
    ours = model()

    def as_in_training(source: Tensor, source_mask: Tensor, labels: Tensor) -> Tensor:
        origin = Pair("", "", 0, 1, "")
        rows = zip(source.tolist(), labels.tolist(), strict=True)
        batch = make_batch([Example(*row, origin) for row in rows], start_id=2, pad_id=0)
        return ours.logits(ours.read(batch.source, source_mask, batch.target_in))

    report = find_leak(loss=as_in_training, module=ours)
    assert report.leaks == [] and len(report.tried) == 2


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


@pytest.mark.parametrize("hidden", [False, True])
def test_the_mask_missing_in_one_head(hidden: bool) -> None:
    ours = model()

    def lift(mask_BHLM: Tensor) -> Tensor:
        lifted = mask_BHLM.clone()
        lifted[:, 1] = 0
        return lifted

    def leaky(source: Tensor, source_mask: Tensor, target: Tensor) -> Tensor:
        with trace(ours, edits={"decoder.layers.0.self_attention.mask": lift}):
            return ours(source, source_mask, target)

    report = find_leak(leaky) if hidden else find_leak(leaky, module=ours)
    assert pairs(report) == LATER
    assert modes(report) == ({("its own",)} if hidden else {BOTH})


def test_a_mask_that_is_off_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NoPast, "mask", lambda past: Mask(first_query=1))
    report = find_leak(model(decoder_layers=1))
    assert pairs(report) == [(position, position + 1) for position in range(LENGTH - 1)]
    position, depends_on, amount = report.leaks[2]
    assert (position, depends_on) == (2, 3)
    assert str(report.leaks[2]) == (
        f"position 2 changes by up to {amount:.2g} when token 3 is another (evaluation and training mode)"
    )


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
    assert "no shorter target: random numbers are drawn that no dropout module draws" in report.tried[1]


# Other ways for the future to come in


class NormOverTime(nn.Module):
    """Mean and variance of the positions, not of a position."""

    def forward(self, x_BLD: Tensor) -> Tensor:
        return (x_BLD - x_BLD.mean(1, keepdim=True)) / (
            x_BLD.var(1, correction=0, keepdim=True) + 1e-5
        ).sqrt()


class BatchNorm(nn.BatchNorm1d):
    """In training, the mean and variance of all positions of all sentences."""

    def forward(self, x_BLD: Tensor) -> Tensor:
        return super().forward(x_BLD.mT).mT


def test_a_norm_over_time() -> None:
    leaky = model()
    leaky.decoder.layers[0].residual_1.norm = NormOverTime()  # type: ignore[union-attr]
    report = find_leak(leaky)
    assert pairs(report) == LATER and modes(report) == {BOTH}


def test_a_norm_over_the_batch_leaks_in_training_and_is_not_changed_by_the_search() -> None:
    leaky, norm = model(), BatchNorm(8)
    leaky.decoder.layers[1].residual_2.norm = norm  # type: ignore[union-attr]
    report = find_leak(leaky)
    assert pairs(report) == LATER and modes(report) == {("training",)}
    assert norm.num_batches_tracked == 0 and norm.running_mean is not None
    assert torch.equal(norm.running_mean, torch.zeros(8))


def test_what_depends_on_the_length_alone() -> None:
    ours = model()

    def leaky(source: Tensor, source_mask: Tensor, target: Tensor) -> Tensor:
        return ours(source, source_mask, target) * (1 + target.shape[1] / 100)

    report = find_leak(leaky, module=ours)
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

    report = find_leak(leaky, module=ours)
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


def test_attention_of_torch_s_own() -> None:
    class Theirs(nn.Module):
        def __init__(self, causal: bool) -> None:
            super().__init__()
            self.embedding = nn.Embedding(30, 16)
            self.layer = nn.TransformerDecoderLayer(16, 2, 32, dropout=0.2, batch_first=True)
            self.causal = causal

        def forward(self, source: Tensor, source_mask: Tensor, target: Tensor) -> Tensor:
            length = target.shape[1]
            mask = torch.ones(length, length, dtype=torch.bool).triu(1) if self.causal else None
            x = self.layer(self.embedding(target), self.embedding(source), tgt_mask=mask)
            return x @ self.embedding.weight.T

    torch.manual_seed(3)
    sound = find_leak(Theirs(causal=True))
    assert sound.leaks == [] and "ended before each" in sound.tried[1]
    assert pairs(find_leak(Theirs(causal=False))) == LATER


# The form that takes a loss


def shifted(labels: Tensor) -> Tensor:
    return F.pad(labels[:, :-1], (1, 0), value=2)


def losses(
    ours: Transformer, shift: bool, smoothing: float = 0.0
) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    def loss(source: Tensor, source_mask: Tensor, labels: Tensor) -> Tensor:
        logits = ours(source, source_mask, shifted(labels) if shift else labels)
        return F.cross_entropy(logits.mT, labels, reduction="none", label_smoothing=smoothing)

    return loss


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("tied", [True, False])
def test_a_missing_shift_in_the_losses(smoothing: float, tied: bool) -> None:
    ours = model(tied=tied)
    sound = find_leak(loss=losses(ours, True, smoothing), module=ours, label_smoothing=smoothing)
    assert sound.leaks == []
    assert "each of 11 labels expected at 8 positions" in sound.tried[1]
    report = find_leak(loss=losses(ours, False, smoothing), module=ours, label_smoothing=smoothing)
    assert pairs(report) == [(position, position) for position in range(LENGTH)] and modes(report) == {BOTH}
    assert "On its own label: is the target shifted right before the decoder reads it?" in str(report)
    assert "position 3 knows label 3: all labels' probabilities should sum to 1" in str(report)


def test_a_missing_shift_in_the_logits() -> None:
    ours = model()
    assert find_leak(loss=lambda s, m, y: ours(s, m, shifted(y)), module=ours).leaks == []
    report = find_leak(loss=ours)
    assert pairs(report) == [(position, position) for position in range(LENGTH)]
    assert find_leak(ours).leaks == [], "in the first form the same model is sound"


def test_a_missing_mask_shows_in_the_losses_too() -> None:
    ours = model()
    with one_layer(ours, lambda layer, mask: Mask()):
        report = find_leak(loss=losses(ours, True), module=ours)
    # The decoder reads label j at position j + 1, and the last label not at all.
    assert pairs(report) == [(i, j) for i in range(LENGTH) for j in range(i, LENGTH - 1)]


def test_a_shift_in_the_wrong_direction() -> None:
    ours = model(decoder_layers=1)
    report = find_leak(loss=lambda s, m, y: ours(s, m, F.pad(y[:, 1:], (0, 1), value=3)), module=ours)
    # Position 0 reads label 1; what it passes on, position 1 must not know either, and so on.
    assert pairs(report)[:2] == [(0, 1), (1, 1)] and (2, 3) in pairs(report)


def test_labels_that_begin_with_the_start_token() -> None:
    ours = model()

    def loss(source: Tensor, source_mask: Tensor, labels: Tensor) -> Tensor:
        logits = ours(source, source_mask, labels[:, :-1])
        return F.cross_entropy(logits.mT, labels[:, 1:], reduction="none")

    assert find_leak(loss=loss, module=ours).leaks == []
    report = find_leak(loss=lambda s, m, y: ours(s, m, y)[:, 1:], module=ours)
    assert pairs(report) == [(position, position) for position in range(1, LENGTH)]


def test_a_label_that_the_loss_leaves_out_is_refused() -> None:
    ours = model(tied=False)

    def loss(source: Tensor, source_mask: Tensor, labels: Tensor) -> Tensor:
        logits = ours(source, source_mask, shifted(labels))
        return F.cross_entropy(logits.mT, labels, reduction="none", ignore_index=0)

    with pytest.raises(UsageError, match="the loss of label 0 is exactly 0, as if it were left out"):
        find_leak(loss=loss, module=ours)


def test_a_leak_in_both_modes_is_one_with_its_largest_amount() -> None:
    for amounts in ((0.1, 0.5), (0.5, 0.1)):
        found = [Leak(0, 1, amount, (mode,)) for amount, mode in zip(amounts, BOTH, strict=True)]
        assert merged([Leak(2, 3, 0.2, BOTH), *found]) == [Leak(0, 1, 0.5, BOTH), Leak(2, 3, 0.2, BOTH)]


# What is wrong with the question


def test_errors_say_what_to_give() -> None:
    ours = model()
    with pytest.raises(UsageError, match=r"Give one of them \(of a translator, translator.model\)"):
        find_leak(7)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="Give one of them"):
        find_leak(ours, loss=ours)
    with pytest.raises(UsageError, match="vocabulary is not given, and no logits come out"):
        find_leak(loss=lambda s, m, y: y * 1.0)
    with pytest.raises(UsageError, match=r"\(2, 8\) came out; find_leak needs B L V here, with B L = 2 8"):
        find_leak(lambda s, m, y: y * 1.0, vocabulary=9)
    with pytest.raises(
        UsageError, match=r"\(\) came out; find_leak needs B L V or, position by position, B L"
    ):
        find_leak(loss=lambda s, m, y: y.sum() * 1.0, vocabulary=9)
    with pytest.raises(UsageError, match=r"\(2, 7, 11\) came out of a target of 2 8; find_leak needs B L V"):
        find_leak(lambda s, m, y: ours(s, m, y)[:, 1:])
    with pytest.raises(UsageError, match="a target of 1 token has nothing that comes after it"):
        find_leak(ours, target=torch.tensor([[2]]))
    with pytest.raises(UsageError, match="have the shapes"):
        find_leak(ours, source=torch.tensor([[5, 3]]), target=torch.tensor([[2, 5], [2, 6]]))
    with pytest.raises(
        UsageError, match="the target's ids go from 2 to 40, and the vocabulary has 11: give ids from 0 to 10"
    ):
        find_leak(ours, target=torch.tensor([[2, 40]]))
    with pytest.raises(UsageError, match=r"label_smoothing = 1\.0 must be a number, at least 0"):
        find_leak(ours, label_smoothing=1.0)
    with pytest.raises(UsageError, match="NaN came out"):
        find_leak(lambda s, m, y: ours(s, m, y) * float("nan"), vocabulary=11)


SHAPE = "in equally long rows, one for each sentence, of which there is at least one."


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"target": [2, 5]}, f"target is [2, 5]. It must be ids, from 0 on, {SHAPE}"),
        ({"source": [[5, 6], [3]]}, f"source is [[5, 6], [3]]. It must be ids, from 0 on, {SHAPE}"),
        ({"source": "abc"}, "source is 'abc'. It must be ids"),
        ({"source": [[-1, 3]]}, "source is [[-1, 3]]. It must be ids"),
        ({"source": np.array([[5.0, 3]])}, "source is (1, 2) of float64. It must be ids"),
        ({"target": torch.tensor([[2.0, 5.0]])}, "target is (1, 2) of torch.float32. It must be ids"),
        ({"target": torch.ones(1, 4, dtype=torch.bool)}, "target is (1, 4) of torch.bool. It must be ids"),
        ({"target": torch.zeros(0, 5, dtype=torch.long)}, "target is (0, 5) of torch.int64. It must be ids"),
        ({"source_mask": [[1, 0]]}, "source_mask is [[1, 0]]. It must be bools, True at real tokens, "),
        (
            {"source": [[5, 600]]},
            "the source's ids go from 5 to 600, and the vocabulary has 11: give ids from 0 to 10.",
        ),
        (
            {"vocabulary": "5"},
            "vocabulary = '5' must be a whole number from 2 to 11: so many ids there are for a target.",
        ),
        ({"vocabulary": 10**6}, "vocabulary = 1000000 must be a whole number from 2 to 11"),
        (
            {"replacements": 1.5},
            "replacements = 1.5 must be a whole number from 1 to 1,000: random ids for each token.",
        ),
        ({"replacements": True}, "replacements = True must be a whole number"),
        ({"seed": "a"}, "seed = 'a' must be a whole number from 0 to 4,294,967,295."),
        ({"label_smoothing": "a"}, "label_smoothing = 'a' must be a number, at least 0 and below 1."),
        (
            {"module": 3},
            "module = 3 must be a torch.nn.Module: the one that the function calls, which is switched "
            "between evaluation and training.",
        ),
    ],
)
def test_sentences_and_settings_that_are_none(given: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as error:
        find_leak(model(), **given)
    assert str(error.value).startswith(message)


def test_what_comes_out_is_logits() -> None:
    with pytest.raises(UsageError, match="no logits come out that would tell it, but NoneType"):
        find_leak(lambda s, m, y: None)  # type: ignore[arg-type, return-value]
    with pytest.raises(
        UsageError, match=r"\(2, 8, 9\) of torch.int64 came out; find_leak needs floating-point"
    ):
        find_leak(lambda s, m, y: torch.zeros(*y.shape, 9, dtype=torch.long))


def test_ids_may_be_lists_and_arrays() -> None:
    ours, source, target = model(), [[5, 6, 3]], [[2, 5, 6, 7]]
    report = find_leak(ours, source=torch.tensor(source), target=torch.tensor(target))
    assert find_leak(ours, source=source, target=target) == report
    arrays = np.array(source), np.array(target, dtype=np.int32)
    assert find_leak(ours, source=arrays[0], target=arrays[1]) == report
    mask = find_leak(ours, source_mask=[[True, True, False]])  # which gives the source its length
    assert mask.leaks == []


def test_how_many_others_a_token_is_replaced_by() -> None:
    ours, targets = model(), list[Tensor]()

    def counted(source: Tensor, source_mask: Tensor, target: Tensor) -> Tensor:
        targets.append(target)
        return ours(source, source_mask, target)

    for given, expected in (({}, 3), ({"replacements": 1}, 1), ({"replacements": 99}, 10)):
        targets.clear()
        report = find_leak(counted, target=[[2, 5, 6]], vocabulary=11, **given)
        for place in (1, 2):
            here = {int(each[0, place]) for each in targets if each.shape[1] == 3}
            assert len(here) == 1 + expected
        told = "1 random id;" if expected == 1 else f"{expected} random ids;"
        assert f"2 of 3 tokens replaced, one at a time, by {told}" in report.tried[0]


def test_chance_that_cannot_be_repeated_is_refused() -> None:
    ours, chance = model(), random.Random(1)
    with pytest.raises(
        UsageError, match=r"two passes over the same sentences differ by .* \(evaluation mode\)"
    ):
        find_leak(lambda s, m, y: ours(s, m, y) + chance.random(), module=ours)


def test_a_leak_unpacks() -> None:
    position, depends_on, amount = Leak(2, 5, 0.25, BOTH)
    assert (position, depends_on, amount) == (2, 5, 0.25)


# The command


def test_the_command_says_that_nothing_leaks(pellucid: Command) -> None:
    outcome = pellucid("leak", "demo", "--device", "cpu", "--sentence", "How are you", "--to", "hi")
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert lines[0] == "How are you" and lines[1].startswith("0:<s>  1:आप  2:कैसे  3:हैं")
    assert lines[2].startswith("nothing leaks")
    assert "  training mode: " in outcome.out


def test_the_command_fails_when_something_leaks(pellucid: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NoPast, "mask", lambda past: Mask())
    outcome = pellucid("leak", "demo", "--device", "cpu")
    assert outcome.code == 1
    assert outcome.out.startswith("random ids\nit leaks: 7 positions depend on what must be hidden\n")
    assert "\n  … and 16 more\n" in outcome.out
    assert outcome.err.startswith("pellucid: demo leaks: what it predicts depends on later words")


def test_the_command_s_lines_fit(pellucid: Command) -> None:
    outcome = pellucid("leak", "demo", "--device", "cpu")
    assert outcome.code == 0 and max(map(len, outcome.out.splitlines())) <= 80
    told = " ".join(outcome.out.split())
    assert (
        "by 3 random ids, padding and the end, under the same dropout; the target ended before each" in told
    )


def test_the_command_refuses_a_language_that_has_no_effect(pellucid: Command) -> None:
    outcome = pellucid("leak", "demo", "--device", "cpu", "--to", "xx")
    assert outcome.code == 2 and outcome.out == ""
    assert outcome.err.startswith("pellucid: the model translates to ") and ", not 'xx'." in outcome.err
    outcome = pellucid("leak", "demo", "--device", "cpu", "--to", "fr")
    assert (outcome.code, outcome.out, outcome.err) == (
        2,
        "",
        "pellucid: --to fr has no effect on random ids, which have no language. Leave it out, or give a "
        "--sentence.\n",
    )


def test_the_command_refuses_an_empty_sentence(pellucid: Command) -> None:
    outcome = pellucid("leak", "demo", "--device", "cpu", "--sentence", "", "--to", "hi")
    assert outcome.code == 2 and outcome.err.startswith("pellucid: a sentence is empty: nothing to try.")


def test_the_command_refuses_a_word_that_the_model_does_not_have(pellucid: Command) -> None:
    outcome = pellucid("leak", "demo", "--device", "cpu", "--sentence", "zebra", "--to", "hi")
    explained = pellucid("explain", "demo", "zebra", "--device", "cpu", "--to", "hi")
    assert outcome.code == 2 and outcome.out == ""
    assert outcome.err.startswith("pellucid: --sentence: the model has no word 'zebra'.")
    assert outcome.err.replace("--", "") == explained.err
