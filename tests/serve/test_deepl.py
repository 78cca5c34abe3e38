"""DeepL's interface: its own client, its fields in JSON and in forms, and what it refuses."""

from typing import Any

import deepl
import httpx
import pytest
from deepl_suite import serve

PHRASE = {"en": "proton beam", "de": "Protonenstrahl", "fr": "faisceau de protons", "pt": "feixe de prótons"}
XML = "<a>One</a><b>Two</b><c>[Three]</c>"
KEY = {"authorization": "DeepL-Auth-Key mock_server"}


@pytest.fixture(scope="module")
def address() -> str:
    return f"http://127.0.0.1:{serve(PHRASE)}"


@pytest.fixture
def client(address: str) -> deepl.Translator:
    return deepl.Translator("mock_server", server_url=address)


def ask(address: str, path: str = "/v2/translate", **sent: Any) -> tuple[int, Any]:
    answer = httpx.post(address + path, headers=KEY, **sent)
    return answer.status_code, answer.json()


def test_its_own_client_translates_and_lists(client: deepl.Translator) -> None:
    before = client.get_usage().character.count or 0
    texts = ["proton beam", "faisceau de protons", "Protonenstrahl", "", "Hello. You!\nYes"]
    said = client.translate_text(texts, target_lang="DE", model_type="prefer_quality_optimized")
    assert isinstance(said, list)
    expected = ["Protonenstrahl", "Protonenstrahl", "Protonenstrahl", "", "[Hello.] [You!]\n[Yes]"]
    assert [each.text for each in said] == expected
    assert [each.detected_source_lang for each in said] == ["EN", "FR", "DE", "EN", "EN"]
    assert [each.billed_characters for each in said] == [len(text) for text in texts]
    assert {each.model_type_used for each in said} == {"quality_optimized"}
    assert client.get_usage().character.count == before + sum(map(len, texts))
    sources = {each.code: each.name for each in client.get_source_languages()}
    assert sources == {"EN": "English", "DE": "German", "FR": "French", "PT": "Portuguese"}
    targets = {each.code: each.supports_formality for each in client.get_target_languages()}
    regions = ["EN-GB", "EN-US", "PT-BR", "PT-PT"]
    assert targets == {"DE": True, "FR": False, **dict.fromkeys(regions, False)}
    assert client.get_glossary_languages() == []


def test_tags_are_not_charged(client: deepl.Translator) -> None:
    before = client.get_usage().character.count or 0
    text = '<h1 class="a">One <!-- not this --><b>&amp; two</b></h1><script>var a</script> 1 < 2'
    for handling, count in (("html", 19), ("xml", 19), (None, len(text))):
        said = client.translate_text(text, target_lang="DE", tag_handling=handling)
        assert isinstance(said, deepl.TextResult) and said.billed_characters == count
    assert client.get_usage().character.count == before + 2 * 19 + len(text)


SPLIT = "One. Two\nthree"
FORMS: list[tuple[dict[str, Any], str, str]] = [
    ({}, SPLIT, "[One.] [Two]\n[three]"),
    ({"split_sentences": "nonewlines"}, SPLIT, "[Two three]"),
    ({"split_sentences": "0"}, SPLIT, "[One. Two three]"),
    ({"tag_handling": "html"}, "<p>One.<p>Two &amp; three", "<p>[One.]<p>[Two &amp; three]"),
    ({"tag_handling": "xml", "ignore_tags": "a, b"}, "<a>One</a><b>Two</b><c>Three</c>", XML),
    ({"tag_handling": "xml", "ignore_tags": ["a", "b"]}, "<a>One</a><b>Two</b><c>Three</c>", XML),
    ({"tag_handling": "xml", "splitting_tags": "b,c"}, "<a>x<b/>y</a>", "<a>[x]<b/>[y]</a>"),
    ({"tag_handling": "xml", "outline_detection": "0"}, "<b>x</b><b>y</b>", "[xy]"),
    ({"tag_handling": "xml", "non_splitting_tags": "b"}, "<b>x</b><b>y</b>", "[xy]"),
    ({"target_lang": "pt-br"}, "proton beam", "feixe de prótons"),
    ({"source_lang": "", "formality": "prefer_more", "context": "Physics"}, "proton beam", "Protonenstrahl"),
]


