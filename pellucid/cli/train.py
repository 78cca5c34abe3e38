"""pellucid train: from parallel text to a model folder."""

import argparse
import dataclasses
import math
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pellucid.cli.arguments import Verbs, add_device, folder, setting, verb
from pellucid.cli.own_text import FILE, MINUTES, chosen_config, files_of, toml

if TYPE_CHECKING:
    from pellucid.config.schema import Config
    from pellucid.learning.step import Step

EXAMPLES = """
pellucid train --source train.en --target train.de --minutes 30 --out runs/mine
pellucid train examples/reverse.toml
pellucid train examples/multi30k-en-de.toml --out runs/small --set model.preset=small
pellucid train examples/multi30k-en-de.toml --out runs/small --set model.preset=small --resume
pellucid train examples/reverse.toml --record 1,100,1000 --record-only "*.weights"
"""
NOTES = """
With --source and --target, or --data, the settings are chosen to suit the text and the time. They are written
to OUT/train.toml, each with its reason, for you to change; some of the pairs are held out to validate on.
Ctrl-C finishes the step, saves, and says how to go on; a second one stops at once. The value of --set is
TOML, or else plain text; paths in it start at the working folder, those in the file at the file's.
"""
BEGINNING = 120  # bytes of a sentence to try


def add(verbs: Verbs) -> None:
    """The verb and its arguments."""
    about = "train a model, from two files or as a configuration says; the folder it writes is the model"
    parser = verb(verbs, "train", about, run, EXAMPLES, NOTES)
    option = parser.add_argument
    about = "the configuration: data, vocabulary, model, training"
    option("config", metavar="CONFIG.toml", nargs="?", help=about)
    option("--source", metavar="FILE", help="in place of CONFIG: the text to translate from, line by line")
    option("--target", metavar="FILE", help="its translation, line by line too")
    option("--data", metavar="FILE.tsv", help="both in one table: source, tab, target")
    about = f"how long to train (default: as CONFIG says; {MINUTES:.0f} without one)"
    option("--minutes", metavar="N", type=minutes, help=about)
    change = "change a setting: section.key=value; may be repeated"
    option(
        "--set", metavar="KEY=VALUE", dest="settings", type=setting, action="append", default=[], help=change
    )
    option(
        "--out",
        metavar="DIR",
        type=folder,
        help="the model folder (default: runs/ and the name of CONFIG or of the text)",
    )
    option("--resume", action="store_true", help="go on from the newest checkpoint, bit for bit")
    accept = "with --resume, let this setting (section.key) or the data differ; may be repeated"
    option("--accept", metavar="NAME", action="append", default=[], help=accept)
    recorded = "steps whose tensors are written to OUT/traces/step-N.npz; nothing is learned otherwise"
    option("--record", metavar="N,N,…", type=steps, default=(), help=recorded)
    only = "record the tensors whose names match, as in '*.weights' (default: all)"
    option("--record-only", metavar="GLOB", default="*", help=only)
    add_device(parser)


def run(arguments: argparse.Namespace) -> None:
    """A bar on a terminal, plain lines elsewhere; then what to try next."""
    from pellucid.cli.lines import tell
    from pellucid.config.toml_file import read
    from pellucid.learning.resume import check_accepted

    # Before torch is imported: what is wrong in the configuration shows at once.
    check_accepted(arguments.accept)
    files = files_of(arguments)
    name = Path(files[0]).name.lstrip(".").partition(".")[0] if files else Path(arguments.config).stem
    out = arguments.out or Path("runs") / name
    text = None
    if files:
        config, text = chosen_config(files, out, arguments)
        for line in (text or "").splitlines():
            tell(line)
    else:
        limit = {} if arguments.minutes is None else {"training.minutes": arguments.minutes}
        config = read(arguments.config, limit | dict(arguments.settings))
    from pellucid.folder.checkpoint import newest_step
    from pellucid.learning.display import show
    from pellucid.learning.run import training
    from pellucid.learning.stop import Interrupted, stop_on_signal

    accept, device, record, only = arguments.accept, arguments.device, arguments.record, arguments.record_only
    learning = training(config, out, arguments.resume, accept, device, tell, record, only)
    try:
        with stop_on_signal():
            show(_written(learning, out, text), config)
    except Interrupted as interrupted:
        again = _resuming(arguments, out)
        raise Interrupted(f"{interrupted}\nTo go on: {again}") from None
    except KeyboardInterrupt:
        if newest_step(out) is None:
            raise
        raise Interrupted(f"interrupted at once.\nTo go on: {_resuming(arguments, out)}") from None
    tell(f"The model is in {out}. To try it:")
    for line in _next(config, shlex.quote(str(out))):
        tell(f"  {line}")


def steps(argument: str) -> tuple[int, ...]:
    """1,100,1000 as numbers."""
    try:
        return tuple(int(number) for number in argument.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{argument!r}: write steps with commas between them, as in 1,100,1000"
        ) from None


def minutes(argument: str) -> float:
    """A time, as a number above 0."""
    try:
        number = float(argument)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{argument!r}: write a number of minutes, as in 30 or 0.5")
    return number


def _written(learning: "Iterator[Step]", out: Path, text: str | None) -> "Iterator[Step]":
    """The steps as they come; recorded ones are written, and at the first one the chosen settings."""
    from pellucid.folder.seal import writing
    from pellucid.show.recordings import write_recording

    for step in learning:
        if text is not None:
            with writing(out), open(out / FILE, "x", encoding="utf-8") as file:
                file.write(text)
            text = None
        if step.trace is not None:
            write_recording(step.trace, out, step.number)
        yield dataclasses.replace(step, trace=None)  # it need not stay in memory


def _resuming(arguments: argparse.Namespace, out: Path) -> str:
    """The same command once more, with --resume."""
    words = ["pellucid", "train", *([arguments.config] if arguments.config else [])]
    for name in ("source", "target", "data", "minutes"):
        if getattr(arguments, name) is not None:
            words += [f"--{name}", str(getattr(arguments, name))]
    for name, value in arguments.settings:
        words += ["--set", f"{name}={toml(value)}"]
    words += ["--out", str(out), "--resume"]
    for name in arguments.accept:
        words += ["--accept", name]
    if arguments.record:
        words += ["--record", ",".join(map(str, arguments.record))]
    if arguments.record_only != "*":
        words += ["--record-only", arguments.record_only]
    if arguments.device != "auto":
        words += ["--device", arguments.device]
    return shlex.join(words)


def _next(config: "Config", model: str) -> Sequence[str]:
    sentence = shlex.quote(_a_sentence(config))
    to = f" --to {shlex.quote(config.data.languages[0][1])}" if len(config.data.languages) > 1 else ""
    return (
        f"echo {sentence} | pellucid translate {model}{to}",
        f"pellucid explain {model} {sentence}{to} --html page.html",
        f"pellucid inspect {model}",
    )


def _a_sentence(config: "Config") -> str:
    """The beginning of the first line to validate on, or to train on."""
    from pellucid.data.corpus import read_lines

    first = next(read_lines((config.data.validation or config.data.train)[0][0]), b"")
    text = first[:BEGINNING].decode(errors="ignore").partition("\t")[0]
    printable = "".join(character for character in text if character.isprintable())
    whole_words = printable if len(first) <= BEGINNING else printable.rpartition(" ")[0] or printable
    return whole_words.strip().lstrip("-") or "…"
