"""The fused training step computes what the model computes, and its random numbers follow from the seed."""

import copy
import random
from typing import Any

import pytest
import torch
from learners import batch as lesson_of
from learners import learner
from torch import Tensor

from pellucid.config.schema import ModelConfig
from pellucid.data.batch import Batch
from pellucid.decoding.library import CHOICE, has_kernels
from pellucid.learning import fused
from pellucid.learning.loss import loss_of
from pellucid.learning.operations import Draws, Rows, activate, attend
from pellucid.model import Transformer
from pellucid.seeing.watching import watching

pytestmark = pytest.mark.skipif(not has_kernels(), reason="no kernels are compiled here")
SEED = random.SystemRandom().randrange(10_000)
LESSONS = [lesson_of(3, 4), lesson_of(6), lesson_of(2, 2, 5)]


def random_model(chance: random.Random, dtype: torch.dtype = torch.float32, **settings: Any) -> Transformer:
    heads, activation = chance.randint(1, 5), chance.choice(("relu", "gelu", "silu"))
    shape: dict[str, Any] = dict(heads=heads, width=heads * 2 * chance.randint(4, 40), activation=activation)
    shape |= dict(vocabulary=chance.randint(10, 300), hidden=chance.randint(1, 200), dropout=0.0)
    shape |= dict(encoder_layers=chance.randint(1, 2), decoder_layers=chance.randint(1, 2))
    shape |= dict(norm=chance.choice(("first", "last")), tied=chance.random() < 0.5)
    shape |= dict(output_bias=chance.random() < 0.5)
    torch.manual_seed(chance.randrange(1000))
    model = Transformer(ModelConfig(**shape | settings))
    for parameter in model.parameters():  # no bias of zero, no norm that does nothing
        parameter.data += 0.1 * torch.randn(parameter.shape)
    return model.to(dtype).train()


def random_batch(chance: random.Random, model: Transformer, longest: int = 20) -> Batch:
    """Sentences of random lengths; rarely, a source has no token."""
    rows = chance.randint(1, 9)
    sides = []
    for least in (0, 1):
        lengths = torch.tensor([chance.randint(least, longest) for _ in range(rows)])
        lengths[0] = longest
        real = torch.arange(longest) < lengths[:, None]
        sides.append(real)
    source, target = sides
    ids = [torch.randint(4, model.config.vocabulary, each.shape) * each for each in (source, target, target)]
    return Batch(ids[0], source, ids[1], ids[2], target, tuple("x" * rows))


def pass_of(model: Transformer, batch: Batch, is_fused: bool = True) -> tuple[float, float, list[Tensor]]:
    """Both losses, and the gradients of all parameters but the keys' biases, which are zero."""
    with pytest.MonkeyPatch.context() as patch:
        if is_fused:
            assert fused.applies(model)
        else:
            patch.setattr(fused, "applies", lambda model: False)
        loss = loss_of(model, batch, 0.1)
    model.zero_grad()
    (loss.smoothed / loss.tokens).backward()
    gradients = {name: each.grad for name, each in model.named_parameters() if each.grad is not None}
    kept = [each for name, each in gradients.items() if not name.endswith("key.bias")]
    return float(loss.smoothed.detach()), float(loss.plain), kept


def apart(gradients: list[Tensor], others: list[Tensor]) -> float:
    """How far all gradients together are from others, as a share of their length."""
    one, other = (torch.cat([each.flatten().double() for each in group]) for group in (gradients, others))
    return float((one - other).norm() / other.norm())


@pytest.mark.parametrize("number", range(6))
def test_losses_and_gradients_are_the_models(number: int) -> None:
    print("seed", SEED)
    chance = random.Random(SEED + number)
    model = random_model(chance)
    batch = random_batch(chance, model, 150 if number == 0 else 20)
    ours, models = pass_of(model, batch), pass_of(model, batch, False)
    exact = pass_of(copy.deepcopy(model).double(), batch, False)[2]
    assert ours[:2] == pytest.approx(models[:2], rel=1e-5)
    # A norm of few values, or a softmax of one, makes a gradient that is a difference of larger numbers; and
    # what is nearly 0 before ReLU may have either sign.
    kink = 0.003 if model.config.activation == "relu" else 0.0
    assert apart(ours[2], models[2]) < 1e-5 + 3 * apart(models[2], exact) + kink


