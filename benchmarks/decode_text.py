"""Decoding a file: all of its sentences at once, each engine with batches as it likes, and one at a time.

With --model a trained model, and its quality; without, the random weights of transformer-base that
benchmarks/decode.py has, on sources of the file's lengths (in pieces of a vocabulary of 7,000 made from it),
with exactly 25 target tokens. Needs `pip install "pellucid[interop]" ctranslate2`.

    python -m benchmarks.decode_text FILE.en [--model FOLDER [--to es] --reference FILE.de]
                                     [--name newstest2013] [--sentences 400] [--one-by-one 60] [--rounds 3]
                                     [--only NAME,…]
"""

import argparse
import gzip
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks import decode_engines as engines
from benchmarks.decode import CT2_SETTINGS
from benchmarks.report import machine, write_report
from pellucid.config.schema import DataConfig, VocabularyConfig
from pellucid.folder.load import load_model
from pellucid.interop.ctranslate2_export import tokens_of, write_ctranslate2
from pellucid.text.vocabulary_training import train_vocabulary
from pellucid.translate.evaluate import evaluate
from pellucid.translator import load

BEAM = 4
OURS = [("int8", 2), ("int8", 1), ("fp32", 2)]


def random_base(
    lines: Sequence[str], text: Sequence[str], folder: Path
) -> tuple[dict[str, engines.Decoder], list[list[int]]]:
    """Engines with random weights, and sources as long as the lines, in pieces made from the whole text."""
    vocabulary = train_vocabulary(text, text, VocabularyConfig(size=7000), DataConfig())
    model = engines.our_model()
    folders = engines.convert(engines.marian(model), folder)
    made = {
        f"Pellucid {kind} ({threads} threads)": engines.pellucid(model, kind, threads)
        for kind, threads in OURS
    }
    for kind, workers, threads in CT2_SETTINGS:
        name = f"CTranslate2 {kind} ({workers} x {threads})"
        made[name] = engines.ctranslate2(folders[kind], kind, workers, threads)
    return made, [list(vocabulary.encode_source(line)) for line in lines]


def trained(
    lines: Sequence[str], path: Path, to: str | None, folder: Path
) -> tuple[dict[str, engines.Decoder], list[list[int]], Callable[[list[int]], str]]:
    """Engines with a trained model's weights, its sources, and what makes text of ids."""
    loaded = load_model(path)
    made = {f"Pellucid {kind} ({threads} threads)": ours(path, to, kind, threads) for kind, threads in OURS}
    made["Pellucid bf16 (2 threads)"] = ours(path, to, "bf16", 2)
    for kind, name in (("fp32", "float32"), ("int8", "int8")):
        (folder / kind).mkdir()
        write_ctranslate2(loaded, folder / kind, name)
    for kind, workers, threads in CT2_SETTINGS:
        name = f"CTranslate2 {kind} ({workers} x {threads})"
        made[name] = theirs(folder / kind, kind, workers, threads, loaded.vocabulary)
    sources = [list(loaded.vocabulary.encode_source(line, to)) for line in lines]
    return made, sources, lambda ids: loaded.vocabulary.decode_target(ids)


def ours(path: Path, to: str | None, precision: str, threads: int) -> engines.Decoder:
    """Pellucid, by translate_ids."""
    translator = load(path, "cpu", precision)

    def run(sources: engines.Sources, beam: int) -> list[list[int]]:
        torch.set_num_threads(threads)
        said = translator.translate_ids(sources, to=to, beam=beam)
        return [each.hypotheses[0].token_ids for each in said]

    return run


def theirs(folder: Path, precision: str, workers: int, threads: int, vocabulary: Any) -> engines.Decoder:
    """CTranslate2, with our limit of length."""
    import ctranslate2

    compute = {"fp32": "float32", "int8": "int8"}[precision]
    options: dict[str, Any] = dict(inter_threads=workers, intra_threads=threads, compute_type=compute)
    translator = ctranslate2.Translator(str(folder), device="cpu", **options)
    pieces, words = tokens_of(vocabulary.source), tokens_of(vocabulary.target)
    ids = {word: number for number, word in enumerate(words)}
    suppressed = [[words[each]] for each in (vocabulary.unknown_id, vocabulary.start_id, vocabulary.pad_id)]

    def run(sources: engines.Sources, beam: int) -> list[list[int]]:
        texts = [[pieces[token] for token in source] for source in sources]
        found = translator.translate_batch(
            texts, beam_size=beam, max_batch_size=32, suppress_sequences=suppressed, return_end_token=True
        )
        return [[ids[word] for word in each.hypotheses[0]] for each in found]

    return run


