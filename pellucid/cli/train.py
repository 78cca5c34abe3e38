"""pellucid train: from parallel text to a model folder."""

import argparse
import math
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from pellucid.cli.arguments import DEVICE, Option, folder, setting
from pellucid.errors import UsageError

if TYPE_CHECKING:
    from pellucid.config.schema import Config

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
CHOSEN = "train.toml"  # the chosen settings, in the model's folder
MINUTES = 30.0
BEGINNING = 120  # bytes of a sentence to try


def steps(argument: str) -> tuple[int, ...]:
    """Return 1,100,1000 as numbers."""
    try:
        return tuple(int(number) for number in argument.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{argument!r}: write steps with commas between them, as in 1,100,1000"
        ) from None


def minutes(argument: str) -> float:
    """Return a time as a number above 0."""
    try:
        number = float(argument)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{argument!r}: write a number of minutes, as in 30 or 0.5")
    return number


ABOUT = "train a model, from two files or as a configuration says; the folder it writes is the model"
TIME = f"how long to train (default: as CONFIG says; {MINUTES:.0f} without one)"
SET = {"dest": "settings", "type": setting, "action": "append", "default": []}
OUT = "the model folder (default: runs/ and the name of CONFIG or of the text)"
ACCEPT = "with --resume, let this setting (section.key) or the data differ; may be repeated"
RECORD = "steps whose tensors are written to OUT/traces/step-N.npz; nothing is learned otherwise"
ONLY = "record the tensors whose names match, as in '*.weights' (default: all)"
OPTIONS = (
    Option("CONFIG.toml", "the configuration: data, vocabulary, model, training", dest="config", nargs="?"),
    Option("--source FILE", "in place of CONFIG: the text to translate from, line by line"),
    Option("--target FILE", "its translation, line by line too"),
    Option("--data FILE.tsv", "both in one table: source, tab, target"),
    Option("--minutes N", TIME, type=minutes),
    Option("--set KEY=VALUE", "change a setting: section.key=value; may be repeated", **SET),
    Option("--out DIR", OUT, type=folder),
    Option("--resume", "go on from the newest checkpoint, bit for bit"),
    Option("--accept NAME", ACCEPT, action="append", default=[]),
    Option("--record N,N,…", RECORD, type=steps, default=()),
    Option("--record-only GLOB", ONLY, default="*"),
    DEVICE,
)


def run(arguments: argparse.Namespace) -> None:
    """Train, show a bar on a terminal or plain lines elsewhere, and say what to try next."""
    from pellucid.cli.lines import tell
    from pellucid.learning.resume import check_accepted

    # Before torch is imported: an error in the configuration shows at once.
    check_accepted(arguments.accept)
    out = arguments.out or Path("runs") / _name(arguments)
    config, chosen = _config(arguments, out)
    for line in chosen.splitlines():
        tell(line)
    from pellucid.folder.checkpoint import newest_step
    from pellucid.folder.whole_file import writing
    from pellucid.learning.display import showing
    from pellucid.learning.run import training
    from pellucid.learning.stop import Interrupted, stop_on_signal
    from pellucid.show.recordings import write_recording

    accept, device, record, only = arguments.accept, arguments.device, arguments.record, arguments.record_only
    try:
        with stop_on_signal(), showing(config) as show:
            for step in training(config, out, arguments.resume, accept, device, tell, record, only):
                if chosen:
                    with writing(out), open(out / CHOSEN, "x", encoding="utf-8") as file:
                        file.write(chosen)
                    chosen = ""
                if step.trace is not None:
                    write_recording(step.trace, out, step.number)
                show(step)
                del step  # its trace need not stay in memory
    except Interrupted as interrupted:
        raise Interrupted(f"{interrupted}\nTo go on: {_resuming(arguments, out)}") from None
    except KeyboardInterrupt:
        if newest_step(out) is None:
            raise
        raise Interrupted(f"interrupted at once.\nTo go on: {_resuming(arguments, out)}") from None
    tell(f"The model is in {out}. To try it:")
    for line in _next(config, shlex.quote(str(out))):
        tell(f"  {line}")


def _files(arguments: argparse.Namespace) -> list[str]:
    """Return the full paths of --source and --target or of --data; none where there is CONFIG."""
    source, target, table = arguments.source, arguments.target, arguments.data
    ways = [way for way in (arguments.config, source or target, table) if way is not None]
    if len(ways) != 1 or (source is None) != (target is None):
        raise UsageError(
            "train needs one of these: CONFIG.toml, or --source FILE and --target FILE together, "
            "or --data FILE.tsv."
        )
    for option, side in (("--source", source), ("--target", target)):
        if side is not None and str(side).endswith((".tsv", ".tsv.gz")):
            raise UsageError(f"{option} {side}: a table of sources and targets. Give it as --data {side}.")
    return [str(Path(file).absolute()) for file in (source, target, table) if file is not None]


def _name(arguments: argparse.Namespace) -> str:
    files = _files(arguments)
    return Path(files[0]).name.lstrip(".").partition(".")[0] if files else Path(arguments.config).stem


def _config(arguments: argparse.Namespace, out: Path) -> tuple["Config", str]:
    """Return the configuration; and the text of train.toml where the settings are chosen now, or else ""."""
    from pellucid.config.toml_file import read

    files, path, settings = _files(arguments), out / CHOSEN, dict(arguments.settings)
    limit = {} if arguments.minutes is None else {"training.minutes": arguments.minutes}
    if not files:
        return read(arguments.config, limit | settings), ""
    if path.exists():
        if not arguments.resume:
            raise UsageError(
                f"{path} is there already, from an earlier run. Go on with --resume, or choose another --out."
            )
        return read(path, limit | {"data.train": [files]} | settings), ""
    from pellucid.learning.choosing import suited

    chosen = suited(files, arguments.minutes or MINUTES, settings, arguments.device)
    return chosen.config, chosen.to_toml(out)


def _resuming(arguments: argparse.Namespace, out: Path) -> str:
    """Return the same command with --resume."""
    words = [str(word) for word in arguments.argv if word != "--resume"]
    words += ["--resume"] if arguments.out else ["--out", str(out), "--resume"]
    return shlex.join(["pellucid", *words])


def _next(config: "Config", model: str) -> tuple[str, ...]:
    """Return commands to try with the model."""
    sentence = shlex.quote(_a_sentence(config))
    to = f" --to {shlex.quote(config.data.languages[0][1])}" if len(config.data.languages) > 1 else ""
    return (
        f"echo {sentence} | pellucid translate {model}{to}",
        f"pellucid explain {model} {sentence}{to} --html page.html",
        f"pellucid inspect {model}",
    )


def _a_sentence(config: "Config") -> str:
    """Return the beginning of the first line to validate on, or to train on."""
    from pellucid.data.corpus import read_lines

    first = next(read_lines((config.data.validation or config.data.train)[0][0]), b"")
    text = first[:BEGINNING].decode(errors="ignore").partition("\t")[0]
    printable = "".join(character for character in text if character.isprintable())
    whole_words = printable if len(first) <= BEGINNING else printable.rpartition(" ")[0] or printable
    return whole_words.strip().lstrip("-") or "…"
