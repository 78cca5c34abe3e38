"""An explanation: what was translated, seen again in one pass; its numbers and its errors."""

import math
import re
from dataclasses import replace

import pytest
import torch
from tiny import translator

import pellucid
from pellucid.errors import UsageError
from pellucid.explanation import Explanation
from pellucid.reading.against import Difference
from pellucid.seeing.trace import trace


def test_six_tokens_of_a_given_target_make_six_by_six_matrices() -> None:
    explanation = translator().explain("le chat est sur le tapis", to="en", target="The cat sat on mat")
    assert explanation.target_tokens == ["<s>", "The", "cat", "sat", "on", "mat"]
    assert [step.input for step in explanation.steps] == explanation.target_tokens
    assert [step.expected for step in explanation.steps] == ["The", "cat", "sat", "on", "mat", "</s>"]
    assert " ".join(explanation.source_tokens) == ">>en<< le chat est sur le tapis </s>"
    mask = explanation.trace["decoder.layers.0.self_attention.mask"]
    assert mask.tensor.shape == (1, 2, 6, 6) and mask.labels("M") == explanation.target_tokens
    assert (mask.tensor == -math.inf).sum() == 2 * 15
    cross = explanation.trace["decoder.layers.1.cross_attention.weights"]
    assert cross.labels("L") == explanation.target_tokens and cross.labels("M") == explanation.source_tokens
    assert explanation.forced and explanation.largest_difference is None
    assert "no search to compare" in explanation.difference


def test_the_steps_are_the_softmax_of_the_unwatched_model(hindi: Explanation) -> None:
    tiny = translator()
    source = torch.tensor([tiny.vocabulary.encode_source("How are you ?", "hi")])
    target = tiny.vocabulary.encode_target("आप कैसे हैं ?", "hi")
    with torch.no_grad():
        logits = tiny.model(source, source > 0, torch.tensor([[2, *target[:-1]]]))[0].double()
    for step, row, wanted in zip(hindi.steps, logits, target, strict=True):
        probabilities = (row.exp() / row.exp().sum()).tolist()
        best = sorted(range(len(probabilities)), key=lambda token: -probabilities[token])[:5]
        assert step.probability == pytest.approx(probabilities[wanted], rel=1e-4)
        assert step.loss == pytest.approx(-math.log(probabilities[wanted]), abs=1e-5)
        assert [token for token, _ in step.alternatives] == tiny.vocabulary.target_tokens(best)
        assert [p for _, p in step.alternatives] == pytest.approx([probabilities[n] for n in best], rel=1e-4)
        assert step.predicted == step.alternatives[0][0]
    score = tiny.score(["How are you ?"], ["आप कैसे हैं ?"], to="hi")[0]
    assert -sum(step.loss for step in hindi.steps) == pytest.approx(score.total, abs=1e-4)
    assert hindi.translation.score == pytest.approx(score.total / len(target), abs=1e-5)
    assert hindi.translation.text == "आप कैसे हैं ?" and hindi.to == "hi"
    without_penalty = replace(tiny.config.translation, length_penalty=0.0)
    tiny.config = replace(tiny.config, translation=without_penalty)
    again = tiny.explain("How are you ?", to="hi", target="आप कैसे हैं ?")
    assert again.translation.score == pytest.approx(score.total, abs=1e-5)


def test_what_is_explained_is_what_is_served_and_the_difference_is_stated() -> None:
    tiny = translator()
    explanation = tiny.explain("I like cats", to="es")
    assert explanation.translation == tiny.translate("I like cats", to="es")
    served = explanation.translation.hypotheses[0].log_probabilities
    differences = [abs(step.loss + log_p) for step, log_p in zip(explanation.steps, served, strict=True)]
    assert explanation.largest_difference == max(differences) < 1e-5
    assert f"{max(differences):.1e}" in explanation.difference
    assert (translator(precision="bf16").explain("I like cats", to="es").largest_difference or 0) > 1e-4


def test_targets_without_an_end_and_without_a_word() -> None:
    cut = translator(max_length=3).explain("I like cats", to="es")
    hypothesis = cut.translation.hypotheses[0]
    assert not hypothesis.finished and [step.expected for step in cut.steps] == hypothesis.tokens
    empty = translator().explain("I like cats", to="es", target="")
    assert [(step.input, step.expected) for step in empty.steps] == [("<s>", "</s>")]
    assert empty.alignment().links == [] and str(empty.alignment()) == ""


def test_it_computes_in_float32_and_leaves_the_model_as_it_was() -> None:
    tiny = translator()
    expected = tiny.explain("I like cats", to="es", target="Me gustan").steps
    tiny.model.double().train()
    explanation = tiny.explain("I like cats", to="es", target="Me gustan")
    assert {record.tensor.dtype for record in explanation.trace.values()} == {torch.float32}
    assert explanation.steps == expected
    assert tiny.model.training and next(tiny.model.parameters()).dtype == torch.float64


