"""A mixed stream: sentences with greedy search and with beam 4 arrive at random, and share the batches.

One session, one thread, int8, transformer-base with random weights; half of the sentences have beam 1, half
beam 4, 25 tokens each. The batch has them all at its start. In the stream they arrive as a Poisson process at
80% of the batch's throughput. What is compared is the throughput while the session is not idle, and the time
of a sentence from its arrival to its end with its time alone.

    python -m benchmarks.decode_stream [--sentences 300] [--rounds 3]
"""

import argparse
import random
import statistics
import time
from collections.abc import Sequence

import torch

from benchmarks.decode_engines import END, LENGTH, PAD, START, UNKNOWN, VOCABULARY, our_model
from benchmarks.report import processor, write_report
from pellucid.decoding.decoder import open_session
from pellucid.decoding.engine import Engine
from pellucid.search.options import Options
from pellucid.search.request import Request, SpecialIds

SPECIAL = SpecialIds(START, END, (PAD, UNKNOWN, START))
SOURCE, SHARE = 20, 0.8  # tokens of a source; of the batch's throughput, what arrives
RULES = {beam: Options(beam, min_length=LENGTH - 1) for beam in (1, 4)}


def requests(count: int) -> list[Request]:
    numbers = random.Random(1)
    sources = [[*numbers.choices(range(4, VOCABULARY), k=SOURCE - 1), END] for _ in range(count)]
    return [Request(n, LENGTH, (), source, 0, RULES[1 if n % 2 else 4]) for n, source in enumerate(sources)]


def play(
    engine: Engine, asked: Sequence[Request], arrivals: Sequence[float]
) -> tuple[float, dict[int, float]]:
    """Decode sentences that arrive at these times. Return the seconds in which the session was not idle, and
    the time of each sentence."""
    first = open_session(engine, asked, SPECIAL)  # with room for as many as are fast together
    for place in range(len(asked)):
        first.cancel(place)
    busy, times, numbers = 0.0, dict[int, float](), dict[int, int]()
    with first as session:
        begin = time.perf_counter()
        while len(times) < len(asked):
            now = time.perf_counter() - begin
            while len(numbers) < len(asked) and arrivals[len(numbers)] <= now:
                number = len(numbers)
                numbers[session.add(asked[number])] = number
            if session.is_idle:
                time.sleep(max(0.0, arrivals[len(numbers)] - now))
                continue
            began = time.perf_counter()
            ended = session.step().ended
            busy += time.perf_counter() - began
            for place in ended:
                number = numbers[place]
                times[number] = time.perf_counter() - begin - arrivals[number]
    return busy, times


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sentences", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    engine, asked = Engine(our_model(), "int8"), requests(arguments.sentences)
    rows = []
    for number in range(arguments.rounds):
        alone = {
            beam: statistics.median(
                play(engine, [request], [0.0])[0] for request in asked[:20] if request.options.beam == beam
            )
            for beam in RULES
        }
        batch = len(asked) / play(engine, asked, [0.0] * len(asked))[0]
        chance, at, arrivals = random.Random(number), 0.0, list[float]()
        for _ in asked:
            at += chance.expovariate(SHARE * batch)
            arrivals.append(at)
        busy, times = play(engine, asked, arrivals)
        p50 = {
            beam: statistics.median(times[each.number] for each in asked if each.options.beam == beam)
            for beam in RULES
        }
        each = [
            f"{1000 * p50[beam]:.0f} / {1000 * alone[beam]:.0f} = {p50[beam] / alone[beam]:.2f}"
            for beam in RULES
        ]
        stream = len(asked) / busy
        rows.append([str(number + 1), f"{batch:.1f}", f"{stream:.1f} ({stream / batch:.2f})", *each])
    about = (
        f"{__doc__.split(chr(10) * 2)[1].strip()}".replace("\n", " "),
        f"{arguments.sentences} sentences a round, on {processor()}.",
    )
    columns = (
        "round",
        "batch, sentences/s",
        "stream while not idle (of the batch)",
        "greedy: p50, ms / alone",
        "beam 4: p50, ms / alone",
    )
    write_report("decode_stream", "A mixed stream", about, columns, rows)


if __name__ == "__main__":
    main()
