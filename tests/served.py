"""A server in a process of its own, at a free port, and a client."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

ADDRESS = re.compile(r"pellucid: (http://\S+)\n")


class Server:
    """The process, what it wrote, and a client for its address."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._said = (folder / "log").open("w+")
        command = [sys.executable, "-W", "ignore", "-m", "pellucid", "serve", *arguments, "--port", "0"]
        self.process = subprocess.Popen(command, stderr=self._said, env=os.environ | {"OMP_NUM_THREADS": "1"})
        while not (found := ADDRESS.search(self.log())):
            assert self.process.poll() is None, self.log()
        self.url = found[1]
        self.client = httpx.Client(base_url=self.url, timeout=30)

    def log(self) -> str:
        return Path(self._said.name).read_text("utf-8")

    def ask(self, **fields: Any) -> httpx.Response:
        return self.client.post("/v1/translate", json=fields)

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(30)


@contextlib.contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[Server]:
    server = Server(folder, *arguments)
    try:
        yield server
    finally:
        server.client.close()
        if server.process.poll() is None:
            assert server.stop() == 0, server.log()
        server._said.close()


def events(text: str) -> list[tuple[str, Any]]:
    """The events of a stream: names and data."""
    each = [event.split("\n") for event in text.strip().split("\n\n")]
    return [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in each]