@pytest.mark.parametrize(
    "text,target,message",
    [
        (" \n", None, 'the sentence is empty: nothing to explain. Give one, such as "How are you".'),
        (">>es<< I likes cats", None, "sentence: the model has no word 'likes'. Near it: like."),
        (">>hi<< I like cats", None, "the tag >>hi<< asks for hi, but the translation is to es. A tag"),
        ("I like cats", "Me gustn", "target: the model has no word 'gustn'. Near it: gustan."),
        ("I like zebras9", None, "'zebras9'. It knows 17 words, and none is near this one. Say it with "),
        ("cats " * 300, None, "the sentence is longer than the 256 tokens that an explanation shows: its "),
        ("I like cats", "gatos " * 300, "the target is longer than the 256 tokens that an explanation shows"),
    ],
)
def test_what_cannot_be_explained_says_why(text: str, target: str | None, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        translator().explain(text, to="es", target=target)


def test_a_target_is_read_with_the_vocabulary_of_targets() -> None:
    with pytest.raises(UsageError, match="target: the model has no word 'cats'"):
        translator(joint=False).explain("I like cats", to="es", target="Me gustan los cats")


def test_only_a_vocabulary_of_words_refuses_unknown_letters() -> None:
    with pytest.warns(
        UserWarning, match=r": the model does not know 'Ж': to it it is an unknown token\.$"
    ) as told:
        explanation = translator(kind="unigram").explain("I like Ж", to="es", target="Ж")
    assert len(told) == 2 and str(told[1].message).startswith("target: ") and told[0].filename == __file__
    assert "<unk>" in explanation.source_tokens
    assert explanation.steps[-2].expected == "<unk>"


def test_explain_in_an_open_trace_says_that_it_runs_passes_of_its_own() -> None:
    served = translator()
    with pytest.raises(UsageError, match=r"^explain runs its own passes, but an open"), trace(served.model):
        served.explain("I like cats", to="es", target="Me gustan los gatos")


# Another target of the same source


def test_two_targets_part_where_they_differ(spanish: Explanation) -> None:
    other = translator().explain("I like cats", to="es", target="Me gustan I")
    difference = spanish.against(other)
    assert difference.parts_at == 2
    assert [step is None for pair in difference.steps for step in pair] == [False] * 8 + [False, True]
    ours, theirs = translator().score(["I like cats"] * 2, ["Me gustan los gatos", "Me gustan I"], to="es")
    assert difference.log_ratio == pytest.approx(ours.total - theirs.total, abs=1e-4)
    assert difference.verdict.startswith("They part at step 3, after 'gustan': 'los' has probability ")
    times = math.exp(abs(difference.log_ratio))
    more, less = "AB" if difference.log_ratio > 0 else "BA"
    assert difference.verdict.endswith(f"As a whole {more} is {times:,.1f} times as probable as {less}.")
    assert other.against(spanish).log_ratio == -difference.log_ratio
    assert len(difference.searches) == 2 and "The search left it at step" in difference.searches[1]
    found = translator().explain("I like cats", to="es")
    assert len(found.against(other).searches) == 1, "only a target that the user chose is searched for"


def test_the_same_target_by_another_model(spanish: Explanation) -> None:
    one_layer = translator(decoder_layers=1).explain("I like cats", to="es", target="Me gustan los gatos")
    difference = spanish.against(one_layer)
    assert difference.parts_at is None
    assert difference.verdict.startswith("The two targets are the same. As a whole ")
    assert difference.log_ratio and spanish.against(spanish).log_ratio == 0
    doubtful = replace(spanish, steps=[replace(step, loss=step.loss + 8) for step in spanish.steps])
    assert Difference(spanish, doubtful, []).verdict.endswith("A is e^40.0 times as probable as B.")


@pytest.mark.parametrize("text,to", [("How are you ?", "es"), ("I like cats", "hi")])
def test_two_sources_cannot_be_compared(spanish: Explanation, text: str, to: str) -> None:
    message = f"'I like cats' to es and '{text}' to {to} are different"
    with pytest.raises(UsageError, match=re.escape(message)):
        spanish.against(translator().explain(text, to=to, target=""))


def test_a_target_may_be_ids_which_are_not_cut_anew() -> None:
    """What a short model said has no end; as a text it would get one."""
    demo = pellucid.load("demo")
    ids = demo.explain("I like cats", to="es", target="Me gustan los").target_ids[:-1]
    assert list(demo.explain("I like cats", to="es", target=ids).target_ids) == list(ids)
