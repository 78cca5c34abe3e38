"""One word in two sentences: positions exchanged and contributions of words, each computed again by hand."""

import math
import re
from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from command import Command
from tiny import translator, untrained

from pellucid.config.schema import Config, VocabularyConfig
from pellucid.errors import UsageError
from pellucid.mask import Mask
from pellucid.probes.compare import Comparison
from pellucid.probes.occurrence import bare
from pellucid.show.probe_text import verdict
from pellucid.translator import Translator, load

CHAT = ("le chat est sur le tapis", "sur le tapis le chat est")  # of the French that tiny.py knows
Array = np.ndarray[Any, Any]
BANK = ("The boat is near the bank", "The money is at the bank")


def encoded(tiny: Translator, text: str, moved: dict[int, int]) -> list[Array]:
    """The encoder's stream from layer to layer, with tokens at other places than their own."""
    ids = tiny.vocabulary.encode_source(text, "en")
    model, width = tiny.model, tiny.model.config.width
    places = torch.tensor([moved.get(place, place) for place in range(len(ids))])
    angles = places[:, None].double() / 10_000 ** (torch.arange(0, width, 2) / width)
    positions = torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1).float()
    assert model.embedding is not None
    vectors = model.embedding(torch.tensor([ids])) * math.sqrt(width)
    stream = [vectors, vectors + positions]
    for layer in model.encoder.layers:
        stream.append(layer(stream[-1], Mask(torch.ones(1, len(ids), dtype=torch.bool))))
    return [each[0].detach().double().numpy() for each in stream]


def cosine(one: Array, other: Array) -> float:
    return float((one * other).sum() / math.sqrt((one * one).sum() * (other * other).sum()))


@pytest.fixture(scope="module")
def chat() -> Comparison:
    return translator(encoder_layers=2).compare("chat", *CHAT, to="en")


def test_cosines_and_effects_are_those_of_four_runs(chat: Comparison) -> None:
    tiny = translator(encoder_layers=2)
    here, there = 2, 5  # the tag is at place 0
    assert (chat.first.places, chat.second.places) == ((here,), (there,))
    a, a_moved = encoded(tiny, CHAT[0], {}), encoded(tiny, CHAT[0], {here: there})
    b, b_moved = encoded(tiny, CHAT[1], {}), encoded(tiny, CHAT[1], {there: here})
    assert len(chat.stages) == 4
    for number, stage in enumerate(chat.stages):
        one, one_moved = a[number][here], a_moved[number][here]
        other, other_moved = b[number][there], b_moved[number][there]
        change = other - one
        position = ((one_moved - one) + (other - other_moved)) / 2
        context = ((other_moved - one) + (other - one_moved)) / 2
        assert np.allclose(position + context, change)
        moved = (cosine(one, one_moved) + cosine(other, other_moved)) / 2
        around = (cosine(one, other_moved) + cosine(one_moved, other)) / 2
        found = stage.cosine, stage.position, stage.context
        assert found == pytest.approx((cosine(one, other), moved, around), abs=1e-5)
        assert stage.distance == pytest.approx(np.linalg.norm(change), abs=1e-4)
        if number:
            size = float(change @ change)
            assert stage.position_share == pytest.approx(float(position @ change) / size, abs=1e-4)
            assert stage.position_share + stage.context_share == pytest.approx(1.0)
    embedding, positioned = chat.stages[:2]
    assert (embedding.cosine, embedding.distance) == (pytest.approx(1.0), 0.0)
    assert (positioned.position_share, positioned.context_share) == (pytest.approx(1.0), pytest.approx(0.0))


def test_the_words_parts_are_those_of_loops_and_sum_to_the_change(chat: Comparison) -> None:
    tiny = translator(encoder_layers=2)
    for number, layer in enumerate(chat.layers):
        path = f"encoder.layers.{number}.self_attention"
        output = tiny.model.get_parameter(f"{path}.output.weight").detach().double().numpy()
        given: dict[tuple[str, int], Any] = {}
        change: Any = 0
        for sign, text, place in ((-1, CHAT[0], 2), (1, CHAT[1], 5)):
            explanation = tiny.explain(text, to="en", target="The cat")
            weights, values, out = (
                explanation.trace[f"{path}.{name}"].tensor[0].double().numpy()
                for name in ("weights", "values", "output")
            )
            change = change + sign * out[place]
            for head in range(2):
                columns = output[:, head * 4 : (head + 1) * 4]
                for other, token in enumerate(explanation.source_tokens):
                    part = weights[head, place, other] * (columns @ values[head, other])
                    given[token, head] = given.get((token, head), 0) + sign * part
        assert layer.distance == pytest.approx(np.linalg.norm(change), abs=1e-5)
        shares: Counter[Any] = Counter()
        for mover in layer.movers:
            shares.update({(mover.word, head): share for head, share in enumerate(mover.shares)})
        assert sum(shares.values()) == pytest.approx(1.0, abs=1e-5)
        expected = {key: float(part @ change / (change @ change)) for key, part in given.items()}
        assert shares == pytest.approx(expected, abs=1e-5)
        assert [mover.word for mover in layer.movers if mover.itself] == ["chat"]
        sizes = [abs(mover.share) for mover in layer.movers]
        assert sizes == sorted(sizes, reverse=True)