def test_relu_and_its_gradient_are_torchs() -> None:
    torch.manual_seed(SEED)
    x, gradient = torch.randn(2, 7, 37)
    ours, theirs = x.clone().requires_grad_(), x.clone().requires_grad_()
    found, expected = activate(ours * 1.0, "relu", 0.0, Draws()), torch.relu(theirs)
    assert torch.equal(found, expected)
    found.backward(gradient)
    expected.backward(gradient)
    assert ours.grad is not None and theirs.grad is not None and torch.equal(ours.grad, theirs.grad)


@pytest.mark.parametrize("number", range(3))
def test_in_bf16_it_is_no_further_from_float32_than_the_model(number: int) -> None:
    print("seed", SEED)
    chance = random.Random(SEED + number)
    exact = random_model(chance, torch.bfloat16).float()
    batch = random_batch(chance, exact)
    true = pass_of(exact, batch, False)
    model = exact.bfloat16()
    ours, models = pass_of(model, batch), pass_of(model, batch, False)
    assert ours[0] == pytest.approx(true[0], rel=0.01)
    assert apart(ours[2], true[2]) < 2 * apart(models[2], true[2]) + 0.005


@pytest.mark.parametrize("norm", ["first", "last"])
def test_with_dropout_the_gradient_is_the_slope(norm: str) -> None:
    """The backward pass drops what the forward pass dropped: a step along the gradient changes the loss by
    the step times the gradient's length. Where that is great the loss is crooked, so its change is chosen."""
    print("seed", SEED)
    chance = random.Random(SEED)
    rates: dict[str, Any] = dict(
        dropout=0.3, attention_dropout=0.2, activation_dropout=0.1, activation="silu"
    )
    rates["activation"] = chance.choice(("silu", "relu"))
    model = random_model(chance, norm=norm, **rates)
    batch = random_batch(chance, model)

    def loss(seed: int) -> tuple[float, list[Tensor]]:
        torch.manual_seed(seed)
        smoothed, _, gradients = pass_of(model, batch)
        return smoothed / batch.tokens, gradients

    now, gradients = loss(1)
    assert loss(1)[0] == now != loss(2)[0]
    length = torch.cat([each.ravel() for each in gradients]).norm()
    learnt = [each for name, each in model.named_parameters() if not name.endswith("key.bias")]
    change, ends = 4e-3, list[float]()
    for direction in (1, -2):
        for parameter, gradient in zip(learnt, gradients, strict=True):
            parameter.data += direction * change / length**2 * gradient
        ends.append(loss(1)[0])
    assert (ends[0] - ends[1]) / (2 * change) == pytest.approx(1, rel=0.1)


def test_dropout_drops_as_often_as_it_says_and_each_value_alone() -> None:
    print("seed", SEED)
    torch.manual_seed(SEED)
    draws, ones = Draws(), torch.ones(1000, 200)
    for rate in (0.1, 0.3, 0.5):
        one, other = (activate(ones.clone(), "relu", rate, draws) for _ in range(2))
        dropped, error = round(rate * 256) / 256, (rate * (1 - rate) / ones.numel()) ** 0.5
        assert float((one == 0).float().mean()) == pytest.approx(dropped, abs=5 * error)
        assert one.max() == pytest.approx(1 / (1 - dropped))
        # Neither a neighbour, nor the row below, nor another layer tells anything about a value.
        for pair in (
            (one[:, 1:], one[:, :-1]),
            (one[:, 64:], one[:, :-64]),
            (one[1:], one[:-1]),
            (one, other),
        ):
            together = torch.corrcoef(torch.stack([each.ravel() for each in pair]))[0, 1]
            assert abs(float(together)) < 5 / ones.numel() ** 0.5
        assert float(one.mean(0).std()) == pytest.approx((rate / (1 - rate) / 1000) ** 0.5, rel=0.3)


