"""Experiments about training: with and without the mask, at once and step by step, right and own words."""

import math
from typing import Any

import pytest
import tiny
import torch
from short_corpus import lessons
from torch import Tensor

import pellucid
from pellucid.cache import GrowingPast
from pellucid.data.corpus import target_language
from pellucid.experiments import leakage, parallel
from pellucid.experiments.corpus import demo_corpus, train
from pellucid.experiments.leakage import LooksAhead
from pellucid.model import Transformer

STEPS = 400


# Leakage


@pytest.mark.slow
def test_without_the_mask_training_looks_better_and_decoding_is_worse() -> None:
    state = torch.get_rng_state()
    both = leakage.compare(lessons(), STEPS)
    assert torch.equal(torch.get_rng_state(), state), "the caller's random numbers stay"
    least = math.log(2) / 5  # a sentence has the random word, up to four letters and the end
    # Teacher forcing shows nothing wrong: on held-out pairs too the next word is there to be copied.
    for _, masked, unmasked in both.tables[0].rows:
        assert unmasked < 0.6 * least < 0.9 * least < masked
    right, exact, _, chrf = (row[1:] for row in both.tables[1].rows)
    assert right[1] > 95 > 93 > right[0] and exact[1] < 22 < 25 < exact[0] and chrf[0] > chrf[1] + 20
    assert both.tables[2].rows[0][1:] == [0, 7], "find_leak tells them apart"
    loss, sentences = both.tables[0].rows[0], [round(percent * 60 / 100) for percent in exact]
    assert both.conclusion == (
        f"Without the causal mask the training loss ends at {loss[2]:.4f} (with it {loss[1]:.4f}) and "
        f"{right[1]:.1f}% of the next words are right ({right[0]:.1f}%), and of 60 held-out sentences "
        f"{sentences[1]} are translated right ({sentences[0]})."
    )


def test_only_the_mask_is_another() -> None:
    """The first weights are the same; so is the last position, which sees all words in either model, and none
    sees padding."""
    models = []
    for kind in (Transformer, LooksAhead):
        torch.manual_seed(1)
        models.append(kind(lessons().config.model).eval())
    losses = []
    for seed, kind in enumerate((Transformer, Transformer, LooksAhead)):
        torch.manual_seed(seed)  # the caller's own
        losses.append(train(kind, lessons(40, 4), 1)[1])
    assert losses[0] == losses[1] != losses[2]
    source, mask = torch.tensor([[5, 6, 3]]), torch.ones(1, 3, dtype=torch.bool)
    whole, padded = torch.tensor([[2, 5, 7]]), torch.tensor([[2, 5, 7, 0, 0]])
    one, other = (model(source, mask, whole) for model in models)
    assert torch.allclose(one[:, -1], other[:, -1], atol=1e-5)
    assert not torch.allclose(one[:, 0], other[:, 0], atol=1e-3)
    assert torch.allclose(other, models[1](source, mask, padded)[:, :3], atol=1e-5)


@pytest.mark.slow  # as long as 100 others, and only another phrasebook can fail it
def test_the_demo_s_corpus_is_the_demo_s() -> None:
    corpus = demo_corpus({"training.batch_tokens": 128, "model.width": 16, "model.hidden": 16})
    assert corpus.config.model.vocabulary == pellucid.load("demo", "cpu").model.config.vocabulary
    assert len(corpus.held_out) == 1000 and len(corpus.config.data.languages) == 4
    names, languages = corpus.examples.names, corpus.config.data.languages
    held_out = {
        (pair.language, *corpus.vocabulary.encode_source(pair.source, target_language(pair, languages)))
        for pair in corpus.held_out
    }
    assert len(held_out) > 500
    assert not any((names[number][1], *source) in held_out for source, _, _, number in corpus.examples)
    assert target_language(corpus.held_out[0], corpus.config.data.languages) == "hi"


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_leakage_on_the_demo_s_corpus() -> None:
    result = pellucid.experiment("leakage")
    (_, masked, unmasked), _ = result.tables[0].rows
    right, exact, *_ = result.tables[1].rows
    assert unmasked < masked and right[2] > right[1] > 95 and exact[1] > 70 and exact[2] < 5


# At once and step by step


