"""The server at five times what it can do, and a soak of mixed requests.

**Overload**: the model of benchmarks/serve.py, the limits as they are by default. 200 clients; requests of 1
to 19 sentences come at random, five times as many as the server can translate, each from a client that has no
other open. Half of the clients obey: after a refusal they come again at the time in Retry-After with the same
request. The others forget it, and ten more clients (greedy) ask without pause. At the end all clients go away
at once. A last client asks for /health four times a second all the time.

**Soak**: the demo model, 50 clients, requests of all kinds: sentences, lists, documents, streams, pages;
broken bodies, wrong paths, slow clients, and clients that go away before their body or their answer has
ended. Files, threads and memory after each fifth; each answer for the same text is the same.

The clients are coroutines with plain sockets in one process; they share the processor with the server.

    python -m benchmarks.serve_overload [--minutes 10] [--requests 10000] [--model FOLDER]
"""

import argparse
import asyncio
import json
import random
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmarks.report import machine, write_report
from benchmarks.serve_parts import UNLIMITED, Answer, Client, Server, clients, make_model, sentences, share

CLIENTS, GREEDY, TIMES, MOST_TEXTS = 200, 10, 5, 19
SOAKING, SEED = 50, 1
GONE = (OSError, asyncio.IncompleteReadError)


class Overload:
    """What many clients see at a server that has too much to do."""

    def __init__(self, server: Server, texts_a_second: float) -> None:
        self.server, self.rate = server, TIMES * texts_a_second / (1 + MOST_TEXTS) * 2
        self.statuses, self.second_tries = Counter[int](), Counter[bool]()
        self.offered = self.no_client = 0
        self.megabytes, self.health = list[tuple[float, float]](), list[float]()
        self._numbers, self._texts = random.Random(SEED), sentences(5000)

    async def play(self, seconds: float) -> float:
        """Ask for so long; then return the seconds until a sentence is translated as if nothing had been."""
        async with clients(self.server, CLIENTS + GREEDY) as many:
            working = [asyncio.create_task(self._ask_greedily(each)) for each in many[CLIENTS:]]
            working += [asyncio.create_task(each) for each in (self._watch(), self._come(many[:CLIENTS]))]
            await asyncio.wait(working, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
            for each in working:
                each.cancel()
            said = await asyncio.gather(*working, return_exceptions=True)
            for each in said:
                if not isinstance(each, asyncio.CancelledError):
                    raise each
        began, one = time.perf_counter(), Client(self.server, CLIENTS + GREEDY + 1)
        while (answer := await one.translate(self._texts[0])).status != 200 or answer.seconds > 0.5:
            await asyncio.sleep(0.05)
        one.close()
        return time.perf_counter() - began

    async def _come(self, many: list[Client]) -> None:
        """Send requests at random, each from a client that is free."""
        free, obeying = [*many], {*many[::2]}
        async with asyncio.TaskGroup() as asking:

            async def ask(client: Client) -> None:
                await self._ask(client, client in obeying)
                free.append(client)

            while True:
                await asyncio.sleep(self._numbers.expovariate(self.rate))
                self.offered += 1
                if free:
                    asking.create_task(ask(free.pop(self._numbers.randrange(len(free)))))
                else:
                    self.no_client += 1

    async def _ask(self, client: Client, obeys: bool) -> None:
        texts = self._numbers.sample(self._texts, self._numbers.randint(1, MOST_TEXTS))
        answer = await self._translate(client, texts)
        if answer.retry_after is not None and obeys:
            client.close()  # the server may close it just when it is used again
            await asyncio.sleep(answer.retry_after)
            second = await self._translate(client, texts)
            self.second_tries[second.status == 200] += 1

    async def _ask_greedily(self, client: Client) -> None:
        while True:
            if (await self._translate(client, self._numbers.sample(self._texts, 3))).status != 200:
                await asyncio.sleep(0.2)

    async def _translate(self, client: Client, texts: list[str]) -> Answer:
        answer = await client.translate(texts)
        self.statuses[answer.status] += 1
        return answer

    async def _watch(self) -> None:
        """Ask for /health, and note the memory."""
        began, client = time.perf_counter(), Client(self.server, CLIENTS + GREEDY)
        while True:
            self.health.append((await client.ask("/health")).seconds)
            self.megabytes.append((time.perf_counter() - began, self.server.megabytes))
            await asyncio.sleep(0.25)


PAGES = ("/health", "/ready", "/metrics", "/spec", "/docs", "/languages", "/nothing", "/v1/translate")
BROKEN = (b"{", b"[1]", b'{"text": 5}', b'{"text": "\xff"}', b"[" * 9999, b'{"text": "a", "to": "fr"}', b"")
HEAD = "POST {} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n{}\r\n"


class Soak:
    """Requests of all kinds, one after the other from each of many clients."""

    def __init__(self, server: Server) -> None:
        self.server, self.statuses, self.different = server, Counter[int](), 0
        self._said, self._texts = dict[tuple[str, str, int], str](), sentences(60)
        self._numbers = random.Random(SEED)

    async def play(self, count: int) -> None:
        """Send so many requests."""
        async with clients(self.server, SOAKING) as many, asyncio.TaskGroup() as working:
            for number, client in enumerate(many):
                working.create_task(self._work(client, len(range(number, count, SOAKING))))

    async def _work(self, client: Client, count: int) -> None:
        kinds = [self._translate] * 6 + [self._translate_as_libretranslate] * 3
        kinds += [self._explain, self._stream, self._page, self._break, self._be_slow]
        kinds += [self._go_in_the_body, self._go_while_it_works, self._go_in_the_stream, self._break_chunks]
        for _ in range(count):
            if answer := await self._numbers.choice(kinds)(client):
                self.statuses[answer.status] += 1

    def _fields(self) -> dict[str, object]:
        texts = self._numbers.sample(self._texts, self._numbers.choice((1, 1, 1, 10)))
        form = self._numbers.choice(("sentence", "text", "html"))
        return dict(text=texts, source="en", target="fr", format=form, beam=self._numbers.choice((1, 4)))

    async def _translate(self, client: Client) -> Answer:
        fields = self._fields()
        return self._compare(fields, await client.ask("/v1/translate", fields))

    def _compare(self, fields: dict[str, object], answer: Answer) -> Answer:
        if answer.status == 200:
            for text, said in zip(fields["text"], json.loads(answer.body)["translations"], strict=True):
                key = text, fields["format"], fields["beam"]
                self.different += self._said.setdefault(key, json.dumps(said)) != json.dumps(said)
        return answer

    async def _translate_as_libretranslate(self, client: Client) -> Answer:
        texts = self._numbers.sample(self._texts, 3)
        answer = await client.ask("/translate", dict(q=texts, source="auto", target="fr"))
        if answer.status == 200:
            for text, said in zip(texts, json.loads(answer.body)["translatedText"], strict=True):
                self.different += self._said.setdefault((text, "", 0), said) != said
        return answer

    async def _explain(self, client: Client) -> Answer:
        edits = self._numbers.choice(([], [dict(edit="lift_mask", part="decoder.layers.0.self_attention")]))
        fields = dict(text=self._numbers.choice(self._texts), source="en", target="fr", edits=edits)
        return await client.ask("/v1/explain", fields | dict(tensors=["*.weights"]))

    async def _stream(self, client: Client) -> Answer:
        return await client.ask("/v1/stream", dict(text=self._texts[0], source="en", target="fr"))

    async def _page(self, client: Client) -> Answer:
        return await client.ask(self._numbers.choice(PAGES))

    async def _break(self, client: Client) -> Answer:
        return await client.ask("/v1/translate", self._numbers.choice(BROKEN))

    async def _be_slow(self, client: Client) -> Answer:
        fields = self._fields()
        body, writer = json.dumps(fields).encode(), await client.connect()
        head = HEAD.format("/v1/translate", f"Content-Length: {len(body)}\r\n").encode()
        for part in (head[:20], head[20:], body[:10], body[10:]):
            writer.write(part)
            await asyncio.sleep(self._numbers.random() * 0.1)
        return self._compare(fields, await client.read(time.perf_counter()))

    async def _send(self, client: Client, path: str, more: str, body: bytes) -> None:
        (await client.connect()).write(HEAD.format(path, more).encode() + body)
        await asyncio.sleep(self._numbers.random() * 0.1)
        client.close()

    async def _go_in_the_body(self, client: Client) -> None:
        await self._send(client, "/v1/translate", "Content-Length: 100\r\n", b'{"text"')

    async def _go_while_it_works(self, client: Client) -> None:
        body = json.dumps(self._fields() | {"text": self._texts[:30]}).encode()
        await self._send(client, "/v1/translate", f"Content-Length: {len(body)}\r\n", body)

    async def _go_in_the_stream(self, client: Client) -> None:
        body = json.dumps(dict(text=self._texts[1], source="en", target="fr")).encode()
        await self._send(client, "/v1/stream", f"Content-Length: {len(body)}\r\n", body)

    async def _break_chunks(self, client: Client) -> None:
        await self._send(client, "/v1/translate", "Transfer-Encoding: chunked\r\n", b"zz\r\n")


def soak(log: Path, count: int) -> tuple[Soak, list[tuple[float, float, float]]]:
    """Send so many requests. Return what was seen, and open files, threads and memory after each fifth."""
    server, levels = Server(log, "demo", "--precision", "int8", limits=UNLIMITED), []
    played = Soak(server)
    for _ in range(5):
        asyncio.run(played.play(count // 5))
        time.sleep(2)
        levels.append((server.files, server.threads, server.megabytes))
    assert server.stop() == 0
    return played, levels


def soak_rows(log: Path, count: int) -> list[list[str]]:
    """Return the rows about the soak."""
    played, levels = soak(log, count)
    rows = [["soak: statuses", counts(played.statuses), "no 500"]]
    names = "open files", "threads", "resident memory, MB"
    for name, each in zip(names, zip(*levels, strict=True), strict=True):
        rows.append([f"soak: {name} after each fifth", ", ".join(f"{level:.0f}" for level in each), "level"])
    return [*rows, ["soak: answers unlike the first to the same text", f"{played.different}", "0"]]


def overload(log: Path, model: Path, minutes: float) -> list[list[str]]:
    """Return the rows about the overload."""
    server = Server(log, str(model), "--precision", "int8", limits=())
    can_do = asyncio.run(capacity(server))
    played = Overload(server, can_do)
    recovery = asyncio.run(played.play(60 * minutes))
    assert server.stop() == 0
    later = [size for when, size in played.megabytes if when > min(60, 30 * minutes)]
    offered = 60 * minutes * played.rate
    tries = played.second_tries
    came = f"{played.offered} requests; for {played.no_client} of them no client was free"
    return [
        ["overload: sentences a second that it can do", f"{can_do:.1f}", ""],
        [f"overload: what came at random in {minutes:g} minutes", came, f"{offered:.0f}"],
        ["overload: statuses", counts(played.statuses), "200, 429, 503"],
        [
            "overload: resident memory from the second minute, MB",
            f"{min(later):.0f} to {max(later):.0f} ({max(later) / min(later) - 1:.1%})",
            "<= 5%",
        ],
        ["overload: /health, 99 in 100", f"{1000 * share(played.health, 0.99):.0f} ms", "< 100 ms"],
        [
            "overload: of those that obey, came the second time and were answered",
            f"{tries[True]} of {tries.total()} ({tries[True] / max(1, tries.total()):.1%})",
            ">= 95%",
        ],
        ["overload: normal again after", f"{recovery:.1f} s", "<= 2 s"],
    ]


async def capacity(server: Server) -> float:
    """Return how many sentences a second it translates."""
    async with clients(server, 100) as many:
        for _ in range(2):  # the first warms it up
            began = time.perf_counter()
            await asyncio.gather(*(each.translate(sentences(3, seed=n)) for n, each in enumerate(many)))
    return 300 / (time.perf_counter() - began)


def counts(statuses: Counter[int]) -> str:
    """Write how often each status came."""
    return ", ".join(f"{status}: {count}" for status, count in sorted(statuses.items()))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--model", type=Path, help="a folder that benchmarks/serve.py has made")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        model = arguments.model / "ours" if arguments.model else make_model(Path(name))
        rows = overload(Path(name) / "log", model, arguments.minutes)
        rows += soak_rows(Path(name) / "log", arguments.requests)
    about = [each.replace("\n", " ") for each in __doc__.strip().split("\n\n")[:-1]]
    about.append(f"{machine()}.")
    write_report(
        "serve_overload", "The server with too much to do", about, ("what", "measured", "goal"), rows
    )


if __name__ == "__main__":
    main()