def test_padding_changes_nothing() -> None:
    chance = random.Random(SEED)
    print("seed", SEED)
    model = random_model(chance, dropout=0.3)
    batch = random_batch(chance, model)
    wider = Batch(
        **{
            name: torch.nn.functional.pad(each, (0, 7), value=0)
            for name, each in vars(batch).items()
            if isinstance(each, Tensor)
        },
        origins=batch.origins,
    )
    found = []
    for each in (batch, wider):
        torch.manual_seed(1)
        found.append(pass_of(model, each))
    assert found[0][:2] == found[1][:2]
    assert all(map(torch.equal, found[0][2], found[1][2]))


def test_batches_of_all_sizes_have_few_numbers_of_rows() -> None:
    """So that few products are compiled. What is added is a last sentence of padding, at most a sixteenth."""
    chance, sizes = random.Random(SEED), set[int]()
    print("seed", SEED)
    for length in range(1, 4097):
        real = torch.zeros(1, length + chance.randint(0, 9), dtype=torch.bool)
        real[:, :length] = True
        rows = Rows.of(real.long(), real)
        assert rows.starts.tolist() == [0, length, len(rows.ids)] and len(rows.places) == len(rows.ids)
        assert 0 <= len(rows.ids) - length <= length / 16 and rows.longest == length
        assert rows.ids.sum() == length and not rows.ids[length:].any()
        sizes.add(len(rows.ids))
    assert len([size for size in sizes if size > 1024]) == 32


def test_the_number_of_threads_fixes_the_numbers() -> None:
    chance, threads = random.Random(SEED), torch.get_num_threads()
    print("seed", SEED)
    model = random_model(chance, dropout=0.2, attention_dropout=0.1)
    batch, found = random_batch(chance, model), []
    try:
        for count in (1, 3, 3):
            torch.set_num_threads(count)
            torch.manual_seed(1)
            found.append(pass_of(model, batch))
    finally:
        torch.set_num_threads(threads)
    assert all(map(torch.equal, found[1][2], found[2][2]))
    assert apart(found[0][2], found[1][2]) < 1e-5


def test_a_sentence_without_keys_has_no_context() -> None:
    rows = Rows.of(torch.ones(2, 3, dtype=torch.long), torch.ones(2, 3, dtype=torch.bool))
    others = Rows.of(torch.ones(2, 3, dtype=torch.long), torch.tensor([[False] * 3, [True] * 3]))
    queries = torch.randn(len(rows.ids), 8, requires_grad=True)
    memory = torch.randn(len(others.ids), 16, requires_grad=True)
    context = attend(queries, memory, 2, rows, others, False, Draws().next(0.0))
    context.sum().backward()
    assert queries.grad is not None
    for values in (context, queries.grad):
        assert not values[:3].any() and values[3:].all()


def test_watched_hooked_changed_and_without_kernels_the_model_itself_computes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = random_model(random.Random(1), heads=2, width=8)
    assert fused.applies(model)
    with watching(lambda name, axes, tensor: tensor, model):
        assert not fused.applies(model)
    handle = model.encoder.layers[0].register_forward_hook(lambda *given: None)
    assert not fused.applies(model)
    handle.remove()
    assert not fused.applies(model.eval())
    with torch.no_grad():
        assert not fused.applies(model.train())
    monkeypatch.setenv(CHOICE, "none")
    assert not fused.applies(model)
    monkeypatch.delenv(CHOICE)
    model.encoder.layers[0] = torch.nn.Identity()
    assert not fused.applies(model)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_with_kernels_and_without_the_weights_become_the_same(
    precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three steps of AdamW, with clipping, weight decay and a rate that changes."""
    found = []
    for choice in ("", "none"):
        monkeypatch.setenv(CHOICE, choice)
        taught = learner(precision=precision, clip_norm=0.5, weight_decay=0.1, warmup_steps=2)
        norms = [taught.learn([lesson], step).gradient_norm for step, lesson in enumerate(LESSONS, 1)]
        working = torch.cat([each.ravel().float() for each in taught.working.parameters()])
        found.append((torch.cat([each.ravel() for each in taught.model.parameters()]), working, norms))
    near = 1e-5 if precision == "fp32" else 0.02
    assert found[0][2] == pytest.approx(found[1][2], rel=near)
    assert found[0][2][0] > 0.5  # clipped
    for one, other in zip(found[0][:2], found[1][:2], strict=True):
        assert (one - other).norm() < near * other.norm()
