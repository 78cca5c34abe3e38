"""Decoding on a GPU in bf16 beside transformers' `generate`, turn by turn, with the same weights.

Transformer-base and -big with random weights and a vocabulary of 32,000; 25 source and exactly 25 target
tokens. The bound is the time to read the decoder's weights once a step, at the speed at which the GPU copies.
Needs `pip install "pellucid[interop]"` and a GPU; `--device cpu --sizes small` tries the script without one.

    python -m benchmarks.decode_gpu [--sizes base,big] [--sentences 1,32,256] [--beams 1,4] [--rounds 5]
"""

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch

from benchmarks import decode_engines as engines
from benchmarks.report import machine, write_report
from pellucid.model import Transformer


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--sizes", default="base,big")
    parser.add_argument("--sentences", default="1,32,256")
    parser.add_argument("--beams", default="1,4")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    device = torch.device(arguments.device)
    rows = []
    for size in arguments.sizes.split(","):
        model = engines.our_model(size).to(device, torch.bfloat16)
        theirs = engines.marian(model).to(device, torch.bfloat16)
        decoders = {
            "Pellucid bf16": engines.pellucid(model, "auto", torch.get_num_threads()),
            "transformers generate bf16": engines.generate(theirs, torch.get_num_threads()),
        }
        least = engines.LENGTH * decoder_bytes(model) / copies_a_second(device)
        for count in map(int, arguments.sentences.split(",")):
            for beam in map(int, arguments.beams.split(",")):
                times = measure(decoders, count, beam, arguments.rounds, device)
                for name, seconds in times.items():
                    speed, ratio = (
                        count * engines.LENGTH / seconds,
                        times["transformers generate bf16"] / seconds,
                    )
                    about = (size, str(count), str(beam), name)
                    rows.append([*about, f"{speed:,.0f}", f"{ratio:.2f}", f"{least / seconds:.1%}"])
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    columns = ("model", "sentences", "beam", "engine", "tokens a second", "ratio", "of the bound")
    write_report("decode_gpu", "Decoding speed on a GPU", [f"{name}; {machine()}."], columns, rows)


def measure(
    decoders: dict[str, engines.Decoder], count: int, beam: int, rounds: int, device: torch.device
) -> dict[str, float]:
    """The median of the seconds of each engine, all in turn."""
    numbers = np.random.default_rng(count)
    ids = numbers.integers(engines.END + 1, engines.VOCABULARY, (count, engines.LENGTH))
    ids[:, -1] = engines.END
    times: dict[str, list[float]] = {name: [] for name in decoders}
    for number in range(rounds + 1):  # the first warms up
        for name, decode in decoders.items():
            seconds = timed(lambda decode=decode: decode(ids.tolist(), beam), device)
            if number:
                times[name].append(seconds)
    return {name: statistics.median(each) for name, each in times.items()}


def timed(work: Callable[[], object], device: torch.device) -> float:
    """Seconds, until the device has done all of it."""
    wait = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    wait()
    started = time.perf_counter()
    work()
    wait()
    return time.perf_counter() - started


def decoder_bytes(model: Transformer) -> int:
    """The bytes of the weights that every step reads: the decoder's, and the matrix of the logits."""
    embedding = model.embedding or model.decoder.embedding
    read = [*model.decoder.parameters(), *(embedding.parameters() if embedding else ())]
    return sum(each.numel() * each.element_size() for each in {id(each): each for each in read}.values())


def copies_a_second(device: torch.device) -> float:
    """Bytes a second that the device reads, while it writes as many."""
    block = torch.empty(1 << 28, dtype=torch.uint8, device=device)
    timed(lambda: block.clone(), device)
    return 2 * block.numel() / min(timed(lambda: block.clone(), device) for _ in range(5))


if __name__ == "__main__":
    torch.set_grad_enabled(False)
    main()
