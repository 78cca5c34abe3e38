"""Clients that mean harm, or are broken: they get an error, or are left; others are not disturbed."""

import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from network import NO_NETWORK
from served import Server, serving

from benchmarks.serve_overload import soak
from pellucid.serve.running import Protocol

HEAD = "POST {} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n{}\r\n"
FIELDS = {"text": "I like cats", "source": "en", "target": "es"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that waits five seconds for a body, and that ends if it asks for the network."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "sitecustomize.py").write_text(f"{NO_NETWORK}\nprint('guarded', file=sys.stderr)\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder))
        with serving(folder, "demo", "--precision", "int8", "--limit", "seconds=5") as server:
            yield server


def connected(server: Server) -> socket.socket:
    host, port = server.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=20)


def translates(server: Server) -> bool:
    said = server.ask(**FIELDS).json()["translations"]
    return bool(said[0]["text"] == "Me gustan los gatos")


def resident(server: Server) -> int:
    """Return the server's resident memory in kB."""
    status = Path(f"/proc/{server.process.pid}/status").read_text("utf-8")
    return int(status.partition("VmRSS:")[2].split()[0])


def test_a_body_that_is_announced_too_large_is_not_waited_for(server: Server) -> None:
    with connected(server) as client:
        client.sendall(HEAD.format("/v1/translate", "Content-Length: 100000000000\r\n").encode())
        assert client.recv(1000).startswith(b"HTTP/1.1 413")
    assert translates(server)


def test_a_body_without_end_is_refused_before_its_end(server: Server) -> None:
    before, chunk = resident(server), b"10000\r\n" + b" " * 65536 + b"\r\n"
    with connected(server) as client:
        client.sendall(HEAD.format("/v1/translate", "Transfer-Encoding: chunked\r\n").encode())
        client.setblocking(False)
        answer, sent, deadline = b"", 0, time.monotonic() + 20
        while not answer and time.monotonic() < deadline:
            try:
                sent += client.send(chunk[sent % len(chunk) :])
                answer = client.recv(1000)
            except BlockingIOError:
                time.sleep(0.001)
        assert answer.startswith(b"HTTP/1.1 413") and sent < 50 << 20
    assert resident(server) - before < 50_000 and translates(server)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"text": ' + b"[" * 10_000, 400),
        (b'{"text": ' + b"[" * 10_000 + b"]" * 10_000 + b"}", 400),
        (b'{"a":' * 10_000 + b"1" + b"}" * 10_000, 400),
        (json.dumps(FIELDS | {"text": ["a"] * 100_000}).encode(), 413),
        (json.dumps(FIELDS | {"text": "a" * 200_000}).encode(), 413),
        (b'{"text": "a", "beam": ' + b"9" * 5000 + b"}", 400),
    ],
)
@pytest.mark.parametrize("path", ["/v1/translate", "/translate", "/v2/translate", "/imme"])
def test_much_in_a_body_is_an_error(body: bytes, status: int, path: str, server: Server) -> None:
    answer = server.client.post(path, content=body, headers={"content-type": "application/json"})
    assert 400 <= answer.status_code < 500 and len(answer.content) < 1000
    if path == "/v1/translate":
        assert answer.status_code == status


def test_a_body_that_does_not_arrive_is_not_waited_for(server: Server) -> None:
    with connected(server) as client:
        client.sendall(HEAD.format("/v1/translate", "Content-Length: 100\r\n").encode() + b'{"text')
        assert translates(server)
        assert client.recv(1000).startswith(b"HTTP/1.1 408")


@pytest.mark.skipif(sys.platform != "linux", reason="changes the limit of another process")
def test_more_connections_than_files_do_not_fill_the_log(server: Server) -> None:
    import resource

    assert translates(server)  # so that its client has a connection
    before = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (40, before[1]))
    clients = [connected(server) for _ in range(100)]
    while len(os.listdir(f"/proc/{server.process.pid}/fd")) < 40:
        time.sleep(0.01)
    assert translates(server)
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, before)
    for client in clients:
        client.close()
    assert "out of system" not in server.log()
    with connected(server) as client:
        client.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        assert client.recv(1000).startswith(b"HTTP/1.1 200")


def test_what_is_too_late_already_is_refused_without_decoding(server: Server) -> None:
    body = json.dumps(FIELDS | {"text": ["How are you"] * 60, "beam": 30, "min_length": 50, "max_length": 51})
    with connected(server) as client:  # keeps the server busy until it goes away
        head = HEAD.format("/v1/translate", f"Content-Length: {len(body)}\r\n")
        client.sendall((head + body).encode())
        while 'pellucid_open{model="0"} 0.0' in server.client.get("/metrics").text:
            time.sleep(0.001)
        answer = server.ask(**FIELDS, seconds=0.001)
    assert answer.status_code == 503 and int(answer.headers["retry-after"]) >= 1
    assert answer.json()["error"].startswith("more is queued than can be translated in time.")
    while 'pellucid_open{model="0"} 0.0' not in server.client.get("/metrics").text:
        time.sleep(0.01)


