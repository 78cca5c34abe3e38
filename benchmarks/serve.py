"""The server beside the engine that it is made of, and beside a loop over CTranslate2.

An imported MarianMT of transformer-base's shape with random weights, int8, beam 4, 25 tokens for each
sentence of some twenty; the server is a process of its own. The clients (coroutines with plain sockets, in
one other process) share its processor; what it is compared with has the processor to itself.

- 200 clients with one sentence each, at once, beside `translate` with these 200 sentences in one call.
- A list of 50 strings, as Weblate sends it, beside CTranslate2 with one string after another, as
  LibreTranslate translates a list; of CTranslate2's settings the fastest. Twice: without placeholders, and
  with one in each string. A model with random weights loses every placeholder, so that each string is
  translated a second time, without it: the worst case.
- One sentence at a time: alone, and while others come at random at half of what the server can do.
- From the start of the command to the first answer.

    python -m benchmarks.serve [--rounds 5] [--model FOLDER]
"""

import argparse
import asyncio
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.report import machine, write_report
from benchmarks.serve_parts import BEAM, LENGTH, Client, Server, check, clients, make_model, sentences, share

CLIENTS, LIST, ALONE, SECONDS, STARTS = 200, 50, 100, 40, 5
PLACEHOLDERS = ("%s", "{name}", "%1$s", "{{count}}")
CT2_SETTINGS = [(kind, threads) for kind in ("int8", "float32") for threads in (1, 2)]


def strings(with_placeholders: bool) -> list[str]:
    """Return a list as Weblate sends it."""
    texts = sentences(LIST, seed=2)
    if not with_placeholders:
        return texts
    placed = enumerate(texts)
    return [text.replace(",", f", {PLACEHOLDERS[number % 4]}", 1) for number, text in placed]


def engine(folder: str) -> None:
    """Translate in one call whenever a line comes, and say how long it took: a process of its own."""
    import pellucid

    translator, texts = pellucid.load(folder, "cpu", "int8"), sentences(CLIENTS)
    translator.translate(texts)
    for _ in sys.stdin:
        began = time.perf_counter()
        translator.translate(texts)
        print(time.perf_counter() - began, flush=True)


def loops(folder: Path) -> dict[str, Callable[[Sequence[str]], None]]:
    """CTranslate2 with one text after another, in several settings."""
    import ctranslate2
    import sentencepiece
    from ctranslate2.converters import TransformersConverter

    reader = sentencepiece.SentencePieceProcessor(model_file=str(folder / "source.spm"))

    def make(kind: str, threads: int) -> Callable[[Sequence[str]], None]:
        converted = folder / kind
        if not converted.exists():
            TransformersConverter(str(folder)).convert(str(converted), quantization=kind)
        options: dict[str, Any] = dict(inter_threads=1, intra_threads=threads, compute_type=kind)
        translator = ctranslate2.Translator(str(converted), device="cpu", **options)

        def run(texts: Sequence[str]) -> None:
            for text in texts:
                tokens = [*reader.encode(text, out_type=str), "</s>"]
                said = translator.translate_batch([tokens], beam_size=BEAM, max_decoding_length=LENGTH)
                reader.decode(said[0].hypotheses[0])

        return run

    return {f"{kind}, {threads} threads": make(kind, threads) for kind, threads in CT2_SETTINGS}


def seconds_of(run: Callable[[], Any]) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


async def at_once(server: Server) -> float:
    """Return the seconds until all clients have their answers."""
    async with clients(server, CLIENTS) as many:
        pairs = zip(many, sentences(CLIENTS), strict=True)
        began = time.perf_counter()
        answers = await asyncio.gather(*(client.translate(text) for client, text in pairs))
        seconds = time.perf_counter() - began
    check(answers)
    return seconds


async def a_list(server: Server, texts: list[str]) -> float:
    """Return the seconds for a list."""
    async with clients(server, 1) as (client,):
        answer = await client.ask("/translate", {"q": texts, "source": "en", "target": "fr"})
    check([answer])
    return answer.seconds


async def alone(server: Server) -> list[float]:
    """Return the seconds of each sentence, one after the other."""
    async with clients(server, 1) as (client,):
        return [(await client.translate(text)).seconds for text in sentences(ALONE, seed=3)]