def test_bank_by_the_river_and_for_money(pellucid: Command) -> None:
    outcome = pellucid("compare", "demo", "bank", *BANK, "--to", "fr")
    assert (outcome.code, outcome.err) == (0, "") and "The money is at the [bank]" in outcome.out
    assert max(map(len, outcome.out.splitlines())) <= 80
    comparison = load("demo").compare("bank", *BANK, to="fr")
    cosines = [stage.cosine for stage in comparison.stages]
    assert cosines[0] == pytest.approx(1.0) and cosines[1] == pytest.approx(1.0)  # same word, same place
    assert cosines[-1] < cosines[-2] < 0.99
    assert comparison.stages[-1].context_share == pytest.approx(1.0)
    first, second = comparison.renderings
    assert (first.words, second.words) == (["de", "rive"], ["banque"])
    movers = {mover.word: mover for mover in comparison.layers[0].movers}
    for word, sentence in (("boat", "first"), ("money", "second")):
        assert movers[word].sentences == sentence and movers[word].share > 0.2
    *_, last = comparison.layers
    text = comparison.lines(80)
    first_row = 2 + next(n for n, line in enumerate(text) if line.startswith(last.attention))
    named = [line.split()[0] for line in text[first_row : first_row + 6]]
    assert (
        named == [each.word for each in last.movers[:6]] and min(each.share for each in last.movers[:6]) < 0
    )
    most = [f"{each.word} ({each.share:.0%})" for each in last.movers if each.share >= 0.1][:3]
    said = f" Of the other words, these moved it most towards that in the last layer: {', '.join(most)}."
    assert verdict(comparison).endswith(said)


def test_one_sentence_twice_parts_nothing() -> None:
    comparison = translator().compare("chat", CHAT[0], CHAT[0], to="en")
    assert verdict(comparison) == "Nothing parts the two: 'chat' has the same vector everywhere."
    assert {stage.distance for stage in comparison.stages} == {0.0}
    assert {mover.share for mover in comparison.layers[0].movers} == {0.0}
    rows = [line.split()[-6:] for line in comparison.lines(80) if line.startswith(("embedding", "layer 0"))]
    assert rows == [["1.0000", "1.0000", "1.0000", "–", "–", "0.000"]] * 2


@pytest.mark.parametrize("norm", ["last", "first"])
@pytest.mark.parametrize("kind", ["word", "unigram"])
def test_words_of_pieces_and_a_norm_before(kind: str, norm: str) -> None:
    comparison = translator(kind=kind, norm=norm).compare("tapis", *CHAT, to="en")
    assert comparison.word == "tapis" and len(comparison.first.places) >= 1
    assert kind == "word" or len(comparison.first.places) > 1
    for layer in comparison.layers:
        assert sum(mover.share for mover in layer.movers) == pytest.approx(1.0, abs=1e-4)
    titles = [stage.title for stage in comparison.stages]
    assert titles == ["embedding", "position", "layer 0", *(["last norm"] if norm == "first" else [])]


@pytest.mark.filterwarnings("ignore:sentence. the model does not know:UserWarning")
def test_capitals_and_punctuation_do_not_hide_a_word() -> None:
    tiny = translator(kind="unigram")
    comparison = tiny.compare("Chat", "le chat, est sur le tapis", "sur le tapis le chat!", to="en")
    assert comparison.word == "chat"
    assert comparison.first.number == 1 and comparison.second.number == 4
    assert bare("«Bank».") == "bank" and bare("!?") == ""


def test_an_accent_is_one_letter_or_two() -> None:
    lines = ["le cafe\u0301, le the\u0301", "du cafe\u0301 du the\u0301", "the cafe", "tea"] * 3
    pieces = VocabularyConfig(size=20, normalization="identity")
    decomposed = untrained(lines, lines, Config(vocabulary=pieces))
    comparison = decomposed.compare("CAF\u00c9", *lines[:2])
    assert comparison.word == comparison.second.word == "cafe\u0301"


@pytest.mark.parametrize(
    "word, message",
    [
        ("cats", "'cats' is not a word of the first sentence, 'le chat est sur le tapis'. Its words: le"),
        ("le", "'le' occurs 2 times in the first sentence. Give one that has the word once."),
    ],
)
def test_errors(word: str, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        translator().compare(word, *CHAT, to="en")
