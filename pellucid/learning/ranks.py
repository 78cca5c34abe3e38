"""Processes that train together: torchrun, Slurm or Kubernetes starts them, and says in environment variables
which of them this one is. Each is known by its rank, a number from 0.

All of them walk through the same steps. What one alone knows (that it ran out of memory, that a signal came,
how a validation went) they agree on; only the first writes.
"""

import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import PrefixStore, Store, TCPStore

from pellucid.errors import PellucidError

T = TypeVar("T")
RANK = "RANK", "SLURM_PROCID"
COUNT = "WORLD_SIZE", "SLURM_NTASKS"
LOCAL = "LOCAL_RANK", "SLURM_LOCALID"
PORT = "29500"  # as torchrun's
BEAT = 1.0  # seconds between two signs of life
SILENT, AT_START, CUT_OFF = 15.0, 300.0, 4.0  # seconds without a sign: in training; before; after an error
DONE = 1 << 40  # added to the signs of life of a process that has ended well
LONGEST = timedelta(days=1)  # of a wait for a process that lives, for example while it validates


@dataclass
class Ranks:
    """The processes of a training, as one of them sees them. With one process, nothing is sent."""

    number: int = 0
    count: int = 1
    local: int = 0  # its number on this machine
    heart: "Heart | None" = None
    store: Store | None = None  # kept for its lifetime: the first process answers the others

    @property
    def gpu(self) -> int:
        """Return the number of this process's GPU: 0 where Slurm shows each process only its own."""
        return self.local % max(1, torch.cuda.device_count())

    @property
    def is_first(self) -> bool:
        """Return whether this process writes, logs and validates."""
        return self.number == 0

    def device(self, name: str) -> str:
        """Return the device of this process, if all are given the same name."""
        is_any = name == "cuda" or (name == "auto" and torch.cuda.is_available())
        return f"cuda:{self.gpu}" if self.count > 1 and is_any else name

    def add_up(self, *numbers: float) -> Sequence[float]:
        """Return the sum of each number over all processes. Each waits for all others."""
        return self._reduce(numbers, dist.ReduceOp.SUM)

    def largest(self, *numbers: float) -> Sequence[float]:
        """Return the largest value that each number has in any process. Each waits for all others."""
        return self._reduce(numbers, dist.ReduceOp.MAX)

    def _reduce(self, numbers: Sequence[float], how: Any) -> Sequence[float]:
        if self.count == 1:
            return numbers
        reduced = torch.tensor(numbers, dtype=torch.float64)
        dist.all_reduce(reduced, how)
        return reduced.tolist()

    def from_first(self, value: T) -> T:
        """Return what the first process gives here."""
        if self.count == 1:
            return value
        given = [value if self.is_first else None]
        dist.broadcast_object_list(given, 0, device=torch.device("cpu"))
        return given[0]  # type: ignore[return-value]

    def begin(self, **known: object) -> None:
        """Begin to train. Raise an error if processes know different things, for example read different
        files."""
        if self.heart:
            self.heart.patience = SILENT
        for name, value in known.items():
            if any(self.largest(self.from_first(value) != value)):
                raise PellucidError(
                    f"the processes of this training have different {name}. Give all the same files, the "
                    "same configuration and the same version of Pellucid."
                )

    def leave(self) -> None:
        """End together: after this, no process needs another one, or notices that it ends."""
        if self.heart:
            self.heart.stop(DONE)
            self.add_up(0)

    @contextmanager
    def noticing(self) -> Iterator[None]:
        """If a connection breaks, find out which process is gone, and end with its name."""
        try:
            yield
        except RuntimeError as error:
            if self.heart is None or not (isinstance(error, dist.DistError) or "gloo" in str(error)):
                raise
            self.heart.patience = CUT_OFF
            self.heart.join(2 * CUT_OFF)  # it ends this process if another one is gone
            raise PellucidError(
                f"rank {self.number} of {self.count}: the connection to another process broke: {error}. Go "
                "on from the last checkpoint with the same command and --resume."
            ) from error


def rank_here() -> Ranks:
    """Return which process this is, from the environment. Without its variables, it is the only one."""
    given = [
        next((os.environ[each] for each in names if os.environ.get(each)), default)
        for names, default in ((RANK, "0"), (COUNT, "1"), (LOCAL, "0"))
    ]
    if not all(map(str.isdecimal, given)) or int(given[0]) >= int(given[1]):
        raise PellucidError(
            f"the environment says that this is process {given[0]!r} of {given[1]!r}, {given[2]!r} on its "
            "machine (RANK, WORLD_SIZE and LOCAL_RANK, or Slurm's). Give whole numbers from 0, or unset them."
        )
    number, count, local = map(int, given)
    return Ranks(number, count, local)


