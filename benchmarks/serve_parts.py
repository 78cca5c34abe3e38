"""What benchmarks/serve.py and benchmarks/serve_overload.py share: a model, a server in a process of its own,
and clients that cost little, because they share the processor with the server.

A client is a coroutine with a connection of its own. Each has its own address (127.0.1.1, 127.0.1.2, …), as
the server tells its clients apart by their addresses.
"""

import asyncio
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

VOCABULARY, LENGTH, BEAM = 32_000, 25, 4  # LENGTH: tokens of every translation
PIECES = 500  # that the SentencePiece models know; the other tokens are only said
ADDRESS = re.compile(r"http://([\d.]+):(\d+)\n")
UNLIMITED = ("client_requests_per_minute=1000000", "seconds=600")
END_OF_HEAD = b"\r\n\r\n"


def make_model(folder: Path) -> Path:
    """Write a MarianMT folder as OPUS-MT has them, transformer-base with random weights, and import it.
    Return the folder of the import. No translation ends before its 25th token."""
    import torch
    from transformers import MarianConfig, MarianMTModel

    from pellucid.interop.importing import import_model

    theirs = folder / "marian"
    theirs.mkdir()
    write_tokenizer(theirs)
    torch.manual_seed(0)
    pad = VOCABULARY - 1
    shape: dict[str, Any] = dict(
        vocab_size=VOCABULARY, d_model=512, encoder_layers=6, decoder_layers=6, encoder_ffn_dim=2048,
        decoder_ffn_dim=2048, encoder_attention_heads=8, decoder_attention_heads=8, scale_embedding=True,
        max_position_embeddings=512, pad_token_id=pad, decoder_start_token_id=pad, eos_token_id=0,
        forced_eos_token_id=0, activation_function="swish",
    )  # fmt: skip
    model = MarianMTModel(MarianConfig(**shape)).eval()
    with torch.no_grad():
        # Otherwise a tied model with random weights says its last token again and again.
        model.model.decoder.layers[-1].final_layer_norm.weight.normal_()
        model.final_logits_bias[0, 0] = -1000  # the end token
    model.generation_config.update(num_beams=BEAM, max_length=LENGTH + 1, bad_words_ids=[[pad], [1]])
    model.save_pretrained(theirs)
    return import_model(theirs, folder / "ours", check=False).out


