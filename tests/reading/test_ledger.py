"""The ledger: three sums of one logit, in models of every shape; terms that are taken out, by other ways."""

import gzip
import os
import random
from pathlib import Path

import pytest
import torch
from tiny import translator

from pellucid.data.batch import pad
from pellucid.data.phrasebook import split
from pellucid.errors import UsageError
from pellucid.explanation import Explanation
from pellucid.learning.run import train
from pellucid.reading import ledger as ledgers
from pellucid.reading.ledger import rank_correlation
from pellucid.reading.passes import in_float32
from pellucid.seeing.edits import hold, silence
from pellucid.translator import load

ROUNDS = int(os.environ.get("PELLUCID_ROUNDS", "6"))  # how many random models


def check(explanation: Explanation, chance: random.Random) -> None:
    """Each reading of a ledger of a random word, or of two, adds up to the logit of the trace."""
    step = chance.randrange(len(explanation.steps))
    logits = explanation.trace["decoder.logits"].tensor[0, step]
    ids = chance.sample(range(len(logits)), chance.choice([1, 2]))
    words = [explanation.vocabulary.target_tokens([each])[0] for each in ids]
    pieces = explanation.vocabulary.target
    if (
        any(not piece or pieces.piece_to_id(piece) != own for piece, own in zip(words, ids, strict=True))
        or 1 in ids
    ):
        ids, words = [explanation.target_ids[step]], []
    ledger = explanation.ledger(step, *words)
    assert ledger.logit == pytest.approx(float(logits[ids[0]] - logits[ids[1:]].sum()), abs=1e-5)
    assert ledger.gap <= 1e-4 * float(logits[ids].abs().max()) + 1e-5
    assert [len(each) for each in (ledger.zero, ledger.mean)] == [len(ledger.by_part)] * 2
    assert len(ledger.absent) == len(ledger.by_input)


def test_the_readings_add_up_in_random_models() -> None:
    seed = random.SystemRandom().randrange(1 << 30)
    print("seed:", seed)
    chance = random.Random(seed)
    for _ in range(ROUNDS):
        joint, heads = chance.random() < 0.5, chance.choice([1, 2, 4])
        explained = translator(
            kind=chance.choice(["word", "unigram"]),
            joint=joint,
            norm=chance.choice(["first", "last"]),
            activation=chance.choice(["relu", "gelu", "silu"]),
            tied=chance.random() < 0.5,
            output_bias=chance.random() < 0.5,
            scale_embeddings=chance.random() < 0.5,
            positions=chance.choice(["paper", "fairseq", "marian"]),
            heads=heads,
            encoder_layers=chance.randrange(1, 4),
            decoder_layers=chance.randrange(1, 4),
        )
        with torch.no_grad():
            for parameter in explained.model.parameters():
                if parameter.dim() == 1:
                    parameter.add_(0.3 * torch.randn_like(parameter))
        check(explained.explain("How are you ?", to="hi", target="आप कैसे हैं ?"), chance)


