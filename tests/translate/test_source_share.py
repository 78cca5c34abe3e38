"""The source meter: its terms are those of the ledger; it tells translations from inventions."""

import random
from collections.abc import Sequence

import pytest
import torch
from tiny import PAIRS, translator

from pellucid.data.phrasebook import split
from pellucid.errors import UsageError
from pellucid.translate.source_share import source_shares
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
    forced = [sum(each) / len(each) for each in source_shares(demo.model, pairs)]
    assert area(true, forced) > 0.95
