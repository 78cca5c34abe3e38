"""Sentences in the page: cut into the tokens, and translated into the words, that Python gives."""

import functools
import random
import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import random_translator
import tiny
from engine_page import engine_page, error_of

import pellucid
from pellucid.config.schema import Config, DataConfig, TranslationConfig, VocabularyConfig
from pellucid.data import phrasebook
from pellucid.errors import UsageError
from pellucid.translator import Translator

pytestmark = pytest.mark.browser


@functools.cache
def demo() -> Translator:
    return pellucid.load("demo")


# Capitals, punctuation, elision, numbers, Devanagari with vowel signs and nuktas, spaces of many kinds,
# letters that are taken apart or put together, what SentencePiece writes itself, half a surrogate pair.
TRICKY = [
    *("", " ", "How are you?", "HOW ARE YOU", "how are  you ?", "  you  ", "don't"),
    *("the dog’s l'amie", "l' amie", "aujourd'hui", "a@b.org R&D and/or t-shirt -", "1,000 1.5 3:45 1, 2"),
    *("… ... !!! ?! ¿Qué? ¡No!", "“quoted” 'single' \"double\"", "(a) [b] {c}"),
    *("आप कैसे हैं?", "क़लम ज़रूर।", "हूँ॥"),
    *("café cafe\u0301 ﬁ ½ ①", "Ａ～Ｂ ~", "a\u00a0b\u3000c\u200bd", "a\tb\nc", "\x07bell\x1c"),
    *("x\u2028y", "▁", "a▁b ▁c▁", "<s> </s> <unk>", ">>xx<< dog"),
    *("🙂 the 𝒳 dog 漢字", "the\ud800dog"),
    *("naïve Ünï", "l'été d'où", "ß ẞ İ", "one two three four five six", "the the the", "?", "''", "'tis"),
    *("a--b", "x.y.z.", "٣٤ ४५", "_a_b_"),
]  # fmt: skip
LETTERS = "aehstdw THE.,!?'\"()-’ 12क़आं₂ﬁé～▁\u200b\u00a0\t"


def strings() -> list[str]:
    chance = random.Random(7)
    words = [*random_translator.WORDS, "How", "are", "you", "mat", "gatos", "l'", "chat"]
    spelt = ["".join(chance.choices(LETTERS, k=chance.randint(1, 25))) for _ in range(120)]
    return TRICKY + spelt + [" ".join(chance.choices(words, k=8)) for _ in range(40)]


