"""Translate a text or a Parquet file on a Ray cluster: each line once and in order, whichever worker is lost.

    pip install "pellucid[scale]"
    python examples/bulk_on_ray.py demo in.txt out.txt --to es --actors 2
    python examples/bulk_on_ray.py demo in.parquet out.parquet --to es --actors 2

Each actor loads the model once. If one is killed, Ray starts another and gives it the same lines again. Text
is what `pellucid translate` reads and writes, in files that all machines see. The column "text" of Parquet is
translated into the column "translation". The script itself writes the file, as blocks come in their order:
files that workers write are not named in that order after one of them was killed.
"""

import argparse
import itertools
import os
from collections.abc import Iterator
from typing import Any

import pyarrow
import pyarrow.parquet
import ray
from ray.data import ActorPoolStrategy, DataContext, Dataset, from_items

import pellucid

BLOCK = 1000  # lines that are translated together


class Translate:
    """An actor with a model."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.translator = pellucid.load(arguments.model, precision=arguments.precision)
        self.to, self.beam = arguments.to, arguments.beam

    def __call__(self, block: pyarrow.Table) -> pyarrow.Table:
        """Return the block with its translations: of each text, or of all lines in each range of a file."""
        given = block.to_pydict()
        if "text" in given:
            translations = self.translate([text or "" for text in given["text"]])
        else:
            ranges = zip(given["path"], given["start"], given["end"], strict=True)
            translations = ["\n".join(self.translate(lines(*each))) for each in ranges]
        return block.append_column("translation", pyarrow.array(translations, pyarrow.string()))

    def translate(self, texts: list[str]) -> list[str]:
        """Return the translations of some texts."""
        return [each.text for each in self.translator.translate(texts, self.to, beam=self.beam)]


def ranges(path: str) -> Iterator[dict[str, Any]]:
    """Yield where each BLOCK of lines in a text file begins and ends. Only these places go to the actors."""
    start = end = 0
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            end += len(line)
            if number % BLOCK == 0:
                yield {"path": path, "start": start, "end": end}
                start = end
    if start < end:
        yield {"path": path, "start": start, "end": end}


def lines(path: str, start: int, end: int) -> list[str]:
    """Read a range of lines, which end at line feeds only, without byte order mark and carriage returns."""
    with open(path, "rb") as file:
        file.seek(start)
        text = file.read(end - start).decode("utf-8" if start else "utf-8-sig")
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]


def main(arguments: argparse.Namespace, actor: type = Translate) -> None:
    """Translate a file with actors of this class."""
    source, out = os.path.abspath(arguments.source), os.path.abspath(arguments.out)
    if os.path.exists(out):
        raise SystemExit(f"{out} already exists. Choose another name.")
    DataContext.get_current().execution_options.preserve_order = True
    is_table = source.endswith(".parquet")
    texts = ray.data.read_parquet(source) if is_table else from_items([*ranges(source)])
    translated = texts.map_batches(
        actor,
        batch_size=BLOCK if is_table else 1,
        batch_format="pyarrow",
        fn_constructor_args=(arguments,),
        compute=ActorPoolStrategy(size=arguments.actors),
        num_cpus=0.5,  # leaves place for reading and writing; num_gpus=1 gives each actor a GPU
    )
    (write_table if is_table else write_text)(translated, f"{out}.part")
    os.replace(f"{out}.part", out)


def write_text(translated: Dataset, path: str) -> None:
    """Write the translated ranges of lines."""
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        for row in translated.iter_rows():
            file.write(row["translation"] + "\n")


def write_table(translated: Dataset, path: str) -> None:
    """Write the translated rows, in one Parquet file."""
    blocks = iter(translated.iter_batches(batch_size=None, batch_format="pyarrow"))
    first = next(blocks, None)
    if first is None:
        raise SystemExit("The table has no rows.")
    with pyarrow.parquet.ParquetWriter(path, first.schema) as file:
        for block in itertools.chain([first], blocks):
            file.write_table(block)


def parsed(argv: list[str] | None = None) -> argparse.Namespace:
    """Return the arguments of the command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", help="a model folder that all machines see, or demo")
    parser.add_argument("source", help="a text, or a .parquet file or folder")
    parser.add_argument("out", help="the new text or Parquet file")
    parser.add_argument("--to", help="the target language, if the model has several")
    parser.add_argument("--beam", type=int, help="how many hypotheses the search keeps")
    parser.add_argument("--precision", default="auto", help="fp32, bf16, fp16 or int8")
    parser.add_argument("--actors", type=int, default=2, help="how many models translate at once")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main(parsed())
