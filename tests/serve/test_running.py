"""What runs the server: its end, at which nothing is lost, and its log."""

import asyncio
import json
import logging
import signal
import socket
import sys
from types import SimpleNamespace
from typing import Any

import pytest
import uvicorn
from fake_models import finished

from pellucid.serve.running import Line, Protocol, Server, _reload, bind

REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
HEAD = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"3")]}


async def app(scope: Any, receive: Any, send: Any) -> None:
    await send(HEAD)
    await send({"type": "http.response.body", "body": b"yes"})


async def started(listening: socket.socket) -> Server:
    config = uvicorn.Config(app, http=Protocol, ws="none", lifespan="off", log_config=None)
    config.load()
    server = Server(config, SimpleNamespace(is_stopping=False), ["here"])  # type: ignore[arg-type]
    server.lifespan = config.lifespan_class(config)
    await server.startup([listening])
    return server


def test_what_is_connected_is_answered_when_the_server_stops() -> None:
    async def play() -> None:
        with bind("127.0.0.1", 0) as listening:
            address = listening.getsockname()
            with pytest.raises(ConnectionRefusedError):  # nobody comes before signals are obeyed
                socket.create_connection(address)
            server = await started(listening)
            # Until shutdown waits for something, the server's loop does not run: these are not accepted.
            clients = [socket.create_connection(address) for _ in range(5)]
            for client in clients:
                client.sendall(REQUEST)
            server.handle_exit(signal.SIGTERM, None)
            stopping = asyncio.create_task(server.shutdown([listening]))
            await asyncio.sleep(0)
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(address)
            await stopping
        for client in clients:
            with client, client.makefile("rb") as reading:
                answer = reading.read()
            assert answer.startswith(b"HTTP/1.1 200") and answer.endswith(b"\r\n\r\nyes")
            assert b"connection: close\r\n" in answer

    finished(play())


def test_a_line_of_the_log_is_json_and_has_no_text() -> None:
    try:
        raise ValueError("a secret text")
    except ValueError:
        record = logging.LogRecord("", 40, "", 0, "it failed\nwith a secret text", (), sys.exc_info())
    line = json.loads(Line().format(record))
    assert (line["message"], line["error"]) == ("it failed", "ValueError") and line.keys() > {"time"}
    assert line["where"][0].startswith(f"{__file__}:")


def test_a_reload_that_fails_is_told_and_may_be_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    results = iter((RuntimeError("this weight is missing."), None))

    async def reload() -> None:
        if error := next(results):
            raise error

    async def play() -> None:
        wanted = asyncio.Event()
        reloading = asyncio.create_task(_reload(SimpleNamespace(reload=reload), wanted))  # type: ignore[arg-type]
        for count in (1, 2):
            wanted.set()
            while len(caplog.messages) < count:
                await asyncio.sleep(0)
        reloading.cancel()

    caplog.set_level(logging.INFO)
    finished(play())
    failed = "the models were not loaded again, and the present ones go on: this weight is missing."
    assert caplog.messages == [failed, "the models were loaded again."]
