"""Firefox without a window, driven by the protocol that comes with it (Marionette: a JSON list by TCP)."""

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

NAMES = ("firefox-esr", "firefox")


class Firefox:
    """A page in Firefox: go somewhere, run a script there, click and type."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection, self._incoming, self._count = connection, connection.makefile("rb"), 0
        self._answer()  # it says hello
        self.ask("WebDriver:NewSession", {})

    def ask(self, command: str, about: dict[str, Any]) -> Any:
        """Give a command; return what it returns."""
        self._count += 1
        message = json.dumps([0, self._count, command, about]).encode()
        self._connection.sendall(b"%d:%s" % (len(message), message))
        _, _, error, found = self._answer()
        assert error is None, f"{command}: {error}"
        return found

    def run(self, script: str, *given: Any) -> Any:
        """Run a function's body in the page; return what it returns."""
        about = {"script": script, "args": list(given), "newSandbox": False}
        return self.ask("WebDriver:ExecuteScript", about)["value"]

    def until(self, script: str) -> Any:
        """Wait until the script returns something true, and return it."""
        for _ in range(200):
            if found := self.run(f"return {script}"):
                return found
            time.sleep(0.05)
        raise AssertionError(f"never true in Firefox: {script}")

    def element(self, selector: str) -> str:
        """Return the reference of the first element of a selector."""
        found = self.ask("WebDriver:FindElement", {"using": "css selector", "value": selector})
        return str(next(iter(found["value"].values())))

    def click(self, selector: str) -> None:
        """Click the first element of a selector, as a mouse does."""
        self.ask("WebDriver:ElementClick", {"id": self.element(selector)})

    def write(self, selector: str, text: str) -> None:
        """Type into a field."""
        self.ask("WebDriver:ElementSendKeys", {"id": self.element(selector), "text": text})

    def _answer(self) -> Any:
        size = b""
        while (digit := self._incoming.read(1)) != b":":
            assert digit, "Firefox closed the connection"
            size += digit
        return json.loads(self._incoming.read(int(size)))


@contextmanager
def firefox(folder: Path, width: int = 1440, height: int = 900) -> Iterator[Firefox]:
    """Firefox with a new profile in a folder."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("no Firefox on this computer: apt-get install firefox-esr")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    nobody = {f"network.proxy.{kind}": "127.0.0.1" for kind in ("http", "ssl")}  # where nothing answers
    settings = {"marionette.port": port, "network.proxy.type": 1, **nobody}
    settings |= {"network.proxy.http_port": 9, "network.proxy.ssl_port": 9}
    lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in settings.items()]
    (folder / "user.js").write_text("\n".join(lines), encoding="utf-8")
    command = [path, "--headless", "--marionette", "--no-remote", "--profile", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with _connected(port) as connection:
            browser = Firefox(connection)
            inner = browser.run("return [outerWidth - innerWidth, outerHeight - innerHeight]")
            browser.ask("WebDriver:SetWindowRect", {"width": width + inner[0], "height": height + inner[1]})
            yield browser
    finally:
        process.terminate()
        process.wait(20)


def _connected(port: int) -> socket.socket:
    for _ in range(300):
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=60)
        except OSError:
            time.sleep(0.2)
    raise AssertionError("Firefox did not start within a minute")
