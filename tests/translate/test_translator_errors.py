"""Languages, text that means harm, and every error of translating, word for word."""

import math
import re
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from random_translator import sentences, translator, vocabulary

from pellucid.config.schema import Config, DataConfig, VocabularyConfig
from pellucid.errors import UsageError
from pellucid.search.options import LIMITS
from pellucid.text.vocabulary_training import train_vocabulary
from pellucid.translate.sentences import TruncationWarning, read_source, read_target
from pellucid.translator import Translator, load

NO_TEXT = "is not text. Give a string, or a list of strings."
LANGUAGES = (("en", "fr"), ("en", "es"))


def test_the_language_is_chosen() -> None:
    ours = translator("word", end=1.0, languages=LANGUAGES)
    assert ours.languages == LANGUAGES
    lines = sentences(6)
    french, spanish = ours.translate(lines, to="fr"), ours.translate(lines, to="es")
    assert [each.tokens for each in french] != [each.tokens for each in spanish]
    tagged = ours.translate([f">>{to}<< {line}" for line in lines for to in ("fr", "es")])
    assert [each.tokens for each in tagged[::2]] == [each.tokens for each in french]
    assert [each.tokens for each in tagged[1::2]] == [each.tokens for each in spanish]
    assert [each.text for each in ours.translate(["", ">>fr<<", " "])] == ["", "", ""]
    assert ours.score(["", "the dog"], ["", "the cat"], to="fr")[0].total == 0.0
    assert ours.score([">>fr<< the dog"], ["the cat"]) == ours.score(["the dog"], ["the cat"], to="fr")


def test_a_language_is_looked_up_without_a_list_of_near_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """The list takes milliseconds if there are many languages, and each line asks."""
    monkeypatch.setattr("pellucid.text.vocabulary.list_known", None)
    assert load("demo", device="cpu").translate("I like cats", to="es").text == "Me gustan los gatos"


def test_tags_are_never_said() -> None:
    ours = translator("word", languages=LANGUAGES)
    tags = [ours.vocabulary.target.piece_to_id(f">>{to}<<") for to in ("fr", "es")]
    assert ours.model.decoder.projection.bias is not None
    with torch.no_grad():
        ours.model.decoder.projection.bias[[0, 1, 2, *tags]] = 30.0
    for options in ({}, {"sample": True}):
        for each in ours.translate(sentences(3), to="fr", **options):
            assert not {0, 1, 2, *tags} & set(each.hypotheses[0].token_ids)
            assert each.score < -20  # the others are not renormalised


@pytest.mark.parametrize("lines", ["the dog", ["the dog"], [], [""]])
def test_an_unknown_language(lines: str | list[str]) -> None:
    ours = translator("word", languages=LANGUAGES)
    for ask in (ours.translate, ours.stream, lambda text, to: ours.score([text], ["a"], to)):
        with pytest.raises(UsageError) as error:
            ask(lines, to="de")
        assert str(error.value) == "the model translates to fr, es, not to 'de'. Choose one of these."


def test_a_text_that_is_too_long_is_cut_and_says_so() -> None:
    ours = translator("word", end=50.0)
    with pytest.warns(TruncationWarning) as caught:
        cut, whole = ours.translate(["dog " * 250_000, "the dog"])
    assert str(caught[0].message) == (
        "sentence 1: too long, only the beginning was read, up to 1024 tokens or 20480 characters. "
        "Split the text into sentences."
    )
    assert caught[0].filename == __file__
    assert cut.truncated and not whole.truncated and len(cut.source) == 1_000_000
    with pytest.warns(TruncationWarning, match="sentence 2: too long"):
        score = ours.score(["the dog", "the dog"], ["the dog", "x" * 1_000_000])[1]
    assert len(score.per_token) <= 1024
    with pytest.warns(TruncationWarning, match=r"sentence 1, 2, 3, …: too long"):
        ours.translate_ids([[5] * 2000 + [3]] * 5)
    with pytest.warns(TruncationWarning):
        assert "".join(ours.stream("dog " * 2000)) == ""


@pytest.mark.parametrize("text", ["dog " * 300, "x" * 2001], ids=["tokens", "characters"])
def test_what_is_cut_says_so_and_keeps_its_end_token(text: str) -> None:
    ours = translator("word").vocabulary
    for read in (read_source, read_target):
        whole, cut = read("the dog", None, ours, 100), read(text, None, ours, 100)
        assert not whole.truncated and cut.truncated
        assert len(cut.ids) <= 100 and cut.ids[-1] == ours.end_id
        assert ours.end_id not in cut.ids[:-1]


