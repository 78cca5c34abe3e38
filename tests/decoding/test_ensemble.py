"""Several models that translate together: the mean of their probabilities, whatever is asked of it."""

import shutil
from pathlib import Path

import pytest
import torch
from command import Command
from random_translator import assert_same, sentences, translator
from tiny import untrained

import pellucid
from pellucid.config.schema import Config, VocabularyConfig
from pellucid.decoding.captured import CapturedEngine
from pellucid.decoding.ensemble import Ensemble, check_same_vocabulary
from pellucid.decoding.pytorch import TransformerDecoder, TransformerDecoding
from pellucid.decoding.room import Room
from pellucid.errors import UsageError
from pellucid.folder.checkpoint import save_model
from pellucid.translator import Translator, load

MEMBERS = [translator(seed=seed, end=1.0) for seed in (0, 1, 2)]
ENSEMBLE = Translator([each.model for each in MEMBERS], MEMBERS[0].vocabulary, MEMBERS[0].config)


def mean_log_probabilities(source: torch.Tensor, said: list[int]) -> torch.Tensor:
    """Of the token after those said, by one pass of each model over all of them."""
    real = torch.ones_like(source, dtype=torch.bool)
    with torch.no_grad():
        each = [
            member.model(source, real, torch.tensor([[2, *said]]))[0, -1].softmax(-1) for member in MEMBERS
        ]
    return (sum(each) / len(each)).log()


def test_beam_search_and_score_agree() -> None:
    found = ENSEMBLE.translate("the dog saw the cat", beam=4, n_best=4).hypotheses
    for each in found:
        source = torch.tensor([ENSEMBLE.vocabulary.encode_source("the dog saw the cat")])
        said = each.token_ids
        expected = [float(mean_log_probabilities(source, said[:at])[token]) for at, token in enumerate(said)]
        assert each.log_probabilities == pytest.approx(expected, abs=1e-4)
    finished = [each for each in found if each.finished]
    scores = ENSEMBLE.score(["the dog saw the cat"] * len(finished), [each.text for each in finished])
    same = [(s, f) for s, f in zip(scores, finished, strict=True) if s.tokens == f.tokens]
    assert same and all(s.per_token == pytest.approx(f.log_probabilities, abs=1e-4) for s, f in same)


def test_an_ensemble_of_equal_models_is_the_model() -> None:
    ours = MEMBERS[0]
    twice = Translator([ours.model] * 2, ours.vocabulary, ours.config)
    lines = sentences(8)
    assert_same(twice.translate(lines), ours.translate(lines))
    assert_same(twice.translate(lines, sample=True, seed=3), ours.translate(lines, sample=True, seed=3))
    assert "".join(twice.stream(lines[0])) == ours.translate(lines[0], beam=1).text


def test_an_ensemble_holds_what_each_can_and_the_memory_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """And of none, if one of them cannot have its own."""
    two, closed = [TransformerDecoder(MEMBERS[0].model), CapturedEngine(MEMBERS[1].model)], list[object]()
    both, room = Ensemble(two), Room(2, 4, 2, 60, 20, 10)
    assert both.together == min(each.together for each in two) < max(each.together for each in two)
    assert both.room_bytes(room) == sum(each.room_bytes(room) for each in two)
    close = TransformerDecoding.close
    monkeypatch.setattr(TransformerDecoding, "close", lambda self: closed.append(self) or close(self))
    monkeypatch.setattr(two[1], "open", lambda room: closed.clear() or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        both.open(room)
    assert len(closed) == 1


def test_what_needs_a_single_model_says_so() -> None:
    for ask in (
        lambda: ENSEMBLE.explain("the dog"),
        lambda: ENSEMBLE.compare("dog", "the dog", "two dog"),
        lambda: pellucid.trace(ENSEMBLE.model),
        lambda: ENSEMBLE.serving,
    ):
        with pytest.raises(UsageError, match="an ensemble of 3 models"):
            ask()


def test_folders_are_loaded_together(tmp_path: Path, pellucid: Command) -> None:
    names = [tmp_path / str(seed) for seed in range(3)]
    for name, each in zip(names, MEMBERS, strict=True):
        save_model(name, each.model, each.vocabulary, each.config, {})
    lines = sentences(6)
    assert_same(load(names).translate(lines), ENSEMBLE.translate(lines))
    assert_same(load([names[0]]).translate(lines), MEMBERS[0].translate(lines))
    outcome = pellucid("translate", *names, stdin="".join(f"{line}\n" for line in lines).encode())
    assert outcome.out.splitlines() == [each.text for each in ENSEMBLE.translate(lines)]
    other = translator("word")
    save_model(names[1], other.model, other.vocabulary, other.config, {})
    outcome = pellucid("translate", *names)
    assert outcome.code == 2 and outcome.err.startswith(
        f"pellucid: {names[1]}: its vocabulary, languages or preparation differ from those of {names[0]}, "
    )
    shutil.rmtree(names[2])
    for wrong in ([], [None], 5):
        with pytest.raises(UsageError, match="is not a model folder"):
            load(wrong)  # type: ignore[arg-type]


def test_a_vocabulary_of_the_same_size_with_other_words_is_refused() -> None:
    one, other = (
        untrained(words, words, Config(vocabulary=VocabularyConfig(size=20, kind="word"))).vocabulary
        for words in (["a b c"] * 3, ["d e f"] * 3)
    )
    assert one.source_size == other.source_size
    with pytest.raises(
        UsageError, match=r"^b: its vocabulary, languages or preparation differ from those of a,"
    ):
        check_same_vocabulary(["a", "b"], [one, other])