async def in_a_stream(server: Server, rate: float) -> list[float]:
    """Return the seconds of each sentence, when so many come a second, at random."""
    numbers, texts, asking = random.Random(1), sentences(int(rate * SECONDS), seed=4), []
    async with clients(server, CLIENTS) as many:
        free = [*many]

        async def ask(text: str) -> float:
            client = free.pop()
            answer = await client.translate(text)
            free.append(client)
            check([answer])
            return answer.seconds

        for text in texts:
            asking.append(asyncio.create_task(ask(text)))
            await asyncio.sleep(numbers.expovariate(rate))
        return await asyncio.gather(*asking)


def first_answer(model: Path, log: Path) -> float:
    """Return the seconds from the start of the command to the first answer."""
    began = time.perf_counter()
    server = Server(log, str(model), "--precision", "int8")
    answer = asyncio.run(Client(server).translate("How are you?"))
    seconds = time.perf_counter() - began
    check([answer])
    server.stop()
    return seconds


def measure(model: Path, marian: Path, rounds: int, log: Path) -> list[list[str]]:
    """Return the rows of the table."""
    starts = [first_answer(model, log) for _ in range(STARTS)]
    server = Server(log, str(model), "--precision", "int8")
    itself = [sys.executable, "-W", "ignore", "-m", "benchmarks.serve", "--engine", str(model)]
    with subprocess.Popen(itself, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin is not None and child.stdout is not None
        asyncio.run(at_once(server))
        theirs, ours = [], []
        for _ in range(rounds):
            child.stdin.write("\n")
            child.stdin.flush()
            theirs.append(float(child.stdout.readline()))
            ours.append(asyncio.run(at_once(server)))
        child.stdin.close()
    rows = [a_row(f"{CLIENTS} clients, sentences a second", CLIENTS, ours, theirs, "one call", ">= 0.85")]
    settings = loops(marian)
    speeds = {name: seconds_of(lambda run=run: run(strings(False))) for name, run in settings.items()}
    best = min(speeds, key=speeds.__getitem__)
    for name, texts in (("no", strings(False)), ("a", strings(True))):
        lists, loop = [], []
        for _ in range(rounds):
            loop.append(seconds_of(lambda texts=texts: settings[best](texts)))
            lists.append(asyncio.run(a_list(server, texts)))
        title = f"a list of {LIST} with {name} placeholder in each, strings a second"
        rows.append(a_row(title, LIST, lists, loop, f"CTranslate2 {best}", ">= 5"))
    single = asyncio.run(alone(server))
    rate = CLIENTS / statistics.median(ours) / 2
    stream = asyncio.run(in_a_stream(server, rate))
    for name, seconds in (("alone", single), (f"at half load, {rate:.0f} a second", stream)):
        p50, p99 = (f"{1000 * share(seconds, part):.0f} ms" for part in (0.5, 0.99))
        rows.append([f"one sentence, {name}: half of them, and 99 in 100", f"{p50}, {p99}", "", "", ""])
    said = f"{statistics.median(starts):.1f} s ({min(starts):.1f} to {max(starts):.1f})"
    rows.append([f"start to first answer, median of {STARTS}", said, "", "", "<= 3 s"])
    assert server.stop() == 0
    return rows


def a_row(
    name: str, count: int, ours: Sequence[float], theirs: Sequence[float], beside: str, goal: str
) -> list[str]:
    ratios = sorted(other / own for own, other in zip(ours, theirs, strict=True))
    speeds = [count / statistics.median(each) for each in (ours, theirs)]
    ratio = f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
    return [name, f"{speeds[0]:.1f}", f"{speeds[1]:.1f} ({beside})", ratio, goal]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--model", type=Path, help="a folder that an earlier run has made, with both forms")
    parser.add_argument("--engine", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.engine:
        engine(arguments.engine)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = arguments.model or Path(name)
        model = folder / "ours" if arguments.model else make_model(folder)
        rows = measure(model, folder / "marian", arguments.rounds, Path(name) / "log")
    paragraphs = __doc__.strip().split("\n\n")[:-1]
    about = [each if each.startswith("-") else each.replace("\n", " ") for each in paragraphs]
    about.append(f"Medians of {arguments.rounds} rounds, in turns; ratios of each round. {machine()}.")
    write_report("serve", "The server", about, ("what", "server", "beside it", "ratio", "goal"), rows)


if __name__ == "__main__":
    main()
