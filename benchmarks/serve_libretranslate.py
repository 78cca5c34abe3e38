"""LibreTranslate's own server beside ours: the list of 50 strings that Weblate sends, in one request.

Both run the same weights, a MarianMT of transformer-base's shape with random weights, in int8, beam 4, 25
tokens for each string. LibreTranslate gets them as packages of Argos Translate, which runs CTranslate2. The
random weights never end a sentence, so LibreTranslate is told the length; and because its splitter of
sentences downloads a model, it takes each string as the one sentence that it is. All else is its own.

    python -m venv elsewhere && elsewhere/bin/pip install libretranslate==1.9.6
    python -m benchmarks.serve_libretranslate elsewhere/bin/python [--rounds 5] [--model FOLDER]
"""

import argparse
import asyncio
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from benchmarks.report import machine, write_report
from benchmarks.serve import LIST, a_list, a_row, strings
from benchmarks.serve_parts import BEAM, LENGTH, Server, make_model

ADDRESS = re.compile(r"Running on http://([\d.]+):(\d+)")
# What runs in LibreTranslate's environment: its server, with the length of a translation and without a model
# that splits sentences.
START = f"""
import functools, sys
import ctranslate2
from argostranslate import sbd

class Translator(ctranslate2.Translator):
    def translate_batch(self, *texts, **options):
        return super().translate_batch(*texts, max_decoding_length={LENGTH}, **options)

ctranslate2.Translator = Translator
sbd.MiniSBDSentencizer.__init__ = lambda self, package: None
sbd.MiniSBDSentencizer.split_sentences = lambda self, text: [text]
sys.argv = ["libretranslate", "--host", "127.0.0.1", "--port", sys.argv[1], "--disable-web-ui"]
from libretranslate.main import main
main()
"""


def make_packages(marian: Path, folder: Path) -> Path:
    """Write a Marian model as two packages of Argos Translate: with fewer than two, LibreTranslate downloads
    some. Return their folder."""
    from ctranslate2.converters import TransformersConverter

    for source, target in (("en", "fr"), ("fr", "en")):
        package = folder / f"{source}_{target}"
        package.mkdir(parents=True)
        TransformersConverter(str(marian)).convert(str(package / "model"), quantization="int8")
        about = package / "model" / "config.json"
        # Argos Translate leaves the end token out, and CTranslate2 adds it if the model says so.
        about.write_text(json.dumps(json.loads(about.read_bytes()) | {"add_source_eos": True}))
        shutil.copy(marian / "source.spm", package / "sentencepiece.model")
        codes = {"from_code": source, "from_name": source, "to_code": target, "to_name": target}
        (package / "metadata.json").write_text(json.dumps(codes))
    return folder


@contextmanager
def libretranslate(python: Path, packages: Path, log: Path) -> Iterator[Any]:
    """Yield the address of LibreTranslate's server, which keeps what it writes beside its packages."""
    home = {f"XDG_{kind}_HOME": str(packages.with_name(kind)) for kind in ("DATA", "CONFIG", "CACHE")}
    settings = home | {"ARGOS_PACKAGES_DIR": str(packages), "ARGOS_BEAM_SIZE": str(BEAM)}
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with log.open("w") as file:
        command = [str(python), "-u", "-c", START, f"{port}"]
        process = subprocess.Popen(
            command, cwd=log.parent, env=os.environ | settings, stdout=file, stderr=subprocess.STDOUT
        )
    try:
        while not (found := ADDRESS.search(log.read_text("utf-8"))):
            if process.poll() is not None:
                raise SystemExit(log.read_text("utf-8"))
            time.sleep(0.1)
        yield SimpleNamespace(host=found[1], port=int(found[2]))
    finally:
        process.terminate()
        process.wait()


def measure(model: Path, marian: Path, python: Path, rounds: int, folder: Path) -> list[list[str]]:
    """Return the rows of the table."""
    rows = list[list[str]]()
    server: Any = Server(folder / "log", str(model), "--precision", "int8")
    with libretranslate(python, make_packages(marian, folder / "packages"), folder / "its.log") as theirs:
        for each in (server, theirs):
            asyncio.run(a_list(each, strings(False)))
        for name, texts in (("no", strings(False)), ("a", strings(True))):
            ours, its = list[float](), list[float]()
            for _ in range(rounds):
                its.append(asyncio.run(a_list(theirs, texts)))
                ours.append(asyncio.run(a_list(server, texts)))
            title = f"a list of {LIST} with {name} placeholder in each, strings a second"
            rows.append(a_row(title, LIST, ours, its, "LibreTranslate", ""))
    server.stop()
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("python", type=Path, help="of an environment in which libretranslate is installed")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--model", type=Path, help="a folder that an earlier run has made, with both forms")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = arguments.model or folder
        model = made / "ours" if arguments.model else make_model(made)
        rows = measure(model, made / "marian", arguments.python, arguments.rounds, folder)
    about = (
        __doc__.split("\n\n")[1].replace("\n", " "),
        f"Medians of {arguments.rounds} rounds, in turns; ratios of each round. {machine()}.",
    )
    columns = ("what", "ours", "beside it", "ratio")
    title = "Our server beside LibreTranslate's"
    write_report("serve_libretranslate", title, about, columns, [row[:-1] for row in rows])


if __name__ == "__main__":
    main()
