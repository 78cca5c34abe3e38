"""Threads that compute each step of a session together; each thread does a share of every product."""

import os
import sys
import threading
import time
import weakref
from collections.abc import Sequence
from typing import Any, ClassVar

import torch

from pellucid.decoding.library import Kernels
from pellucid.decoding.library import Team as Structure

GO_HOME, ENCODE, STEP = range(3)  # jobs, as in kernels.c
REST = 50e-6  # seconds, of a thread that waits for others within a job
PATIENCE, AT_LEAST = 0.2, 8e-3  # the share of a session's time, and the seconds, that it may wait for helpers
ALONE = 1.0  # seconds, in which no session has helpers after that: others use the CPU


class Team:
    """The threads of one session: the calling thread and its helpers. There may be fewer helpers than wanted,
    because other sessions of this process use threads too, or because the system allows no more threads. The
    helpers are stopped if the session waits too long for them.

    An exception, such as Ctrl-C, may come at any point. So a helper itself keeps the session's memory, and
    leaves soon after the team is gone, even if nobody told it to.
    """

    _lock, _alone_until = threading.Lock(), 0.0
    _teams: ClassVar["weakref.WeakSet[Team]"] = weakref.WeakSet()

    def __init__(self, kernels: Kernels, wanted: int) -> None:
        self._kernels, self._spent = kernels, 0.0
        self._places: Sequence[int] = ()
        self._helpers: list[threading.Thread] = []
        with Team._lock:
            free = torch.get_num_threads() - sum(team.structure.size for team in Team._teams)
            self.structure: Any = Structure(size=max(1, min(wanted, free)))
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
        """Start the helpers, which wait for jobs, and give each thread the addresses of its structures. Keep
        `memory` alive as long as they use it."""
        (self._places, *others), self._kept = places, (self.structure, memory)
        about = weakref.ref(self), self._kernels, self._kept
        for each in others:
            # Daemons, because Python waits for other threads before it ends.
            helper = threading.Thread(target=_help, args=(*about, each), daemon=True)
            try:
                helper.start()
            except RuntimeError:  # the system allows no more threads
                break
            self._helpers.append(helper)
        self.structure.size = 1 + len(self._helpers)

    def do(self, job: int) -> None:
        """Run a job, such as STEP, on all threads. Stop the helpers if the session has waited for them too
        long in total."""
        began = time.perf_counter()
        self._kernels.begin(*self._places, job)
        self._spent += time.perf_counter() - began
        if self.structure.rests * REST > max(AT_LEAST, PATIENCE * self._spent):
            self.part()
            self.structure.rests = 0
            Team._alone_until = time.monotonic() + ALONE

    def part(self) -> None:
        """Stop the helpers. Until then they use the session's memory, so others must not have it before."""
        helpers, self._helpers, self.structure.size = self._helpers, [], 1
        if self._places:
            self._kernels.begin(*self._places, GO_HOME)
        for helper in helpers:
            if not sys.is_finalizing():  # no other thread of Python runs then
                helper.join()


def _help(team: "weakref.ref[Team]", kernels: Kernels, _: object, places: Sequence[int]) -> None:
    while team() is not None and kernels.help(*places):
        continue


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=Team.forget_helpers)
