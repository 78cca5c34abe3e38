"""Threads that compute each step of a session together; each thread does a share of every product."""

import os
import sys
import threading
import time
import weakref
from collections.abc import Sequence
from typing import Any, ClassVar

import torch

from pellucid.decoding.library import Kernels, Work
from pellucid.decoding.library import Team as Structure

GO_HOME, ENCODE, STEP = range(3)  # jobs, as in kernels.c
REST = 50e-6  # seconds, of a thread that waits for others within a job
PATIENCE, AT_LEAST = 0.2, 8e-3  # the share of a session's time, and the seconds, that it may wait for helpers
ALONE = 1.0  # seconds, in which no session has helpers after that: others use the CPU


class Team:
    """The threads of one session: the calling thread and its helpers. Open sessions share the threads of this
    process: when one opens or closes, the others change the number of their helpers before their next job.
    The helpers are stopped for a while if the session waits too long for them.

    An exception, such as Ctrl-C, may come at any point. So a helper itself keeps the session's memory, and
    leaves soon after the team is gone, even if nobody told it to.
    """

    _lock, _alone_until = threading.Lock(), 0.0
    _teams: ClassVar["weakref.WeakSet[Team]"] = weakref.WeakSet()

    def __init__(self, kernels: Kernels) -> None:
        self._kernels, self._spent = kernels, 0.0
        self._places: Sequence[Sequence[int]] = ()
        self._helpers: list[threading.Thread] = []
        self.structure: Any = Structure(size=1)
        with Team._lock:
            Team._teams.add(self)

    @classmethod
    def is_possible(cls) -> bool:
        """Return whether helpers may be used: not within one second after a session stopped its helpers
        because it had waited too long for them."""
        return time.monotonic() >= cls._alone_until

    @classmethod
    def forget_helpers(cls) -> None:
        """Let each team go on with one thread, in a process that was forked: helpers are not copied."""
        cls._lock = threading.Lock()
        for team in cls._teams:
            team.structure.size, team._helpers = 1, []

    def gather(self, places: Sequence[Sequence[int]], memory: object) -> None:
        """Start the helpers, which wait for jobs: at most one for each of the places but the first, which are
        the addresses of each thread's structures. Keep `memory` alive as long as they use it."""
        self._places, self._kept = places, (self.structure, memory)
        self._share_threads()

    def do(self, job: int) -> None:
        """Run a job, such as STEP, on all threads. Stop the helpers if the session has waited for them too
        long in total."""
        self._share_threads()
        began = time.perf_counter()
        self._kernels.begin(*self._places[0], job)
        self._spent += time.perf_counter() - began
        if self.structure.rests * REST > max(AT_LEAST, PATIENCE * self._spent):
            self.part()
            self.structure.rests = 0
            Team._alone_until = time.monotonic() + ALONE

    def part(self) -> None:
        """Stop the helpers. Until then they use the session's memory, so others must not have it before."""
        helpers, self._helpers, self.structure.size = self._helpers, [], 1
        if self._places:
            self._kernels.begin(*self._places[0], GO_HOME)
        for helper in helpers:
            if not sys.is_finalizing():  # no other thread of Python runs then
                helper.join()

    def _share_threads(self) -> None:
        """Start or stop helpers, so that there are as many threads as this session may have now."""
        share = torch.get_num_threads() // max(1, len(Team._teams))
        size = max(1, min(len(self._places), share)) if Team.is_possible() else 1
        if size == self.structure.size:
            return
        if self._helpers:
            self.part()
        about = weakref.ref(self), self._kernels, self._kept
        for places in self._places[1:size]:
            Work.from_address(places[1]).seen = self.structure.jobs
            # Daemons, because Python waits for other threads before it ends.
            helper = threading.Thread(target=_help, args=(*about, places), daemon=True)
            try:
                helper.start()
            except RuntimeError:  # the system allows no more threads
                self._places = self._places[: 1 + len(self._helpers)]
                break
            self._helpers.append(helper)
        self.structure.size = 1 + len(self._helpers)


def _help(team: "weakref.ref[Team]", kernels: Kernels, _: object, places: Sequence[int]) -> None:
    while team() is not None and kernels.help(*places):
        continue


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=Team.forget_helpers)
