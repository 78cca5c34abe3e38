"""Translating with small random models: what must hold for any model."""

import math
import random
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from random_translator import assert_same, sentences, translator

from pellucid.config.schema import Config, ModelConfig, TranslationConfig
from pellucid.decoding.pytorch import TransformerDecoder
from pellucid.decoding.threads import decode
from pellucid.folder.checkpoint import save_model
from pellucid.model import Transformer
from pellucid.search.options import Options
from pellucid.search.request import Request, SpecialIds
from pellucid.seeing.trace import editing
from pellucid.translate.likelihood import batches, log_probabilities
from pellucid.translator import load


def test_a_translation_is_its_best_hypothesis() -> None:
    ours = translator(end=2.0)
    for each in ours.translate(sentences(10), beam=4, n_best=4):
        best = each.hypotheses[0]
        assert (each.text, each.score, each.tokens) == (best.text, best.score, best.tokens)
        assert len(each.hypotheses) == 4
        for hypothesis in each.hypotheses:
            assert hypothesis.finished == (hypothesis.token_ids[-1] == ours.vocabulary.end_id)
            assert ours.vocabulary.start_id not in hypothesis.token_ids
            assert hypothesis.tokens == ours.vocabulary.target_tokens(hypothesis.token_ids)
            assert hypothesis.text == ours.vocabulary.decode_target(hypothesis.token_ids)
            assert len(hypothesis.log_probabilities) == len(hypothesis.token_ids)
            mean = sum(hypothesis.log_probabilities) / len(hypothesis.token_ids)
            assert hypothesis.score == pytest.approx(mean, abs=1e-5)


def test_greedy_is_one_pass_after_another() -> None:
    """Without a cache: the whole prefix again for each token."""
    ours = translator(end=1.0)
    for line in sentences(6):
        source = torch.tensor([ours.vocabulary.encode_source(line)])
        said = [2]
        while said[-1] != 3 and len(said) <= 2 * source.shape[1] + 20:
            with torch.no_grad():
                logits = ours.model(source, None, torch.tensor([said]))[0, -1]
            logits[:3] = -torch.inf
            said.append(int(logits.argmax()))
        assert ours.translate(line, beam=1).hypotheses[0].token_ids == said[1:]


def test_the_source_enters_as_it_is() -> None:
    """Ids that were made elsewhere give the same results."""
    ours, lines = translator(end=2.0), sentences(8)
    ids = [ours.vocabulary.encode_source(line) for line in lines]
    by_ids = ours.translate_ids(ids, beam=3, n_best=2)
    assert [each.text for each in by_ids] == [each.text for each in ours.translate(lines, beam=3)]
    assert by_ids[0].source == " ".join(ours.vocabulary.source_tokens(ids[0]))
    assert len(by_ids[0].hypotheses) == 2


def test_score_is_what_search_says() -> None:
    ours, lines = translator("word", end=2.0), sentences(20)
    translations = [each for each in ours.translate(lines) if each.hypotheses[0].finished]
    assert len(translations) > 10
    scores = ours.score([each.source for each in translations], [each.text for each in translations])
    for score, translation in zip(scores, translations, strict=True):
        best = translation.hypotheses[0]
        assert score.tokens == best.tokens
        assert score.per_token == pytest.approx(best.log_probabilities, abs=1e-4)
        assert score.total == pytest.approx(sum(best.log_probabilities), abs=1e-3)


def test_empty_lines_keep_their_places() -> None:
    for kind in ("unigram", "word"):
        ours = translator(kind, end=2.0)
        lines = ["", "the dog", " \t ", "a cat saw", "\u00a0\u2003", "\u200b"]
        translations = ours.translate(lines)
        assert [each.source for each in translations] == lines
        for number in (0, 2, 4, 5):
            assert (translations[number].text, translations[number].tokens) == ("", [])
            assert translations[number].score == 0.0 and len(translations[number].hypotheses) == 1
        assert_same([translations[1], translations[3]], ours.translate([lines[1], lines[3]]))
        assert ours.translate(lines[:1])[0].hypotheses[0].finished
        assert ours.translate([]) == [] and ours.translate_ids([]) == [] and ours.score([], []) == []
        assert [each.text for each in ours.translate_ids([[], [3]])] == ["", ""]
        assert list(ours.stream(" ")) == []


def test_the_score_of_empty_lines() -> None:
    ours = translator()
    both, target, source = ours.score(["", "the dog", " "], [" ", "", "the dog"])
    assert (both.total, both.per_token, both.tokens) == (0.0, [], [])
    assert target.tokens == ["</s>"] and target.total == target.per_token[0] < 0
    assert len(source.per_token) == len(ours.vocabulary.encode_target("the dog"))


def test_the_model_trains_on_as_before() -> None:
    """Dropout is off while translating, and on again afterwards; gradients are as they were."""
    ours, lines = translator(end=2.0), sentences(5)
    expected = ours.translate(lines)
    ours.model.train()
    ours.model.encoder.eval()  # frozen
    assert_same(ours.translate(lines), expected)
    assert ours.model.training and ours.model.decoder.training and not ours.model.encoder.training
    first, second = ours.score(lines, lines), ours.score(lines, lines)
    assert [each.per_token for each in first] == [each.per_token for each in second] and ours.model.training
    for _ in ours.stream(lines[0]):
        assert torch.is_grad_enabled()
    assert ours.model.training and not any(each.training for each in ours.model.encoder.modules())


