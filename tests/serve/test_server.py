"""The server as clients see it: a real process with the demo model, asked over HTTP."""

import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import httpx
import pytest
from command import Command
from served import Server, events, serving

import pellucid
from pellucid.errors import PellucidError

INT8 = ("demo", "--precision", "int8")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("server"), *INT8, "--limit", "texts=60") as server:
        yield server


@pytest.fixture(scope="module")
def demo() -> pellucid.Translator:
    return pellucid.load("demo", "cpu", "int8")


OPTIONS: list[dict[str, Any]] = [
    dict(),
    dict(beam=1),
    dict(beam=9, n_best=3, length_penalty=0.5),
    dict(sample=True, n_best=2, temperature=0.7, top_k=5, top_p=0.9, seed=3),
    dict(prefix="Je", min_length=5, max_length=12),
    dict(prefix=["Je", None], no_repeat_ngram_size=2, repetition_penalty=1.2, early_stopping=False),
]


@pytest.mark.parametrize("options", OPTIONS)
def test_every_option_gives_what_the_library_gives(
    options: dict[str, Any], server: Server, demo: pellucid.Translator
) -> None:
    texts = ["How are you", "I like cats"]
    said = server.ask(text=texts, source="en", target="fr", scores=True, **options).json()["translations"]
    for ours, theirs in zip(said, demo.translate(texts, "fr", **options), strict=True):
        assert ours["text"] == theirs.text and ours["source"] == "en"
        for one, other in zip(ours["hypotheses"], theirs.hypotheses, strict=True):
            assert one == {name: value for name, value in vars(other).items() if name != "token_ids"}


def test_a_text_has_its_alignment_and_its_language(server: Server) -> None:
    (said,) = server.ask(text="I like cats", target="es", alignment=True).json()["translations"]
    assert (said["text"], said["source"]) == ("Me gustan los gatos", "en")
    assert said["alignment"]["source_words"] == ["I", "like", "cats"] and said["alignment"]["links"]
    texts = ["Je mange une pomme", ""]
    said = server.ask(text=texts, target="en").json()["translations"]
    assert [each["source"] for each in said] == ["fr", "fr"] and said[1]["text"] == ""
    assert "scores" not in said[0] and said[0]["hypotheses"][0].keys() == {"text", "score", "finished"}


def test_a_stream_is_the_translation_piece_by_piece(server: Server, demo: pellucid.Translator) -> None:
    fields = dict(text="The boat is near the bank", source="en", target="fr")
    answer = server.client.post("/v1/stream", json=fields)
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    *pieces, (name, end) = events(answer.text)
    assert name == "end" and {name for name, _ in pieces} == {"piece"} and len(pieces) > 1
    text = demo.translate(fields["text"], "fr", beam=1).text
    assert "".join(piece["text"] for _, piece in pieces) == end["text"] == text
    for more in ({"beam": 2}, {"format": "html"}, {"alignment": True}, {"text": ["a", "b"]}):
        assert server.client.post("/v1/stream", json=fields | more).status_code == 400


