"""Validation: only real tokens count, and a model that says the right tokens has a BLEU of 100."""

import math
from collections.abc import Sequence
from types import SimpleNamespace

import pytest
import torch.nn.functional as F
from learners import batch, model

from pellucid.config.schema import PREPARATIONS, Config, DataConfig, TranslationConfig, VocabularyConfig
from pellucid.data.batch import Batch
from pellucid.data.corpus import Pair
from pellucid.learning import validation
from pellucid.learning.starting import prepare_vocabulary
from pellucid.learning.step import Validation
from pellucid.model import Transformer
from pellucid.text.vocabulary import Vocabulary

# Two target languages take turns: each has its own rules for apostrophes and question marks.
LANGUAGES = (("xx", "fr"), ("xx", "en"))
PAIRS = [
    Pair(source, target, language, 1, "here")
    for source, target, language in (
        ("Where is he?", "L'ami de Jean, où est-il ?", 0),
        ("Where is she?", "Anne's friend isn't here, is she?", 1),
        ("Who is here today?", "M. Smith n'est pas là : il dort.", 0),
        ("Who sleeps in the house?", "Mr. Smith's friend sleeps, doesn't he, \"Sir\"?", 1),
    )
]


def loss_of_each_alone(taught: Transformer, lessons: Sequence[Batch]) -> float:
    """The mean over all target tokens, a pair at a time and so without padding."""
    total = 0.0
    for lesson in lessons:
        for row, pad in enumerate((~lesson.source_mask).sum(1)):  # the two sides have the same length
            one, length = lesson.rows(slice(row, row + 1)), lesson.source.shape[1] - int(pad)
            logits = taught(one.source[:, :length], None, one.target_in[:, :length])[0]
            total += float(F.cross_entropy(logits.detach(), one.target_out[0, :length], reduction="sum"))
    return total / sum(lesson.tokens for lesson in lessons)


class Perfect:
    """A stand-in for a Translator: it says the right tokens of each source, in the language asked for."""

    def __init__(self, taught: Transformer, vocabulary: Vocabulary, config: Config) -> None:
        assert not taught.training
        assert config.translation.beam == 3  # the configuration's own, and not the default
        self.vocabulary = vocabulary

    def translate(self, texts: Sequence[str], to: str) -> list[SimpleNamespace]:
        """The target's ids as text again."""
        targets = {(pair.source, LANGUAGES[pair.language][1]): pair.target for pair in PAIRS}
        ids = [self.vocabulary.encode_target(targets[text, to], to) for text in texts]
        return [SimpleNamespace(text=self.vocabulary.decode_target(row, to)) for row in ids]


def test_a_corpus_of_one_file_has_one_target_language() -> None:
    corpora = validation.corpora_of(PAIRS, LANGUAGES)
    assert corpora == {"here to fr": PAIRS[::2], "here to en": PAIRS[1::2]}


def validated(
    monkeypatch: pytest.MonkeyPatch,
    taught: Transformer,
    preparation: str,
    batches: Sequence[Batch],
    step: int = 0,
) -> Validation:
    """A validation whose translations are perfect."""
    data = DataConfig(languages=LANGUAGES, preparation=preparation)
    words = VocabularyConfig(size=200, kind="word", normalization="identity")
    config = Config(data, words, translation=TranslationConfig(beam=3))
    monkeypatch.setattr(validation, "TextTranslator", Perfect)
    corpora = {"fr": (batches[:1], PAIRS[::2]), "en": (batches[1:], PAIRS[1::2])}
    return validation.validate(taught, prepare_vocabulary(PAIRS, config), config, corpora, step)


def test_the_loss_is_of_real_tokens_without_dropout(monkeypatch: pytest.MonkeyPatch) -> None:
    taught, batches = model(dropout=0.5), [batch(2, 9), batch(3, 20, 5)]
    expected = loss_of_each_alone(taught.eval(), batches)
    found = validated(monkeypatch, taught.train(), "none", batches)
    assert found.loss == pytest.approx(expected, rel=1e-5)
    assert found.perplexity == pytest.approx(math.exp(expected), rel=1e-4)
    assert taught.training  # again


@pytest.mark.parametrize("preparation", PREPARATIONS)
def test_the_right_tokens_have_a_bleu_of_100(monkeypatch: pytest.MonkeyPatch, preparation: str) -> None:
    """Each reference is prepared by its own language, and stands beside the translation of its own source."""
    found = validated(monkeypatch, model().train(), preparation, [batch(2, 3)])
    assert (found.scores.bleu, found.scores.chrf) == (pytest.approx(100), pytest.approx(100))
    # What stays tokenised must not be tokenised again.
    tokenizer = "none" if preparation.startswith("moses") else "13a"
    assert f"|tok:{tokenizer}|" in found.scores.bleu_signature


def test_each_validation_shows_other_sentences_and_a_step_the_same_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def sources(step: int) -> list[str]:
        found = validated(monkeypatch, model().train(), "none", [batch(2, 3)], step)
        assert all(sample.translation == sample.reference for sample in found.samples)
        return [sample.source for sample in found.samples]

    shown = [sources(step) for step in range(12)]
    assert {len(set(each)) for each in shown} == {2} and [sources(step) for step in range(12)] == shown
    assert {source for each in shown for source in each} == {pair.source for pair in PAIRS}
