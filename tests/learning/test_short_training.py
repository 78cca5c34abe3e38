"""A short training in memory: the configuration of its model is that of its vocabulary."""

import pytest
from short_runs import SETTINGS, pairs

from pellucid.config.toml_file import from_table
from pellucid.data.corpus import Pair, by_language
from pellucid.experiments.corpus import corpus_of
from pellucid.experiments.leakage import train
from pellucid.model import Transformer


@pytest.mark.parametrize("joint", [True, False])
def test_it_learns_with_one_vocabulary_or_with_two(joint: bool) -> None:
    settings = SETTINGS | {"vocabulary": {"kind": "word", "size": 50, "joint": joint}}
    # The target has fewer words than the source: with the source's number of them the model would be another.
    told = [Pair(source, "ab", 0, line, "here") for line, (source, _) in enumerate(pairs(20), 1)]
    corpus = corpus_of(from_table(settings), told, told[:4], told[:2])
    model = corpus.config.model
    assert model.vocabulary == corpus.vocabulary.source_size == 4 + 8
    assert model.target_vocabulary == (None if joint else 4 + 1)
    _, losses = train(Transformer, corpus, 3)
    assert len(losses) == 3 and all(0 < loss < 10 for loss in losses)


def test_pairs_are_gathered_by_the_language_of_their_target() -> None:
    languages = (("en", "hi"), ("en", "es"), ("fr", "hi"))
    mixed = [Pair("a", "b", number, 1, "here") for number in (2, 1, 0, 0)]
    assert by_language(mixed, languages) == {"hi": [0, 2, 3], "es": [1]}
    assert list(by_language(mixed, languages)) == ["hi", "es"]
    assert by_language(mixed, ()) == {None: [0, 1, 2, 3]}
