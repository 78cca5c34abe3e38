"""LibreTranslate's interface, also by the clients that people use."""

import json
import random
import re
import shlex
import urllib.error
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import libretranslate_aio
import pytest
from fake_models import finished
from libretranslatepy import LibreTranslateAPI
from served import Server, serving

from pellucid.serve import libretranslate
from pellucid.serve.languages import Languages

INT8 = ("demo", "--precision", "int8", "--limit", "texts=60")
EN_ES = {"source": "en", "target": "es"}
MISSING = "Invalid request: missing {} parameter"
GATOS = "Me gustan los gatos"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("free"), *INT8) as server:
        yield server


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    keys = tmp_path_factory.mktemp("guarded") / "keys"
    keys.write_text("secret\n")
    with serving(keys.parent, *INT8, "--keys", str(keys)) as server:
        yield server


def translated(server: Server, **fields: Any) -> Any:
    return server.client.post("/translate", json=EN_ES | fields).json()


@pytest.mark.parametrize("where", ["json", "data", "params", "files"])
def test_a_text_is_translated_however_it_is_sent(where: str, server: Server) -> None:
    fields: dict[str, Any] = EN_ES | {"q": "I like cats", "alternatives": "2", "unknown": "x"}
    sent = {name: (None, value) for name, value in fields.items()} if where == "files" else fields
    answer = server.client.post("/translate", **{where: sent})
    assert answer.json().keys() == {"translatedText", "alternatives"} and answer.status_code == 200
    assert answer.json()["translatedText"] == GATOS


def test_the_languages_of_several_texts_are_detected_one_by_one(server: Server) -> None:
    texts = ["Je mange une pomme", "I like cats", "...", ""]
    said = translated(server, q=texts, source="AUTO", target="EN-GB", alternatives=3)
    assert said["translatedText"] == ["I eat an apple", *texts[1:]]
    found = [each["language"] for each in said["detectedLanguage"]]
    assert found[:2] == ["fr", "en"] and said["detectedLanguage"][0]["confidence"] > 90
    assert [bool(each) for each in said["alternatives"]] == [True, False, False, False]
    alone = translated(server, q=texts[0], source="auto", target="en", alternatives=3)
    assert alone == {name: each[0] for name, each in said.items()}


def test_a_text_without_a_language_is_not_refused(server: Server) -> None:
    texts = ["...", "", "12,5", "\u2603"]  # whichever of the languages is the likeliest, it is not sure
    assert translated(server, q=texts, source="auto")["translatedText"] == texts


def test_alternatives_are_others_and_join_those_of_each_sentence(server: Server) -> None:
    one, two = "I like cats.", "How are you?"
    said = translated(server, q=[one, two, f"{one}\n{two}"], alternatives=2)
    ways = [[best, *more] for best, more in zip(said["translatedText"], said["alternatives"], strict=True)]
    assert all(len(set(each)) == 3 for each in ways)
    assert ways[2] == [f"{first}\n{second}" for first, second in zip(*ways[:2], strict=True)]


def test_lines_placeholders_tags_and_entities_come_back(server: Server) -> None:
    text = "  I like cats.\r\n\r\n%s: How are you, {name}?\n"
    said = translated(server, q=text)["translatedText"]
    assert said.startswith(f"  {GATOS}.\r\n\r\n") and said.endswith("\n")
    assert "%s" in said and "{name}" in said
    said = translated(server, q="<p>I like cats</p><code>&lt;b&gt;</code>", format="html")["translatedText"]
    assert said == f"<p>{GATOS}</p><code>&lt;b&gt;</code>"


def test_a_list_as_weblate_sends_it_keeps_all_placeholders(server: Server) -> None:
    chance, kinds = random.Random(), ("%s", "%1$d", "{name}", "{{ x }}", "${n}", "https://a.org/b", "12,5")
    words = ["I", "like", "cats", "and", "the", "boat", "."]
    texts = [" ".join(chance.sample([*words, *chance.sample(kinds, 2)], 9)) for _ in range(50)]
    for text, said in zip(texts, translated(server, q=texts)["translatedText"], strict=True):
        assert [text.count(each) for each in kinds] == [said.count(each) for each in kinds], (text, said)


