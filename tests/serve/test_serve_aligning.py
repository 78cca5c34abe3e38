"""Alignments of the demo model place tags and placeholders in real translations."""

import pytest
from serve.fake_models import finished
from serve.test_serve_random import nesting
from tiny import translator

from pellucid.reading.words import special_ids
from pellucid.serve.aligning import align_texts
from pellucid.serve.placeholders import PLACEHOLDER
from pellucid.serve.texts import make_plan, translate_plans
from pellucid.translate.translation import Hypothesis
from pellucid.translator import Translator, load


@pytest.fixture(scope="module")
def demo() -> Translator:
    return load("demo")


def render(translator: Translator, document: str, form: str, to: str) -> str:
    async def ask(texts: list[str]) -> list[Hypothesis]:
        return [each.hypotheses[0] for each in translator.translate(texts, to=to)]

    async def align(asked: list[tuple[str, Hypothesis, str]]) -> list[list[object]]:
        return align_texts(translator, to, asked)  # type: ignore[return-value]

    return finished(translate_plans([make_plan(document, form, "en")], ask, align))[0]  # type: ignore[arg-type]


def test_tags_go_with_their_words(demo: Translator) -> None:
    document = "My brother <i>reads</i> an <b>old book</b> in the garden."
    assert render(demo, document, "html", "fr") == (
        "Mon frère <i>lit</i> un <b>vieux livre</b> dans le jardin."
    )
    assert render(demo, document, "html", "hi") == ("मेरा भाई बगीचे में एक <b>पुरानी किताब</b> <i>पढ़ता है</i>।")


def test_links_are_the_same_alone_and_in_a_batch(demo: Translator) -> None:
    texts = ["The cat sleeps.", "My brother reads an old book in the garden.", "How are you?", ""]
    asked = [(each.source, each.hypotheses[0], each.text) for each in demo.translate(texts, to="fr")]
    together = align_texts(demo, "fr", asked)
    assert together == [align_texts(demo, "fr", [each])[0] for each in asked]
    assert [
        (asked[0][2][link.start : link.end], texts[0][link.source_start : link.source_end])
        for link in together[0]
    ] == [("Le", "The"), ("chat", "cat"), ("dort", "sleeps"), (".", ".")]


def test_a_word_with_the_id_of_a_tag_of_the_source_has_a_link() -> None:
    tiny = translator(joint=False)
    tags = special_ids(tiny.vocabulary) - special_ids(tiny.vocabulary, target=True)
    said = tiny.vocabulary.target_tokens(sorted(tags))
    text = " ".join(said)
    hypothesis = Hypothesis(text, said, sorted(tags), 0.0, [], True)
    (links,) = align_texts(tiny, "hi", [("How are you ?", hypothesis, text)])
    assert [text[link.start : link.end] for link in links] == said


@pytest.mark.parametrize("to", ["fr", "es", "hi"])
def test_real_translations_keep_tags_and_placeholders(demo: Translator, to: str) -> None:
    words = ["brother", "sister", "cat", "dog", "friend", "zebra🙂"]
    for one in words:
        for two in words:
            document = (
                f'My <b>{one} <i id="1"></i>sees</b> %s <x id="2"/> the <g>old {two}</g> {{n}} in 3 books.'
            )
            said = render(demo, document, "text", to)
            assert nesting(said) == nesting(document), said
            assert PLACEHOLDER.findall(said) == PLACEHOLDER.findall(document) or sorted(
                PLACEHOLDER.findall(said)
            ) == sorted(PLACEHOLDER.findall(document)), said