def test_length_penalty_and_beam_are_the_configuration_s_unless_a_call_says_otherwise() -> None:
    ours, lines = translator(end=1.0), sentences(12)
    options = {"beam": 3, "length_penalty": 0.0}
    expected = ours.translate(lines, **options)
    for name in options:
        assert [each.tokens for each in ours.translate(lines, **{**options, name: None})] != [
            each.tokens for each in expected
        ], f"sentences that show {name}"
    ours.config = Config(model=ours.model.config, translation=TranslationConfig(**options))
    assert_same(ours.translate(lines), expected)


def test_padding_is_the_pad_token_s() -> None:
    """The mask hides it from the model; a trace shows it."""
    shape = dict(width=8, heads=2, hidden=12, encoder_layers=1, decoder_layers=1)
    model = Transformer(ModelConfig(vocabulary=9, pad_id=4, unknown_id=0, **shape)).eval()  # type: ignore[arg-type]
    seen = dict[str, list[torch.Tensor]](encoder=[], decoder=[])

    def look(stack: str) -> Callable[[torch.Tensor], torch.Tensor]:
        return lambda tensor: seen[stack].append(tensor) or tensor

    sources, targets = [[5, 6, 3], [3]], [[7, 3], [3]]
    with editing(model, {f"{stack}.token_embeddings": look(stack) for stack in seen}):
        requests = [Request(n, 1, source=ids, options=Options(1)) for n, ids in enumerate(sources)]
        decode(TransformerDecoder(model), requests, SpecialIds(2, 3))
        log_probabilities([model], sources, targets, 100)
    padding = model.embedding.weight[4] * math.sqrt(8)
    for read in seen["encoder"]:
        torch.testing.assert_close(read[1, 1:], padding.expand(2, -1))
    assert len(seen["encoder"]) == 2 and len(seen["decoder"]) == 2


def test_the_limit_of_length() -> None:
    ours = translator("word", end=-100.0)
    line = "the dog saw"
    assert len(ours.translate(line).hypotheses[0].token_ids) == 2 * 4 + 20
    assert len(ours.translate(line, max_length=3).tokens) == 3
    assert not ours.translate(line, max_length=3).hypotheses[0].finished
    ours.config = Config(model=ours.model.config, translation=TranslationConfig(max_length=9))
    assert len(ours.translate(line).tokens) == 9
    assert len(ours.translate(line, min_length=30).tokens) == 31
    assert len(ours.translate(line, max_length=11).tokens) == 11
    ours = translator("word", end=50.0)
    assert ours.translate("the dog").tokens == ["</s>"]
    assert [len(each.tokens) for each in ours.translate(["the dog", "cat"], min_length=4)] == [5, 5]


def test_a_prefix_is_said_first() -> None:
    ours, lines = translator(end=1.0), sentences(4)
    for each in ours.translate(lines, prefix="two cats"):
        assert each.text.startswith("two cats")
        score = ours.score([each.source], [each.text])[0]
        if each.hypotheses[0].finished and score.tokens == each.tokens:
            assert each.score == pytest.approx(score.total / len(score.per_token), abs=1e-4)
    assert_same(ours.translate(lines, prefix=""), ours.translate(lines))
    ids = ours.vocabulary.encode_target("two cats")
    assert_same(ours.translate(lines, prefix=ids), ours.translate(lines, prefix="two cats"))
    mixed = ours.translate(lines, prefix=["two cats", None, ids[:-1], "the"])
    each_own = zip(lines, ["two cats", "", ids, "the"], strict=True)
    assert_same(mixed, [ours.translate(line, prefix=prefix) for line, prefix in each_own])
    said = "".join(ours.stream(lines[0], prefix="two cats"))
    assert said == ours.translate(lines[0], beam=1, prefix="two cats").text


def test_a_saved_translator_says_the_same_and_in_bf16_nearly_so(tmp_path: Path) -> None:
    ours, lines = translator(end=2.0), sentences(5)
    save_model(tmp_path / "model", ours.model, ours.vocabulary, ours.config, {})
    loaded = load(str(tmp_path / "model"), device="cpu")
    assert_same(loaded.translate(lines), ours.translate(lines))
    assert loaded.config == ours.config and not loaded.model.training
    fast = load(tmp_path / "model", precision="bf16")
    assert {parameter.dtype for parameter in fast.model.parameters()} == {torch.float32}
    measured, expected = fast.score(lines, lines), ours.score(lines, lines)
    assert [each.per_token for each in measured] == [each.per_token for each in expected]
    exact, rough = (
        [found.score for found in each.translate(lines, beam=1, max_length=1)] for each in (ours, fast)
    )
    assert rough != exact and rough == pytest.approx(exact, abs=0.2)


def test_batches_hold_each_sentence_once_and_no_more_than_their_tokens() -> None:
    numbers = random.Random(5)
    lengths = [numbers.randint(1, 50) for _ in range(300)]
    groups = list(batches(lengths, 200))
    assert sorted(place for group in groups for place in group) == list(range(300))
    assert all(len(group) * max(lengths[place] for place in group) <= 200 for group in groups)
    assert [lengths[place] for group in groups for place in group] == sorted(lengths, reverse=True)
    assert list(batches([9, 8], 4)) == [[0], [1]] and list(batches([], 4)) == []
