"""The source meter: its terms are those of the ledger; it tells translations from inventions."""

import random
from collections.abc import Sequence

import pytest
import torch
from tiny import PAIRS, translator

from pellucid.data.phrasebook import split
from pellucid.errors import UsageError
from pellucid.model import Transformer
from pellucid.reading.passes import in_batch, watch
from pellucid.seeing.edits import hold
from pellucid.translate import source_share
from pellucid.translator import Translator, load


def test_shares_are_those_of_the_ledgers_terms() -> None:
    for norm in ("first", "last"):
        model = translator(norm=norm, activation="gelu", max_length=6)
        translations = model.translate([PAIRS[0][0], PAIRS[1][0], ""], to="es", source_share=True)
        for translation in translations[:2]:
            explanation = model.explain(
                translation.source, to="es", target=translation.hypotheses[0].token_ids
            )
            assert explanation.source_shares == pytest.approx(translation.source_shares, abs=1e-4)
            for step, share in enumerate(explanation.source_shares):
                terms = explanation.ledger(step).by_input
                sides = [
                    sum(abs(each) for label, each in terms[:-3] if label.startswith(side))
                    for side in ("source ", "target ")
                ]
                assert share == pytest.approx(sides[0] / sum(sides), abs=1e-4)
        assert translations[2].source_share is None
        assert model.translate(PAIRS[0][0], to="es").source_shares is None  # not asked for


@pytest.mark.parametrize("rounds", [4, pytest.param(60, marks=pytest.mark.slow)])
def test_shares_of_any_shape_of_model_and_batch(rounds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the model's shape, the sentences' lengths and the steps that go back together."""
    print("seed", seed := random.randrange(2**32))
    chance = random.Random(seed)
    for _ in range(rounds):
        shape = {
            "norm": chance.choice(["first", "last"]),
            "activation": chance.choice(["relu", "gelu", "silu"]),
            "positions": chance.choice(["paper", "marian", "fairseq", "learned"]),
            "tied": chance.random() < 0.5,
            "heads": chance.choice([1, 2, 4]),
            "encoder_layers": chance.randint(1, 3),
            "decoder_layers": chance.randint(1, 3),
        }
        model = translator(**shape, longest=20 if shape["positions"] == "learned" else 0)
        monkeypatch.setattr(source_share, "IN_BATCH", chance.choice([2**6, 2**12]))
        monkeypatch.setattr(source_share, "IN_GRADIENTS", chance.choice([1, 2**9, 2**12]))
        sizes = [(chance.randint(1, 7), chance.randint(1, 7)) for _ in range(chance.randint(1, 4))]
        pairs = [[[chance.randint(4, 30) for _ in range(size)] for size in both] for both in sizes]
        found = source_share.source_shares(model.model, pairs)
        assert list(map(len, found)) == [length for _, length in sizes]
        for both, shares in zip(pairs, found, strict=True):
            assert shares == pytest.approx(by_autograd(model.model, *both), abs=1e-4), shape


def by_autograd(model: Transformer, source: list[int], target: list[int]) -> list[float]:
    """The same shares by the definition: a derivative of each logit in a pass that is held."""
    leaves = dict.fromkeys(source_share.READ, lambda tensor: tensor.detach().requires_grad_())
    seen = watch(model, in_batch(model, [(source, target)]), edits=hold() | leaves, gradients=True)
    read = [seen[name].tensor for name in source_share.READ]
    shares = []
    for step, token in enumerate(target):
        slopes = torch.autograd.grad(seen["decoder.logits"].tensor[0, step, token], read, retain_graph=True)
        a, b = ((slope * each.detach()).sum(-1).abs().sum() for slope, each in zip(slopes, read, strict=True))
        shares.append(float(a / (a + b)))
    return shares


def test_an_ensemble_is_refused_before_it_translates() -> None:
    ours = translator()
    both = Translator([ours.model] * 2, ours.vocabulary, ours.config)
    with pytest.raises(UsageError, match="ensemble"):
        both.translate("How are you ?", to="hi", source_share=True)


def area(higher: Sequence[float], lower: Sequence[float]) -> float:
    """Return the area under the curve: how often one of the first is above one of the second."""
    above = torch.tensor(higher)[:, None] - torch.tensor(lower)
    return float(((above > 0).double() + (above == 0).double() / 2).mean())


def test_it_tells_translations_from_inventions() -> None:
    """A model that is made to say another sentence's translation."""
    demo, chance = load("demo", device="cpu"), random.Random(1)
    phrases = [phrase for phrase in split()["held-out"] if phrase.target_language == "es"]
    chosen, others = chance.sample(phrases, 60), chance.sample(phrases, 60)
    true = [
        each.source_share or 0
        for each in demo.translate([each.source for each in chosen], to="es", source_share=True)
    ]
    pairs = [
        (demo.vocabulary.encode_source(each.source, "es"), demo.vocabulary.encode_target(other.target, "es"))
        for each, other in zip(chosen, others, strict=True)
    ]
    forced = [sum(each) / len(each) for each in source_share.source_shares(demo.model, pairs)]
    assert area(true, forced) > 0.92
