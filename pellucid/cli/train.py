"""pellucid train: from parallel text to a model folder."""

import argparse
import itertools
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pellucid.cli.arguments import CHOSEN, configuration
from pellucid.cli.lines import corpus_of, tell
from pellucid.config.schema import Config
from pellucid.config.toml_file import check_accepted, read
from pellucid.errors import UsageError

if TYPE_CHECKING:
    from pellucid.folder.load import Loaded
    from pellucid.learning.step import Step


def run(arguments: argparse.Namespace) -> None:
    """Train, with a progress bar on a terminal or plain lines elsewhere. At the end, print commands to
    try."""
    # Before torch is imported: an error in the configuration shows at once.
    check_accepted(arguments.accept)
    files = _files(arguments)
    name = Path(files[0]).name.lstrip(".").partition(".")[0] if files else Path(arguments.config).stem
    out = arguments.out or Path("runs") / name
    config, chosen = _config(arguments, files, out)
    for line in chosen.splitlines():
        tell(line)
    from pellucid.folder.checkpoint import newest_step
    from pellucid.learning.ranks import rank_here
    from pellucid.learning.rehearsing import rehearse
    from pellucid.learning.run import training
    from pellucid.learning.stop import Interrupted, stop_on_signal
    from pellucid.learning.text import Request

    asked = arguments.resume, arguments.accept, arguments.device, tell
    runs = _runs(config, out, arguments.seeds)
    if arguments.dry_run:
        first, first_folder = runs[0]
        rehearse(Request(first, first_folder, *asked))
        if len(runs) > 1:
            tell(f"This is the first of {len(runs)} trainings, one after the other.")
        return
    for each, run_folder in runs:
        try:
            with stop_on_signal() as stop, _showing(each) as show:
                for step in _keeping(chosen, out, run_folder, training(each, run_folder, *asked)):
                    show(step)
        except KeyboardInterrupt as interrupt:
            if newest_step(run_folder) is None:
                raise
            raise Interrupted("interrupted at once.", *interrupt.args) from None
        if stop.number is not None and run_folder != runs[-1][1]:  # it came while this run ended
            raise Interrupted(f"stopped by {stop.name}; {run_folder} is done.", stop.number)
    for line in _next(config, out, arguments.seeds) if rank_here().is_first else ():
        tell(line)


def _keeping(chosen: str, out: Path, folder: Path, steps: Iterator["Step"]) -> Iterator["Step"]:
    """Yield the steps of a training in `folder`; after the first one, or if it fails, write down the settings
    that were chosen: a resume needs them."""
    from pellucid.folder.checkpoint import newest_step
    from pellucid.folder.whole_file import write_new

    try:
        first = list(itertools.islice(steps, 1))
    finally:
        if chosen and not (out / CHOSEN).exists() and newest_step(folder) is not None:
            write_new(out, {CHOSEN: chosen.encode()})
    yield from itertools.chain(first, steps)


def _showing(config: Config) -> AbstractContextManager[Callable[["Step"], None]]:
    """Show the progress; of several processes, the first one does."""
    from pellucid.learning.log import showing
    from pellucid.learning.ranks import rank_here

    return showing(config) if rank_here().is_first else nullcontext(lambda step: None)


def _runs(config: Config, out: Path, seeds: int) -> list[tuple[Config, Path]]:
    """Return the configuration and the folder of each training: one, or one for each of several seeds."""
    if not seeds:
        return [(config, out)]
    from pellucid.folder.checkpoint import newest_step
    from pellucid.learning.ranks import rank_here
    from pellucid.learning.results import PAGE

    if rank_here().count > 1:
        raise UsageError(f"--seeds {seeds} is for one process. With several, start each seed by itself.")
    if not config.data.validation and not config.data.held_out:
        why = "compares validations, and there is no text for them. Set [data] validation or held_out."
        raise UsageError(f"--seeds {seeds} {why}")
    if newest_step(out) is not None:
        raise UsageError(f"{out} holds a training run. For several seeds, choose another --out.")
    each = range(config.training.seed, config.training.seed + seeds)
    configs = [replace(config, training=replace(config.training, seed=seed)) for seed in each]
    runs = [(one, out / f"seed-{one.training.seed}") for one in configs]
    if (out / PAGE).exists() and all(newest_step(folder) is None for _, folder in runs):
        raise UsageError(f"{out / PAGE} already exists, and no run of these wrote it. Choose another --out.")
    return runs