@pytest.mark.parametrize("settings", [{}, {"norm": "first"}])
def test_both_ways_have_the_losses_and_gradients_of_a_loop_over_prefixes(settings: dict[str, Any]) -> None:
    """Without a cache or a batch: each word of each sentence from its own prefix."""
    model = tiny.translator(**settings).model.double()
    source, target = torch.tensor([[5, 6, 7], [8, 9, 3]]), torch.tensor([[2, 7, 9, 5], [2, 4, 4, 8]])
    losses = []
    for ids, row in zip(source.split(1), target, strict=True):
        for place in range(3):
            logits = model(ids, torch.ones_like(ids, dtype=torch.bool), row[None, : place + 1])[0, -1]
            losses.append(-logits.log_softmax(-1)[row[place + 1]])
    by_hand = torch.stack(losses).mean()
    by_hand.backward()
    expected = [each.grad for each in model.parameters() if each.grad is not None]
    assert len(expected) > 40
    for by_steps in (False, True):
        _, loss, found = parallel.train(model, source, target, by_steps)
        assert loss == pytest.approx(float(by_hand.detach()), abs=1e-12)
        for ours, theirs in zip(found, expected, strict=True):
            assert torch.allclose(ours, theirs, rtol=0, atol=1e-12)


def test_what_parallel_says(monkeypatch: pytest.MonkeyPatch) -> None:
    translator = tiny.translator()
    before = {name: each.clone() for name, each in translator.model.state_dict().items()}
    result = pellucid.experiment("parallel", translator, lengths=(1, 24))
    ratio, *apart = result.tables[0].rows[1][3:]
    assert max(apart) < 1e-5
    assert ratio > 2 and result.conclusion.startswith(f"With 24 words step by step takes {ratio:.1f} times")
    assert all(torch.equal(each, before[name]) for name, each in translator.model.state_dict().items())
    assert all(each.grad is None for each in translator.model.parameters())
    decode = Transformer.decode

    def slipped(model: Transformer, ids: Tensor, memory: Any, past: Any) -> Tensor:
        return decode(model, ids, memory, past) * (1.001 if isinstance(past, GrowingPast) else 1)

    monkeypatch.setattr(Transformer, "decode", slipped)
    *_, loss, gradient = pellucid.experiment("parallel", translator, lengths=(3,)).tables[0].rows[0]
    assert loss > 1e-5 and gradient > 1e-6, "a difference would be seen"


# Right words and own words


def test_right_words_and_own_words() -> None:
    """The model is right about this sentence, so its own words are the right ones."""
    plain, slipped = pellucid.experiment("feedback", "demo", "How are you", "hi").tables
    steps = pellucid.load("demo", "cpu").explain("How are you", to="hi").steps
    for row, step in zip(plain.rows, steps, strict=True):
        assert row[1:4] == [step.expected, step.input, step.predicted] and row[2:4] == row[6:8]
        assert (row[4], row[5]) == pytest.approx((step.probability, step.loss), abs=1e-5)
    assert [row[:6] for row in slipped.rows] == [row[:6] for row in plain.rows], "right words stay right"
    longer = pellucid.experiment("feedback", "demo", "How are you", "hi", target="आप कैसे हैं आप कैसे हैं")
    assert [row[9] == "–" for row in longer.tables[0].rows] == [False] * 4 + [True] * 3
    assert "6 later words wrong, and without it 4 are" in longer.conclusion, "what is never reached is wrong"


def test_an_error_that_is_fed_back() -> None:
    """Each loss is that of a teacher-forced pass over what was read."""
    demo = pellucid.load("demo", "cpu")
    result = pellucid.experiment("feedback", demo, "The cat sat on the mat", "fr")
    right = demo.explain("The cat sat on the mat", to="fr")
    gold, (word, _) = right.target_ids, right.steps[0].alternatives[1]
    slipped, said = result.tables[1], result.tables[1].title.partition("words: ")[2]
    assert f"{word} fed back for {right.steps[0].expected}" in slipped.title and said.startswith(word)
    assert [row[6] for row in slipped.rows][:2] == ["<s>", word]
    trace = demo.explain("The cat sat on the mat", to="fr", target=said).trace
    log_p = trace["decoder.logits"].tensor[0].log_softmax(-1)
    losses = [row[9] for row in slipped.rows if row[9] != "–"]
    assert losses == pytest.approx([-float(log_p[at, gold[at]]) for at in range(len(losses))], abs=1e-4)
    assert f"position {len(losses)} is {sum(losses):.4f}, and" in result.conclusion
    count, later = sum(row[7].endswith(("✗", "–")) for row in slipped.rows[1:]), len(gold) - 1
    assert f"makes {count} of the {later} later words wrong, and without it 0 are" in result.conclusion
