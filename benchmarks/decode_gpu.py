"""Decoding on a GPU in bf16 or fp16 beside transformers' `generate`, turn by turn, with the same weights.

Transformer-base and -big with random weights and a vocabulary of 32,000; 25 source and exactly 25 target
tokens. The bound is the time to read the decoder's weights once a step, at the speed at which the GPU copies.
Needs `pip install "pellucid[interop]"` and a GPU; `--device cpu --sizes small` tries the script without one.

    python -m benchmarks.decode_gpu [--sizes base,big] [--sentences 1,32,256] [--beams 1,4] [--rounds 5]
                                    [--type bf16|fp16|fp32]
"""

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch

from benchmarks import decode_engines as engines
from benchmarks.decode import same
from benchmarks.report import machine, write_report
from pellucid.decoding.captured import CapturedEngine
from pellucid.decoding.pytorch import TransformerDecoder
from pellucid.model import Transformer

TYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
THEIRS = "transformers generate"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--sizes", default="base,big")
    parser.add_argument("--sentences", default="1,32,256")
    parser.add_argument("--beams", default="1,4")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--type", default="bf16", choices=TYPES)
    arguments = parser.parse_args()
    device, dtype = torch.device(arguments.device), TYPES[arguments.type]
    rows = []
    for size in arguments.sizes.split(","):
        model = engines.our_model(size).to(device, dtype)
        theirs = engines.marian(model).to(device, dtype)
        threads = torch.get_num_threads()
        decoders = {
            "Pellucid": engines.ours(CapturedEngine(model), threads),
            "Pellucid without graphs": engines.ours(TransformerDecoder(model), threads),
            THEIRS: engines.generate(theirs, threads),
        }
        least = engines.LENGTH * decoder_bytes(model) / copies_a_second(device)
        for count in map(int, arguments.sentences.split(",")):
            for beam in map(int, arguments.beams.split(",")):
                times, said = measure(decoders, count, beam, arguments.rounds, device)
                for name, seconds in times.items():
                    speed, ratio = count * engines.LENGTH / seconds, times[THEIRS] / seconds
                    about, alike = (size, str(count), str(beam), name), same(said[name], said[THEIRS])
                    numbers = f"{speed:,.0f}", f"{ratio:.2f}", f"{least / seconds:.1%}", f"{alike:.0%}"
                    rows.append([*about, *numbers])
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    columns = ("model", "sentences", "beam", "engine", "tokens a second", "ratio", "of the bound", "alike")
    about_all = [f"{name}; {machine()}; {arguments.type}. Ratios and tokens: to those of transformers."]
    write_report("decode_gpu", "Decoding speed on a GPU", about_all, columns, rows)


def measure(
    decoders: dict[str, engines.Decoder], count: int, beam: int, rounds: int, device: torch.device
) -> tuple[dict[str, float], dict[str, list[list[int]]]]:
    """Return the median of the seconds of each engine, measured in turn, and the translations of each."""
    numbers = np.random.default_rng(count)
    ids = numbers.integers(engines.END + 1, engines.VOCABULARY, (count, engines.LENGTH))
    ids[:, -1] = engines.END
    times: dict[str, list[float]] = {name: [] for name in decoders}
    said = {name: decode(ids.tolist(), beam) for name, decode in decoders.items()}  # this also warms up
    for _ in range(rounds):
        for name, decode in decoders.items():
            times[name].append(timed(lambda decode=decode: decode(ids.tolist(), beam), device))
    return {name: statistics.median(each) for name, each in times.items()}, said


def timed(work: Callable[[], object], device: torch.device) -> float:
    """Seconds, until the device has done all of it."""
    wait = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    wait()
    started = time.perf_counter()
    work()
    wait()
    return time.perf_counter() - started


def decoder_bytes(model: Transformer) -> int:
    """Return the bytes of the weights that every step reads: the decoder's, and the matrix of the logits."""
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
