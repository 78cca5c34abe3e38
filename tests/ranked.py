"""Trainings of several processes, started as torchrun does it, or one by one, as Slurm does.

As a program, this is `pellucid` with a fault in one process:

    python tests/ranked.py "KIND PLACE RANK CALL" train CONFIG --out RUN

CALL is the number of the call at which it comes, with a + if it comes again at each one after.
"""

import itertools
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from pellucid.cli import main
from pellucid.folder import checkpoint
from pellucid.learning import saving, shares, workers
from pellucid.learning.learner import Learner
from pellucid.learning.ranks import rank_here, was_restarted

TORCHRUN = "-m", "torch.distributed.run"
NONE = "none learn 0 1"
PLACES: dict[str, list[tuple[Any, str]]] = {
    "learn": [(Learner, "learn")],
    "loss": [(shares, "loss_of"), (workers, "loss_of")],
    "validate": [(saving, "validate")],
    "save": [(checkpoint, "save_state")],
}


def send(*numbers: int) -> None:
    os.write(2, f"the fault comes at {time.time()}\n".encode())
    for number in numbers:
        os.kill(os.getpid(), number)


def fill_disk() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))


def fill_memory(original: Callable[..., Any], model: Any, batch: Any, *how: float) -> Any:
    if len(batch.source) > 1:
        raise MemoryError
    return original(model, batch, *how)


def not_a_number(original: Callable[..., Any], *given: Any) -> Any:
    loss = original(*given)
    return replace(loss, smoothed=loss.smoothed * float("nan"))


BEFORE: dict[str, Callable[[], None]] = {
    "none": lambda: None,
    "killed": lambda: send(signal.SIGKILL),
    "hanging": lambda: send(signal.SIGSTOP),
    "SIGTERM": lambda: send(signal.SIGTERM),
    "SIGINT": lambda: send(signal.SIGINT),
    "SIGTERM twice": lambda: send(signal.SIGTERM, signal.SIGTERM),
    "disk full": fill_disk,
}
INSTEAD = {"memory full": fill_memory, "not a number": not_a_number}


def break_here(kind: str, place: str, when: str) -> None:
    """Let the fault come in this process."""
    first, calls = int(when.rstrip("+")), itertools.count(1)
    for module, name in PLACES[place]:
        original = getattr(module, name)

        def broken(*given: Any, original: Any = original, **options: Any) -> Any:
            call = next(calls)
            if call == first or (call > first and when.endswith("+")):
                if kind in INSTEAD:
                    return INSTEAD[kind](original, *given)
                BEFORE[kind]()
            return original(*given, **options)

        setattr(module, name, broken)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def torchrun(
    count: int, *command: str, fault: str = NONE, restarts: int = 0
) -> subprocess.CompletedProcess[str]:
    """Run a command of pellucid in so many processes that torchrun starts, or in one without it."""
    options = f"--nproc-per-node={count}", f"--max-restarts={restarts}", f"--master-port={free_port()}"
    several = (*TORCHRUN, *options) if count > 1 else ()
    return subprocess.run(
        [sys.executable, *several, __file__, fault, *command], capture_output=True, text=True, timeout=240
    )


def start_ranks(count: int, *command: str, fault: str = NONE) -> list[subprocess.Popen[str]]:
    """Start a command of pellucid in so many processes, with nobody to watch over them."""
    group = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "SLURM_NTASKS": str(count)}
    return [
        subprocess.Popen(
            [sys.executable, __file__, fault, *command],
            env=os.environ | group | {"SLURM_PROCID": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(count)
    ]


def train(folder: Path, *settings: str, out: str = "run") -> list[str]:
    """The command that trains the configuration of a folder."""
    changes = [each for setting in settings if "=" in setting for each in ("--set", setting)]
    others = [each for each in settings if "=" not in each]
    return ["train", str(folder / "c.toml"), "--out", str(folder / out), *changes, *others]


if __name__ == "__main__":
    kind, place, rank, call = sys.argv[1].rsplit(" ", 3)
    if rank_here().number == int(rank) and not was_restarted():
        break_here(kind, place, call)
    sys.exit(main(sys.argv[2:]))