FR: dict[str, Any] = {"target": "fr"}
NOT_JSON = "the body is not valid application/json: {}."
TOO_MANY = "the request has {}, and {} are allowed. Send less at once."
TOO_LARGE = "the body has more than 1048576 bytes. Send less at once."
TYPE = "content-type"
FIELDS: list[tuple[Any, int, str]] = [
    (FR, 400, "the field 'text' is missing."),
    ({"text": 5}, 400, "text = 5: Input should be a valid string, or: Input should be a valid list."),
    ({"text": ["a", None]}, 400, "text[1] = None: Input should be a valid string."),
    ({"text": "a", "targt": "fr"}, 400, "there is no field 'targt'. Did you mean \"target\"?"),
    ({"text": "a"}, 400, "the field 'target' is missing. Set one of hi, en, es, fr."),
    ({"text": "a", "target": "de"}, 400, "target: there is no language 'de', but hi, en, es, fr."),
    ({"text": "a", "source": "fr"} | FR, 400, "no model translates fr to fr. From fr: en."),
    ({"text": "a", "beam": 0} | FR, 400, "beam = 0: Input should be greater than or equal to 1."),
    (
        {"text": "a", "temperature": 0, "sample": True} | FR,
        400,
        "temperature = 0: Input should be greater than 0.",
    ),
    ({"text": "a", "seconds": 0} | FR, 400, "seconds = 0: Input should be greater than 0."),
    (
        {"text": "a", "format": "html", "scores": True} | FR,
        400,
        "scores belongs to a sentence, and format is 'html'. Leave out one of both.",
    ),
    ({"text": "a", "beam": True} | FR, 400, "beam = True: Input should be a valid integer."),
    ({"text": "a", "memory": 1} | FR, 400, "there is no field 'memory'."),
    ({"text": "a", "prefix": ["a", "b"]} | FR, 400, "prefix: 2 prefixes for 1 texts. Give one for each."),
    ([1], 400, "the body = [1]: Input should be a valid dictionary or instance of Translate."),
    ({"text": ["a"] * 61} | FR, 413, TOO_MANY.format("61 texts", 60)),
    ({"text": "a" * 100_001} | FR, 413, TOO_MANY.format("100001 characters", 100000)),
]
BODIES: list[tuple[dict[str, Any], int, str]] = [
    (
        {"content": b"{"},
        400,
        NOT_JSON.format("Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
    ),
    ({"content": b'{"text": NaN}'}, 400, NOT_JSON.format("NaN is no number of JSON")),
    ({"content": b"[" * 100_000}, 400, NOT_JSON.format("it is nested too deeply")),
    (
        {"content": b'"\xff"'},
        400,
        NOT_JSON.format("'utf-8' codec can't decode byte 0xff in position 1: invalid start byte"),
    ),
    ({"headers": {TYPE: "text/csv"}}, 415, "the body is text/csv, and application/json is expected."),
    (
        {"headers": {TYPE: "application/json; charset=latin-1"}},
        415,
        "the body is not UTF-8, but charset=latin-1.",
    ),
    ({"content": b" " * (1 << 20) + b"{}"}, 413, TOO_LARGE),
    ({"content": iter([b" " * (1 << 19)] * 3)}, 413, TOO_LARGE),
]
# Texts as documents, each with its format.
DOCUMENTS = [
    ("text", "I like cats.\n\n  How are you?  %s", "Me gustan los gatos."),
    ("html", "<p>I like <b>cats</b>.</p>", "gatos</b>.</p>"),
]


@pytest.mark.parametrize(("form", "text", "part"), DOCUMENTS)
def test_a_text_may_be_a_document(form: str, text: str, part: str, server: Server) -> None:
    said = server.ask(text=[text, "I like cats"], source="en", target="es", format=form).json()[
        "translations"
    ]
    assert part in said[0]["text"] and said[1] == {"text": "Me gustan los gatos", "source": "en"}
    assert said[0]["text"].count("\n") == text.count("\n") and said[0]["text"].count("%s") == text.count("%s")
    assert said[0]["text"].count("<p>") == text.count("<p>")


WRONG = [({"json": fields}, *told) for fields, *told in FIELDS] + BODIES


@pytest.mark.parametrize(("sent", "status", "message"), WRONG)
def test_a_wrong_request_is_told(sent: dict[str, Any], status: int, message: str, server: Server) -> None:
    answer = server.client.post("/v1/translate", **sent)
    assert (answer.status_code, answer.json()) == (status, {"error": message})


def test_where_there_are_keys_each_request_needs_one(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("secret\nother\n")
    fields = {"text": "How are you", "source": "en", "target": "fr"}
    with serving(tmp_path, *INT8, "--keys", str(tmp_path / "keys")) as server:
        for given, status in (("", 403), ("Bearer secre", 403), ("Bearer secret", 200), ("any other", 200)):
            headers = {"authorization": given}
            assert server.client.post("/v1/translate", json=fields, headers=headers).status_code == status
        assert server.client.get("/health").status_code == 200
        for keys in ("another", ""):  # the second file is refused, and the keys stay
            (tmp_path / "keys").write_text(keys)
            told = server.log().count("loaded again")
            server.process.send_signal(signal.SIGHUP)
            while server.log().count("loaded again") == told:
                time.sleep(0.01)
            for key, status in (("another", 200), ("secret", 403)):
                headers = {"authorization": key}
                answer = server.client.post("/v1/translate", json=fields, headers=headers)
                assert answer.status_code == status
        assert "secret" not in server.log() + server.client.get("/metrics").text


def test_unknown_paths_and_verbs_are_errors_in_json(server: Server) -> None:
    for verb, path, status in (
        ("GET", "/v1/translate", 405),
        ("GET", "/nothing", 404),
        ("POST", "/health", 405),
    ):
        answer = server.client.request(verb, path)
        assert answer.status_code == status and answer.json().keys() == {"error"}


@pytest.mark.parametrize("text", ["\ud800", "\0", "\u200b\u202e", "🐈" * 50, "e" + "\u0301" * 300, " \n "])
def test_strange_text_is_answered(text: str, server: Server) -> None:
    body = json.dumps({"text": text, "source": "en", "target": "fr"}).encode()
    assert server.client.post("/v1/translate", content=body).status_code == 200


def test_the_description_has_every_route_and_its_fields(server: Server) -> None:
    spec = server.client.get("/spec").json()
    assert spec["paths"].keys() >= {"/v1/translate", "/v1/stream", "/health", "/ready", "/metrics"}
    for path, verbs in spec["paths"].items():
        for verb in verbs:
            assert server.client.request(verb, path, json={}).status_code < 500
            assert path in server.client.get("/docs").text
    for name in re.findall('"[$]ref": "#/components/schemas/([^"]*)"', json.dumps(spec)):
        assert name in spec["components"]["schemas"]
    body = spec["components"]["schemas"]["pellucid__serve__ours__Translate"]
    options = pellucid.translate.text_translator.TranslationOptions.__annotations__  # type: ignore[attr-defined]
    assert options.keys() - body["properties"].keys() == {"memory", "batch_tokens"}
    limited, _ = body["properties"]["beam"]["anyOf"]
    assert limited == {"type": "integer", "minimum": 1, "maximum": 1000}
    docs, beam = server.client.get("/docs").text, escape(body["properties"]["beam"]["description"])
    cell = f"<td>integer (≥ 1, ≤ 1000) or null<td><code>null</code><td>{beam}"
    assert f"<tr><td><code>beam</code>{cell}" in docs and "$ref" not in docs
    assert beam.startswith("how many hypotheses are followed")
    for name in re.findall("<a href=#([^>]*)>", docs):
        assert f"<h2 id={name}>" in docs


def test_the_log_and_the_figures_have_no_text_and_no_address(server: Server) -> None:
    server.ask(text="I like cats", target="es")
    server.client.get("/v1/translate?text=cats")
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(b"GET /cats\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 400")
    figures = server.client.get("/metrics").text
    assert 'pellucid_answers_total{route="/v1/translate",status="200"}' in figures
    assert "pellucid_tokens_total{" in figures and "pellucid_speed{" in figures
    lines = [json.loads(line) for line in server.log().partition("{")[2].splitlines()[1:]]
    told = {"time", "route", "status", "seconds"}, {"time", "message"}
    assert "Invalid HTTP request received." in [line.get("message") for line in lines]
    assert all(line.keys() in told for line in lines)
    for said in (figures, server.log().replace(server.url, "")):
        assert "cats" not in said and "gatos" not in said and "127.0.0.1" not in said


def test_what_is_not_ready_at_its_deadline_is_told(server: Server) -> None:
    late = server.ask(text=["How are you"] * 60, source="en", target="hi", beam=30, seconds=0.01)
    assert (late.status_code, late.json()) == (
        503,
        {"error": "it could not be translated before its deadline."},
    )
    assert int(late.headers["retry-after"]) >= 1


def test_a_client_that_goes_away_frees_its_places(server: Server) -> None:
    body = json.dumps({"text": ["How are you"] * 60, "target": "hi", "source": "en", "beam": 30}).encode()
    head = f"POST /v1/translate HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(head + body)
        while 'pellucid_open{model="0"} 0.0' in server.client.get("/metrics").text:
            time.sleep(0.001)
    for sign in ('pellucid_open{model="0"} 0.0', 'pellucid_waiting{model="0"} 0.0'):
        while sign not in server.client.get("/metrics").text:
            time.sleep(0.001)
    assert '"status": 499' in server.log()


def test_sigterm_under_load_finishes_what_was_accepted(tmp_path_factory: pytest.TempPathFactory) -> None:
    answers, lost = list[int](), list[str]()
    fields = {"text": ["How are you"] * 20, "source": "en", "target": "hi"}
    with serving(tmp_path_factory.mktemp("loaded"), *INT8) as server:

        def client() -> None:
            with httpx.Client(headers={"connection": "close"}, timeout=30, verify=False) as asking:
                try:
                    while True:
                        answers.append(asking.post(f"{server.url}/v1/translate", json=fields).status_code)
                except httpx.ConnectError:
                    return
                except httpx.HTTPError as error:
                    lost.append(repr(error))

        clients = [threading.Thread(target=client) for _ in range(8)]
        for each in clients:
            each.start()
        while len(answers) < 20:
            time.sleep(0.01)
        assert server.stop() == 0
        for each in clients:
            each.join()
    assert set(answers) == {200} and not lost


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_as_soon_as_the_address_is_told_loses_nothing(number: int) -> None:
    """A client that comes as soon as it reads the address is answered, though a signal comes with it."""
    command = [sys.executable, "-m", "pellucid", "serve", *INT8, "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        address = next(line for line in process.stderr if "http://" in line).strip()
        with socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2]))) as client:
            process.send_signal(number)
            client.sendall(b"GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            assert client.recv(12) == b"HTTP/1.1 200"
        process.terminate()
        assert process.wait(30) == 0


def test_sighup_loads_the_models_again(server: Server) -> None:
    server.process.send_signal(signal.SIGHUP)
    while '"message": "the models were loaded again."' not in server.log():
        assert server.ask(text="I like cats", source="en", target="es").status_code == 200
    assert server.ask(text="I like cats", source="en", target="es").status_code == 200


def test_sighup_while_the_models_load_ends_nothing(
    pellucid: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(*_: object) -> None:
        signal.raise_signal(signal.SIGHUP)
        raise PellucidError("loaded.")

    monkeypatch.setattr("pellucid.serve.service.Service", load)
    assert pellucid("serve", "demo", "--port", 0) == (1, "", "pellucid: loaded.\n")


@pytest.mark.slow
def test_overload_is_refused_and_passes(tmp_path_factory: pytest.TempPathFactory) -> None:
    limits = ("--limit", "seconds=1.5", "--limit", "client_requests_per_minute=300")
    fields = {"text": ["The boat is near the bank"] * 60, "source": "en", "target": "hi", "beam": 20}
    answers = list[httpx.Response]()
    with serving(tmp_path_factory.mktemp("overloaded"), *INT8, *limits) as server:

        def client(number: int) -> None:
            with httpx.Client(base_url=server.url, timeout=30, verify=False) as asking:
                for count in range(15):
                    more = {"text": [*fields["text"], f"{number} {count}"]}
                    answers.append(asking.post("/v1/translate", json=fields | more))

        clients = [threading.Thread(target=client, args=(number,)) for number in range(20)]
        for each in clients:
            each.start()
        for each in clients:
            each.join()
        refused = [answer for answer in answers if answer.status_code != 200]
        assert {answer.status_code for answer in refused} <= {429, 503} and 0 < len(refused) < len(answers)
        assert all(int(answer.headers["retry-after"]) >= 1 for answer in refused)
        assert server.client.get("/ready").json() == {"status": "ready"}
        kinds = {answer.json()["error"].split(".")[0] for answer in refused}
        assert "more is queued than can be translated in time" in kinds
        assert server.ask(text="How are you", source="en", target="fr").status_code in (200, 429)


@pytest.mark.slow
def test_a_client_that_sends_nothing_or_half_is_left(server: Server) -> None:
    host, port = server.url.removeprefix("http://").split(":")
    for sent in (b"", b"POST /v1/translate HTTP/1.1\r\nHost:"):
        with socket.create_connection((host, int(port)), timeout=20) as connection:
            connection.sendall(sent)
            assert server.ask(text="How are you", source="en", target="fr").status_code == 200
            assert connection.recv(100) == b""