BAD_COUNT = "Input should be a valid integer, unable to parse string as an integer"
NO_MODEL = "no model translates fr to es. From fr: en."
WRONG: list[tuple[Any, str]] = [
    ({}, MISSING.format("q")),
    ({"q": ""}, MISSING.format("q")),
    ({"q": []}, MISSING.format("q")),
    ({"q": "a", "source": ""}, MISSING.format("source")),
    ({"q": "a", "target": ""}, MISSING.format("target")),
    ({"q": ["a"], "source": "zz"}, "zz is not supported"),
    ({"q": "a", "target": "pb"}, "pb is not supported"),
    ({"q": "a", "source": "fr"}, NO_MODEL),
    ({"q": "Je mange une pomme", "source": "auto"}, NO_MODEL),
    ({"q": "a", "format": "md"}, "format = 'md': Input should be 'text' or 'html'."),
    ({"q": "a", "alternatives": "x"}, f"alternatives = 'x': {BAD_COUNT}."),
    ({"q": "a", "alternatives": 11}, "alternatives = 11: Input should be less than or equal to 10."),
    ({"q": ["a"] * 61}, "Invalid request: request (61) exceeds text limit (60)"),
    ({"q": "a" * 100_001}, "Invalid request: request (100001) exceeds text limit (100000)"),
    ({"q": ["a", None]}, "q[1] = None: Input should be a valid string."),
]


@pytest.mark.parametrize(("fields", "message"), WRONG)
def test_a_wrong_request_is_told(fields: Any, message: str, server: Server) -> None:
    answer = server.client.post("/translate", json=EN_ES | fields)
    assert (answer.status_code, answer.json()) == (400, {"error": message})


def test_a_language_is_detected(server: Server) -> None:
    (found, *_) = server.client.post("/detect", data={"q": "Comment allez-vous ?"}).json()
    assert found["language"] == "fr" and found["confidence"] > 90
    found = server.client.post("/detect", json={"q": ["Comment allez-vous ?", "Hi"]}).json()
    assert found[0]["language"] == "fr" and len(found) <= 3
    assert server.client.post("/detect").json() == {"error": MISSING.format("q")}


def test_languages_and_limits_are_told_and_suggestions_are_refused(server: Server) -> None:
    said = {each["code"]: each for each in server.client.get("/languages").json()}
    assert said["en"] == {"code": "en", "name": "English", "targets": ["en", "es", "fr", "hi"]}
    assert said["hi"] == {"code": "hi", "name": "Hindi", "targets": ["hi"]}
    said = server.client.get("/frontend/settings").json()
    assert said["charLimit"] == said["limits"]["characters"] == 100_000 and said["limits"]["texts"] == 60
    assert said["apiKeys"] is said["suggestions"] is False and ".srt" in said["supportedFilesFormat"]
    answer = server.client.post("/suggest", data={"q": "a"})
    assert answer.json() == {"error": "Suggestions are disabled on this server."}
    assert answer.status_code == 403


def test_languages_have_short_codes_and_names() -> None:
    pairs = [("eng_Latn", "zho_Hans"), ("eng_Latn", "fra_Latn")]
    service: Any = SimpleNamespace(languages=Languages([("nllb", pairs, None)]))
    asked: Any = None
    said = {each["code"]: each for each in finished(libretranslate.languages(service, asked))}
    assert said["en"] == {"code": "en", "name": "English", "targets": ["en", "fr", "zh-Hans"]}
    assert said["zh-Hans"]["name"] == "Chinese (Simplified)"


def send(server: Server, name: str, data: bytes, **fields: str) -> Any:
    return server.client.post("/translate_file", data=EN_ES | fields, files={"file": (name, data)})


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("../a ü.txt", "I like cats\r\n\r\n", f"{GATOS}\r\n\r\n"),
        ("a.html", "<p>I like cats</p>", f"<p>{GATOS}</p>"),
        ("a.jsonl", '{"text": "I like cats"}\n' * 61, f'{{"text": "{GATOS}"}}\n' * 61),
        (
            "a.srt",
            "1\n00:00:01,000 --> 00:00:02,000\nI like cats\n",
            f"1\n00:00:01,000 --> 00:00:02,000\n{GATOS}\n",
        ),
    ],
)
@pytest.mark.parametrize("source", ["en", "auto"])
def test_a_file_is_translated(name: str, content: str, expected: str, source: str, server: Server) -> None:
    (url,) = send(server, name, content.encode(), source=source).json().values()
    answer = server.client.get(url)
    assert answer.text == expected
    kind = name.rpartition(".")[2]
    shown = f"a%20%C3%BC_es.{kind}" if kind == "txt" else f"a_es.{kind}"
    expected = f"attachment; filename=\"{shown}\"; filename*=utf-8''{shown}"
    assert answer.headers["content-disposition"] == expected
    assert answer.headers["content-type"] == "application/octet-stream"