def connect(answers: bool) -> Store:
    """Return a connection to where processes leave notes for each other; `answers` for the one that keeps
    them. Those of before a restart stay apart."""
    address, port = os.environ["MASTER_ADDR"], int(os.environ.get("MASTER_PORT", PORT))
    store = TCPStore(address, port, is_master=answers, timeout=timedelta(seconds=AT_START))
    return PrefixStore(f"pellucid {os.environ.get('TORCHELASTIC_RESTART_COUNT', 0)}", store)


def was_restarted() -> bool:
    """Return whether torchrun has started the processes again after one had failed."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) > 0


@contextmanager
def joined() -> Iterator[Ranks]:
    """Meet the other processes, if there are any, and leave them when the block ends."""
    ranks = rank_here()
    if ranks.count == 1:
        yield ranks
        return
    ranks.store = _meet(ranks)
    ranks.heart = Heart(ranks.number, ranks.count)
    try:
        with ranks.noticing():
            yield ranks
        ranks.leave()
    finally:
        ranks.heart.stop()
        # Before Python ends: a thread that is in C++ then would abort the process.
        dist.destroy_process_group()


def _meet(ranks: Ranks) -> Store:
    """Join the group of all processes; return where they leave notes for each other."""
    number, count = ranks.number, ranks.count
    address, port = os.environ.get("MASTER_ADDR"), os.environ.get("MASTER_PORT", PORT)
    if not address:
        raise PellucidError(
            f"this is process {number} of {count}, but MASTER_ADDR does not say where the first one is. "
            "Start them with torchrun, or set MASTER_ADDR and MASTER_PORT for all of them. If it should "
            "train alone: unset SLURM_NTASKS, or WORLD_SIZE."
        )
    if torch.cuda.is_available():
        torch.cuda.set_device(ranks.gpu)
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    try:
        store = connect(ranks.is_first and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True")
        dist.init_process_group(backend, store=store, rank=number, world_size=count, timeout=LONGEST)
    except (RuntimeError, ValueError, TypeError) as error:
        raise PellucidError(
            f"process {number} of {count} does not meet the others at MASTER_ADDR {address!r}, "
            f"MASTER_PORT {port!r}: {str(error).splitlines()[0]}. Start all of them, with an address of the "
            "first one and a port that is free there."
        ) from None
    return store


class Heart(threading.Thread):
    """A thread that tells that this process lives, and looks whether the next one does. If that one gives no
    sign, it tells all others, and each ends itself: its main thread waits for the lost one, and may be
    anywhere in C++.

    patience: seconds that the next process may be silent.
    """

    def __init__(self, number: int, count: int) -> None:
        super().__init__(daemon=True)
        self._number, self._next, self._count = number, (number + 1) % count, count
        self._ending, self.patience = threading.Event(), AT_START
        self._store, self._read = connect(False), time.monotonic()
        self.start()
        threading.Thread(target=self._watch, daemon=True).start()

    def stop(self, how: int = 0) -> None:
        """End this thread. how: DONE if this process ends well, else 0."""
        self._ending.set()
        self.join()
        with suppress(RuntimeError):  # what keeps the signs may have ended before
            self._tell(how)

    def run(self) -> None:
        """Tell and look, until the process ends."""
        seen, since = -1, time.monotonic()
        while not self._ending.wait(BEAT):
            try:
                self._tell(1)
                signs, lost = self._store.add(f"life {self._next}", 0), self._store.add("lost", 0)
            except RuntimeError:  # what keeps the signs is gone: torchrun, or the first process
                self._end(0)
            self._read = time.monotonic()
            if lost:
                self._end(lost - 1)
            if signs != seen:
                seen, since = signs, time.monotonic()
            elif signs < DONE and time.monotonic() - since > self.patience:
                self._store.add("lost", self._next + 1)
                self._end(self._next)

    def _watch(self) -> None:
        """End this process if reading the signs takes too long: the first process keeps them, and hangs."""
        while self.is_alive():
            time.sleep(BEAT)
            if time.monotonic() - self._read > self.patience:
                self._end(0)

    def _tell(self, signs: int) -> None:
        self._store.add(f"life {self._number}", signs)

    def _end(self, lost: int) -> None:
        message = (
            f"pellucid: rank {lost} of {self._count} gives no sign of life: it was killed, it hangs, or it "
            f"ended with an error of its own. Rank {self._number} ends here. Go on from the last checkpoint "
            "with the same command and --resume.\n"
        )
        os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, message.encode())
        os._exit(1)
