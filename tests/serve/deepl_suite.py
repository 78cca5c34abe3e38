"""Run DeepL's own test suite, in its mode for a mock server, against our application.

    python tests/serve/deepl_suite.py FOLDER

FOLDER is a clone of github.com/DeepLcom/deepl-python, and PYTHON, if it is set, a Python that has what its
tests need. The suite asks a mock server for failures, by headers; and its models must know its example.
"""

import asyncio
import math
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import uvicorn

from pellucid.serve.admission import Door, Limits, Queue
from pellucid.serve.aligning import align_texts
from pellucid.serve.app import make_app
from pellucid.serve.keys import Keys
from pellucid.serve.languages import Languages
from pellucid.serve.service import Job, Service
from pellucid.translate.translation import Hypothesis, Translation

SESSION = "mock-server-session"


class Everything:
    """A model that is never too busy."""

    translator, to = None, str

    def cost(self, job: Job) -> float:
        return 0.0

    @property
    def queue(self) -> Queue:
        return Queue(lambda: math.inf)


class Phrases(Service):
    """Models that translate one phrase between all languages; what they do not know gets brackets."""

    def __init__(
        self, phrase: Mapping[str, str], pairs: Sequence[tuple[str, str]], requests_a_minute: int, keys: Keys
    ) -> None:
        self.limits = Limits(client_requests_per_minute=requests_a_minute)
        self.door, self._hands, self.keys = Door(self.limits), ThreadPoolExecutor(2), keys
        self.is_stopping, self.letters, self.models, self._phrase = False, 0, [], phrase
        self.languages = Languages([("phrases", pairs, Everything())])

    async def detect(self, texts: Sequence[str], form: str = "text") -> list[dict[str, float]]:
        codes = {said: code for code, said in reversed([*self._phrase.items()])}
        return [{codes.get(text.strip(), "en"): 1.0} for text in texts]

    async def aside(self, work: Any, *arguments: Any) -> Any:
        aligns = getattr(work, "func", None) is align_texts
        return [[] for _ in arguments[0]] if aligns else await super().aside(work, *arguments)

    async def decode(self, job: Job, grew: Any = None) -> list[Translation]:
        said = self._phrase[job.target.partition("_")[0]]
        texts = [said if text in self._phrase.values() else f"[{text}]" for text in job.texts]
        return [Translation(text, [Hypothesis(text, [], [], 0.0, [], True)]) for text in texts]


class Mock:
    """An application in front of ours, which fails as the headers of a test ask for."""

    def __init__(self, application: Any) -> None:
        self._application, self._left = application, dict[str, Counter[str]]()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        scope["path"], through_proxy = re.subn("^https?://[^/]+", "", scope["path"])
        asked = {
            name: int(headers.get(f"{SESSION}-{name}", 0)) for name in ("no-response-count", "429-count")
        }
        left = self._left.setdefault(headers.get(SESSION, ""), Counter(asked))
        if left["no-response-count"] > 0:
            left["no-response-count"] -= 1
            while (await receive())["type"] != "http.disconnect":
                continue
            return
        status = 200
        if left["429-count"] > 0 and scope["path"] == "/v2/translate":
            left["429-count"] -= 1
            status = 429
        if headers.get(f"{SESSION}-expect-proxy") == "1" and not through_proxy:
            status = 400
        if status != 200:
            await send({"type": "http.response.start", "status": status, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        key = headers.get("authorization", "").removeprefix("DeepL-Auth-Key ")
        if re.fullmatch(r"[0-9a-f-]{36}", key):  # a test made it up for an account of its own
            named = [(name, value) for name, value in scope["headers"] if name != b"authorization"]
            scope["headers"] = [*named, (b"authorization", b"DeepL-Auth-Key mock_server")]
        await self._application(scope, receive, send)


def serve(phrase: Mapping[str, str], requests_a_minute: int = 10**6) -> int:
    """Serve the phrase in a thread, and return the port."""
    codes = [*phrase, *(f"{code}_{register}" for code in ("de",) for register in ("formal", "informal"))]
    pairs = [(source, target) for source in phrase for target in codes if source != target[:2]]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as keys:
        keys.write("mock_server\n")
        keys.flush()
        application = Mock(make_app(Phrases(phrase, pairs, requests_a_minute, Keys(keys.name))))
    config = uvicorn.Config(application, port=0, lifespan="off", log_level="warning")
    server = uvicorn.Server(config)
    threading.Thread(target=lambda: asyncio.run(server.serve()), daemon=True).start()
    while not server.started:
        continue
    return int(server.servers[0].sockets[0].getsockname()[1])


def main() -> int:
    folder = Path(sys.argv[1])
    source = (folder / "tests" / "conftest.py").read_text("utf-8")
    found = re.findall(r'^    "(\w\w)": "(.*)",$', source[source.index("example_text") :], re.MULTILINE)
    port = serve({code.lower(): text for code, text in found})
    address = f"http://127.0.0.1:{port}"
    environment = {
        "DEEPL_SERVER_URL": address,
        "DEEPL_MOCK_SERVER_PORT": f"{port}",
        "DEEPL_PROXY_URL": address,
        "DEEPL_MOCK_PROXY_SERVER_PORT": f"{port}",
        "DEEPL_AUTH_KEY": "mock_server",
    }
    tests = [f"tests/test_{name}.py" for name in ("translate_text", "general", "cli", "util")]
    command = [os.environ.get("PYTHON", sys.executable), "-m", "pytest", "-q", "--tb=line", "-rfE", *tests]
    return subprocess.run([*command, *sys.argv[2:]], cwd=folder, env=os.environ | environment).returncode


if __name__ == "__main__":
    sys.exit(main())
