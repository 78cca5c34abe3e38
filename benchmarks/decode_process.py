"""A process of its own for each engine: seconds from its start to the first translation, and its memory.

transformer-base with random weights, in a model folder and in CTranslate2's; two threads. Then 32 sentences
are translated with beam 4. Needs Linux and `pip install "pellucid[interop]" ctranslate2`.

    python -m benchmarks.decode_process [--rounds 5]
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.report import machine, write_report

ENGINES = ["Pellucid int8", "Pellucid fp32", "CTranslate2 int8", "CTranslate2 fp32"]


def prepare(folder: Path) -> None:
    """Write the model for both."""
    from benchmarks.decode_engines import VOCABULARY, our_model
    from pellucid.config.schema import Config, DataConfig, VocabularyConfig
    from pellucid.folder.checkpoint import save_model
    from pellucid.folder.load import load_model
    from pellucid.interop.ctranslate2_export import write_ctranslate2
    from pellucid.text.vocabulary_training import train_vocabulary

    model = our_model()
    lines = [f"w{number}" for number in range(VOCABULARY)]
    about = VocabularyConfig(kind="word", size=VOCABULARY)
    vocabulary = train_vocabulary(lines, lines, about, DataConfig())
    save_model(folder / "pellucid", model, vocabulary, Config(model=model.config), {})
    for kind, name in (("int8", "int8"), ("fp32", "float32")):
        (folder / kind).mkdir()
        write_ctranslate2(load_model(folder / "pellucid"), folder / kind, name)


def child(name: str, folder: Path) -> None:
    """Be that process."""
    engine, kind = name.split()
    text = " ".join(f"w{number}" for number in range(100, 124))
    if engine == "Pellucid":
        from pellucid.translator import load

        translator = load(folder / "pellucid", "cpu", kind)

        def run(texts: list[str], beam: int) -> None:
            translator.translate(texts, beam=beam, min_length=24, max_length=25)
    else:
        import ctranslate2

        compute = {"int8": "int8", "fp32": "float32"}[kind]
        threads = dict(inter_threads=2, intra_threads=1)
        theirs = ctranslate2.Translator(str(folder / kind), compute_type=compute, **threads)

        def run(texts: list[str], beam: int) -> None:
            pieces = [[f"▁{word}" for word in text.split()] + ["</s>"] for text in texts]
            limits = dict(min_decoding_length=25, max_decoding_length=25, max_batch_size=16)
            theirs.translate_batch(pieces, beam_size=beam, **limits)

    run([text], 1)
    print("ready", flush=True)
    before = peak()
    run([text] * 32, 4)
    print(before, peak(), flush=True)


def peak() -> float:
    """Return the most memory of this process so far, in MB. getrusage could return that of the parent."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def measure(name: str, folder: Path) -> tuple[float, float, float]:
    """Seconds to the first translation, MB then, and MB after all."""
    command = [sys.executable, "-m", "benchmarks.decode_process", "--child", name, "--folder", str(folder)]
    started = time.perf_counter()
    environment = os.environ | {"OMP_NUM_THREADS": "2"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        process.stdout.readline()
        ready = time.perf_counter() - started
        first, last = map(float, process.stdout.readline().split())
    return ready, first, last


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.child, arguments.folder)
        return
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        found = {name: [measure(name, Path(folder)) for _ in range(arguments.rounds)] for name in ENGINES}
    rows = []
    for name, each in found.items():
        ready, first, last = (statistics.median(column) for column in zip(*each, strict=True))
        rows.append([name, f"{ready:.2f}", f"{first:,.0f}", f"{last:,.0f}"])
    about = (
        "Seconds from the start of a process to its first translation (25 tokens, greedy; the files are in "
        "the system's cache), and the most memory of the process, PyTorch included where it is imported: "
        f"then, and after 32 sentences with beam 4. Medians of {arguments.rounds} processes.",
        f"transformer-base with random weights. {machine()}.",
    )
    columns = ("engine", "seconds to the first translation", "MB then", "MB after 32 with beam 4")
    write_report("decode_process", "Start and memory", about, columns, rows)


if __name__ == "__main__":
    main()