@pytest.mark.parametrize(("fields", "text", "said"), FORMS)
def test_a_form_is_as_json(fields: dict[str, str], text: str, said: str, address: str) -> None:
    fields = {"target_lang": "DE", "source_lang": "EN", "text": text} | fields
    for kind in ("data", "json"):
        status, answer = ask(address, **{kind: fields})
        (translation,) = answer["translations"]
        assert (status, translation.keys()) == (200, {"detected_source_language", "text"})
        assert translation["detected_source_language"] == "EN" and said in translation["text"]


TO_DE = {"text": "a", "target_lang": "DE"}
NOT_HERE = "this server does not have it, whatever the key."
WRONG: list[tuple[Any, int, str]] = [
    ({"text": "a"}, 400, "the field 'target_lang' is missing."),
    (
        TO_DE | {"text": []},
        400,
        "text = []: Input should be a valid string, or: List should have at least 1 item after validation, "
        "not 0.",
    ),
    (
        TO_DE | {"target_lang": "XX"},
        400,
        "target_lang = 'XX' is not supported, but DE, FR, PT, DE-FORMAL, DE-INFORMAL, EN.",
    ),
    (
        TO_DE | {"source_lang": "x" * 99},
        400,
        f"source_lang = '{'x' * 20}' is not supported, but EN, DE, FR, PT.",
    ),
    (
        TO_DE | {"target_lang": "FR", "formality": "more"},
        400,
        "Target language 'fr' has no formality here. Leave formality out, or set it to prefer_more or "
        "prefer_less.",
    ),
    (TO_DE | {"tag_handling": "md"}, 400, "tag_handling = 'md': Input should be 'html' or 'xml'."),
    (TO_DE | {"ignore_tags": [1]}, 400, "ignore_tags[0] = 1: Input should be a valid string."),
    (TO_DE | {"api_key": 5}, 403, "the key is wrong."),
    (TO_DE | {"glossary_id": "x"}, 403, f"glossary_id: {NOT_HERE}"),
    ([], 400, "the body = []: Input should be a valid dictionary or instance of Translate."),
]


@pytest.mark.parametrize(("fields", "status", "message"), WRONG)
def test_what_is_wrong_is_told(fields: Any, status: int, message: str, address: str) -> None:
    assert ask(address, json=fields) == (status, {"message": message})


def test_limits_have_the_statuses_of_deepl(address: str) -> None:
    for texts, status in ((["a"] * 50, 200), (["a"] * 51, 400), (["a" * 100_001], 413)):
        assert ask(address, json=TO_DE | {"text": texts})[0] == status
    limited = f"http://127.0.0.1:{serve(PHRASE, requests_a_minute=1)}"
    assert [ask(limited, json=TO_DE)[0] for _ in range(2)] == [200, 429]
    assert ask(limited, json=TO_DE)[1] == {"message": "you sent 1 requests within a minute. Wait."}
    wrong = "type = 'both': Input should be 'source' or 'target'."
    assert ask(address, "/v2/languages", json={"type": "both"}) == (400, {"message": wrong})


@pytest.mark.parametrize(
    "path", ["/v2/document", "/v2/glossaries/1", "/v2/write/rephrase", "/v3/style_rules"]
)
def test_what_we_do_not_have_is_forbidden(path: str, address: str) -> None:
    for verb in ("GET", "POST", "DELETE"):
        answer = httpx.request(verb, address + path, headers=KEY)
        assert (answer.status_code, answer.json()) == (403, {"message": f"{path}: {NOT_HERE}"})
    assert ask(address, "/v2/nothing") == (404, {"message": "Not Found"})


def test_a_key_is_needed(address: str) -> None:
    with pytest.raises(deepl.AuthorizationException, match="the key is wrong"):
        deepl.Translator("wrong", server_url=address).get_usage()
