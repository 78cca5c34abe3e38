"""Threads that compute each step of a session together; each thread does a share of every product."""

import threading
import time
import weakref
from collections.abc import Sequence

import torch

from pellucid.engine.library import Kernels
from pellucid.engine.library import Team as Structure

GO_HOME, ENCODE, STEP = range(3)  # jobs, as in kernels.c
REST = 50e-6  # seconds, of a thread that waits for others within a job
PATIENCE, AT_LEAST = 0.2, 8e-3  # the share of a session's time, and the seconds, that it may wait for helpers
ALONE = 1.0  # seconds, in which no session has helpers after that: others use the CPU


class Team:
    """The threads of one session: the calling thread and its helpers. There may be fewer helpers than wanted,
    because other sessions of this process use threads too. The helpers are stopped if the session waits too
    long for them."""

    _lock, _in_teams, _alone_until = threading.Lock(), 0, 0.0

    def __init__(self, kernels: Kernels, wanted: int) -> None:
        with Team._lock:
            size = max(1, min(wanted, torch.get_num_threads() - Team._in_teams))
            Team._in_teams += size
        self.structure = Structure(size=size)
        self._kernels, self._spent = kernels, 0.0

    @classmethod
    def is_possible(cls) -> bool:
        """Return whether helpers may be used: not within one second after a session stopped its helpers
        because it had waited too long for them."""
        return time.monotonic() >= cls._alone_until

    def gather(self, places: Sequence[Sequence[int]], memory: object) -> None:
        """Start the helpers, which wait for jobs, and give each thread the addresses of its structures. Keep
        `memory` alive as long as they use it."""
        self._places, *others = places
        # Daemons, because Python waits for other threads before it ends.
        helpers = [threading.Thread(target=self._kernels.help, args=each, daemon=True) for each in others]
        for helper in helpers:
            helper.start()
        self._kept = self.structure, memory
        self._end = weakref.finalize(self, _part, self._kernels, self._places, helpers, self._kept)

    def do(self, job: int) -> None:
        """Run a job, such as STEP, on all threads. Stop the helpers if the session has waited for them too
        long in total."""
        began = time.perf_counter()
        self._kernels.begin(*self._places, job)
        self._spent += time.perf_counter() - began
        if self.structure.rests * REST > max(AT_LEAST, PATIENCE * self._spent):
            self.part()
            self.structure.size, self.structure.rests = 1, 0
            Team._alone_until = time.monotonic() + ALONE

    def part(self) -> None:
        """Stop the helpers. Until then they use the session's memory, so it must not be freed before."""
        self._end()


def _part(kernels: Kernels, places: Sequence[int], helpers: list[threading.Thread], _: object) -> None:
    if all(helper.is_alive() for helper in helpers):  # they are not in a process that was forked
        kernels.begin(*places, GO_HOME)
        for helper in helpers:
            helper.join()
    with Team._lock:
        Team._in_teams -= len(helpers) + 1