def write_tokenizer(folder: Path) -> None:
    """Write SentencePiece models of the phrasebook, and a table of ids with tokens that they do not know."""
    import sentencepiece

    words = list[str]()
    for name in ("source", "target"):
        with (folder / f"{name}.spm").open("wb") as file:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(phrases()), model_writer=file, vocab_size=PIECES, minloglevel=2
            )
        model = sentencepiece.SentencePieceProcessor(model_file=str(folder / f"{name}.spm"))
        words += [model.id_to_piece(token) for token in range(3, model.get_piece_size())]
    known = ["</s>", "<unk>", *dict.fromkeys(words)]
    known += [f"▁w{number}" for number in range(VOCABULARY - 1 - len(known))]
    table = {token: number for number, token in enumerate([*known, "<pad>"])}
    (folder / "vocab.json").write_text(json.dumps(table, ensure_ascii=False), "utf-8")
    about = {"source_lang": "en", "target_lang": "fr", "tokenizer_class": "MarianTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(about))


def phrases() -> list[str]:
    """English sentences of the package's phrasebook."""
    from pellucid.data.phrasebook import split

    return sorted({each.source for part in split().values() for each in part if each.source_language == "en"})


def sentences(count: int, seed: int = 1) -> list[str]:
    """Return different sentences of some twenty tokens."""
    numbers, known = random.Random(seed), [each.rstrip(".!?") for each in phrases()]
    return [f"{', '.join(numbers.sample(known, 3))}." for _ in range(count)]


class Server:
    """A server in a process of its own, at a free port."""

    def __init__(self, log: Path, *arguments: str, limits: Sequence[str] = UNLIMITED) -> None:
        command = [sys.executable, "-W", "ignore", "-m", "pellucid", "serve", *arguments, "--port", "0"]
        for limit in limits:
            command += ["--limit", limit]
        self.log = log
        with log.open("w") as file:
            self.process = subprocess.Popen(command, stderr=file)
        while not (found := ADDRESS.search(log.read_text("utf-8"))):
            if self.process.poll() is not None:
                raise SystemExit(log.read_text("utf-8"))
            time.sleep(0.005)
        self.host, self.port = found[1], int(found[2])

    @property
    def megabytes(self) -> float:
        """Return its resident memory."""
        return self._status("VmRSS") / 1024

    @property
    def threads(self) -> int:
        """Return how many threads it has."""
        return self._status("Threads")

    @property
    def files(self) -> int:
        """Return how many files and connections it has open."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def _status(self, name: str) -> int:
        text = Path(f"/proc/{self.process.pid}/status").read_text("utf-8")
        return int(re.search(rf"{name}:\s+(\d+)", text)[1])  # type: ignore[index]

    def stop(self) -> int:
        """Stop it, and return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


class Answer(NamedTuple):
    """What a client got: the status, the seconds until then, the body, and Retry-After if it was there."""

    status: int
    seconds: float
    body: bytes
    retry_after: int | None


class Client:
    """A client with a connection that it keeps."""

    def __init__(self, server: Server, number: int = 0) -> None:
        self.server, self.address = server, f"127.0.{1 + number // 250}.{1 + number % 250}"
        self.reader: asyncio.StreamReader
        self.writer: asyncio.StreamWriter | None = None

    async def connect(self) -> asyncio.StreamWriter:
        """Connect, unless that is done."""
        if self.writer is None or self.writer.is_closing() or self.reader.at_eof():
            where = self.server.host, self.server.port
            self.reader, self.writer = await asyncio.open_connection(*where, local_addr=(self.address, 0))
        return self.writer

    async def ask(self, path: str, fields: Any = None) -> Answer:
        """Send a request (GET without fields), and wait for its answer."""
        body = b"" if fields is None else fields if isinstance(fields, bytes) else json.dumps(fields).encode()
        head = f"{'GET' if fields is None else 'POST'} {path} HTTP/1.1\r\nHost: x\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        began = time.perf_counter()
        (await self.connect()).write(head.encode() + body)
        return await self.read(began)

    async def read(self, began: float) -> Answer:
        """Read an answer."""
        said, answered = (await self.reader.readuntil(END_OF_HEAD)).lower(), b""
        if length := re.search(rb"content-length: (\d+)", said):
            answered = await self.reader.readexactly(int(length[1]))
        elif b"transfer-encoding: chunked" in said:
            while not answered.endswith(b"\r\n0\r\n\r\n"):
                answered += await self.reader.readuntil(b"\r\n")
        if b"connection: close" in said:
            self.close()
        after = re.search(rb"retry-after: (\d+)", said)
        seconds = time.perf_counter() - began
        return Answer(int(said.split()[1]), seconds, answered, int(after[1]) if after else None)

    async def translate(self, text: str | list[str], **fields: Any) -> Answer:
        """Ask for a translation."""
        return await self.ask("/v1/translate", {"text": text, "source": "en", "target": "fr", **fields})

    def close(self) -> None:
        """Close the connection."""
        if self.writer is not None:
            self.writer.close()
        self.writer = None


@asynccontextmanager
async def clients(server: Server, count: int) -> AsyncIterator[list[Client]]:
    """Yield clients that are connected, and close them."""
    made = [Client(server, number) for number in range(count)]
    await asyncio.gather(*(each.connect() for each in made))
    try:
        yield made
    finally:
        for each in made:
            each.close()


def check(answers: Sequence[Answer]) -> None:
    """End the benchmark if something was not answered."""
    if wrong := [each for each in answers if each.status != 200]:
        raise SystemExit(f"{len(wrong)} of {len(answers)} requests failed, such as {wrong[0]}")


def share(values: Sequence[float], part: float) -> float:
    """Return the value below which this part of them is."""
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]