def throughput(
    made: dict[str, engines.Decoder], sources: engines.Sources, rounds: int
) -> tuple[dict[str, float], dict[str, list[list[int]]]]:
    """Tokens a second of each engine, all in turn, the median of the rounds; and what it said."""
    said = {name: decode(sources, BEAM) for name, decode in made.items()}
    seconds: dict[str, list[float]] = {name: [] for name in made}
    for _ in range(rounds):
        for name, decode in made.items():
            started = time.perf_counter()
            decode(sources, BEAM)
            seconds[name].append(time.perf_counter() - started)
    count = {name: sum(map(len, each)) for name, each in said.items()}
    return {name: count[name] / statistics.median(each) for name, each in seconds.items()}, said


def latencies(made: dict[str, engines.Decoder], sources: engines.Sources) -> dict[str, tuple[float, float]]:
    """Return the milliseconds in which half of the sentences, and 99 in 100, are translated one at a time."""
    milliseconds: dict[str, list[float]] = {name: [] for name in made}
    for source in sources:
        for name, decode in made.items():
            started = time.perf_counter()
            decode([source], BEAM)
            milliseconds[name].append(1000 * (time.perf_counter() - started))
    return {
        name: (statistics.median(each), sorted(each)[-(len(each) // 100 + 1)])
        for name, each in milliseconds.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    option = parser.add_argument
    option("source", type=Path)
    option("--model", type=Path)
    option("--to")
    option("--reference", type=Path)
    option("--name", default="")
    option("--sentences", type=int, default=400)
    option("--one-by-one", type=int, default=60)
    option("--rounds", type=int, default=3)
    option("--only", default="")
    arguments = parser.parse_args()
    text = lines_of(arguments.source)
    lines = text[: arguments.sentences]
    with tempfile.TemporaryDirectory() as folder:
        text_of: Callable[[list[int]], str] | None = None
        if arguments.model:
            made, sources, text_of = trained(lines, arguments.model, arguments.to, Path(folder))
        else:
            made, sources = random_base(lines, text, Path(folder))
        only = tuple(filter(None, arguments.only.split(",")))
        made = {name: each for name, each in made.items() if not only or name.startswith(only)}
        speed, said = throughput(made, sources, arguments.rounds)
        waits = latencies(made, sources[: arguments.one_by_one])
    theirs_best = [max((speed[name] for name in made if name.startswith("CT")), default=0.0)]
    theirs_best += [min((waits[name][0] for name in made if name.startswith("CT")), default=0.0)]
    exact = said.get("Pellucid fp32 (2 threads)")
    rows = []
    for name in made:
        p50, p99 = waits[name]
        row = [name, f"{speed[name]:,.0f}", f"{speed[name] / theirs_best[0]:.2f}" if theirs_best[0] else ""]
        row += [f"{p50:,.1f}", f"{p99:,.1f}", f"{theirs_best[1] / p50:.2f}" if theirs_best[1] else ""]
        differ = [] if exact is None else [one != other for one, other in zip(said[name], exact, strict=True)]
        row.append(f"{sum(differ) / len(differ):.1%}" if differ else "")
        if text_of and arguments.reference:
            references = lines_of(arguments.reference)[: arguments.sentences]
            row.append(f"{evaluate([text_of(ids) for ids in said[name]], references).bleu:.2f}")
        rows.append(row)
    torch.set_num_threads(max(threads for _, threads in OURS))  # which the page names
    columns = ["engine", "tokens a second", "ratio", "p50 ms", "p99 ms", "ratio", "sentences unlike fp32"]
    columns += ["BLEU"] if text_of and arguments.reference else []
    mean = sum(map(len, sources)) / len(sources)
    about = (
        f"{len(sources)} sentences of {mean:.1f} tokens with their end tokens, beam {BEAM}: all at once "
        f"(the median of {arguments.rounds} rounds), and the first {arguments.one_by_one} one at a time. "
        "Ratios to the best of CTranslate2's set-ups (workers x threads).",
        f"{'A trained model' if arguments.model else 'Random weights of transformer-base'}. {machine()}.",
    )
    name = f"decode_{arguments.name or arguments.source.name.partition('.')[0]}"
    write_report(name, f"Decoding {arguments.source.name}", about, columns, rows, "decode_text")


def lines_of(path: Path) -> list[str]:
    """Return the lines of a text, unpacked if it is compressed."""
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return data.decode().removesuffix("\n").split("\n")


if __name__ == "__main__":
    torch.set_grad_enabled(False)
    main()
