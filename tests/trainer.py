"""Trainings in processes of their own, to be signalled and killed. A fork server loads torch once for all."""

import multiprocessing
import os
import time
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

import torch

import pellucid
from pellucid.learning.stop import stop_on_signal


def start(config: Path, out: Path, sleep_at: int = 0) -> tuple[BaseProcess, Connection]:
    """A process that trains, and what it sends: the number of each step, and at the end how it ended."""
    context = multiprocessing.get_context("forkserver")
    # sacrebleu and torch._dynamo are loaded late by a training, so here before the forks.
    context.set_forkserver_preload(["pellucid.learning.run", "sacrebleu", "torch._dynamo"])
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=train, args=(config, out, sleep_at, sender))
    process.start()
    sender.close()  # the process has it, so that its end is the end of what it sends
    return process, receiver


def train(config: Path, out: Path, sleep_at: int, steps: Connection) -> None:
    """Trains to the end, or to a signal; at one step the loop sleeps, so that signals find it there."""
    torch.set_num_threads(1)
    os.fsync = lambda fd: None  # what a killed process wrote, the system has: nothing waits for a disk
    try:
        with stop_on_signal():  # as the command does: a signal counts between two steps too
            for step in pellucid.training(config, out, resume=out.exists()):
                steps.send(step.number)
                if step.number == sleep_at:
                    time.sleep(60)
        steps.send("finished")
    except KeyboardInterrupt:
        steps.send("KeyboardInterrupt")