def test_a_file_in_the_target_language_comes_back(server: Server) -> None:
    text = "¿Dónde está la biblioteca?".encode()
    assert (
        server.client.get(send(server, "a.txt", text, source="auto").json()["translatedFileUrl"]).content
        == text
    )


def test_a_wrong_file_is_told(server: Server) -> None:
    assert send(server, "a.pdf", b"").json()["error"].startswith("a file .pdf cannot be read")
    assert send(server, "a.txt", b"a", source="zz").json() == {"error": "zz is not supported"}
    answer = server.client.post("/translate_file", files={"q": (None, "a")})
    assert answer.json() == {"error": MISSING.format("file")} and answer.status_code == 400
    for name in ("nothing.txt", "..%2f..%2fetc%2fpasswd", "%00"):
        assert server.client.get(f"/download_file/{name}").status_code == 404


@pytest.mark.parametrize("key", [None, "secret"])
def test_libretranslatepy_works_with_and_without_a_key(
    key: str | None, server: Server, guarded: Server
) -> None:
    client = LibreTranslateAPI((guarded if key else server).url, key)
    assert client.translate("I like cats", "en", "es") == GATOS
    assert client.detect("Comment allez-vous ?")[0]["language"] == "fr"
    assert {"en", "es"} <= {each["code"] for each in client.languages()}
    with pytest.raises(urllib.error.HTTPError, match="403"):
        LibreTranslateAPI(guarded.url, "wrong").translate("I like cats", "en", "es")


@pytest.mark.parametrize("key", [None, "secret"])
def test_libretranslate_aio_works_with_and_without_a_key(
    key: str | None, server: Server, guarded: Server, tmp_path: Path
) -> None:
    url = (guarded if key else server).url
    (tmp_path / "a.txt").write_text("I like cats")
    with libretranslate_aio.LibreTranslate(url, api_key=key) as client:
        said = client.translate(["I like cats", "How are you"], "auto", "es", alternatives=2)
        assert said.translated_text[0] == GATOS and said.detected_language[1].language == "en"  # type: ignore[index]
        assert client.detect("Comment allez-vous ?")[0].language == "fr"
        assert "en" in {each.code for each in client.languages()} and client.health()
        assert client.frontend_settings().key_required is bool(key)
        found = client.translate_file(tmp_path / "a.txt", "en", "es").translated_file_url
        assert server.client.get(found).text == GATOS
    with (
        libretranslate_aio.LibreTranslate(guarded.url) as client,
        pytest.raises(libretranslate_aio.ForbiddenError, match="the key is missing"),
    ):
        client.detect("Hello")

    async def ask() -> str | list[str]:
        async with libretranslate_aio.AsyncLibreTranslate(url, api_key=key) as client:
            return (await client.translate("I like cats", "en", "es")).translated_text

    assert finished(ask()) == GATOS


def test_the_form_of_a_request_is_checked(server: Server) -> None:
    for verb, path in (("GET", "/detect"), ("POST", "/languages"), ("GET", "/suggest")):
        answer = server.client.request(verb, path)
        assert answer.status_code == 405 and answer.json().keys() == {"error"}
    body = json.dumps(EN_ES | {"q": "\ud800"}).encode()
    assert server.client.post("/translate", content=body).status_code == 400


def test_pages_of_other_sites_may_ask(server: Server) -> None:
    headers = {"origin": "https://a.org", "access-control-request-method": "POST"}
    headers["access-control-request-headers"] = "content-type"
    assert server.client.options("/translate", headers=headers).status_code == 200
    for answer in (
        server.client.post("/translate", headers=headers),
        server.client.get("/languages", headers=headers),
    ):
        assert answer.headers["access-control-allow-origin"] == "*"


def test_its_page_shows_what_the_server_answers(server: Server) -> None:
    page = (Path(__file__).parents[2] / "docs/from-libretranslate.md").read_text("utf-8")
    found = re.search(r"\$ (curl .*)\n(.*)\n", page)
    assert found is not None
    fields = dict(each.split("=") for each in shlex.split(found[1]) if "=" in each)
    assert server.client.post("/translate", data=fields).text == found[2]
    for kind in server.client.get("/frontend/settings").json()["supportedFilesFormat"]:
        assert f"`{kind}`" in page