@pytest.fixture
def sums_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without what happens when a term is taken out, of which other tests know: a hundredth of the time."""
    monkeypatch.setattr(ledgers, "_falls", lambda asked, model, each: [0.0] * len(each))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:(sentence|target):UserWarning")
@pytest.mark.parametrize("kind", ["marian", "marian gelu", "marian relu", "nllb", "m2m100", "mbart"])
def test_the_readings_add_up_in_imported_models(kind: str, tmp_path: Path, sums_alone: None) -> None:
    from marian_folders import CODES, many_languages, opus, phrases

    to = CODES[kind][1] if kind in CODES else None
    activation = {"activation_function": kind.split()[-1]} if " " in kind else {}
    many_languages(tmp_path, kind) if to else opus(tmp_path, d_model=32, steps=200, **activation)
    translator, chance = load(tmp_path, device="cpu"), random.Random(1)
    for text, target in zip(phrases("en", 100), phrases("fr", 100), strict=True):
        check(translator.explain(text, to=to, target=target), chance)


@pytest.mark.slow
@pytest.mark.mirror
@pytest.mark.timeout(3600)
@pytest.mark.skipif("PELLUCID_MIRROR" not in os.environ, reason="PELLUCID_MIRROR is not set")
@pytest.mark.filterwarnings("ignore:(sentence|target):UserWarning")
@pytest.mark.parametrize(("norm", "activation"), [("last", "relu"), ("first", "gelu"), ("first", "silu")])
def test_the_readings_add_up_in_a_trained_base_model(
    norm: str, activation: str, tmp_path: Path, sums_alone: None
) -> None:
    raw, sides = Path(os.environ["PELLUCID_MIRROR"]) / "multi30k" / "raw", []
    for language in ("en", "de"):
        sides.append(gzip.decompress((raw / f"train.{language}.gz").read_bytes()).decode().split("\n"))
    pairs = list(zip(*sides, strict=True))[:4100]
    settings = {
        "data": {"languages": ["en", "de"]},
        "vocabulary": {"size": 4000},
        "model": {"preset": "base", "norm": norm, "activation": activation},
        "training": dict(
            steps=int(os.environ.get("PELLUCID_STEPS", "200")), batch_tokens=512, peak_rate=0.001,
            warmup_steps=50, cooldown=0.5, validate_every=10_000, average=0,
        ),
    }  # fmt: skip
    run = train(
        settings, tmp_path / "run", device="cpu", pairs=pairs[:4000], validation_pairs=pairs[4000:4008]
    )
    translator, chance = load(run, device="cpu"), random.Random(1)
    for source, target in pairs[4000:]:
        check(translator.explain(source, target=target), chance)


def test_what_happens_without_a_term_is_what_other_ways_to_take_it_out_say(spanish: Explanation) -> None:
    model = in_float32(spanish.translator.model)
    last = len(spanish.steps) - 1
    ledger = spanish.ledger(last)
    source, target = (
        pad([spanish.source_ids], 0),
        torch.tensor([[model.config.start_id, *spanish.target_ids[:-1]]]),
    )
    for place, (label, _) in enumerate(ledger.by_input[: len(spanish.source_ids)]):
        assert label == f"source {spanish.source_tokens[place]}"
        mask = source[1].clone()
        mask[0, place] = False  # as padding: another path through the model
        with torch.no_grad():
            logits = model(source[0], mask, target)[0, last]
        fall = ledger.logit - float(logits[spanish.target_ids[last]])
        assert ledger.absent[place] == pytest.approx(fall, abs=1e-4)
    part = "decoder.layers.1.cross_attention"  # of the last layer: other positions do not matter
    places = {label: place for place, (label, _) in enumerate(ledger.by_part)}
    for head in range(2):
        for how, found in (("zero", ledger.zero), ("mean", ledger.mean)):
            silent = spanish.again(silence(part, head, how))["decoder.logits"].tensor
            fall = ledger.logit - float(silent[0, last, spanish.target_ids[last]])
            assert found[places[f"{part} head {head}"]] == pytest.approx(fall, abs=1e-4)


def test_a_held_pass_has_the_same_values(spanish: Explanation) -> None:
    held = spanish.again(hold())
    for name, record in spanish.trace.items():
        torch.testing.assert_close(held[name].tensor, record.tensor, rtol=1e-6, atol=1e-6)


def test_by_position_splits_the_heads_of_by_part(spanish: Explanation) -> None:
    ledger = spanish.ledger(2)
    for label, share in ledger.by_part:
        split_up = [
            each for name, each in ledger.by_position if name == label or name.startswith(f"{label} at ")
        ]
        assert sum(split_up) == pytest.approx(share, abs=1e-5)
    assert not any("at los" in label for label, _ in ledger.by_position)  # said later


def test_ranks_are_compared() -> None:
    terms = [("a", 1.0), ("b", 5.0), ("c", 2.0), ("d", 9.0)]
    assert rank_correlation(terms, [0.1, 7.0, 0.2, None]) == pytest.approx(1)
    assert rank_correlation(terms, [0.3, 0.0, 0.2, -1.0]) == pytest.approx(-1)
    assert rank_correlation(terms[:2], [1.0, 2.0]) != rank_correlation(terms[:2], [1.0, 2.0])


def test_what_cannot_be_asked_is_told(spanish: Explanation) -> None:
    with pytest.raises(UsageError, match="step = 5: there are 5 steps, counted from 0"):
        spanish.ledger(5)
    with pytest.raises(UsageError, match="'gatoz' is no token of the target's vocabulary"):
        spanish.ledger(3, "gatoz")
    with pytest.raises(UsageError, match="'gatos' less itself is 0"):
        spanish.ledger(3, against="gatos")


@pytest.mark.slow
def test_the_demo_adds_up_in_a_thousand_sentences() -> None:
    demo, chance = load("demo", device="cpu"), random.Random(1)
    for phrase in chance.sample(split()["held-out"], 1000):
        check(demo.explain(phrase.source, to=phrase.target_language), chance)
