"""A mixed stream: sentences with greedy search and with beam 4 arrive at random, and share the steps.

One session, one thread, int8, transformer-base with random weights; half of the sentences have beam 1, half
beam 4, 25 tokens each. The batch has them all at its start. In a stream they arrive as a Poisson process at a
share of the batch's throughput, its load. Beside each other: the throughput at twice the load that the batch
can bear, where sentences always wait, to the batch's; and the median time of a sentence from its arrival to
its end, to its time alone.

What to expect: a step of n rows takes a + b n seconds, and a sentence in a stream of load u meets n rows of
which b n is the share u of the step. So each step takes a / (1 - u): a sentence takes about 1 / (1 - u) times
as long as alone, which is twice at half load and five times at 80%, whatever shares steps so.

    python -m benchmarks.decode_stream [--sentences 200] [--rounds 3]
"""

import argparse
import itertools
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
SOURCE = 20  # tokens
LOADS, TOO_MANY = (0.25, 0.5, 0.8), 2.0  # shares of the batch's throughput that arrive
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
    parser.add_argument("--sentences", type=int, default=200)
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
        busy, _ = play(engine, asked, arrivals(len(asked), TOO_MANY * batch, number))
        cells = [f"{batch:.1f}", f"{len(asked) / busy:.1f} ({len(asked) / busy / batch:.2f})"]
        for load in LOADS:
            _, times = play(engine, asked, arrivals(len(asked), load * batch, number))
            for beam in RULES:
                ours = [times[each.number] for each in asked if each.options.beam == beam]
                cells.append(f"{statistics.median(ours) / alone[beam]:.2f}")
        rows.append([str(number + 1), *cells, *(f"{1000 * alone[beam]:.0f}" for beam in RULES)])
    about = (
        *(each.replace("\n", " ") for each in __doc__.strip().split("\n\n")[1:3]),
        f"{arguments.sentences} sentences a round, on {processor()}.",
    )
    columns = [
        "round",
        "batch, sentences/s",
        "always some that wait (of the batch)",
        *(f"{load:.0%} load, {name}" for load in LOADS for name in ("greedy", "beam 4")),
        "alone, ms: greedy",
        "beam 4",
    ]
    write_report("decode_stream", "A mixed stream", about, columns, rows)


def arrivals(count: int, rate: float, seed: int) -> list[float]:
    """Return the seconds at which sentences arrive, `rate` a second on average."""
    chance = random.Random(seed)
    return [*itertools.accumulate(chance.expovariate(rate) for _ in range(count))]


if __name__ == "__main__":
    main()