def test_a_client_that_leaves_a_stream_frees_its_place(server: Server) -> None:
    body = json.dumps(FIELDS | {"max_length": 2000, "min_length": 1999}).encode()
    with connected(server) as client:
        client.sendall(HEAD.format("/v1/stream", f"Content-Length: {len(body)}\r\n").encode() + body)
        assert client.recv(1000).startswith(b"HTTP/1.1 200")
        assert translates(server)
        assert 'pellucid_open{model="0"} 1.0' in server.client.get("/metrics").text
    while 'pellucid_open{model="0"} 0.0' not in server.client.get("/metrics").text:
        time.sleep(0.01)
    assert translates(server)


def test_an_explanation_that_takes_too_long_is_given_up(server: Server) -> None:
    edits = {"silence": {"decoder.layers.0.self_attention": [0]}}
    long = FIELDS | {"edits": edits, "beam": 1000, "min_length": 1998, "max_length": 2000}
    assert server.client.post("/v1/explain", json=long).status_code == 503
    deadline = time.monotonic() + 20
    while server.client.post("/v1/explain", json=FIELDS).status_code != 200:
        assert time.monotonic() < deadline


@pytest.mark.parametrize(
    "path", ["/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/download_file/../../../etc/passwd",
             "/download_file/..%2f..%2fetc%2fpasswd", "/docs/../../etc/passwd", "//etc/passwd", "/<script>",
             "/page/../../../etc/passwd", "/page/%2e%2e/%2e%2e/cli/main.py", "/page//etc/passwd",
             "/page/document.py", "/page/tour.toml", "/page/"]
)  # fmt: skip
def test_no_path_leads_out(path: str, server: Server) -> None:
    with connected(server) as client, client.makefile("rb") as reading:
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        head, _, body = reading.read().partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 404") and b"content-type: application/json" in head
    assert json.loads(body).keys() == {"error"} and b"root:" not in body and b"<script" not in body


def test_a_script_in_a_text_does_not_run(server: Server) -> None:
    script = "<script>alert(1)</script>"
    for path, fields in (
        ("/v1/translate", FIELDS | {"text": script, "target": script}),
        ("/translate", {"q": script, "source": "en", "target": script}),
        ("/translate", {"q": script, "source": "en", "target": "es"}),
    ):
        answer = server.client.post(path, json=fields)
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-content-type-options"] == "nosniff"
    for path in ("/docs", "/nothing", "/", "/look"):
        page = server.client.get(path)
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy + page.text and "script-src 'unsafe" not in policy + page.text
        assert ("script-src" in page.text) == ("frame-ancestors 'none'" in policy) == (path in ("/", "/look"))
        assert page.headers["x-content-type-options"] == "nosniff"


def test_no_route_asks_for_the_network(server: Server) -> None:
    """The server ends if it does: see the fixture."""
    assert server.log().startswith("guarded\n")
    values: dict[str, Any] = dict(text=["See https://example.com"], q="See example.com", target="es")
    values |= dict(target_lang="es", source="en", text_list=["a"], dest_lang="es", src_lang="en")
    for path, verbs in server.client.get("/spec").json()["paths"].items():
        for verb in verbs:
            assert server.client.request(verb, path, json=values).status_code < 500
    answer = server.client.post("/translate_file", files={"file": ("a.txt", b"I like cats")}, data=values)
    assert answer.status_code == 200, answer.text
    assert server.process.poll() is None and translates(server)


@pytest.mark.slow
def test_mixed_requests_leave_nothing_behind(tmp_path: Path) -> None:
    played, levels = soak(tmp_path / "log", 2000)
    assert played.different == 0 and set(played.statuses) <= {200, 400, 404, 405, 413}
    (files, threads, megabytes), *_, last = levels
    assert last[:2] == (files, threads) and last[2] < 1.05 * megabytes


def test_a_client_that_does_not_read_its_answer_is_left() -> None:
    """Once it has read something in a minute, and then nothing."""
    left, later, aborted = [30, 20, 20], list[Any](), list[bool]()
    transport = SimpleNamespace(get_write_buffer_size=lambda: left.pop(0), abort=lambda: aborted.append(True))
    connection = Protocol.__new__(Protocol)
    connection.transport, connection._answers = transport, 1  # type: ignore[assignment]
    connection.loop = SimpleNamespace(call_later=lambda _, *what: later.append(what))  # type: ignore[assignment]
    connection._watch(1)
    while later:
        watch, *rest = later.pop()
        watch(*rest)
    assert aborted == [True] and not left