@pytest.fixture(scope="module")
def pages(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Opens a page of an explanation by this translator."""
    with ExitStack() as stack:

        def opened(translator: Translator, text: str = "the dog", **how: Any) -> Any:
            explanation = translator.explain(text, **how)
            return stack.enter_context(engine_page(browser, [explanation], tmp_path_factory.mktemp("page")))

        yield opened


@pytest.fixture(scope="module")
def demo_page(pages: Any) -> Any:
    return pages(demo(), "How are you", to="hi")


def random_model(
    normalization: str = "nmt_nfkc", kind: str = "unigram", size: int = 60, **settings: Any
) -> Translator:
    """A random model with a vocabulary of its own, learned from lines of many kinds."""
    data = DataConfig(
        preparation=settings.pop("preparation", "none"), languages=settings.pop("languages", ())
    )
    chance = random.Random(3)
    lines = [
        " ".join(chance.choices([*random_translator.WORDS, "आप", "कैसे", "café", "l'été"], k=8))
        for _ in range(150)
    ]
    words = VocabularyConfig(kind=kind, size=size, normalization=normalization, **settings)
    to = ["fr", "es"] * 75 if data.languages else None
    return tiny.untrained(lines, lines, Config(data, words), to, width=16, hidden=32, decoder_layers=1)


VOCABULARIES = {
    "demo": demo,
    "word, several languages": tiny.translator,
    "word, two vocabularies": lambda: tiny.translator(joint=False),
    "words": lambda: random_model(
        "identity", "word", preparation="words", languages=(("en", "fr"), ("en", "es"))
    ),
    "unigram, nmt_nfkc": lambda: random_model("nmt_nfkc"),
    "unigram, identity": lambda: random_model("identity"),
    "bpe": lambda: random_model("nmt_nfkc", "bpe", 90),
    "bytes": lambda: random_model("identity", "unigram", 320, byte_fallback=True),
}


CUT = """([side, texts, to]) => texts.map((text) => {
  const { ids } = tokenise(text, to, undefined, side);
  return [ids, ids.map((id) => page.models[0].vocabulary.tokens[side][id])];
})"""


@pytest.mark.parametrize("name", VOCABULARIES)
def test_tokens_are_those_of_python(name: str, pages: Any, demo_page: Any) -> None:
    translator = VOCABULARIES[name]()
    vocabulary, texts = translator.vocabulary, strings()
    languages = vocabulary.target_languages or (None,)
    known = "cats" if name.startswith("word, ") else "the dog"
    page = demo_page if name == "demo" else pages(translator, known, to=languages[0])
    for to in languages:
        sources = [vocabulary.encode_source(*vocabulary.direction(text, to)) for text in texts]
        for text, ours, ids in zip(texts, page.evaluate(CUT, ["source", texts, to]), sources, strict=True):
            assert ours == [ids, vocabulary.source_tokens(ids)], repr(text)
        targets = [vocabulary.encode_target(text, to) for text in texts]
        found = page.evaluate(CUT, ["target", texts, to])
        for text, ours, ids in zip(texts, found, targets, strict=True):
            assert ours == [ids, vocabulary.target_tokens(ids)], repr(text)


@pytest.mark.parametrize("name", ["demo", "unigram, nmt_nfkc", "bpe", "bytes"])
def test_text_of_ids_is_that_of_python(name: str, pages: Any, demo_page: Any) -> None:
    translator = VOCABULARIES[name]()
    vocabulary, chance = translator.vocabulary, random.Random(5)
    page = demo_page if name == "demo" else pages(translator)
    for to in vocabulary.target_languages or (None,):
        many = [chance.choices(range(vocabulary.target_size), k=chance.randint(0, 9)) for _ in range(150)]
        expected = [vocabulary.decode_target(ids, to).replace("\n", " ") for ids in many]
        found = page.evaluate("([many, to]) => many.map((ids) => textOfTarget(ids, to))", [many, to])
        # Of bytes that are no characters, a browser writes fewer �: one for each start of a character.
        for ours, theirs in zip(found, expected, strict=True):
            assert re.sub("�+", "�", ours) == re.sub("�+", "�", theirs)


def test_the_language_has_to_be_one_of_the_models(demo_page: Any) -> None:
    for call, fault in (("'the cat', null", ""), ("'cat', 'xx'", ', not to "xx"')):
        told = error_of(demo_page, f"tokenise({call})")
        assert told == f"the model translates to hi, en, es, fr{fault}: say which."


def held_out() -> list[tuple[str, str]]:
    """(target language, sentence), which no training of the demo model saw."""
    return [(phrase.target_language, phrase.source) for phrase in phrasebook.split()["held-out"]]


TRANSLATED = """([texts, to]) => texts.map((text) => {
  const [model] = page.models;
  return translateIds(tokenise(text, to).ids, model).map((each) => ({
    ...each,
    text: textOfTarget(each.ids, to),
    tokens: each.ids.map((id) => model.vocabulary.tokens.target[id]),
  }));
})"""


@pytest.mark.parametrize("of_each", [4, pytest.param(250, marks=pytest.mark.slow)])
def test_held_out_sentences_become_what_python_says(demo_page: Any, of_each: int) -> None:
    for to in demo().vocabulary.target_languages:
        texts = random.Random(7).sample([text for language, text in held_out() if language == to], of_each)
        found = demo_page.evaluate(TRANSLATED, [texts, to])
        for ours, theirs in zip(found, demo().translate(texts, to=to), strict=True):
            assert ours[0]["text"] == theirs.text and ours[0]["tokens"] == theirs.tokens
            assert ours[0]["score"] == pytest.approx(theirs.score, abs=1e-4)


SEARCHES: list[dict[str, Any]] = [
    dict(beam=1, max_length=60),
    dict(beam=4, length_penalty=0.0, max_length=60),
    dict(beam=3, length_penalty=0.6, max_length=5),
    dict(beam=60, max_length=4),
    dict(beam=4, max_length=7, forced_end=True, suppressed=(5, 9, 12, 20)),
    dict(beam=4, early_stopping=False, length_penalty=2.0, no_repeat_ngram_size=1),
    dict(beam=3, no_repeat_ngram_size=2, repetition_penalty=1.4),
    dict(beam=1, no_repeat_ngram_size=3, repetition_penalty=1.4, forced_end=True, max_length=9),
]


@pytest.mark.parametrize("settings", SEARCHES, ids=str)
def test_search_keeps_the_same_hypotheses(settings: dict[str, Any], pages: Any) -> None:
    translator = random_translator.translator(end=2.0)
    translator.config = replace(translator.config, translation=TranslationConfig(**settings))
    page = pages(translator, "the dog saw", target="cat")
    texts = random_translator.sentences(6)
    found = page.evaluate(TRANSLATED, [texts, None])
    for ours, theirs in zip(found, translator.translate(texts, n_best=settings["beam"]), strict=True):
        assert [each["ids"] for each in ours] == [each.token_ids for each in theirs.hypotheses]
        assert [each["finished"] for each in ours] == [each.finished for each in theirs.hypotheses]
        assert [each["text"] for each in ours] == [each.text for each in theirs.hypotheses]
        scores = [each.score for each in theirs.hypotheses]
        assert [each["score"] for each in ours] == pytest.approx(scores, abs=1e-4)


LANGUAGES = {"en": "English", "es": "Spanish", "fr": "French", "hi": "Hindi"}
MISTAKES = ["How are yuo", "the elefant zzzzzzz", "I like CATS and dogz", "", "you " * 500]
MISTAKES += ["Me gustan los gatos", "je suis", "gatos yuo"]  # of another language


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_are_explained_as_in_python(text: str, demo_page: Any) -> None:
    with pytest.raises(UsageError) as raised:
        demo().explain(text, to="hi")
    ours = error_of(demo_page, "explainText(given, 'hi')", text)
    theirs = str(raised.value).replace("'", '"')  # what repr writes around a word
    theirs = re.sub(
        r'"?\b(en|es|fr|hi)\b"?', lambda code: LANGUAGES[code[1]], theirs
    )  # the page says its name
    # The page offers words by the letters that they share, Python by difflib's ratio.
    assert ours.partition("Near it: ")[0] == theirs.partition("Near it: ")[0]


def test_a_written_start_token_is_the_models_own(demo_page: Any) -> None:
    ids = [demo_page.evaluate(f"tokenise('{text}', 'fr').ids") for text in ("the cat", "START the cat")]
    assert ids[0] == ids[1]


def test_every_unknown_word_has_its_nearest(demo_page: Any) -> None:
    unknown = demo_page.evaluate("tokenise('How xqjwv yuo How yuo', 'hi').unknown")
    assert [each["word"] for each in unknown] == ["xqjwv", "yuo"]
    assert unknown[0]["near"] == [] and unknown[1]["near"][0] == "You"


GUESSES = [
    (dict(preparation="moses"), 'This model reads text that was prepared with "moses"'),
    (dict(normalization="nmt_nfkc_cf"), "A browser does not have this vocabulary's normalization, \"nmt_"),
]


@pytest.mark.parametrize(("settings", "reason"), GUESSES)
def test_where_it_would_guess_it_says_so(settings: dict[str, Any], reason: str, pages: Any) -> None:
    page = pages(random_model(**settings))
    for call in ("tokenise('the dog')", "explainText('the dog')"):
        assert error_of(page, call).startswith(reason)
    switched = "switchedRun(page.runs[0], { ...UNSWITCHED, scale: false })"
    assert page.evaluate(f"{switched}.then((run) => run.computes)")


def test_four_decimals_and_all_digits(demo_page: Any) -> None:
    chance = np.random.default_rng(0)
    values = np.concatenate([
        chance.standard_normal(300), chance.standard_normal(100) * 1e-5, chance.standard_normal(100) * 1e6,
        chance.integers(-64, 64, 100) / 32, [0.0, -0.0, 0.03125, 0.09375, -0.00003, 1e-38, 1e-45, 16777216],
    ]).astype(np.float32)  # fmt: skip
    each = "(values) => values.map((value) => {}(Math.fround(value)))"
    short = demo_page.evaluate(each.format("fourDecimals"), values.tolist())
    assert short == [f"{value:z.4f}" if value else "0" for value in values.tolist()]
    assert demo_page.evaluate("fourDecimals(Math.fround(3e38))") == "3e+38"
    long = demo_page.evaluate(each.format("allDigits"), values.tolist())
    for text, value in zip(long, values, strict=True):
        assert np.float32(text) == value
        digits = str(value).replace("-", "").partition("e")[0].replace(".", "").strip("0")
        assert len(text.replace("-", "").partition("e")[0].replace(".", "").strip("0")) <= len(digits)
    others = demo_page.evaluate("[-Infinity, Infinity, NaN].map(fourDecimals)")
    assert others == ["−∞", "∞", "?"]
