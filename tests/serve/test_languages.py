"""Several models become pairs of languages; a text without one gets one."""

import pytest

from pellucid.errors import UsageError
from pellucid.serve.codes import name_of, short
from pellucid.serve.languages import Languages, Named, detect
from pellucid.serve.markup import words_in

SEVERAL = [("en", "de"), ("en", "fr"), ("fr", "en")]


@pytest.mark.parametrize(
    ("written", "named"),
    [
        ("demo", Named("demo")),
        ("runs/m30k:en-de", Named("runs/m30k", ("en", "de"))),
        ("runs/nllb:eng_Latn-deu_Latn", Named("runs/nllb", ("eng_Latn", "deu_Latn"))),
        ("C:/a-b:en-zh-Hans", Named("C:/a-b", ("en", "zh-Hans"))),
        ("C:/models/en-de", Named("C:/models/en-de")),
        ("a:b", Named("a:b")),
    ],
)
def test_a_model_may_be_written_with_its_pair(written: str, named: Named) -> None:
    assert Named.of(written) == named


def test_a_model_serves_its_pairs_or_the_one_that_is_written() -> None:
    assert Named("m").pairs(SEVERAL) == SEVERAL
    assert Named("m", ("en", "fr")).pairs(SEVERAL) == [("en", "fr")]
    assert Named("m", ("en", "cs")).pairs([]) == [("en", "cs")]


@pytest.mark.parametrize(
    ("named", "known", "message"),
    [
        (Named("m"), [], "m does not name its languages. Write them after it, such as m:en-de."),
        (Named("m", ("de", "en")), SEVERAL, "m does not translate de-en, but en-de, en-fr, fr-en."),
    ],
)
def test_a_wrong_pair_is_told(named: Named, known: list[tuple[str, str]], message: str) -> None:
    with pytest.raises(UsageError) as raised:
        named.pairs(known)
    assert str(raised.value) == message


def test_two_models_of_one_pair_are_refused() -> None:
    with pytest.raises(UsageError) as raised:
        Languages([("a", SEVERAL, 1), ("b", [("de", "en"), ("fr", "en")], 2)])
    assert str(raised.value) == (
        "a and b both translate fr-en. Leave one out, or choose another pair of one, such as b:SOURCE-TARGET."
    )


def test_each_pair_has_its_model() -> None:
    languages = Languages([("a", SEVERAL, 1), ("b", [("de", "en")], 2)])
    assert languages.model("fr", "en") == 1 and languages.model("de", "en") == 2
    assert [*languages.pairs] == [*SEVERAL, ("de", "en")]
    assert languages.sources() == ["en", "fr", "de"] and languages.sources("en") == ["fr", "de"]
    assert languages.targets() == ["de", "fr", "en"] and languages.targets("en") == ["de", "fr"]


def test_a_language_is_detected_among_those_that_are_served() -> None:
    texts = {"en": "How are you today?", "fr": "Comment allez-vous ?", "de": "Wie geht es dir heute?"}
    for code, text in texts.items():
        found = detect(text, ["fr", "en", "de-AT" if code == "fr" else "de", "xx"])
        assert next(iter(found)) == code and abs(sum(found.values()) - 1) < 1e-6 and found["xx"] == 0
    assert next(iter(detect(texts["de"], ["fr", "en"]))) in ("fr", "en")
    assert detect("\ud800", ["en"]) == {"en": 1.0}
    assert next(iter(detect(texts["de"], ["fra_Latn", "deu_Latn", "en_XX"]))) == "deu_Latn"


@pytest.mark.parametrize(
    ("code", "language"),
    [
        ("eng_Latn", "eng_Latn"),
        ("EN-US", "eng_Latn"),
        ("zh-Hant", "zho_Hant"),
        ("zh_TW", "zho_Hant"),
        ("zh-CN", "zho_Hans"),
        ("no", "nob_Latn"),
        ("ar", "arb_Arab"),
        ("arz", "arz_Arab"),
        ("pt-PT", "pt-BR"),
        ("pb", "pt-BR"),
        ("zt", "zho_Hant"),
        ("de", None),
        ("", None),
        ("-", None),
        ("a-" * 50_000, None),
    ],
)
def test_a_language_is_found_by_any_code_that_means_it(code: str, language: str | None) -> None:
    targets = ("arz_Arab", "arb_Arab", "nob_Latn", "zho_Hans", "zho_Hant", "pt-BR")
    languages = Languages([("a", [("eng_Latn", target) for target in targets], 1)])
    if language is not None:
        assert languages.find(code, languages.known) == language
    with pytest.raises(UsageError, match="not supported"):
        languages.find(code, languages.known if language is None else ["another"])


@pytest.mark.parametrize(
    ("code", "written", "name"),
    [
        ("fr", "fr", "French"),
        ("zho_Hans", "zh-Hans", "Chinese (Simplified)"),
        ("en_XX", "en", "English"),
        ("xx", "xx", "xx"),
        ("a language", "a language", "a language"),
    ],
)
def test_a_language_has_a_short_code_and_a_name(code: str, written: str, name: str) -> None:
    assert (short(code), name_of(code)) == (written, name)


def test_the_language_of_a_page_is_that_of_its_text() -> None:
    style = "<style>.button { color: red; font: small-caps bold 12px serif }</style>" * 20
    page = f"<html><head><title>Haus</title>{style}</head><body><p>Wie geht es dir heute?</p></body></html>"
    assert next(iter(detect(words_in(page, "html"), ["en", "de"]))) == "de"
    assert words_in(page, "html").split() == ["Haus", "Wie", "geht", "es", "dir", "heute?"]
    assert words_in("<b>Stra&szlig;e", "html") == " Straße" and words_in("a < b", "text") == "a < b"
