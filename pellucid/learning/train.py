"""Training to its end, shown as it goes."""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pellucid.config.schema import Config
from pellucid.config.toml_file import as_config
from pellucid.learning import display
from pellucid.learning.run import training
from pellucid.learning.stop import stop_on_signal
from pellucid.learning.text import Texts


def train(
    config: Config | Mapping[str, Any] | str | Path,
    out: str | Path,
    *,
    resume: bool = False,
    accept: Sequence[str] = (),
    device: str = "auto",
    show: bool = True,
    report: Callable[[str], None] | None = None,
    pairs: Texts | None = None,
    validation_pairs: Texts | None = None,
) -> Path:
    """Train to the end and return the model folder.

    show: print the progress on standard error, as a bar on a terminal and as plain lines elsewhere, for
    example in a notebook. report: a function that takes each line on what happens beside the steps, such as
    data read; without it these lines are part of the progress. The other options are those of `training`.

    Ctrl-C finishes the step, saves, and raises a PellucidError that says how far the training came.
    """
    config = as_config(config)
    report = report or display.Spectators(sys.stderr if show else None).say
    with stop_on_signal():
        steps = training(
            config,
            out,
            resume,
            accept,
            device,
            report,
            pairs=pairs,
            validation_pairs=validation_pairs,
        )
        if show:
            display.show(steps, config)
        else:
            for _ in steps:
                pass
    return Path(out)