def test_a_model_trained_on_longer_sentences_reads_longer_ones() -> None:
    ours = translator("word", end=50.0)
    longer = Translator(
        ours.model, ours.vocabulary, Config(model=ours.model.config, data=DataConfig(max_length=3000))
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not longer.translate("dog " * 2500).truncated


@pytest.mark.parametrize("kind", ["unigram", "bytes", "word"])
def test_strange_text(kind: str) -> None:
    texts = ["\0", "a\ud800b", "\u200b\u200f", "🐕🐈", "e" + "\u0301" * 400, "a\u2028b\u0085c"]
    texts += ["a\nb\r\nc", ">>"]
    for text, translation in zip(texts, translator(kind, end=1.0).translate(texts), strict=True):
        assert translation.source == text and "\n" not in translation.text


def test_the_greatest_length_costs_nothing_before_it_is_reached() -> None:
    options = dict(max_length=1_000_000, sample=True, n_best=100)
    assert all(each.finished for each in translator(end=9.0).translate("a", **options).hypotheses)


WRONG: dict[str, dict[str, Any]] = {  # how a message begins, and what has it
    "beam = 0 must be a whole number from 1 to 1000.": dict(beam=0),
    "beam = True must be a whole number": dict(beam=True),
    "max_length = 1000001 must be a whole number from 1 to 1000000.": dict(max_length=1_000_001),
    "n_best = 6 is more than beam = 5": dict(n_best=6),
    "min_length = 4 leaves no room for the end token within max_length = 4. Set max_length = 5 or": dict(
        min_length=4, max_length=4
    ),
    "length_penalty = -1 must be a number from 0 to 10": dict(length_penalty=-1),
    "no_repeat_ngram_size = -1 must be a whole number from 0 to 1000.": dict(no_repeat_ngram_size=-1),
    "repetition_penalty = 0 must be a number from 0.01 to 100": dict(repetition_penalty=0),
    "early_stopping = 'never' must be true or false.": dict(early_stopping="never"),
    "batch_tokens = 0 must be a whole number, 1 or more.": dict(batch_tokens=0),
    "temperature = 0 must be a number above 0": dict(temperature=0),
    "temperature = nan must be a number above 0": dict(temperature=float("nan"), sample=True),
    "temperature = 0.5 needs sample = True. Set that too, or leave temperature out.": dict(temperature=0.5),
    "top_p = 1.5 must be a number above 0 and at most 1": dict(top_p=1.5, sample=True),
    "seed = 7 needs sample = True.": dict(seed=7),
    "seed = 'x' must be a whole number.": dict(seed="x", sample=True),
    "id 999 is outside the vocabulary, whose ids are 0": dict(prefix=[999]),
    "5.0 is no id but a float. Give whole numbers, as int.": dict(prefix=[5.0]),
    "prefix = [5, 3, 6] contains id 3, the token </s>, which no translation has before its": dict(
        prefix=[5, 3, 6]
    ),
    "prefix = [0] contains id 0, the token <pad>, which no translation": dict(prefix=[0]),
    "prefix: 2 prefixes for 1 sentences. ": dict(prefix=["a", "b"]),
    "prefix = 'ж' contains words or characters that the vocabulary does not have": dict(prefix="ж"),
    "sentence 1: a prefix of 3 tokens leaves no room within max_length = 3. Set max_length = 4": dict(
        prefix=[5, 6, 7], max_length=3
    ),
}


def test_the_greatest_length_has_a_score_by_the_greatest_penalty() -> None:
    assert 1 < (LIMITS["max_length"]["high"] + 1) ** LIMITS["length_penalty"]["high"] < math.inf


@pytest.mark.parametrize("message", WRONG)
def test_wrong_options(message: str) -> None:
    with pytest.raises(UsageError) as error:
        translator("word").translate(["the dog"], **WRONG[message])
    assert str(error.value).startswith(message)
    assert isinstance(error.value, ValueError) and error.value.exit_code == 2


@pytest.mark.parametrize(
    "call,message",
    [
        (lambda ours: ours.translate_ids([[3], [5, 6]]), "sentence 2 ends with id 6, not with the end token"),
        (lambda ours: ours.translate_ids([[999, 3]]), "id 999 is outside the vocabulary, whose ids are 0"),
        (
            lambda ours: ours.translate_ids([[5.0, 3]]),
            "5.0 is no id but a float. Give whole numbers, as int.",
        ),
        (lambda ours: ours.translate_ids([[5, "3"]]), "'3' is no id but a str. Give whole numbers, as int."),
        (
            lambda ours: ours.translate_ids([[5, 3]], to="xx"),
            "the model does not name its languages, so 'xx'",
        ),
        (lambda ours: ours.score(["a", "b"], ["c"]), "score was given 2 as sources and 1 as targets. Give "),
        (lambda ours: ours.score("a", "b"), "one text as sources and one text as targets. Give two "),
        (lambda ours: ours.stream("the dog", beam=4), "stream follows one hypothesis, because with"),
        (lambda ours: ours.translate(3), f"sentence 1 is 3, which {NO_TEXT}"),
        (lambda ours: ours.translate(b"a"), f"sentence 1 is b'a', which {NO_TEXT}"),
        (lambda ours: ours.translate(["a", None]), f"sentence 2 is None, which {NO_TEXT}"),
        (lambda ours: ours.stream(None), f"sentence 1 is None, which {NO_TEXT}"),
        (lambda ours: ours.explain(3), f"sentence 1 is 3, which {NO_TEXT}"),
        (lambda ours: ours.explain("the dog", target=3), f"target 1 is 3, which {NO_TEXT}"),
        (lambda ours: ours.compare("dog", "the dog", 3), f"sentence 1 is 3, which {NO_TEXT}"),
        (lambda ours: ours.score(["a", "b"], ["c", 4]), f"target 2 is 4, which {NO_TEXT}"),
        (lambda ours: ours.translate("a", beams=3), "there is no option 'beams'. Did you mean \"beam\"?"),
        (lambda ours: ours.translate_ids([[5, 3]], n_bets=2), "no option 'n_bets'. Did you mean \"n_best\"?"),
    ],
)
def test_wrong_sources(call: Any, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        call(translator("word"))


def test_a_precision_that_there_is_not() -> None:
    ours = translator("word")
    with pytest.raises(UsageError) as error:
        Translator(ours.model, ours.vocabulary, ours.config, "fp8")
    assert str(error.value) == (
        "precision = 'fp8' is not one of auto, fp32, bf16, fp16, int8. Choose one of these."
    )
    with pytest.raises(UsageError, match=r"^precision = 'fp16' works on a GPU only\. Choose device"):
        Translator(ours.model, ours.vocabulary, ours.config, "fp16")


def test_generators_and_tuples_are_lists_too() -> None:
    ours, lines = translator(), sentences(2)
    expected = ours.translate(lines)
    assert ours.translate(tuple(lines)) == expected  # type: ignore[comparison-overlap]
    assert ours.translate(line for line in lines) == expected  # type: ignore[call-overload]


def test_a_device_that_pytorch_was_built_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*arguments: Any, **more: Any) -> None:
        raise NotImplementedError("Could not run 'aten::empty.memory_format' with arguments from …. More.")

    monkeypatch.setattr(torch, "zeros", missing)
    with pytest.raises(UsageError) as error:
        load(tmp_path, device="mps")
    assert str(error.value) == (
        'device = \'mps\' cannot be used: this PyTorch was built without mps. Use "auto" or "cpu".'
    )


@pytest.mark.parametrize("device", ["gpu", "meta", "hpu", "cuda:99999999999", None, 0.5])
def test_a_device_that_there_is_not(tmp_path: Path, device: Any) -> None:
    with pytest.raises(
        UsageError, match=rf'^device = {device!r} .{{,150}}\. Use "auto"(, "cpu")? or "(cpu|cuda)"\.$'
    ):
        load(tmp_path, device=device)


def test_a_start_token_that_notes_write_is_left_out_unless_it_is_a_word() -> None:
    ours = vocabulary("word")
    lines = ["START the dog saw the cat"] * 9
    known = train_vocabulary(lines, lines, VocabularyConfig(kind="word", size=20), DataConfig())
    for read in (read_source, read_target):
        for text in ("START the dog", " <s> the dog"):
            assert read(text, None, ours, 99).ids == read("the dog", None, ours, 99).ids
        assert len(read("START the dog", None, known, 99).ids) == 4