def _files(arguments: argparse.Namespace) -> list[str]:
    """Return the paths of the files in --source and --target or in --data; [] if CONFIG is given."""
    if (arguments.source is None) != (arguments.target is None):
        raise UsageError("--source and --target belong together: give both, or neither.")
    if arguments.config is not None:
        return []
    if "data.prepared" in dict(arguments.settings):
        raise UsageError("settings are chosen for text files: for a prepared text, give a CONFIG.")
    if "data.train" in dict(arguments.settings):
        raise UsageError("--source and --target, or --data, name the text: leave --set data.train out.")
    return [str(file) for file in corpus_of(arguments, "source", "target")]


def _config(arguments: argparse.Namespace, files: list[str], out: Path) -> tuple[Config, str]:
    """Return the configuration, and the text for train.toml: "" unless this call chooses the settings."""
    limit = {} if arguments.minutes is None else {"training.minutes": arguments.minutes}
    path, settings = out / CHOSEN, limit | dict(arguments.settings)
    if files and path.exists():
        if not arguments.resume:
            raise UsageError(
                f"{path} already exists, from an earlier run. Go on with --resume, or choose another --out."
            )
        if arguments.start is not None:
            from pellucid.translator import folder_of

            settings["training.start_from"] = str(folder_of(arguments.start))
        return read(path, {"data.train": [files]} | settings), ""
    started = _started(arguments, settings)
    if not files:
        return configuration(arguments.config, settings), ""
    from pellucid.learning.choosing import choose_settings
    from pellucid.learning.ranks import rank_here

    if rank_here().count > 1:
        raise UsageError("settings are chosen by one process: for several, give a CONFIG.")
    config, chosen = choose_settings(files, settings, arguments.device, out, tell, started)
    seeds = ["--seeds", str(arguments.seeds)] if arguments.seeds else []
    command = shlex.join(["pellucid", "train", str(path), "--out", str(out), *seeds, "--resume"])
    return config, f"# Chosen by pellucid train; to go on: {command}\n\n{chosen}"


def _started(arguments: argparse.Namespace, settings: dict[str, Any]) -> "Loaded | None":
    """Load the model to start from, if there is one. Add its folder and, if it has several languages, the
    direction to the settings."""
    if arguments.to is not None and arguments.start is None:
        raise UsageError("--to chooses a language of the model that --from names: give --from too.")
    if arguments.start is not None:
        from pellucid.translator import folder_of

        settings["training.start_from"] = str(folder_of(arguments.start))
    elif "training.start_from" not in settings:
        return None
    from pellucid.interop.importing import load_folder

    folder = settings["training.start_from"]
    if not isinstance(folder, str):
        raise UsageError(f"[training] start_from = {folder!r} must be text, the path of a model's folder.")
    started = load_folder(Path(folder).expanduser())
    vocabulary = started.vocabulary
    unsaid = arguments.config is None and "data.languages" not in settings
    if arguments.to is not None or (unsaid and len(vocabulary.target_languages) > 1):
        to = vocabulary.target_language(arguments.to)
        settings["data.languages"] = [next([*pair] for pair in vocabulary.languages if pair[1] == to)]
    return started


def _next(config: Config, out: Path, seeds: int) -> Sequence[str]:
    """Return the lines that say where the trained model is, and which commands the user can try with it; of
    several seeds, write results.md and return its lines."""
    if seeds:
        from pellucid.folder.whole_file import write_whole
        from pellucid.learning.results import PAGE, results_page

        page = results_page([out, *(folder for _, folder in _runs(config, out, seeds))])
        write_whole(out / PAGE, page.encode())
        return [*page.splitlines(), f"This table is in {out / PAGE}."]
    model = shlex.quote(str(out))
    to = f" --to {shlex.quote(config.data.languages[0][1])}" if len(config.data.languages) > 1 else ""
    return (
        f"The model is in {out}. To try it:",
        f"  echo 'YOUR SENTENCE' | pellucid translate {model}{to}",
        f"  pellucid explain {model} 'YOUR SENTENCE'{to} --html page.html",
        f"  pellucid inspect {model}",
    )
